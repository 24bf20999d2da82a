package executor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"kerf/internal/agent/executor/command"
	"kerf/internal/agent/executor/watch"
	"kerf/internal/agent/history"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/ledger"
	"kerf/internal/work/witness/enter"
)

// command runs a program and finds out what it changed: through the witness where there
// is one, and else by looking at the roots before and after.
func (h *Executor) command(ctx context.Context, id protocol.CallID, a tool.Command, m RunOptions) turn.Outcome {
	if st, err := os.Stat(a.Dir); err != nil || !st.IsDir() {
		return ran(id, a, command.Failed(2, "workdir %s is not a directory. Leave workdir out to run in %s", a.Dir,
			h.o.Cwd), nil)
	}
	o := command.RunOptions{Call: id, Settings: m.Settings, Unsandboxed: m.Unsandboxed, Show: m.Show,
		Questions: command.NewQuestions(ctx, m.Ask), Confined: h.o.Confined}
	var r command.Result
	var changes []history.FileChange
	if h.watches(a, o) {
		w, err := h.watched.Begin(h.record.origin(m, id), h.losing(id, a, o.Questions))
		if err != nil {
			return ran(id, a, command.NotRun("the command was not run, since what it changes cannot be recorded: %v", err), nil)
		}
		o.Watch = w
		r, changes = h.runWatched(ctx, id, a, o, w)
	} else {
		r, changes = h.runScanned(ctx, id, a, o, m)
	}
	if r.Denied() && m.Denied != nil && !m.Unsandboxed && m.Settings.Mode().Sandbox() != protocol.SandboxFull {
		m.Denied()
	}
	return ran(id, a, r, changes)
}

// watches reports whether the witness sees what a command changes.
func (h *Executor) watches(a tool.Command, o command.RunOptions) bool {
	confined := o.Settings.Mode().Command(o.Unsandboxed) != protocol.SandboxFull
	return h.watched != nil && (confined || h.o.WitnessAll) && !h.commands.InTerminal(a, o)
}

func (h *Executor) runWatched(ctx context.Context, id protocol.CallID, a tool.Command, o command.RunOptions,
	w *watch.Command) (command.Result, []history.FileChange) {
	r := h.commands.Run(ctx, a, o)
	// What happened is entered even if the call was interrupted.
	ctx = context.WithoutCancel(ctx)
	var f watch.Found
	var err error
	if r.Running {
		f, err = w.Collect(ctx)
		h.watched.Keep(r.Process(), w)
	} else {
		f, err = w.End(ctx)
	}
	h.unrecorded(&r, err)
	r.Notes = append(append(r.Notes, f.Notes...), w.Refused()...)
	last := h.record.entered(id, f)
	return r, append(h.record.takeLater(id), last...)
}

// unrecorded makes a command fail whose changes are in no ledger.
func (h *Executor) unrecorded(r *command.Result, err error) {
	if err == nil {
		return
	}
	r.Fail(fmt.Sprintf("not all that the command changed was recorded: %v", err))
	h.record.uncertain(err.Error())
}

func (h *Executor) runScanned(ctx context.Context, id protocol.CallID, a tool.Command, o command.RunOptions,
	m RunOptions) (command.Result, []history.FileChange) {
	quiet := policy.KnownSafe(a.Line) && !h.commands.InTerminal(a, o)
	var changes []history.FileChange
	if !quiet { // before the sandbox, which puts things in the place of what it protects
		cause := ledger.CauseOutside
		if h.commands.Busy() { // processes that still run
			cause = ledger.CauseCommand
		}
		changes = h.record.scanned(ctx, m, id, cause)
		if unkept := h.record.roots.Unkept(); unkept != "" && m.Warn != nil {
			m.Warn(unkept)
		}
	}
	head := enter.Head(h.o.Cwd)
	r := h.commands.Run(ctx, a, o)
	m.head = enter.Moved(head, h.o.Cwd)
	if r.Started && (!quiet || r.Running) {
		// The scan is the record of what happened; an interrupt must not cut it.
		changes = append(changes, h.record.scanned(context.WithoutCancel(ctx), m, id, ledger.CauseCommand)...)
	}
	return r, changes
}

// losing asks the user before a command destroys what cannot be brought back.
func (h *Executor) losing(id protocol.CallID, a tool.Command, ask *command.Questions) *watch.Losing {
	l := &watch.Losing{Call: id, Command: protocol.CommandApproval{Command: a.Line, Cwd: a.Dir},
		Allowed: h.o.Unrecorded.Insisted()}
	if ask != nil {
		l.Ask = func(q protocol.Approval) bool { return ask.Ask(q).Answer.Decision.Allows() }
	}
	return l
}

// ran is the outcome of a command.
func ran(id protocol.CallID, a tool.Command, r command.Result, changes []history.FileChange) turn.Outcome {
	body := protocol.Command{Call: id, Command: a.Line, Cwd: a.Dir, Output: r.Output, ExitCode: r.Exit(), Lines: r.Lines,
		Terminal: r.Terminal, NoSandbox: r.NoSandbox, Process: r.Background(),
		Changes: history.Changed(changes, ledger.CauseCommand)}
	return turn.Outcome{Text: r.Text(), Success: r.Success(), Body: body, Changes: changes, Warnings: r.Notes}
}

// writeStdin feeds or polls a process that was left running.
func (h *Executor) writeStdin(ctx context.Context, id protocol.CallID, a tool.WriteStdin, m RunOptions) turn.Outcome {
	body, _ := m.Body.(protocol.ToolCall)
	r, err := h.commands.WriteStdin(ctx, a)
	var refused *tool.Error
	if errors.As(err, &refused) {
		body.Error = tool.Fail(refused).Text()
		return turn.Outcome{Text: body.Error, Body: body}
	}
	ctx = context.WithoutCancel(ctx)
	var changes []history.FileChange
	if h.watched != nil && h.watched.Get(a.Process) != nil {
		changes = h.looked(ctx, id, a.Process, &r)
	} else {
		changes = h.record.scanned(ctx, m, id, ledger.CauseCommand)
	}
	body.Output, body.Changes = r.Text(), history.Changed(changes, ledger.CauseCommand)
	return turn.Outcome{Text: body.Output, Success: r.Success(), Body: body, Changes: changes, Warnings: r.Notes}
}

// looked enters what a process that was left running changed until now.
func (h *Executor) looked(ctx context.Context, id protocol.CallID, process int,
	r *command.Result) []history.FileChange {
	var f watch.Found
	var err error
	w := h.watched.Get(process)
	if r.Running {
		f, err = w.Collect(ctx)
	} else {
		f, err = h.watched.Take(process).End(ctx)
	}
	h.unrecorded(r, err)
	r.Notes = append(append(r.Notes, f.Notes...), w.Refused()...)
	last := h.record.entered(id, f)
	return append(h.record.takeLater(protocol.CallID(w.Call())), last...)
}
