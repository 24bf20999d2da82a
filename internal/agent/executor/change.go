package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// change commits a proposed change and tells what really landed.
func (h *Executor) change(ctx context.Context, id protocol.CallID, a tool.Change, m Manner) turn.Outcome {
	r, done := h.Commit(ctx, id, a, m)
	o := turn.Outcome{Text: Render(r), Success: r.Error == nil, Changes: done.records, Saw: done.saw}
	body := protocol.FileChange{Call: id, Changes: h.pathChanges(done.set), Diff: done.diff}
	if r.Error != nil {
		body.Error = o.Text
		if len(done.set) == 0 {
			body.Changes = h.pathChanges(a.Set)
		}
	}
	o.Body = body
	return o
}

// committed is what a change came to.
type committed struct {
	set     delta.Set
	diff    string
	records []history.FileChange
	saw     []history.Sight
}

// Commit writes a change and returns the result for the model. What landed is
// recorded whether or not the whole change succeeded.
func (h *Executor) Commit(ctx context.Context, id protocol.CallID, a tool.Change, m Manner) (tool.Result, committed) {
	missed := h.missed(ctx, id, m, a.Set)
	o := txn.CommitOptions{Origin: h.origin(m, id), BestEffort: a.BestEffort, Real: a.Real}
	write := h.o.Work.Commit
	if h.viaEditor(a.Set) {
		write = h.commitViaEditor
	}
	out, err := write(ctx, a.Set, o)
	r := a.Result
	var done committed
	if len(out.Committed) > 0 || !out.Exact {
		done = h.landed(id, ledger.CauseTool, out.Committed, out.Exact, out.Entry)
	}
	done.records = append(missed, done.records...)
	if !out.Exact {
		h.mu.Lock()
		h.turn.track.Doubt(a.Set)
		h.mu.Unlock()
	}
	for _, c := range out.Committed {
		done.saw = append(done.saw, h.saw(c.Path, c.Post))
		h.note(c.Path, c.Post)
	}
	if err != nil {
		r = tool.Result{Warnings: r.Warnings, Error: h.commitRefusal(err)}
		if len(out.Committed) > 0 {
			r.Error.Message += ". Written before the error and still in place: " + strings.Join(out.Committed.Paths(), ", ")
		}
		var stale *txn.MismatchError
		if errors.As(err, &stale) {
			h.forget(stale.Path)
		}
		return r, done
	}
	h.fillStates(&r, a, out)
	r.Success = r.Error == nil
	return r, done
}

