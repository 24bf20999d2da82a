package changes

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// Report is what an undo or redo did, or would do when it was a dry run. With a
// Problem nothing was written.
type Report struct {
	Redo    bool       `json:"redo"`
	DryRun  bool       `json:"dry_run"`
	What    string     `json:"what"` // what was taken back, in words
	Problem string     `json:"problem,omitempty"`
	Files   []FilePlan `json:"files"`
	// Left are changes that belong to what was named and were left alone, because
	// nobody saw who made them. With Choice.Unproven they are taken along.
	Left []Left `json:"left,omitempty"`
	Diff string `json:"diff"`
	// Warnings are for the user.
	Warnings []string  `json:"warnings,omitempty"`
	Set      delta.Set `json:"-"` // of the plan
}

// MarshalJSON writes a path that survives.
func (f FilePlan) MarshalJSON() ([]byte, error) {
	type plain FilePlan
	return json.Marshal(struct {
		Path pathname.Path `json:"path"`
		plain
		Moved pathname.Path `json:"moved,omitempty"`
	}{pathname.Path(f.Path), plain(f), pathname.Path(f.Moved)})
}

// Whole reports whether all that was named was brought back, or is as it was already.
func (r Report) Whole() bool {
	return r.Problem == "" && len(r.Left) == 0 &&
		!slices.ContainsFunc(r.Files, func(f FilePlan) bool { return f.Outcome == Missing || f.Outcome == Conflict })
}

// Report tells what a plan would do. Files that entries could not tell exactly are
// reported as missing.
func (r Reader) Report(p *Plan) (Report, error) {
	d, err := r.Diff(p)
	if err != nil {
		return Report{}, err
	}
	report := Report{Redo: p.Redo, What: p.What, Problem: p.Problem, Files: append([]FilePlan{}, p.Files...),
		Left: p.Left, Diff: string(d), Set: p.Set}
	told := setOf[string](nil)
	for _, f := range p.Files {
		told[f.Path] = true
	}
	for _, g := range p.Gaps {
		path, there := string(g.Path), p.Redo && strings.HasPrefix(g.Why, ledger.LeftThere)
		if !told[path] && !there && below(path, p.paths) {
			told[path] = true
			report.Files = append(report.Files, FilePlan{Path: path, Outcome: Missing, Note: g.Why})
		}
	}
	return report, nil
}

// UndoOptions say how an undo is done.
type UndoOptions struct {
	DryRun bool
	// Confirm is asked before anything is written; nil asks nothing.
	Confirm func(Report) (bool, error)
}

// ErrDeclined says that Confirm did not want it.
var ErrDeclined = errors.New("nothing was changed")

// Undo takes back what c names in the workspace w, or brings it back. The error is
// ErrNothing when there is nothing to take back.
func (r Reader) Undo(ctx context.Context, w *txn.Workspace, c Choice, o UndoOptions) (Report, error) {
	nothing := Report{Redo: c.Redo, DryRun: o.DryRun, Files: []FilePlan{}}
	plan, err := r.Plan(c, present.In(w.Tree, r.Base))
	if err != nil {
		return nothing, err
	}
	report, err := r.Report(plan)
	if err != nil {
		return nothing, err
	}
	report.DryRun = o.DryRun
	if o.DryRun || report.Problem != "" {
		return report, nil
	}
	if o.Confirm != nil {
		if yes, err := o.Confirm(report); err != nil {
			return report, err
		} else if !yes {
			return report, ErrDeclined
		}
	}
	verb := "undo"
	if c.Redo {
		verb = "redo"
	}
	out, err := plan.Commit(ctx, w, txn.Origin{Tool: verb, Client: "kerf " + verb})
	report.Warnings = out.Strays()
	if err == nil {
		plan.stayed(out.Entry, &report.Files)
	}
	return report, err
}
