// Package terminal is the device that the terminal UI runs on: its mode, its size and
// the signals about it.
package terminal

import (
	"errors"
	"io"
	"os"
	"os/signal"

	"golang.org/x/term"
)

// Terminal is a terminal on which input and output are.
type Terminal struct {
	in, out int
	before  *term.State
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
