package executor

import (
	"context"
	"errors"
	"os"

	"kerf/internal/agent/executor/command"
	"kerf/internal/agent/history"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/ledger"
)

// command runs a program and finds out what it changed.
func (h *Executor) command(ctx context.Context, id protocol.CallID, a tool.Command, m RunOptions) turn.Outcome {
	if st, err := os.Stat(a.Dir); err != nil || !st.IsDir() {
		return ran(id, a, command.Failed(2, "workdir %s is not a directory. Leave workdir out to run in %s", a.Dir,
			h.o.Cwd), nil)
	}
	o := command.RunOptions{Call: id, Settings: m.Settings, Unsandboxed: m.Unsandboxed, Show: m.Show, Ask: m.Ask}
	quiet := policy.KnownSafe(a.Line) && !h.commands.InTerminal(a, o)
	var changes []history.FileChange
	if !quiet { // before the sandbox, which puts things in the place of what it protects
		changes = h.record.scanned(ctx, m, id, h.strayCause())
	}
	r := h.commands.Run(ctx, a, o)
	if r.Started && (!quiet || r.Running) {
		// The scan is the record of what happened; an interrupt must not cut it.
		changes = append(changes, h.record.scanned(context.WithoutCancel(ctx), m, id, ledger.CauseCommand)...)
	}
	if r.Denied() && m.Denied != nil && !m.Unsandboxed && m.Settings.Sandbox != protocol.SandboxFull {
		m.Denied()
	}
	return ran(id, a, r, changes)
}

// ran is the outcome of a command.
func ran(id protocol.CallID, a tool.Command, r command.Result, changes []history.FileChange) turn.Outcome {
	body := protocol.Command{Call: id, Command: a.Line, Cwd: a.Dir, Output: r.Output, ExitCode: r.Exit(),
		Terminal: r.Terminal}
	return turn.Outcome{Text: r.Text(), Success: r.Success(), Body: body, Changes: changes, Warnings: r.Notes}
}

// writeStdin feeds or polls a process that was left running.
func (h *Executor) writeStdin(ctx context.Context, id protocol.CallID, a tool.WriteStdin, m RunOptions) turn.Outcome {
	body, _ := m.Body.(protocol.ToolCall)
	r, err := h.commands.WriteStdin(ctx, a)
	var refused *tool.Error
	if errors.As(err, &refused) {
		body.Error = Render(tool.Fail(refused))
		return turn.Outcome{Text: body.Error, Body: body}
	}
	body.Output = r.Text()
	changes := h.record.scanned(context.WithoutCancel(ctx), m, id, ledger.CauseCommand)
	return turn.Outcome{Text: body.Output, Success: r.Success(), Body: body, Changes: changes, Warnings: r.Notes}
}

// strayCause is what changes found before a command are laid to: processes that
// still run, or somebody else.
func (h *Executor) strayCause() string {
	if h.commands.Busy() {
		return ledger.CauseCommand
	}
	return ledger.CauseOutside
}
