package worker

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"kerf/fleet/git"
	"kerf/fleet/task"
)

// checkOutput bounds what is kept of the output of a check, in bytes: its end.
const checkOutput = 8 << 10

// Verify is [flow.Activities]. Checks run in the sandbox of the task.
func (w *Worker) Verify(ctx context.Context, t task.Task, p task.Place) (all []task.CheckResult, err error) {
	ctx, done, err := w.work(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	defer func() { done(err) }()
	defer w.alive(ctx, nothing)()
	f := w.files(t.ID)
	for _, command := range t.Checks {
		tree, err := f.snapshot(ctx)
		if err != nil {
			return nil, err
		}
		r, err := w.check(ctx, f, t, command)
		if err != nil {
			return nil, err
		}
		r.Tree = tree
		all = append(all, r)
	}
	return all, nil
}

// unableCode is the exit code of kerf sandbox when the sandbox could not be set up.
const unableCode = 125

func (w *Worker) check(ctx context.Context, f files, t task.Task, command string) (task.CheckResult, error) {
	args := append(w.overrides(f, false), "sandbox", "-s", "workspace-write", "--", "bash", "-c", command)
	cmd := exec.CommandContext(ctx, w.Kerf, args...)
	cmd.Dir, cmd.Env = f.tree, append(git.Env(), "KERF_HOME="+f.home)
	own(cmd)
	cmd.Cancel = func() error { killGroup(cmd); return nil }
	cmd.WaitDelay = 10 * time.Second
	said := &end{limit: checkOutput}
	cmd.Stdout, cmd.Stderr = said, said
	began := time.Now()
	err := cmd.Run()
	r := task.CheckResult{Command: command, Took: time.Since(began).Round(time.Millisecond), Output: said.String()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case err == nil:
		return r, nil
	case errors.As(err, &exit) && exit.ExitCode() != unableCode:
		r.Exit = exit.ExitCode()
		return r, nil
	}
	return r, errors.New("the check could not run: " + err.Error() + ": " + r.Output)
}

// end keeps the end of what is written to it.
type end struct {
	limit int
	b     bytes.Buffer
}

func (e *end) Write(p []byte) (int, error) {
	e.b.Write(p)
	if over := e.b.Len() - 2*e.limit; over > 0 {
		e.b.Next(over + e.limit)
	}
	return len(p), nil
}

func (e *end) String() string {
	data := e.b.Bytes()
	if len(data) > e.limit {
		data = data[len(data)-e.limit:]
	}
	return strings.ToValidUTF8(string(data), "?")
}
