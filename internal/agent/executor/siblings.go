package executor

import (
	"context"
	"errors"
	"slices"
	"sync"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

// family is what the hands of a session and of its sub-agents know of each other:
// they work in one tree, and what one of them does there is no outside change to the
// others.
type family struct {
	// scanning is held while the scanner is used: sub-agents note changes in it.
	scanning sync.Mutex

	famMu sync.Mutex  // guards what follows
	kin   []*Executor // of the sub-agents in the same tree
	now   protocol.TurnID
	// merged are the changes of merged work trees that no outcome has told yet.
	merged []history.FileChange
}

// leave makes h unknown to its parent.
func (h *Executor) leave() {
	if up := h.o.Above; up != nil {
		up.famMu.Lock()
		up.kin = slices.DeleteFunc(up.kin, func(k *Executor) bool { return k == h })
		up.famMu.Unlock()
	}
}

// delegate carries out an operation about sub-agents.
func (h *Executor) delegate(ctx context.Context, id protocol.CallID, a tool.Delegate, m Manner) turn.Outcome {
	body := protocol.SubAgent{Call: id, Operation: a.Operation, Prompt: a.Message}
	if m.Delegate == nil {
		return turn.Outcome{Text: "there are no sub-agents here", Body: body}
	}
	r, err := m.Delegate(ctx, a, m.Settings)
	if err != nil {
		text := err.Error()
		body.Error = text
		var refused *tool.Error
		if errors.As(err, &refused) {
			text, body.Error = Render(tool.Fail(refused)), refused.Message
		}
		return turn.Outcome{Text: text, Body: body}
	}
	body.Agents = r.Agents
	return turn.Outcome{Text: r.Text, Success: true, Body: body, Changes: h.takeMerged()}
}

// begin notes the turn that runs, for the ledger entries of sub-agents.
func (h *Executor) begin(t protocol.TurnID) {
	h.famMu.Lock()
	h.now = t
	h.famMu.Unlock()
}

// rooted is an origin as the ledger has it: what a sub-agent does belongs to the turn
// of the user's session that it works for, so that the turn's diff and undo have it
// all.
func (h *Executor) rooted(session, turn, call string) (string, string, string) {
	up := h.o.Above
	if up == nil {
		return session, turn, call
	}
	up.famMu.Lock()
	now := up.now
	up.famMu.Unlock()
	if call != "" {
		call = h.o.Origin.Client + "/" + call
	}
	return up.rooted(up.o.Origin.Session, string(now), call)
}

// shareChange tells the others of the family what h did: it is part of what the parent's
// turn changed, and an outside change to nobody.
func (h *Executor) shareChange(set delta.Set, outside bool) {
	h.noteKin(set, nil)
	up := h.o.Above
	if up == nil || len(set) == 0 {
		return
	}
	for _, c := range set {
		up.note(c.Path, c.Post)
	}
	up.noteKin(set, h)
	up.keepChange(set, outside)
}

// noteKin tells the scanners of the sub-agents, but for one, of changes.
func (h *Executor) noteKin(set delta.Set, but *Executor) {
	h.famMu.Lock()
	kin := slices.Clone(h.kin)
	h.famMu.Unlock()
	for _, k := range kin {
		if k == but {
			continue
		}
		for _, c := range set {
			k.note(c.Path, c.Post)
		}
	}
}
