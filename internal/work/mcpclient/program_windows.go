package mcpclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// running is a started server program.
type running struct {
	in  io.WriteCloser
	out io.ReadCloser
	cmd *exec.Cmd
	err *bytes.Buffer
}

// start runs the program of a server.
func start(s Server) (*running, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	words := &bytes.Buffer{}
	cmd.Stderr = words
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Command, err)
	}
	return &running{in, out, cmd, words}, nil
}

// end ends the program and returns the last it said.
func (r *running) end(bool) string {
	_ = r.in.Close()
	_ = r.cmd.Process.Kill()
	err := r.cmd.Wait()
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	return lastWords(r.err.Bytes(), code, "", err == nil)
}
