// Package single takes single edits of a change back.
package single

import (
	"context"
	"fmt"

	"kerf/internal/text/diff"
	"kerf/internal/text/diff/shown"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// File is a file of an entry of which single edits can be taken back: those that its diff
// shows, in their order.
type File struct{ Path, Diff string }

// Of are these files. A tool or a command changed each of them, neither made, removed nor
// moved it, and its call changed it in no other entry.
func Of(r changes.Reader, seq int64) ([]File, error) {
	e, err := entry(r, seq)
	if err != nil || e == nil || e.Undone || e.Session == "" || e.Call == "" ||
		e.Cause != ledger.CauseTool && e.Cause != ledger.CauseCommand {
		return nil, err
	}
	rows, err := r.Log(changes.Filter{Session: e.Session, Fits: func(o row.Entry) bool {
		return o.Turn == e.Turn && o.Call == e.Call
	}})
	if err != nil {
		return nil, err
	}
	times := map[string]int{}
	for _, o := range rows {
		for _, c := range o.Changes {
			times[string(c.Path)]++
		}
	}
	parts := map[string]string{}
	for _, f := range shown.Files(e.Diff) {
		parts[f.Name] = f.Section
	}
	var list []File
	for _, c := range e.Changes {
		part := parts[changes.Relative(r.Base, string(c.Path))]
		if c.Before != "" && c.After != "" && c.From == "" && c.To == "" && part != "" && times[string(c.Path)] == 1 {
			list = append(list, File{string(c.Path), part})
		}
	}
	return list, nil
}

// entry is an entry with its diff, nil when there is none of this number.
func entry(r changes.Reader, seq int64) (*row.Entry, error) {
	rows, err := r.Log(changes.Filter{Limit: 1, Diffs: true, Fits: func(e row.Entry) bool { return e.Seq == seq }})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// Undo takes edits of an entry back, as numbers by path, merged into the present; see
// [changes.Reader.PlanEdits]. The report and the errors are those of [changes.Reader.Undo].
func Undo(ctx context.Context, r changes.Reader, w *txn.Workspace, seq int64, edits map[string][]int,
	o changes.UndoOptions) (changes.Report, error) {
	nothing := changes.Report{DryRun: o.DryRun, Files: []changes.FilePlan{}}
	e, err := entry(r, seq)
	if err != nil {
		return nothing, err
	}
	if e == nil {
		return nothing, fmt.Errorf("the history has no change #%d", seq)
	}
	parts := map[string]diff.Part{}
	for path, list := range edits {
		parts[path] = diff.Part{Edits: list}
	}
	plan, err := r.PlanEdits(changes.Choice{Session: e.Session, Turn: e.Turn, Call: e.Call}, parts, present.In(w.Tree, r.Base))
	if err != nil {
		return nothing, err
	}
	report, err := r.Report(plan)
	if err != nil {
		return nothing, err
	}
	if report.DryRun = o.DryRun; o.DryRun || report.Problem != "" {
		return report, nil
	}
	if o.Confirm != nil {
		if yes, err := o.Confirm(report); err != nil {
			return report, err
		} else if !yes {
			return report, changes.ErrDeclined
		}
	}
	out, err := plan.Commit(ctx, w, txn.Origin{Tool: "undo", Client: "kerf undo"})
	report.Warnings = out.Strays()
	return report, err
}
