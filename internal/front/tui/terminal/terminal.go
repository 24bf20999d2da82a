// Package terminal is the device that the terminal UI runs on: its mode, its size and
// the signals about it.
package terminal

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// Terminal is a terminal on which input and output are.
type Terminal struct {
	in, out int
	before  *term.State
	lent    atomic.Bool
	back    atomic.Int64 // when the terminal came back, in nanoseconds since 1970; 0 for never
}

// ErrNoTerminal says that there is no terminal to run on.
var ErrNoTerminal = errors.New("the terminal UI needs a terminal on standard input and output")

// Open returns the terminal of in and out, or ErrNoTerminal.
func Open(in io.Reader, out io.Writer) (*Terminal, error) {
	i, ok := in.(*os.File)
	o, ok2 := out.(*os.File)
	if !ok || !ok2 || !term.IsTerminal(int(i.Fd())) || !term.IsTerminal(int(o.Fd())) {
		return nil, ErrNoTerminal
	}
	return &Terminal{in: int(i.Fd()), out: int(o.Fd())}, nil
}

// Forget throws away what was typed on a terminal and not read yet: a question that comes up now is
// not answered by what was typed before it. It does nothing to a stream that is no terminal.
func Forget(in *os.File) {
	if in != nil && term.IsTerminal(int(in.Fd())) {
		forget(int(in.Fd()))
	}
}

// Raw has keys reported as they are pressed. A terminal that an earlier program left in
// that mode is repaired first, so that Restore leaves it usable.
func (t *Terminal) Raw() error {
	repair(t.in)
	st, err := term.MakeRaw(t.in)
	if err != nil {
		return err
	}
	if t.before == nil {
		t.before = st
	}
	return nil
}

// Restore brings back the mode that the terminal had before Raw.
func (t *Terminal) Restore() {
	if t.before != nil {
		_ = term.Restore(t.in, t.before)
		t.before = nil
	}
}

// late is how long after another program had the terminal an interrupt may still be what
// was typed for that one: the signal reaches both, and that one may be gone before we are
// told. In raw mode no key makes a signal.
const late = 2 * time.Second

// Lend says whether another program has the terminal: ctrl+c is for that one then.
func (t *Terminal) Lend(yes bool) {
	if !yes {
		t.back.Store(time.Now().UnixNano())
	}
	t.lent.Store(yes)
}

// forOther reports whether an interrupt is for the program that has or had the terminal.
func (t *Terminal) forOther() bool {
	return t.lent.Load() || time.Since(time.Unix(0, t.back.Load())) < late
}

// Size returns the width and the height in cells.
func (t *Terminal) Size() (w, h int, err error) { return term.GetSize(t.out) }

// Events are called when the system reports something about the terminal.
type Events struct {
	Resized   func(width, height int)
	Continued func() // the program was stopped and goes on
	Ended     func() // the program is asked to end
}

// Watch reports events until stop is called; the size is reported once at the start.
// The functions are called by a goroutine of Watch, which stop waits for.
func (t *Terminal) Watch(e Events) (stop func()) {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, Signals()...)
	done, gone := make(chan struct{}), make(chan struct{})
	size := func() {
		if w, h, err := t.Size(); err == nil {
			e.Resized(w, h)
		}
	}
	go func() {
		defer close(gone)
		due, stop := sizeTicks()
		defer stop()
		size()
		for {
			select {
			case <-done:
				return
			case <-due:
				size()
			case s := <-ch:
				switch {
				case isResize(s):
					size()
				case s == os.Interrupt && t.forOther():
				case isContinue(s):
					e.Continued()
					size()
				default:
					e.Ended()
				}
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
		<-gone
	}
}
