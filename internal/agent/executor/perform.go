package executor

import (
	"context"

	"kerf/internal/agent/executor/headmove"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/ledger"
)

// RunOptions say how an action is carried out.
type RunOptions struct {
	Settings    protocol.Settings
	Turn        protocol.TurnID
	Tool        string // the name of the call, for the ledger
	Unsandboxed bool
	Show        func(string) // live output, may be nil
	Warn        func(string) // for the user, at once; may be nil
	Body        protocol.Body
	Edited      bool   // the user changed what was proposed
	Diff        string // of a change, as the user was shown it; empty if nobody was asked
	// Ask puts a question to the user while the action runs; nil has nobody to ask.
	Ask func(context.Context, protocol.Approval) turn.Reply
	// Delegate carries out an operation about sub-agents; nil has none.
	Delegate func(context.Context, tool.Delegate, protocol.Settings) (team.Result, error)
	Denied   func() // called when the sandbox seems to have refused something; may be nil
	head     *ledger.HeadMove
}

// Do carries out an action that may run.
func (h *Executor) Do(ctx context.Context, id protocol.CallID, a tool.Action, m RunOptions) turn.Outcome {
	if refused := h.o.Unrecorded.Refuse(id, a, h.record.uncertain); refused != nil {
		return *refused
	}
	switch a := a.(type) {
	case tool.Change:
		return h.change(ctx, id, a, m)
	case tool.Command:
		return headmove.Ours(h.head, func() turn.Outcome { return h.command(ctx, id, a, m) })
	case tool.WriteStdin:
		return headmove.Ours(h.head, func() turn.Outcome { return h.writeStdin(ctx, id, a, m) })
	case tool.Undo:
		return h.undo(ctx, id, a, m)
	case tool.Fetch:
		return h.o.Pages.Read(ctx, a, m.Body, h.outputs.New(), h.o.OutputTokens)
	case tool.Remote:
		return h.servers.Call(ctx, id, a)
	case tool.Delegate:
		return h.delegate(ctx, id, a, m)
	case tool.UserQuestion:
		if m.Ask != nil {
			return h.askUser(ctx, id, a, m)
		}
	}
	return turn.Outcome{Text: "nothing to do"}
}
