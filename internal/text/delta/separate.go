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
	var mine, others []Set
	who := map[string]int{} // bit 1: ours, bit 2: theirs
	for _, s := range steps {
		bit := 1
		if s.Outside {
			others, bit = append(others, s.Set), 2
		} else {
			mine = append(mine, s.Set)
		}
		for _, c := range s.Set {
			who[c.Path] |= bit
		}
	}
	p := Parts{Ours: Fold(mine...), Before: Fold(others...)}
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
	all := chains(steps, mixed)
	before, ours, after := index(p.Before), index(p.Ours), index(nil)
	for _, path := range mixed {
		c := all[path]
		first, last := c.ours()
		theirs, err := c[first : last+1].theirs(load)
		if err != nil {
			p.Entangled = append(p.Entangled, path)
		}
		end := c[last].Post
		before.set(path, c[0].Pre, theirs)
		ours.set(path, theirs, end)
		after.set(path, end, c[len(c)-1].Post)
	}
	p.Before, p.Ours, p.After = Fold(before.Set), settled(ours), Fold(after.Set)
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

// chain are the changes of one path in their order.
type chain []link

type link struct {
	Change
	outside bool
}

// chains returns the changes of each of the paths.
func chains(steps []Step, paths []string) map[string]chain {
	all := make(map[string]chain, len(paths))
	for _, p := range paths {
		all[p] = make(chain, 0, len(steps))
	}
	for _, s := range steps {
		for _, c := range s.Set {
			if of, wanted := all[c.Path]; wanted {
				all[c.Path] = append(of, link{c, s.Outside})
			}
		}
	}
	return all
}

// ours returns our first and our last change; there must be one.
func (all chain) ours() (first, last int) {
	last = len(all) - 1
	for all[first].outside {
		first++
	}
	for all[last].outside {
		last--
	}
	return first, last
}

// theirs is what the changes, one at least, begin with and what others made of it, without ours.
// With an error, which says that it cannot be told apart, it is what they begin with.
func (all chain) theirs(load func(*Image) (*Image, error)) (*Image, error) {
	now := all[0].Pre
	for _, l := range all {
		if !l.outside {
			continue
		}
		next, err := rebased(l.Change, now, load)
		if err != nil {
			return all[0].Pre, err
		}
		now = next
	}
	return now, nil
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

// indexed is a set with at most one change of a path, found by it.
type indexed struct {
	Set
	at map[string]int
}

func index(s Set) indexed {
	at := make(map[string]int, len(s))
	for i, c := range s {
		at[c.Path] = i
	}
	return indexed{s, at}
}

// set makes the change of a path the one from pre to post; where there is one it keeps what
// that says of moves.
func (x *indexed) set(path string, pre, post *Image) {
	i, there := x.at[path]
	switch {
	case there:
		x.Set[i].Pre, x.Set[i].Post = pre, post
	case !pre.Same(post):
		x.at[path] = len(x.Set)
		x.Set = append(x.Set, Change{Path: path, Pre: pre, Post: post})
	}
}

// settled is our set folded once more; moves whose halves are no longer what they were are
// no moves.
func settled(ours indexed) Set {
	for i := range ours.Set {
		c := &ours.Set[i]
		if c.Pre != nil {
			c.From = ""
		}
		if c.Post != nil {
			c.To = ""
		}
	}
	for i := range ours.Set {
		c := &ours.Set[i]
		if at, there := ours.at[c.To]; c.To != "" && (!there || ours.Set[at].From != c.Path) {
			c.To = ""
		}
	}
	return Fold(ours.Set)
}
