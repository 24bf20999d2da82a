package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A gate holds up a session before each call of a tool, by a hook that writes a line into
// one pipe and waits for a line from another. While it is held, no call is at work: the
// files, the ledger and the record of the session tell of the same calls.
type gate struct{ at, open *os.File }

func gatePaths(dir string) (at, open string) {
	return filepath.Join(dir, "at"), filepath.Join(dir, "open")
}

// gateCommand is the hook.
func gateCommand(dir string) string {
	at, open := gatePaths(dir)
	return fmt.Sprintf("echo x > %s && read -r _ < %s", shell(at), shell(open))
}

func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func newGate(dir string) (*gate, error) {
	at, open := gatePaths(dir)
	for _, path := range []string{at, open} {
		if err := syscall.Mkfifo(path, 0o600); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
	// Opened for both ways, a pipe never waits for the other end and never ends.
	a, err := os.OpenFile(at, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	o, err := os.OpenFile(open, os.O_RDWR, 0)
	if err != nil {
		a.Close()
		return nil, err
	}
	return &gate{at: a, open: o}, nil
}

// serve calls hold for each call, and then lets it go, until close.
func (g *gate) serve(hold func()) {
	line := make([]byte, 2) // what the hook writes
	for {
		if _, err := g.at.Read(line[:2]); err != nil {
			return
		}
		hold()
		if _, err := g.open.Write([]byte("\n")); err != nil {
			return
		}
	}
}

func (g *gate) close() {
	g.at.Close()
	g.open.Close()
}
