// Package interactive runs one command in the sandbox for the user, on the user's own streams.
package interactive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/term"

	"kerf/internal/text/visible"
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/workspace"
)

// stopGrace is how long a command may take to end after the first SIGTERM.
const stopGrace = 2 * time.Second

// Command is a command that is run in the sandbox for the user, not for a model.
type Command struct {
	Argv []string
	Dir  string
	// Env makes the environment of a command with or without a terminal.
	Env func(tty bool) []string
	// Policy says what the command may reach. It gets a /tmp of its own.
	Policy boundary.Policy
	// Full says that nothing confines the command.
	Full bool
}

// The exit codes of a command that did not run.
const (
	codeNoSandbox = 125
	codeNotRun    = 126
	codeNotFound  = 127
)

// Run runs the command and returns its exit code. A sandbox that cannot be set up is
// an error with code 125, and the command does not run.
//
// On a terminal the command gets one of its own; otherwise it has the streams as
// they are. Signals reach the command. On the second one, or when it does not
// end on SIGTERM, it is killed with all that it started.
func (c Command) Run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	private, err := workspace.PrivateTmp("sandbox")
	if err != nil {
		return codeNoSandbox, err
	}
	defer os.RemoveAll(private)
	pol := c.Policy
	pol.Cwd, pol.TmpDir = c.Dir, private
	pol.Log = func(line string) { fmt.Fprintln(stderr, "kerf: "+visible.Plain(line)) }
	tty := isTTY(stdin) && isTTY(stdout)
	box, err := sandbox.Prepare(ctx, pol, tty, c.Argv)
	if err != nil {
		return codeNoSandbox, fmt.Errorf("the sandbox cannot be set up, so the command was not run: %w", err)
	}
	defer func() {
		for _, f := range box.Close() {
			fmt.Fprintf(stderr, "kerf: %s: %s\n", visible.Plain(f.Path), f.What)
		}
	}()
	if w := sandbox.Warning(ctx, pol.LockDir, pol.Roots...); w != "" && !c.Full {
		fmt.Fprintln(stderr, "kerf: warning: "+w)
	}
	spec := proc.Spec{Argv: box.Argv, Dir: c.Dir, Env: c.Env(tty), ExtraFiles: box.Files, Confined: box.Confined, Cgroup: box.Cgroup,
		Started: box.Started}
	if tty {
		return onTerminal(ctx, spec, stdin.(*os.File), stdout.(*os.File))
	}
	streams, done := filesOf(stdin, stdout, stderr)
	defer done()
	spec.Streams = streams
	code, err := attended(ctx, spec, nil)
	box.Close()
	if lost := box.Lost(code, ""); err == nil && lost != nil {
		return codeNoSandbox, lost
	}
	return code, err
}

// attended runs a command and hands on the signals that Kerf gets. join, unless it is nil, is
// called once the command runs, and what it returns when that has ended.
func attended(ctx context.Context, spec proc.Spec, join func(*proc.Process) (part func())) (int, error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	p, err := proc.Start(ctx, spec)
	if err != nil {
		if errors.Is(err, proc.ErrNotFound) {
			return codeNotFound, err
		}
		return codeNotRun, err
	}
	if join != nil {
		defer join(p)()
	}
	attend(p, signals)
	code, _, _ := p.ExitCode()
	return code, nil
}

// running is what a [proc.Process] does while it runs.
type running interface {
	Done() <-chan struct{}
	Signal(os.Signal)
	Kill()
}

// attend hands signals on until the command has ended.
func attend(p running, signals <-chan os.Signal) {
	var late <-chan time.Time
	for got := 0; ; {
		select {
		case <-p.Done():
			return
		case <-late:
			p.Kill()
		case sig := <-signals:
			if got++; got > 1 {
				p.Kill()
				continue
			}
			p.Signal(sig)
			if sig != os.Interrupt {
				late = time.After(stopGrace)
			}
		}
	}
}

// onTerminal gives the command a terminal of its own and joins it to ours.
func onTerminal(ctx context.Context, spec proc.Spec, in, out *os.File) (int, error) {
	spec.TTY = true
	spec.Size = sizeOf(out)
	spec.OnOutput = func(b []byte) { _, _ = out.Write(b) }
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return codeNoSandbox, fmt.Errorf("terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(in.Fd()), old) }()
	return attended(ctx, spec, func(p *proc.Process) (part func()) {
		resize := func() { _ = p.Resize(sizeOf(out)) }
		stop := onResize(resize)
		resize()                                      // to a size that came since the start
		go func() { _, _ = io.Copy(typist{p}, in) }() // ends with Kerf: a terminal cannot be read for a time only
		return stop
	})
}

// typist types what is written.
type typist struct{ p *proc.Process }

func (t typist) Write(keys []byte) (int, error) { return t.p.Write(string(keys)) }

func sizeOf(terminal *os.File) proc.Size {
	cols, rows, err := term.GetSize(int(terminal.Fd()))
	if err != nil {
		return proc.Size{}
	}
	return proc.Size{Rows: uint16(rows), Cols: uint16(cols)}
}

func isTTY(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// filesOf makes files of streams that are none, for callers within the program.
// done must be called at the end of the command.
func filesOf(stdin io.Reader, stdout, stderr io.Writer) (files *[3]*os.File, done func()) {
	var wg sync.WaitGroup
	var ends []*os.File
	files = new([3]*os.File)
	if f, ok := stdin.(*os.File); ok {
		files[0] = f
	} else if f, err := os.Open(os.DevNull); err == nil {
		files[0], ends = f, append(ends, f)
	}
	for i, w := range []io.Writer{stdout, stderr} {
		if f, ok := w.(*os.File); ok {
			files[i+1] = f
			continue
		}
		r, end, err := os.Pipe()
		if err != nil {
			continue // the command gets no such stream
		}
		files[i+1], ends = end, append(ends, end)
		wg.Go(func() {
			defer r.Close()
			_, _ = io.Copy(w, r)
		})
	}
	return files, func() {
		for _, f := range ends {
			f.Close()
		}
		wg.Wait()
	}
}
