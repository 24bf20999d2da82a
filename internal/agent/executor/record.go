package executor

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"kerf/internal/agent/executor/compared"
	"kerf/internal/agent/executor/files"
	"kerf/internal/agent/executor/outside"
	"kerf/internal/agent/executor/watch"
	"kerf/internal/agent/history"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// recorder enters what changed into the ledger and into what the running turn changed:
// what Kerf wrote, and what it found. It may be used by several goroutines.
type recorder struct {
	o       Options
	files   *files.Files
	parent  *recorder // of the session whose sub-agent this one is, in the same tree
	collect func()    // enters what watched commands that run on did until now

	outside outside.Files
	roots   compared.Roots

	mu       sync.Mutex // guards what follows
	turn     turnLog
	children []*recorder // of the sub-agents in the same tree
	now      protocol.TurnID
	merged   []history.FileChange // of merged work trees, that no outcome has told yet
}

// missed records what others did to the files of set since the last scan, before
// the commit of set hides it.
func (r *recorder) missed(ctx context.Context, id protocol.CallID, m RunOptions, set delta.Set) []history.FileChange {
	if r.o.Work == nil {
		return nil
	}
	var found delta.Set
	seen := map[string]bool{}
	for _, c := range set {
		path := c.Path
		if c.Pre == nil || c.Pre.Kind == delta.File {
			path = r.files.Real(path)
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		if left, known := r.outside.Left(path); known && !left.Same(c.Pre) {
			if now, err := r.o.Tree.ReadEntry(path, files.ReadLimit); err != nil || !now.Same(c.Pre) {
				continue // the commit is going to refuse it: a command that runs on wrote it since
			}
		}
		change, ok, err := r.strayed(ctx, path, c.Pre)
		switch {
		case err != nil:
			r.uncertain(fmt.Sprintf("%s (%v)", path, err))
		case ok:
			found = append(found, change)
			r.roots.Note(path, c.Pre)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return r.found(id, found, txn.CommitOptions{Origin: r.origin(m, id), Cause: ledger.CauseOutside})
}

// strayed tells how a path went from its last known state to now, by another hand.
func (r *recorder) strayed(ctx context.Context, path string, now *delta.Image) (delta.Change, bool, error) {
	if change, ok, err := r.outside.Change(path, now); ok || err != nil {
		return change, ok, err
	}
	return r.roots.Missed(ctx, path, now)
}

// strays records what others did in this turn to the files that it changed.
func (r *recorder) strays() {
	if r.o.Witness == nil || r.parent != nil {
		return
	}
	r.mu.Lock()
	var paths []string
	for _, set := range r.turn.ours {
		paths = append(paths, set.Paths()...)
	}
	r.mu.Unlock()
	set, err := r.outside.Changes(paths, func(p string) (*delta.Image, error) {
		return r.o.Tree.ReadEntry(p, files.ReadLimit)
	}, r.collectAll)
	if err != nil {
		r.uncertain(err.Error())
	}
	if len(set) > 0 {
		o := txn.CommitOptions{Origin: r.origin(RunOptions{Turn: r.running()}, ""), Cause: ledger.CauseOutside}
		r.addMerged(r.found("", set, o))
	}
}

// collectAll is collect for the session and its sub-agents.
func (r *recorder) collectAll() {
	r.collect()
	r.mu.Lock()
	children := slices.Clone(r.children)
	r.mu.Unlock()
	for _, k := range children {
		k.collectAll()
	}
}

// healed records what was found where a commit may have landed unseen.
func (r *recorder) healed(set delta.Set) {
	if len(set) == 0 {
		return
	}
	for _, c := range set {
		r.roots.Note(c.Path, c.Post)
	}
	if _, err := r.o.Work.Record(context.Background(), set,
		txn.CommitOptions{Origin: r.o.Origin, Cause: ledger.CauseTool}); err != nil {
		r.uncertain(fmt.Sprintf("the ledger could not be written: %v", err))
		r.o.Unrecorded.Lose(set, err)
	}
}

// origin is the ledger entry's answer to "who".
func (r *recorder) origin(m RunOptions, id protocol.CallID) txn.Origin {
	o := r.o.Origin
	o.Tool, o.Edited, o.Head = m.Tool, m.Edited, m.head
	o.Session, o.Turn, o.Call = r.rooted(o.Session, string(m.Turn), string(id))
	return o
}

// landed records a committed set as part of the running turn, too.
func (r *recorder) landed(id protocol.CallID, cause string, set delta.Set, exact bool, entry *ledger.Entry,
	diff string) committed {
	done := r.wrote(id, cause, set, exact, entry, diff)
	r.keepChange(set, done.counts)
	return done
}

// wrote records a committed set: one file_change and one diff a path, and the combined
// diff for show, which is that of the set where it is known, or empty.
func (r *recorder) wrote(id protocol.CallID, cause string, set delta.Set, exact bool, entry *ledger.Entry,
	diff string) committed {
	if diff == "" {
		diff = r.files.Unified(set)
	}
	known := files.CertaintyOf(cause, entry)
	done := committed{set: set, diff: diff}
	for _, c := range set {
		rec := history.FileChange{Call: id, Path: pathname.Path(c.Path), Operation: c.Op(), Cause: cause,
			Certainty: known, Exact: exact && known == protocol.Proven,
			MovedFrom: pathname.Path(c.From), MovedTo: pathname.Path(c.To), ControlFile: r.files.IsControl(c)}
		if c.Pre != nil {
			rec.Before, rec.ModeFrom = c.Pre.Sum.String(), c.Pre.Mode
		}
		if c.Post != nil {
			rec.After, rec.ModeTo = c.Post.Sum.String(), c.Post.Mode
		}
		if entry != nil {
			rec.Entry = entry.Seq
		}
		if len(set) > 1 {
			diff = r.files.Unified(delta.Set{c})
		}
		rec.DiffPath = r.saveDiff(diff)
		done.records = append(done.records, rec)
	}
	set = r.files.Light(set)
	r.outside.Leave(set, entry)
	if known == protocol.Unproven {
		r.unseen(set)
	}
	share := known
	if known == protocol.Unproven && entry != nil && entry.Of > 0 {
		share = protocol.Outside // the command was watched, and not seen doing this
	}
	r.shareChange(set, share, entry)
	done.counts = share
	return done
}

func (r *recorder) saveDiff(d string) string {
	if r.o.SaveDiff == nil {
		return ""
	}
	name, err := r.o.SaveDiff([]byte(d))
	if err != nil {
		return ""
	}
	return name
}

// entered takes in what the witness entered into the ledger of a command.
func (r *recorder) entered(id protocol.CallID, f watch.Found) []history.FileChange {
	for _, n := range f.Notes {
		r.uncertain(n)
	}
	var list []history.FileChange
	for _, e := range f.Entries {
		if len(e.Set) == 0 {
			continue
		}
		for _, c := range e.Set {
			r.roots.Note(c.Path, c.Post)
		}
		list = append(list, r.landed(id, e.Entry.Cause, e.Set, e.Entry.Known() == ledger.Proven, e.Entry, "").records...)
	}
	return list
}

// later takes in what a command changed after its call returned.
func (r *recorder) later(o txn.Origin, f watch.Found) {
	r.addMerged(r.entered(protocol.CallID(o.Call), f))
}
