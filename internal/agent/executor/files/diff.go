package files

import (
	"slices"
	"sync"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes"
)

// Loaded is set with the bytes of its images.
func (f *Files) Loaded(set delta.Set) delta.Set {
	out := make(delta.Set, len(set))
	for i, c := range set {
		c.Pre, c.Post = f.Load(c.Pre), f.Load(c.Post)
		out[i] = c
	}
	return out
}

// lightFrom is the size in bytes from which on a content is not kept in memory once the
// store has it.
const lightFrom = 16 << 10

// Light is set without the bytes that the store has: what a session keeps of its changes
// must not grow with the size of the files. Small contents stay.
func (f *Files) Light(set delta.Set) delta.Set {
	if f.o.Txn == nil || f.o.Txn.Store == nil {
		return set
	}
	out := make(delta.Set, len(set))
	for i, c := range set {
		c.Pre, c.Post = f.light(c.Pre), f.light(c.Post)
		out[i] = c
	}
	return out
}

func (f *Files) light(img *delta.Image) *delta.Image {
	if img == nil || !img.Loaded || len(img.Data) < lightFrom || !f.o.Txn.Store.Has(img.Sum) {
		return img
	}
	return &delta.Image{Version: img.Version}
}

// Stale is the first path of a set that is no longer what the change was made
// for.
func (f *Files) Stale(set delta.Set) string {
	seen := map[string]bool{}
	for _, c := range set {
		if seen[c.Path] {
			continue // made by the set itself
		}
		seen[c.Path] = true
		now, err := f.o.Tree.Read(c.Path, ReadLimit)
		if err == nil && now.At() != c.Pre.At() {
			return c.Path
		}
	}
	return ""
}

// Forget drops what the model believes of a file that moved under it.
func (f *Files) Forget(path string) {
	f.o.View.Drop(f.Real(path))
}

// Unified is the git-style diff of a set. Images whose bytes are not at hand are
// fetched; files that are larger than changes.ShownLimit are only named.
func (f *Files) Unified(set delta.Set) string {
	loaded := make(delta.Set, len(set))
	for i, c := range set {
		c.Pre, c.Post = f.shown(c.Pre), f.shown(c.Post)
		loaded[i] = c
	}
	return string(diff.Unified(delta.Files(loaded, f.Relative)))
}

// Beside makes the diff of a proposed set beside its commit, unless it is known. What it
// returns waits for it. A set of small files is not worth it: their diff is made when asked for.
func (f *Files) Beside(set delta.Set, known string) func() string {
	const large = 1 << 20 // bytes; below it a diff takes less than what handing it over costs
	big := func(img *delta.Image) bool { return img != nil && img.Size > large }
	if known != "" || !slices.ContainsFunc(set, func(c delta.Change) bool { return big(c.Pre) || big(c.Post) }) {
		return func() string { return known }
	}
	var made string
	var beside sync.WaitGroup
	beside.Go(func() { made = f.Unified(set) })
	return func() string {
		beside.Wait()
		return made
	}
}

// shown is Load for a diff.
func (f *Files) shown(img *delta.Image) *delta.Image {
	if img == nil || img.Size <= changes.ShownLimit {
		return f.Load(img)
	}
	named := *img
	named.Data, named.Loaded = nil, false
	return &named
}

// Load is an image with its bytes, as far as they are at hand.
func (f *Files) Load(img *delta.Image) *delta.Image {
	if img == nil || img.Loaded {
		return img
	}
	data, err := f.o.Images(img.Sum)
	if err != nil {
		return img
	}
	full := *img
	full.Data, full.Loaded = data, true
	return &full
}

// Whole is an image with its bytes; without them it is an error.
func (f *Files) Whole(img *delta.Image) (*delta.Image, error) {
	if img = f.Load(img); !img.Loaded {
		return nil, delta.ErrNotLoaded
	}
	return img, nil
}
