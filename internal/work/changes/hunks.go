package changes

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/changes/settle"
)

// PlanEdits works out how to take single edits of a call back, merged into the
// present, and changes nothing. C names the call; edits are, by absolute path, of the diff
// between the file before the call and after it. The plan is a change of its own: it marks
// nothing as undone, and is itself undone as any change is.
func (r Reader) PlanEdits(c Choice, edits map[string]diff.Part, look present.Look) (*Plan, error) {
	if c.Redo || c.Call == "" || len(edits) == 0 {
		return nil, fmt.Errorf("single edits: name the call and the edits to take back")
	}
	c.Paths = slices.Sorted(maps.Keys(edits))
	b, err := open(r.Ledger)
	if err != nil {
		return nil, err
	}
	p := &Plan{edits: true}
	if p.Entries, p.Left, err = r.choose(b, &c); err != nil {
		return nil, err
	}
	for _, e := range p.Entries {
		p.Roots = append(p.Roots, b.roots(e)...)
	}
	w := newInverter(r, b, look)
	for _, s := range p.steps(b, c) {
		w.selected[atom{s.seq, s.path}] = true
	}
	steps := joined(p.steps(b, c), false)
	for _, path := range c.Paths {
		s, err := r.without(steps, path, edits[path])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Relative(r.Base, path), err)
		}
		w.back(s)
	}
	p.only = nil
	w.result(p)
	p.What = row.Words(p.Roots)
	p.settle()
	if p.Problem == "" && len(p.Set) == 0 {
		p.Problem = "it was already taken back"
	}
	return p, nil
}

// without is the step from what the call made of path to the same without some of
// its edits, as a step to take back.
func (r Reader) without(steps []step, path string, part diff.Part) (step, error) {
	i := slices.IndexFunc(steps, func(s step) bool { return s.path == path })
	if i < 0 {
		return step{}, fmt.Errorf("this call has no change of it left to take back")
	}
	s := steps[i]
	if slices.ContainsFunc(steps[i+1:], func(o step) bool { return o.path == path }) {
		return step{}, fmt.Errorf("others changed it while the call ran; undo the whole file")
	}
	if s.pre == nil || s.post == nil || s.pre.Kind != delta.File || s.post.Kind != delta.File {
		return step{}, fmt.Errorf("the call created or deleted it; undo the whole file")
	}
	pre, err := r.load(s.pre)
	if err != nil {
		return step{}, errors.New(settle.Lost(err))
	}
	post, err := r.load(s.post)
	if err != nil {
		return step{}, errors.New(settle.Lost(err))
	}
	data, err := part.Without(pre.Data, post.Data)
	if err != nil {
		return step{}, err
	}
	s.pre, s.post, s.from, s.to, s.carried = delta.NewFile(data, post.Mode), post, "", "", false
	return s, nil
}
