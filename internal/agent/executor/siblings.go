package executor

import (
	"slices"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// rooted is an origin as the ledger has it: what a sub-agent does belongs to the turn
// of the user's session that it works for, so that the turn's diff and undo have it
// all.
func (r *recorder) rooted(session, turn, call string) (string, string, string) {
	up := r.parent
	if up == nil {
		return session, turn, call
	}
	if call != "" {
		call = r.o.Origin.Client + "/" + call
	}
	return up.rooted(up.o.Origin.Session, string(up.running()), call)
}

// shareChange tells the parent and the siblings what was changed: it is part of what the
// parent's turn changed, and an outside change to nobody. The parent notices, too, what others
// do to these files later. The entry is nil where the ledger has none.
func (r *recorder) shareChange(set delta.Set, known protocol.Certainty, entry *ledger.Entry) {
	r.noteChildren(set, nil)
	up := r.parent
	if up == nil || len(set) == 0 {
		return
	}
	for _, c := range set {
		up.roots.Note(c.Path, c.Post)
	}
	up.noteChildren(set, r)
	up.outside.Leave(set, entry)
	up.keepChange(set, known)
}

// noteChildren tells the scanners of the sub-agents, but for one, of changes.
func (r *recorder) noteChildren(set delta.Set, but *recorder) {
	r.mu.Lock()
	children := slices.Clone(r.children)
	r.mu.Unlock()
	for _, k := range children {
		if k == but {
			continue
		}
		for _, c := range set {
			k.roots.Note(c.Path, c.Post)
		}
	}
}

// join makes r known to its parent: a sub-agent works in the same tree.
func (r *recorder) join(parent *recorder) {
	r.parent = parent
	parent.mu.Lock()
	parent.children = append(parent.children, r)
	parent.mu.Unlock()
}

// leave makes r unknown to its parent.
func (r *recorder) leave() {
	if up := r.parent; up != nil {
		up.mu.Lock()
		up.children = slices.DeleteFunc(up.children, func(k *recorder) bool { return k == r })
		up.mu.Unlock()
	}
}

// begin notes the turn that runs, for the ledger entries of sub-agents.
func (r *recorder) begin(t protocol.TurnID) {
	r.mu.Lock()
	r.now = t
	r.mu.Unlock()
}

// addMerged keeps the records of a merge until an outcome tells them.
func (r *recorder) addMerged(list []history.FileChange) {
	r.mu.Lock()
	r.merged = append(r.merged, list...)
	r.mu.Unlock()
}

// running is the turn that runs.
func (r *recorder) running() protocol.TurnID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// takeMerged returns the records of merges that are not in the rollout yet.
func (r *recorder) takeMerged() []history.FileChange {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.merged
	r.merged = nil
	return list
}

// takeLater returns those of a call's own changes that were entered while it ran, and are not
// in the rollout yet.
func (r *recorder) takeLater(id protocol.CallID) (list []history.FileChange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.merged = slices.DeleteFunc(r.merged, func(c history.FileChange) bool {
		if c.Call == id {
			list = append(list, c)
		}
		return c.Call == id
	})
	return list
}
