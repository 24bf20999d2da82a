package delta

import (
	"bytes"
	"path"
	"sort"

	"kerf/internal/text/diff"
)

// The bounds of the search for renames that nobody told of.
const (
	leastSimilar   = 60       // percent
	maxComparisons = 2000     // pairs whose contents are compared
	maxCompared    = 64 << 20 // bytes read for these
)

// Files turns a folded set into what diff.Unified shows, sorted by path. Renames
// are paired: those told by From and To first, then deleted and created files
// with the same content, then those at least 60 percent alike, within a bounded
// number of comparisons. A file of which a content is not loaded is opaque. Rel
// turns an absolute path into the one to show.
func Files(s Set, rel func(abs string) string) []diff.File {
	p := pairing{set: s, from: make([]int, len(s)), taken: make([]bool, len(s))}
	for i := range p.from {
		p.from[i] = none
	}
	p.told()
	p.equal()
	p.alike()
	files := make([]diff.File, 0, len(s))
	for i, c := range s {
		if p.taken[i] {
			continue
		}
		old := c
		if j := p.from[i]; j != none {
			old = s[j]
		}
		f := diff.File{OldPath: rel(old.Path), NewPath: rel(c.Path), OldMode: gitMode(old.Pre), NewMode: gitMode(c.Post)}
		switch {
		case loaded(old.Pre) && loaded(c.Post):
			f.Old, f.New = content(old.Pre), content(c.Post)
		case old.Pre.At().Sum != c.Post.At().Sum:
			f.Opaque = true
		}
		files = append(files, f)
	}
	sort.SliceStable(files, func(i, j int) bool { return shown(files[i]) < shown(files[j]) })
	return files
}

func shown(f diff.File) string {
	if f.NewMode == 0 {
		return f.OldPath
	}
	return f.NewPath
}

func loaded(i *Image) bool { return i == nil || i.Loaded }

func content(i *Image) []byte {
	if i == nil {
		return nil
	}
	return i.Data
}

// gitMode returns the mode that git would record.
func gitMode(i *Image) uint32 {
	switch {
	case i == nil:
		return 0
	case i.Kind == Symlink:
		return 0120000
	case i.Mode&0o111 != 0:
		return 0100755
	}
	return 0100644
}

const none = -1

// pairing finds for created files the deleted ones that they come from.
type pairing struct {
	set   Set
	from  []int  // by index of a created file: the deleted one, or none
	taken []bool // by index of a deleted file
}

func (p *pairing) gone(i int) bool {
	return !p.taken[i] && p.set[i].Pre != nil && p.set[i].Post == nil
}

func (p *pairing) made(i int) bool {
	return p.from[i] == none && p.set[i].Pre == nil && p.set[i].Post != nil
}

func (p *pairing) pair(gone, made int) {
	p.from[made], p.taken[gone] = gone, true
}

// told pairs the halves of moves that name each other.
func (p *pairing) told() {
	at := make(map[string]int, len(p.set))
	for i, c := range p.set {
		at[c.Path] = i
	}
	for i, c := range p.set {
		j, ok := at[c.From]
		if ok && c.From != "" && p.made(i) && p.gone(j) && p.set[j].To == c.Path && p.set[j].Pre.Kind == c.Post.Kind {
			p.pair(j, i)
		}
	}
}

// equal pairs files with the same content; empty files are all alike and are
// left alone. Among several the one of the same name is taken, else the first.
func (p *pairing) equal() {
	p.equalBy(path.Base)
	p.equalBy(func(string) string { return "" })
}

func (p *pairing) equalBy(name func(string) string) {
	type key struct {
		kind Kind
		sum  Sum
		name string
	}
	gone := map[key][]int{}
	for i, c := range p.set {
		if p.gone(i) && c.Pre.Size > 0 {
			k := key{c.Pre.Kind, c.Pre.Sum, name(c.Path)}
			gone[k] = append(gone[k], i)
		}
	}
	for i, c := range p.set {
		if !p.made(i) {
			continue
		}
		k := key{c.Post.Kind, c.Post.Sum, name(c.Path)}
		if queue := gone[k]; len(queue) > 0 {
			p.pair(queue[0], i)
			gone[k] = queue[1:]
		}
	}
}

// alike pairs the files that share most of their content, best first.
func (p *pairing) alike() {
	type match struct{ gone, made, score int }
	var matches []match
	count, size := 0, int64(0)
	for i, c := range p.set {
		if !p.made(i) || !textual(c.Post) {
			continue
		}
		for j, d := range p.set {
			if !p.gone(j) || !textual(d.Pre) || !closeInSize(c.Post.Size, d.Pre.Size) {
				continue
			}
			if count, size = count+1, size+c.Post.Size+d.Pre.Size; count > maxComparisons || size > maxCompared {
				break
			}
			if n := diff.Similarity(d.Pre.Data, c.Post.Data); n >= leastSimilar {
				matches = append(matches, match{j, i, n})
			}
		}
	}
	sort.SliceStable(matches, func(i, j int) bool { return matches[i].score > matches[j].score })
	for _, m := range matches {
		if p.gone(m.gone) && p.made(m.made) {
			p.pair(m.gone, m.made)
		}
	}
}

func textual(i *Image) bool {
	return i.Kind == File && i.Loaded && i.Size > 0 && bytes.IndexByte(i.Data, 0) < 0
}

// closeInSize reports whether files of these sizes can be similar enough.
func closeInSize(a, b int64) bool { return min(a, b)*100 >= max(a, b)*leastSimilar }
