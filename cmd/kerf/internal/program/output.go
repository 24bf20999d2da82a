package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// Output is standard output. It keeps the first error of a write, because most of what is
// printed is printed by code that does not look.
type Output struct {
	to io.Writer

	mu  sync.Mutex // guards what follows
	err error
}

// NewOutput returns the Output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{to: w} }

// Write passes b on.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if err != nil {
		o.mu.Lock()
		if o.err == nil {
			o.err = err
		}
		o.mu.Unlock()
	}
	return n, err
}

// lost is the first error of a write, or nil.
func (o *Output) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Stream is what w writes to: for the Output of a file the file, which other programs can
// be given.
func Stream(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		return o.to
	}
	return w
}

// unwritten tells on standard error that output could not be written, but not that whoever
// read it has gone. It returns the exit code for that, or 0, and whether it is all that err is.
func (p *Program) unwritten(err error) (code int, all bool) {
	o, ok := p.Stdout.(*Output)
	if !ok || o.lost() == nil {
		return 0, false
	}
	lost := o.lost()
	all = errors.Is(err, lost)
	var at, again *os.PathError
	if errors.As(lost, &at) {
		lost = at.Err
		all = all || errors.As(err, &again) && again.Path == at.Path && errors.Is(again, lost) // a later write
	}
	if errors.Is(lost, syscall.EPIPE) {
		return 1, all
	}
	fmt.Fprintf(p.Stderr, "kerf: standard output: %v\n", lost)
	return 1, all
}

// Writable refuses a file that could not be written at the end of a run, before anything is
// done; flag names it. It leaves nothing behind. An empty path is no file.
func Writable(flag, path string) error {
	st, err := os.Stat(path)
	switch {
	case path == "" || err == nil && !st.IsDir() && !st.Mode().IsRegular():
		return nil // devices and pipes are only opened when there is something to write
	case err == nil && st.IsDir():
		return Misuse("%s %s: that is a directory", flag, path)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return Misuse("%s: %v", flag, err)
	}
	made := err != nil
	flags := os.O_WRONLY
	if made {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return Misuse("%s: %v", flag, err)
	}
	_ = f.Close() // nothing was written
	if made {
		_ = os.Remove(path) // if it stays, it is empty
	}
	return nil
}
