package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kerf/internal/agent/executor/files"
	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/amend"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// change commits a proposed change and tells what really landed.
func (h *Executor) change(ctx context.Context, id protocol.CallID, a tool.Change, m RunOptions) turn.Outcome {
	r, done := h.Commit(ctx, id, a, m)
	o := turn.Outcome{Text: r.Text(), Success: r.Error == nil, Changes: done.records, Observed: done.saw,
		Warnings: done.strays}
	body := protocol.FileChange{Call: id, Changes: h.files.Committed(done.set, done.records), Diff: done.diff}
	if r.Error != nil {
		body.Error = o.Text
		if len(done.set) == 0 {
			body.Changes = h.files.PathChanges(a.Set)
		}
	}
	o.Body = h.withTexts(body, done.set)
	return o
}

// withTexts adds the whole texts where the client shows them.
func (h *Executor) withTexts(b protocol.FileChange, set delta.Set) protocol.FileChange {
	if h.o.Client != nil && h.o.Client.Texts {
		b.Files = amend.FileTexts(h.files.Loaded(set))
	}
	return b
}

// committed is what a change came to.
type committed struct {
	set     delta.Set
	diff    string
	records []history.FileChange
	saw     []history.Observation
	counts  protocol.Certainty // how the set counts in a turn's diff
	strays  []string           // temporary files that are left, in words
}

// strayCode is the code of the warnings about strays.
const strayCode = "TEMPORARY_FILE_LEFT"

// Commit writes a change and returns the result for the model. What landed is recorded even if not all of it did.
func (h *Executor) Commit(ctx context.Context, id protocol.CallID, a tool.Change,
	m RunOptions) (tool.Result, committed) {
	if h.watched != nil {
		h.watched.Collect() // what commands that run on did before is entered before
	}
	all := slices.Concat(a.Set, h.o.Work.OtherNames(a.Set)) // other names of its files change with it
	missed := h.record.missed(ctx, id, m, all)
	o := txn.CommitOptions{Origin: h.record.origin(m, id), BestEffort: a.BestEffort, Real: a.Real}
	write := h.o.Work.Commit
	if h.files.InEditor(a.Set) {
		write = h.files.CommitInEditor
	}
	shown := h.files.Beside(a.Set, m.Diff)
	out, err := write(ctx, a.Set, o)
	r, done := a.Result, committed{strays: out.Strays()}
	strays := tool.Warn(strayCode, done.strays)
	r.Warnings = append(r.Warnings, strays...)
	if len(out.Committed) > 0 || !out.Exact {
		done = h.record.landed(id, ledger.CauseTool, out.Committed, out.Exact, out.Entry,
			files.DiffOf(out.Committed, a.Set, shown()))
	}
	done.records, done.strays = append(missed, done.records...), out.Strays()
	if !out.Exact {
		h.record.doubt(all)
	}
	for _, c := range out.Committed {
		done.saw = append(done.saw, h.files.Observe(c.Path, c.Post))
		h.record.roots.Note(c.Path, c.Post)
	}
	if err != nil {
		r = tool.Result{Warnings: strays, Error: h.commitRefusal(err)} // the others are about what was to be changed
		if len(out.Committed) > 0 {
			r.Error.Message += ". Written before the error and still in place: " + strings.Join(out.Committed.Paths(), ", ")
		}
		var stale *txn.MismatchError
		if errors.As(err, &stale) {
			h.files.Forget(stale.Path)
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
		c, ok := files.LastChange(out.Committed, abs, h.files.Real(abs))
		switch {
		case !ok:
			delete(r.UpdatedStates, name)
			continue
		case c.Post == nil:
			st.Deleted = true
		default:
			stamp := h.files.Stamp(abs, c.Post)
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

// commitRefusal tells the model why a commit did not happen.
func (h *Executor) commitRefusal(err error) *tool.Error {
	var stale *txn.MismatchError
	if errors.As(err, &stale) {
		return tool.Refuse(tool.VersionMismatch, "%s changed at the very moment of writing; nothing was written to it. "+
			"Re-read it with read_file and make the change again", stale.Path)
	}
	var refused *tool.Error
	if errors.As(files.Refusal("", err), &refused) {
		return refused
	}
	return tool.Refuse(tool.WriteFailed, "%v", err)
}
