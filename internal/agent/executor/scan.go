package executor

import (
	"context"
	"fmt"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// scanned finds what changed under the roots since the last look and records it with the
// given cause. The first look only remembers.
func (r *recorder) scanned(ctx context.Context, m RunOptions, id protocol.CallID, cause string) []history.FileChange {
	f, err := r.roots.Look(ctx)
	if err != nil {
		r.uncertain(err.Error())
	}
	for _, g := range f.Gaps {
		r.uncertain(g.String())
	}
	if f.Empty() {
		return nil
	}
	co := txn.CommitOptions{Origin: r.origin(m, id), Cause: cause, Dirs: f.Dirs, Gone: f.Gone, Modes: f.Modes,
		Inexact: len(f.Gaps) > 0}
	co.Origin.Gaps, co.Origin.Note = f.Gaps, ledger.NoteOf(nil, f.Gaps)
	if cause == ledger.CauseCommand {
		co.Certainty = ledger.Unproven
	}
	return r.found(id, f.Set, co)
}

func (r *recorder) uncertain(what string) {
	r.mu.Lock()
	r.turn.inexact = append(r.turn.inexact, what)
	r.mu.Unlock()
}

// unseen notes changes that nobody saw being made.
func (r *recorder) unseen(set delta.Set) {
	r.mu.Lock()
	r.turn.doubted = append(r.turn.doubted, set.Paths()...)
	r.mu.Unlock()
}

// found enters changes that were made behind Kerf's back into the ledger.
func (r *recorder) found(id protocol.CallID, set delta.Set, co txn.CommitOptions) []history.FileChange {
	entry, err := r.o.Work.Record(context.Background(), set, co)
	if err != nil {
		r.uncertain(fmt.Sprintf("the ledger could not be written: %v", err))
		r.o.Unrecorded.Lose(set, err)
	}
	if len(set) == 0 {
		return nil
	}
	return r.landed(id, co.Cause, set, true, entry, "").records
}
