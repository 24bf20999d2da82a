package delta

import (
	"errors"
	"fmt"
	"sort"
)

// String names the version for people: its kind, mode, size and the start of
// its sum.
func (v Version) String() string {
	if v.Absent() {
		return "absent"
	}
	return fmt.Sprintf("a %s of mode %04o, %d bytes, %x", v.Kind, v.Mode, v.Size, v.Sum[:4])
}

// Fold returns the net effect of sets, one after the other: at most one change
// per path, from its first Pre to its last Post, sorted by path; paths that
// ended as they began are left out.
//
// Moves are followed through the sets. In the result From and To are set on the
// two halves of a net move, where the source is gone and the destination took
// its content from there; From alone marks a copy: the source is still there,
// was made anew, or moved elsewhere. They say where a content came from, not
// that it is still the same.
func Fold(sets ...Set) Set {
	f := folder{net: map[string]*Change{}, origin: map[string]string{}}
	for _, s := range sets {
		f.touched, f.began, f.leaving = map[string]bool{}, map[string]string{}, map[string]string{}
		for _, c := range s {
			f.add(c)
		}
	}
	return f.result()
}

type folder struct {
	net map[string]*Change
	// origin tells where, before all sets, the content of a path was, if it was
	// moved or copied since. An empty origin is a content that was not there.
	origin map[string]string
	// Within one set the halves of moves come in any order, and From names what
	// a path held before the set. Began holds the origins of the paths of this
	// set that were there before it; leaving, by destination, those of contents
	// whose departure was seen.
	touched        map[string]bool
	began, leaving map[string]string
}

func (f *folder) add(c Change) {
	if n := f.net[c.Path]; n == nil {
		f.net[c.Path] = &Change{Path: c.Path, Pre: c.Pre, Post: c.Post}
	} else {
		n.Post = c.Post
	}
	if !f.touched[c.Path] && c.Pre != nil {
		f.began[c.Path] = f.source(c.Path)
	}
	f.touched[c.Path] = true
	switch {
	case c.Post == nil:
		if c.To != "" {
			f.leaving[c.To] = f.before(c.Path)
		}
		f.origin[c.Path] = ""
	case c.From != "":
		o, left := f.leaving[c.Path]
		if !left {
			o = f.before(c.From)
		}
		f.origin[c.Path] = o
	case c.Pre == nil:
		f.origin[c.Path] = ""
	}
}

// source returns where the present content of path was in the beginning.
func (f *folder) source(path string) string {
	if o, moved := f.origin[path]; moved {
		return o
	}
	return path
}

// before returns the source of what path held before the present set, or now
// when it held nothing then.
func (f *folder) before(path string) string {
	if o, ok := f.began[path]; ok {
		return o
	}
	return f.source(path)
}

func (f *folder) result() Set {
	out := make(Set, 0, len(f.net))
	for _, c := range f.net {
		if !c.Pre.Same(c.Post) {
			out = append(out, *c)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	at := make(map[string]int, len(out))
	for i, c := range out {
		at[c.Path] = i
	}
	for i := range out {
		o := f.origin[out[i].Path]
		if o == "" || o == out[i].Path || out[i].Post == nil {
			continue
		}
		s, changed := at[o]
		switch {
		case !changed:
			out[i].From = o
		case out[s].Pre == nil: // made within the sets: nothing came from there
		case out[s].Post != nil:
			out[i].From = o
		case out[s].To == "" || better(&out[i], &out[at[out[s].To]], &out[s]):
			out[i].From, out[s].To = o, out[i].Path // another one that was there before stays, as a copy
		default:
			out[i].From = o
		}
	}
	return out
}

// better reports whether c, rather than other, is the destination of what was
// at source: when its content is still the same and the other's is not.
func better(c, other, source *Change) bool {
	return c.Post.Sum == source.Pre.Sum && other.Post.Sum != source.Pre.Sum
}

// ErrNotLoaded says that a content is needed and only its sum is known.
var ErrNotLoaded = errors.New("content is not loaded")
