package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

// foreground is a program that runs as if Kerf were not there: in its process group, on
// its streams and its terminal.
type foreground struct {
	argv  []string
	dir   string
	env   []string
	files []*os.File // descriptors 3 and up
}

// run starts the program and waits for it. Signals that only Kerf gets are handed on.
func (f foreground) run(stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	path, code, err := f.program()
	if err != nil {
		return code, err
	}
	cmd := exec.Cmd{Path: path, Args: f.argv, Dir: f.dir, Env: f.env, ExtraFiles: f.files,
		Stdin: stdin, Stdout: stdout, Stderr: stderr}
	signals := make(chan os.Signal, 16)
	caught := slices.DeleteFunc(slices.Clone(handedOn), signal.Ignored)
	if len(caught) > 0 {
		signal.Notify(signals, caught...)
		defer signal.Stop(signals)
	}
	if err := cmd.Start(); err != nil {
		return codeNoStart, fmt.Errorf("%s: %w", f.argv[0], cause(err))
	}
	for _, file := range f.files {
		file.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		handOn(ctx, signals, cmd.Process)
	}()
	followStops(cmd.Process)
	err = cmd.Wait()
	cancel()
	<-done
	return exitCode(cmd.ProcessState, err)
}

// program finds the program itself, unless a launcher does that.
func (f foreground) program() (path string, code int, err error) {
	if len(f.files) > 0 {
		return f.argv[0], 0, nil
	}
	path, err = exec.LookPath(f.argv[0])
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
		return path, 0, nil
	case errors.Is(err, fs.ErrPermission):
		return "", codeNoStart, fmt.Errorf("%s: %w", f.argv[0], cause(err))
	}
	return "", codeNotFound, fmt.Errorf("%s: command not found", f.argv[0])
}

// cause is an error without the names that the message has already.
func cause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// handOn gives the program the signals that it did not get itself.
func handOn(ctx context.Context, signals <-chan os.Signal, p *os.Process) {
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-signals:
			if !fromTerminal(sig) {
				_ = p.Signal(sig) // it may have ended
			}
		}
	}
}

// exitCode is the exit code of a program as shells tell it.
func exitCode(st *os.ProcessState, err error) (int, error) {
	if st == nil {
		return CodeNotRun, err
	}
	if code, signaled := signalCode(st); signaled {
		return code, nil
	}
	return st.ExitCode(), nil
}
