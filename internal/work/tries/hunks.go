package tries

import (
	"slices"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes"
)

// Hunk is a part of what a try changed that can be kept by itself: an edit of a text, or
// all that became of a file.
type Hunk struct {
	Path   string
	Diff   string // a git diff
	N, Of  int    // from 1, of the file
	Op     string // what became of the file, see [delta.Change.Op]
	Single bool   // it is an edit of several that may be kept one by one
}

// Pick decides about one hunk.
type Pick func(Hunk) (keep bool, err error)

// pick asks about what is going to be kept, and makes of each file what was chosen of it.
func (p *planner) pick() error {
	for i := range p.plan.Rows {
		r := &p.plan.Rows[i]
		switch r.Outcome {
		case Kept, Merged, Settled, Conflict:
		default:
			continue
		}
		edits := editsOf(r.Change)
		var off []int
		for n := range edits {
			h := Hunk{Path: r.Path, N: n + 1, Of: len(edits), Op: r.Change.Op(), Single: len(edits) > 1}
			part := r.Change
			if h.Single {
				part.Post = without(r.Change, slices.DeleteFunc(upTo(len(edits)), func(k int) bool { return k == n }))
			}
			h.Diff = string(diff.Unified(delta.Files(delta.Set{part}, func(path string) string {
				return changes.Relative(p.t.Meta.Roots[0], path)
			})))
			keep, err := p.o.Pick(h)
			if err != nil {
				return err
			}
			if !keep {
				off = append(off, n)
			}
		}
		if err := p.without(r, off, len(edits)); err != nil {
			return err
		}
	}
	return nil
}

// editsOf are the edits of a changed text; one for everything else.
func editsOf(c delta.Change) []diff.Edit {
	text := func(img *delta.Image) bool {
		return img != nil && img.Kind == delta.File && img.Loaded && !slices.Contains(img.Data, 0)
	}
	if text(c.Pre) && text(c.Post) && c.Pre.Mode == c.Post.Mode {
		if edits := diff.Lines(c.Pre.Data, c.Post.Data); len(edits) > 0 {
			return edits
		}
	}
	return make([]diff.Edit, 1)
}

func upTo(n int) []int {
	var list []int
	for i := range n {
		list = append(list, i)
	}
	return list
}

// without is what a change of a text makes of it without some of its edits.
func without(c delta.Change, off []int) *delta.Image {
	data, err := diff.Without(c.Pre.Data, c.Post.Data, off)
	if err != nil {
		return c.Post // edits are counted by the same rule
	}
	return delta.NewFile(data, c.Post.Mode)
}

// without leaves edits of a row out.
func (p *planner) without(r *Row, off []int, of int) error {
	switch len(off) {
	case 0:
		return nil
	case of:
		p.plan.Parted = true
		r.Outcome, r.Note, r.Next = Unpicked, "", delta.Change{}
		return nil
	}
	p.plan.Parted = true
	now, err := p.now(r.Path)
	if err != nil {
		return err
	}
	part := *r
	part.Outcome, part.Note, part.Change.Post = Kept, "", without(r.Change, off)
	p.against(&part, now)
	*r = part
	return nil
}

// unpicked takes out of a plan what cannot be without something that was not chosen.
func (p *planner) unpicked() {
	for n := -1; n != p.plan.Count(Unpicked); { // what stays may be in the way of more
		n = p.plan.Count(Unpicked)
		p.inTheWay(Unpicked)
	}
}
