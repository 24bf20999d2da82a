package apply

import (
	"encoding/json"
	"slices"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/text/order"
	"kerf/internal/work/changes"
)

// The outcomes of a file.
const (
	Exact    = "exact"    // the change fits the file as it is
	Merged   = "merged"   // it was merged with other changes of the file
	Conflict = "conflict" // both changed the same place
	Failed   = "failed"   // it does not fit
)

// FileOutcome is what became of one file. Paths are relative where they can be.
type FileOutcome struct {
	Path      string `json:"path"`
	From      string `json:"from,omitempty"`
	Outcome   string `json:"outcome"`
	Operation string `json:"operation,omitempty"`
	Message   string `json:"message,omitempty"`
}

// MarshalJSON writes paths that survive.
func (f FileOutcome) MarshalJSON() ([]byte, error) {
	type plain FileOutcome
	return json.Marshal(struct {
		Path pathname.Path `json:"path"`
		From pathname.Path `json:"from,omitempty"`
		plain
	}{pathname.Path(f.Path), pathname.Path(f.From), plain(f)})
}

// Report tells what became of each file of a patch.
type Report struct {
	Applied bool          `json:"applied"`
	DryRun  bool          `json:"dry_run"`
	Files   []FileOutcome `json:"files"`
	Error   string        `json:"error,omitempty"`
}

// NewReport makes the report of a result and its error, sorted by path; paths are shown
// relative to cwd.
func NewReport(cwd string, r Result, dry bool, err error) Report {
	rep := Report{DryRun: dry, Applied: err == nil && !dry, Files: []FileOutcome{}}
	if err != nil {
		rep.Error = err.Error()
	}
	for _, f := range r.Failed {
		o := FileOutcome{Path: f.Path, Outcome: Failed, Message: f.Err.Error()}
		if f.Err.Conflict {
			o.Outcome = Conflict
		}
		rep.Files = append(rep.Files, o)
	}
	arrived := map[string]bool{}
	for _, c := range r.Changed {
		if c.From != "" {
			arrived[c.From] = true
		}
	}
	for _, c := range r.Changed {
		if c.Post == nil && c.To != "" && arrived[c.Path] {
			continue // told with where it went
		}
		o := FileOutcome{Path: changes.Relative(cwd, c.Path), Outcome: Exact, Operation: c.Op()}
		if c.From != "" {
			o.From = changes.Relative(cwd, c.From)
			o.Operation = "moved"
			if !slices.ContainsFunc(r.Changed, func(d delta.Change) bool {
				return d.Path == c.From && (d.Post == nil || d.To == c.Path)
			}) {
				o.Operation = "copied"
			}
		}
		if r.Merged[c.Path] {
			o.Outcome = Merged
		}
		rep.Files = append(rep.Files, o)
	}
	order.Stably(rep.Files, func(a, b FileOutcome) int { return strings.Compare(a.Path, b.Path) })
	return rep
}
