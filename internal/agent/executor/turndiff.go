package executor

import (
	"context"
	"slices"
	"strings"

	"kerf/internal/agent/executor/files"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/track"
)

// keepChange adds a set to what the running turn changed.
func (r *recorder) keepChange(set delta.Set, known protocol.Certainty) {
	set = r.files.Light(set)
	r.mu.Lock()
	defer r.mu.Unlock()
	outside := known == protocol.Outside
	if known == protocol.Unproven {
		r.turn.unproven.Add(set)
	}
	r.turn.track.Add(set, outside)
	if outside {
		r.turn.outside = append(r.turn.outside, set)
	} else {
		r.turn.ours = append(r.turn.ours, set)
	}
}

// doubt notes that a set may have landed in part.
func (r *recorder) doubt(set delta.Set) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn.track.Doubt(set)
}

// turnDiff is the net change since it was last called, or nil if there was none.
func (r *recorder) turnDiff(ctx context.Context) *protocol.TurnDiff {
	r.mu.Lock()
	log := r.turn
	r.turn = turnLog{}
	r.mu.Unlock()
	t := &log.track
	t.Look = func(path string) (*delta.Image, error) { return r.o.Tree.ReadEntry(path, files.ReadLimit) }
	t.Load = r.files.Whole
	net := t.Net()
	r.healed(net.Healed)
	log.inexact = append(log.inexact, net.Uncertain...)
	if len(net.Ours) == 0 && len(net.Before)+len(net.After) == 0 && len(log.inexact) == 0 {
		return nil
	}
	d := &protocol.TurnDiff{Exact: len(log.inexact)+len(log.doubted) == 0, Files: len(net.Ours), NotCovered: log.inexact}
	for _, p := range slices.Compact(slices.Sorted(slices.Values(log.doubted))) {
		d.NotCovered = append(d.NotCovered, p+" (nobody saw who changed it; kerf undo --unproven takes that back, too)")
	}
	if len(net.Ours) > 0 {
		d.Diff = r.files.Unified(net.Ours)
	}
	d.Unproven = log.unproven.In(net.Ours)
	for _, part := range []delta.Set{net.Before, net.After} {
		if len(part) > 0 {
			d.Outside += r.files.Unified(part)
		}
	}
	if !d.Exact {
		d.Note = "not certain: " + strings.Join(d.NotCovered, ", ")
	} else if len(net.Entangled) > 0 {
		d.Exact = false
		d.Note = "others changed these, too, which cannot be told apart: " + strings.Join(net.Entangled, ", ")
	}
	return d
}

// markTurn notes in the ledger that a turn ended without a change, so that it, and not the one before it, is the last.
func (r *recorder) markTurn(t protocol.TurnID) {
	r.mu.Lock()
	changed := len(r.turn.ours) > 0
	r.mu.Unlock()
	if changed || r.o.Work == nil || r.parent != nil {
		return
	}
	o := r.origin(RunOptions{Turn: t}, "")
	e := &ledger.Entry{Session: o.Session, Turn: o.Turn, Client: o.Client, Cause: ledger.CauseNone, Exact: true,
		Changes: []ledger.Change{}}
	_ = r.o.Work.Ledger.Append(e) // without it `kerf diff` shows the turn before
}

// turnLog is what the running turn changed.
type turnLog struct {
	ours, outside []delta.Set
	track         track.Tracker // all of it, in its order
	inexact       []string
	doubted       []string // paths of changes that nobody saw being made
	unproven      files.Doubts
}
