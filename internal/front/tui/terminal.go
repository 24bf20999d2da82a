package tui

import (
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is the device that the UI runs on.
type terminal struct {
	in, out int
	before  *term.State
}

// ErrNoTerminal says that there is no terminal to run on.
var ErrNoTerminal = errors.New("the terminal UI needs a terminal on standard input and output")

func openTerminal(in io.Reader, out io.Writer) (*terminal, error) {
	i, ok := in.(*os.File)
	o, ok2 := out.(*os.File)
	if !ok || !ok2 || !term.IsTerminal(int(i.Fd())) || !term.IsTerminal(int(o.Fd())) {
		return nil, ErrNoTerminal
	}
	return &terminal{in: int(i.Fd()), out: int(o.Fd())}, nil
}

// raw takes keys as they are pressed. A terminal that an earlier program left in
// that state is mended first, so that it is sane once we are gone.
func (t *terminal) raw() error {
	mend(t.in)
	st, err := term.MakeRaw(t.in)
	if err != nil {
		return err
	}
	if t.before == nil {
		t.before = st
	}
	return nil
}

func (t *terminal) restore() {
	if t.before != nil {
		_ = term.Restore(t.in, t.before)
		t.before = nil
	}
}

func (t *terminal) size() (w, h int, err error) { return term.GetSize(t.out) }
