package executor

import (
	"context"
	"fmt"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/scan"
	"kerf/internal/work/txn"
)

// scanned finds what changed under the roots since the last scan and records it
// with the given cause. The first scan only remembers.
func (r *recorder) scanned(ctx context.Context, m RunOptions, id protocol.CallID, cause string) []history.FileChange {
	if r.o.Scanner == nil {
		return nil
	}
	co := txn.CommitOptions{Origin: r.origin(m, id), Cause: cause}
	if cause == ledger.CauseCommand {
		co.Certainty = ledger.Unproven
	}
	set, some := r.compared(ctx, &co)
	if !some {
		return nil
	}
	return r.found(id, set, co)
}

// compared finds what changed since the last scan, and fills co with what is not a
// change of a file. It reports whether there is anything.
func (r *recorder) compared(ctx context.Context, co *txn.CommitOptions) (delta.Set, bool) {
	r.scanning.Lock()
	defer r.scanning.Unlock()
	now, err := r.o.Scanner.Snapshot(ctx)
	if err != nil {
		r.uncertain(fmt.Sprintf("the roots could not be scanned: %v", err))
		return nil, false
	}
	r.mu.Lock()
	before := r.snap
	r.snap = now
	r.mu.Unlock()
	if before == nil {
		return nil, false
	}
	set, gaps, err := r.o.Scanner.Diff(ctx, before, now)
	if err != nil {
		r.uncertain(fmt.Sprintf("the roots could not be compared: %v", err))
		return nil, false
	}
	co.Dirs, co.Gone, co.Modes = r.o.Scanner.Dirs(before, now)
	var unknown []ledger.Gap
	for _, g := range gaps {
		if g.Kind == scan.Directory {
			continue // the ledger has it among the directories
		}
		gap := ledger.Gap{Path: ledger.Path(g.Path), Why: g.Reason}
		r.uncertain(gap.String())
		unknown = append(unknown, gap)
	}
	co.Inexact, co.Origin.Gaps, co.Origin.Note = len(unknown) > 0, unknown, ledger.NoteOf(nil, unknown)
	return set, len(set)+len(co.Dirs)+len(co.Gone)+len(co.Modes) > 0
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

// note tells the scanner of a change that Kerf made itself.
func (r *recorder) note(path string, img *delta.Image) {
	if r.o.Scanner != nil {
		r.scanning.Lock()
		r.o.Scanner.Note(path, img)
		r.scanning.Unlock()
	}
}