// fillStates adds the new versions to the states the tool prepared, and reports
// the files of a best-effort change that were left alone.
func (h *Executor) fillStates(r *tool.Result, a tool.Change, out txn.Outcome) {
	for name, st := range r.UpdatedStates {
		abs, err := h.o.Tree.Resolve(name)
		if err != nil {
			delete(r.UpdatedStates, name)
			continue
		}
		c, ok := lastChange(out.Committed, abs, h.real(abs))
		switch {
		case !ok:
			delete(r.UpdatedStates, name)
			continue
		case c.Post == nil:
			st.Deleted = true
		default:
			stamp := h.stamp(abs, c.Post)
			st.NewVersion, st.NewHash = stamp.Version, stamp.ContentHash
		}
		r.UpdatedStates[name] = st
	}
	failures := a.Failures
	for _, f := range out.Failed {
		failures = append(failures, tool.Failure{Path: f.Path, Err: h.commitRefusal(f.Err)})
	}
	if len(failures) == 0 {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d files were left as they are:", len(failures))
	for _, f := range failures {
		fmt.Fprintf(&b, "\n%s: %s", f.Path, f.Err.Message)
	}
	r.Error = &tool.Error{Code: failures[0].Err.Code, Message: b.String()}
}

func lastChange(set delta.Set, path, real string) (delta.Change, bool) {
	for i := len(set) - 1; i >= 0; i-- {
		if set[i].Path == path || set[i].Path == real {
			return set[i], true
		}
	}
	return delta.Change{}, false
}

// commitRefusal tells the model why a commit did not happen.
func (h *Executor) commitRefusal(err error) *tool.Error {
	var stale *txn.MismatchError
	if errors.As(err, &stale) {
		return tool.Refuse(tool.VersionMismatch, "%s changed at the very moment of writing; nothing was written to it. Re-read it with read_file and make the change again", stale.Path)
	}
	var refused *tool.Error
	if errors.As(refusal("", err), &refused) {
		return refused
	}
	return tool.Refuse(tool.WriteFailed, "%v", err)
}

// forget drops what the model believes of a file that moved under it.
func (h *Executor) forget(path string) {
	h.view.Drop(h.real(path))
}

// origin is the ledger entry's answer to "who".
func (h *Executor) origin(m Manner, id protocol.CallID) txn.Origin {
	o := h.o.Origin
	o.Tool = m.Tool
	o.Session, o.Turn, o.Call = h.rooted(o.Session, string(m.Turn), string(id))
	return o
}

// landed records a committed set: one file_change and one diff a path, the
// turn's log, and the combined diff for show.
func (h *Executor) landed(id protocol.CallID, cause string, set delta.Set, exact bool, entry *ledger.Entry) committed {
	done := committed{set: set, diff: h.unified(set)}
	for _, c := range set {
		rec := history.FileChange{Call: id, Path: c.Path, Operation: c.Op(), Cause: cause, Exact: exact,
			MovedFrom: c.From, MovedTo: c.To, Steers: h.steers(c)}
		if c.Pre != nil {
			rec.Before, rec.ModeFrom = c.Pre.Sum.String(), c.Pre.Mode
		}
		if c.Post != nil {
			rec.After, rec.ModeTo = c.Post.Sum.String(), c.Post.Mode
		}
		if entry != nil {
			rec.Entry = entry.Seq
		}
		alone := c
		alone.From, alone.To = "", ""
		rec.DiffPath = h.saveDiff(h.unified(delta.Set{alone}))
		done.records = append(done.records, rec)
	}
	h.keepChange(set, cause == ledger.CauseOutside)
	h.shareChange(set, cause == ledger.CauseOutside)
	return done
}

// keepChange adds a set to what the running turn changed.
func (h *Executor) keepChange(set delta.Set, outside bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn.track.Add(set, outside)
	if outside {
		h.turn.outside = append(h.turn.outside, set)
	} else {
		h.turn.ours = append(h.turn.ours, set)
	}
}

func (h *Executor) saveDiff(d string) string {
	if h.o.SaveDiff == nil {
		return ""
	}
	name, err := h.o.SaveDiff([]byte(d))
	if err != nil {
		return ""
	}
	return name
}

// unified is the git-style diff of a set. Images whose bytes are not at hand are
// fetched.
func (h *Executor) unified(set delta.Set) string {
	loaded := make(delta.Set, len(set))
	for i, c := range set {
		c.Pre, c.Post = h.load(c.Pre), h.load(c.Post)
		loaded[i] = c
	}
	return string(diff.Unified(delta.Files(loaded, h.relative)))
}

func (h *Executor) load(img *delta.Image) *delta.Image {
	if img == nil || img.Loaded {
		return img
	}
	data, err := h.o.Images(img.Sum)
	if err != nil {
		return img
	}
	full := *img
	full.Data, full.Loaded = data, true
	return &full
}

// turnDiff is the net change since it was last called, or nil if there was none.
func (h *Executor) turnDiff(ctx context.Context) *protocol.TurnDiff {
	h.mu.Lock()
	log := h.turn
	h.turn = turnLog{}
	h.mu.Unlock()
	t := &log.track
	t.Look = func(path string) (*delta.Image, error) { return h.o.Tree.ReadEntry(path, readLimit) }
	t.Load = func(img *delta.Image) (*delta.Image, error) {
		if img = h.load(img); !img.Loaded {
			return nil, delta.ErrNotLoaded
		}
		return img, nil
	}
	net := t.Net()
	h.healed(net.Healed)
	log.inexact = append(log.inexact, net.Uncertain...)
	if len(net.Ours) == 0 && len(net.Before)+len(net.After) == 0 && len(log.inexact) == 0 {
		return nil
	}
	d := &protocol.TurnDiff{Exact: len(log.inexact) == 0, Files: len(net.Ours)}
	if len(net.Ours) > 0 {
		d.Diff = h.unified(net.Ours)
	}
	for _, part := range []delta.Set{net.Before, net.After} {
		if len(part) > 0 {
			d.Outside += h.unified(part)
		}
	}
	if len(net.Entangled) > 0 {
		d.Note = "changes from outside stand in the same places: " + strings.Join(net.Entangled, ", ")
	}
	if !d.Exact {
		d.Note = "not certain: " + strings.Join(log.inexact, ", ")
	}
	return d
}
