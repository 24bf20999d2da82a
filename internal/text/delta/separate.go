package delta

import (
	"slices"

	"kerf/internal/text/charset"
	"kerf/internal/text/merge"
)

// Step is one set with whose doing it was.
type Step struct {
	Set     Set
	Outside bool // neither tools nor commands of the session
}

// Parts are the net changes of steps, told apart by whose they are. Before, Ours
// and After, made one after the other, lead from the state before the steps to the
// one after them: what others did to a file before us, and as far as it can be told
// from our text also what they did meanwhile, is in Before, what they did last is in
// After.
type Parts struct {
	Before, Ours, After Set
	// Entangled are the paths where we changed what others did and that are no text, or whose
	// contents are not known, so that Ours has their changes too.
	Entangled []string
}

// Separate works out the parts of steps. Where a step finds something else in a path than the
// step before left there, others changed it between the two, and nobody told. Load gives images
// their bytes; it is asked only where both sides changed one file, and an error of it entangles
// that path.
func Separate(steps []Step, load func(*Image) (*Image, error)) Parts {
	steps = whole(steps)
	var ours, theirs []Set
	who := map[string]int{} // bit 1: ours, bit 2: theirs
	for _, s := range steps {
		bit := 1
		if s.Outside {
			theirs, bit = append(theirs, s.Set), 2
		} else {
			ours = append(ours, s.Set)
		}
		for _, c := range s.Set {
			who[c.Path] |= bit
		}
	}
	p := Parts{Ours: Fold(ours...), Before: Fold(theirs...)}
	mixed := make([]string, 0, 4)
	for path, bits := range who {
		if bits == 3 {
			mixed = append(mixed, path)
		}
	}
	if len(mixed) == 0 {
		return p
	}
	slices.Sort(mixed)
	for _, path := range mixed {
		p.split(path, chain(steps, path), load)
	}
	p.Before, p.Ours, p.After = Fold(p.Before), p.settled(), Fold(p.After)
	return p
}

// whole is steps with what was changed between them.
func whole(steps []Step) []Step {
	left := map[string]*Image{}
	var all []Step
	for _, s := range steps {
		var between Set
		for _, c := range s.Set {
			if was, known := left[c.Path]; known && !was.Same(c.Pre) {
				between = append(between, Change{Path: c.Path, Pre: was, Post: c.Pre})
			}
			left[c.Path] = c.Post
		}
		if len(between) > 0 {
			all = append(all, Step{Set: between, Outside: true})
		}
		all = append(all, s)
	}
	return all
}

// link is one change of a path in a chain.
type link struct {
	Change
	outside bool
}

// chain returns the changes of a path in their order.
func chain(steps []Step, path string) []link {
	var all []link
	for _, s := range steps {
		for _, c := range s.Set {
			if c.Path == path {
				all = append(all, link{c, s.Outside})
			}
		}
	}
	return all
}

// split tells apart the changes of a path that both sides changed.
func (p *Parts) split(path string, all []link, load func(*Image) (*Image, error)) {
	first, last := 0, len(all)-1
	for all[first].outside {
		first++
	}
	for all[last].outside {
		last--
	}
	base, start, end, final := all[0].Pre, all[first].Pre, all[last].Post, all[len(all)-1].Post
	theirs := start
	for _, l := range all[first:last] {
		if !l.outside {
			continue
		}
		next, err := rebased(l.Change, theirs, load)
		if err != nil {
			theirs = start
			p.Entangled = append(p.Entangled, path)
			break
		}
		theirs = next
	}
	p.Before.set(path, base, theirs)
	p.Ours.set(path, theirs, end)
	p.After.set(path, end, final)
}

// rebased makes the effect of c on now, line by line: where c changed lines that are not in
// now, it has what c made of them.
func rebased(c Change, now *Image, load func(*Image) (*Image, error)) (*Image, error) {
	made, err := Rebase(c, now)
	if err == nil {
		return made.Post, nil
	}
	if !c.Pre.isFile() || !c.Post.isFile() {
		return c.Post, nil // nothing of us is in what they made of it
	}
	for _, i := range []**Image{&c.Pre, &c.Post, &now} {
		if (*i).isFile() && !(*i).Loaded {
			if *i, err = load(*i); err != nil {
				return nil, err
			}
		}
	}
	if made, err = Rebase(c, now); err == nil {
		return made.Post, nil
	}
	text, mode := []byte(nil), c.Post.Mode
	if now.isFile() {
		if text = now.Data; c.Post.Mode == c.Pre.Mode {
			mode = now.Mode
		}
	}
	text, ok := merge.Beside(c.Pre.Data, text, c.Post.Data, charset.Charset{})
	switch {
	case !ok:
		return nil, err
	case len(text) == 0 && !now.isFile():
		return now, nil // all of it was ours
	}
	return NewFile(text, mode), nil
}

func (i *Image) isFile() bool { return i != nil && i.Kind == File }

// set makes the change of a path in s the one from pre to post; where s has one it
// keeps what that says of moves.
func (s *Set) set(path string, pre, post *Image) {
	i := slices.IndexFunc(*s, func(c Change) bool { return c.Path == path })
	switch {
	case i >= 0:
		(*s)[i].Pre, (*s)[i].Post = pre, post
	case !pre.Same(post):
		*s = append(*s, Change{Path: path, Pre: pre, Post: post})
	}
}

// settled is Ours folded once more; moves whose halves are no longer what they were
// are no moves.
func (p *Parts) settled() Set {
	for i := range p.Ours {
		c := &p.Ours[i]
		if c.Pre != nil {
			c.From = ""
		}
		if c.Post != nil {
			c.To = ""
		}
	}
	at := make(map[string]*Change, len(p.Ours))
	for i := range p.Ours {
		at[p.Ours[i].Path] = &p.Ours[i]
	}
	for i := range p.Ours {
		c := &p.Ours[i]
		if c.To != "" && (at[c.To] == nil || at[c.To].From != c.Path) {
			c.To = ""
		}
	}
	return Fold(p.Ours)
}
