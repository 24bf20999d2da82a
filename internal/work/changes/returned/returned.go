// Package returned finds out whether a change brings back what an earlier one took away. Where
// nobody saw who made the earlier one, so that an undo leaves it, the later one has to stay, too:
// without it that would be gone which was there before both.
package returned

import (
	"bytes"
	"slices"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// Find calls found for each change of entries, by the number of the entry and the path, that
// brings back what one of stays took away, whose paths are given. load loads the content of an
// image; what it cannot load was not brought back as far as is known.
func Find(entries []*ledger.Entry, stays map[*ledger.Entry][]string, load Load, found func(seq int64, path string)) {
	type made struct {
		seq    int64
		change delta.Change
	}
	earlier := map[string][]made{}
	for e, paths := range stays {
		of := make(map[string]bool, len(paths))
		for _, p := range paths {
			of[p] = true
		}
		for _, c := range e.Set() {
			if of[c.Path] {
				earlier[c.Path] = append(earlier[c.Path], made{e.Seq, c})
			}
		}
	}
	for _, e := range entries {
		for _, c := range e.Set() {
			if slices.ContainsFunc(earlier[c.Path], func(o made) bool {
				return o.seq < e.Seq && needed(o.change, c, load)
			}) {
				found(e.Seq, c.Path)
			}
		}
	}
}

// Load loads the content of an image.
type Load func(*delta.Image) (*delta.Image, error)

// needed reports whether later, or a part of it, brings back what earlier took away.
func needed(earlier, later delta.Change, load Load) bool {
	if earlier.Pre == nil || later.Post == nil || earlier.Pre.Same(earlier.Post) {
		return false
	}
	if earlier.Pre.Version.Sum == later.Post.Version.Sum {
		return true
	}
	took, brought := missing(earlier.Pre, earlier.Post, load), missing(later.Post, later.Pre, load)
	for l := range took {
		if brought[l] {
			return true
		}
	}
	return false
}

// missing are the lines of one file that are not blank and not in another.
func missing(from, in *delta.Image, load Load) map[string]bool {
	all, there := lines(from, load), lines(in, load)
	for l := range there {
		delete(all, l)
	}
	return all
}

func lines(img *delta.Image, load Load) map[string]bool {
	set := map[string]bool{}
	if img == nil || img.Kind != delta.File || img.Size > limit {
		return set
	}
	full, err := load(img)
	if err != nil {
		return set
	}
	for l := range bytes.Lines(full.Data) {
		if l = bytes.TrimSpace(l); len(l) > 0 {
			set[string(l)] = true
		}
	}
	return set
}

// limit is the size above which files are compared as a whole only.
const limit = 32 << 20
