//go:build unix

package mcpclient

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"kerf/internal/work/proc"
)

// running is a started server program.
type running struct {
	in  io.WriteCloser
	out io.ReadCloser
	p   *proc.Process
}

// start runs the program of a server as a process tree that ends with Kerf. Its
// standard streams are pipes; what it writes to its error stream is kept for the
// message should it fail.
func start(s Server) (*running, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		_, _ = inRead.Close(), inWrite.Close()
		return nil, err
	}
	defer inRead.Close()
	defer outWrite.Close()
	// The shell moves the pipes to where programs expect them and becomes the
	// program.
	argv := append([]string{"/bin/sh", "-c", `exec "$@" 0<&3 1>&4 3<&- 4>&-`, "sh", s.Command}, s.Args...)
	p, err := proc.Start(context.Background(), proc.Spec{Argv: argv, Dir: s.Dir, Env: s.Env, Cap: 16 << 10,
		ExtraFiles: []*os.File{inRead, outWrite}})
	if err != nil {
		_, _ = inWrite.Close(), outRead.Close()
		return nil, fmt.Errorf("%s: %w", s.Command, err)
	}
	return &running{in: inWrite, out: outRead, p: p}, nil
}

// end closes the streams, gives the program a moment to leave by itself, kills what is
// left of its tree, and returns how it ended and the last it said. Of a program that did
// not end by itself only its words are told. One that is leaving, for it has closed its
// output, gets longer.
func (r *running) end(leaving bool) string {
	_ = r.in.Close()
	moment := 200 * time.Millisecond
	if leaving {
		moment = 2 * time.Second
	}
	itself := r.p.Wait(moment)
	if !itself {
		r.p.Kill()
	}
	_ = r.out.Close()
	text, _ := r.p.Output()
	code, signal, _ := r.p.ExitCode()
	return lastWords(text, code, signal, itself)
}
