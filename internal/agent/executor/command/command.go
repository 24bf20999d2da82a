// Package command runs the commands of a session: in the sandbox, in the background when
// they take long, or in a terminal of the client.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"kerf/internal/agent/executor/outputlog"
	"kerf/internal/agent/executor/usershell"
	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/sandbox/render"
)

// Options make a Runner.
type Options struct {
	// Sandbox makes the policy of a command for the given mode.
	Sandbox func(protocol.SandboxMode) boundary.Policy
	Env     func(tty bool) []string
	Shell   *usershell.Shell
	Outputs *outputlog.Store
	// OutputTokens bounds what the model is told of an output.
	OutputTokens int
	// Terminals are those of the client, nil for none.
	Terminals protocol.ClientTerminals
}

// Runner runs commands. It may be used by several goroutines.
type Runner struct {
	o     Options
	table proc.Table
	hosts hosts

	mu      sync.Mutex         // guards what follows
	running map[int]job        // by the table's number
	over    []protocol.Process // the last ones that ended, the newest first
	onEnd   func(id int)
}

// job is a command that runs in the background.
type job struct {
	line    string
	since   time.Time
	process *process
}

// New returns a runner.
func New(o Options) *Runner { return &Runner{o: o, running: map[int]job{}} }

// RunOptions say how a command is run.
type RunOptions struct {
	Call        protocol.CallID
	Settings    protocol.Settings
	Unsandboxed bool
	Show        func(string) // live output, may be nil
	// Watch, when not nil, sees what the command changes.
	Watch Watch
	// Questions are put to the user; nil has nobody to ask.
	Questions *Questions
	// Confined says that who is asked does not open the network, see [policy.Rules].
	Confined bool
}

// Watch is told about the command that it sees.
type Watch interface {
	// Socket is what the listener is handed out through.
	Socket() *os.File
	// OneRoot says that all processes have the same root directory.
	OneRoot()
	// Ignore names what the sandbox itself puts into the workspace.
	Ignore(names []string)
}

// Run runs a command until it is done, its time is up or ctx is done. With a Yield and
// no Timeout it is left running then.
func (r *Runner) Run(ctx context.Context, a tool.Command, o RunOptions) Result {
	if r.InTerminal(a, o) {
		if res, ok := r.runInTerminal(ctx, a, o.Call); ok {
			return res
		}
	}
	p, err := r.prepare(ctx, a, o)
	var unavailable *render.UnavailableError
	switch {
	case errors.As(err, &unavailable):
		return noSandbox(err)
	case err != nil:
		return NotRun("the command was not run: %v", err)
	}
	began := time.Now()
	if p.Process == nil {
		// The process outlives the call when it is left running; await ends it else.
		p.Process, err = r.table.Start(context.WithoutCancel(ctx), p.spec)
	}
	if err != nil {
		p.end()
		if p.box.Enforced() && !errors.Is(err, proc.ErrNotFound) {
			return noSandbox(err) // the launcher itself was not started
		}
		return Failed(127, "%v", err)
	}
	return r.await(ctx, p, a, began)
}

func noSandbox(why error) Result {
	return NotRun("the sandbox cannot be set up, so the command was not run: %v", why)
}

// await waits until the command is done, its time is up, or the call is stopped.
func (r *Runner) await(ctx context.Context, p *process, a tool.Command, began time.Time) Result {
	res := Result{Started: true}
	limit := a.Yield
	if a.Timeout > 0 {
		limit = a.Timeout
	}
	switch ended := p.questions.Within(ctx, p.Process, limit); {
	case ctx.Err() != nil:
		p.Kill()
		res.aborted = true
	case !ended && a.Timeout > 0:
		p.Kill()
		res.timeout = a.Timeout
	case !ended:
		id, err := r.table.Add(p.Process)
		if err != nil {
			p.Kill()
			res.Output = err.Error() + "\n"
			break
		}
		res.Running, res.session = true, id
		r.mu.Lock()
		r.running[id] = job{a.Line, began, p}
		r.mu.Unlock()
		go r.follow(id, p) // ends with the process
	}
	out := res.take(p.Process, p.out, a.MaxTokens, r.o.OutputTokens)
	res.wall = time.Since(began)
	if !res.Running {
		res.Notes, res.confined = p.end(), p.box.Enforced()
		res.Code, res.signal, res.done = p.ExitCode()
		res.denied = p.box.Broken() == "" && sandbox.Denied(out, res.Code)
		if lost := p.box.Lost(res.Code, string(out)); lost != nil {
			return noSandbox(lost)
		}
	}
	return res
}

// WriteStdin feeds or polls a process that was left running. A refusal is a *tool.Error.
func (r *Runner) WriteStdin(ctx context.Context, a tool.WriteStdin) (Result, error) {
	p, ok := r.table.Get(a.Process)
	if !ok {
		return Result{}, tool.Refuse(tool.NotFound, "no process has session ID %d; the running ones are: %s", a.Process,
			r.numbers())
	}
	began := time.Now()
	if a.Input != "" {
		if _, err := p.Write(a.Input); err != nil {
			return Result{}, tool.Refuse(tool.InvalidArguments,
				"session %d takes no input: %v. Start the command with tty true", a.Process, err)
		}
	}
	r.mu.Lock()
	j := r.running[a.Process]
	r.mu.Unlock()
	var questions *Questions
	if j.process != nil {
		questions = j.process.questions
	}
	ended := questions.Within(ctx, p, a.Yield)
	res := Result{Started: true, session: a.Process, Running: !ended}
	var log *outputlog.Log
	if j.process != nil {
		log = j.process.out
	}
	res.take(p, log, a.MaxTokens, r.o.OutputTokens)
	if ended {
		res.Notes = r.release(a.Process)
		res.Code, res.signal, res.done = p.ExitCode()
		if lost := lost(p, j.process); lost != nil {
			return noSandbox(lost), nil
		}
	}
	res.wall = time.Since(began)
	return res, nil
}

// lost is why a command that was left running never ran: its call returned before its launcher
// failed. The process has ended, and is released.
func lost(p *proc.Process, of *process) error {
	if of == nil {
		return nil
	}
	code, _, _ := p.ExitCode()
	out, _ := p.Output()
	return of.box.Lost(code, string(out))
}

// release gives up what a background process needed, and returns what has to be told.
func (r *Runner) release(id int) (notes []string) {
	r.table.Remove(id)
	r.mu.Lock()
	j := r.running[id]
	if j.process != nil {
		r.remember(id, j)
	}
	delete(r.running, id)
	r.mu.Unlock()
	if j.process != nil {
		return j.process.end()
	}
	return nil
}

// Busy reports whether a process runs in the background.
func (r *Runner) Busy() bool { return len(r.table.List()) > 0 }

// numbers lists the processes that can be fed or polled.
func (r *Runner) numbers() string {
	var ids []string
	for _, e := range r.table.List() {
		ids = append(ids, strconv.Itoa(e.ID))
	}
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

// Kill ends a background process and all it started.
func (r *Runner) Kill(id int) error {
	p, ok := r.table.Get(id)
	if !ok {
		return fmt.Errorf("no process has the number %d; the running ones are: %s", id, r.numbers())
	}
	p.Kill()
	r.release(id)
	return nil
}

// Close ends the processes that still run.
func (r *Runner) Close() {
	r.table.CloseAll()
	r.mu.Lock()
	jobs := r.running
	r.running = map[int]job{}
	r.mu.Unlock()
	for _, j := range jobs {
		j.process.end()
	}
}
