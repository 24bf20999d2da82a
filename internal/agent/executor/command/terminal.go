package command

import (
	"context"
	"fmt"
	"time"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
)

// terminalOutput bounds what a client's terminal keeps of a command.
const terminalOutput = 1 << 20

// InTerminal reports whether a command is run in a terminal of the client, where the
// user watches it. Terminals confine nothing, so only what would not be confined anyway
// goes there.
func (r *Runner) InTerminal(a tool.Command, o RunOptions) bool {
	return r.o.Terminals != nil && o.Settings.Mode().Sandbox() == protocol.SandboxFull && !a.TTY
}

// runInTerminal reports false when the client starts no terminal.
func (r *Runner) runInTerminal(ctx context.Context, a tool.Command, id protocol.CallID) (Result, bool) {
	began := time.Now()
	t, err := r.o.Terminals.Start(ctx, protocol.TerminalCommand{Call: id, Argv: a.Argv, Env: r.o.Env(false), Dir: a.Dir,
		Limit: terminalOutput})
	if err != nil {
		return Result{}, false
	}
	res := Result{Started: true, done: true, Terminal: t.ID()}
	limit := ctx
	if a.Timeout > 0 {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, a.Timeout)
		defer cancel()
	}
	after := context.WithoutCancel(ctx)
	res.Code, err = t.Wait(limit)
	switch {
	case ctx.Err() != nil:
		res.aborted = true
	case err != nil && limit.Err() != nil:
		res.timeout = a.Timeout
	case err != nil:
		res.Code = 1
		res.Output = fmt.Sprintf("the terminal failed: %v\n", err)
	}
	text, cut, _ := t.Output(after)
	_ = t.Release(after)
	if cut {
		text = "[the beginning was cut]\n" + text
	}
	res.Output += text
	res.wall = time.Since(began)
	return res, true
}
