// Package outside notices what others do to the files that a session changed, without
// looking at all of the roots.
package outside

import (
	"maps"
	"slices"
	"sync"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// Files are the files that a session changed, with what it left in them. The zero value
// is ready once Ledger is set. It may be used by several goroutines.
type Files struct {
	Ledger *ledger.Ledger

	mu   sync.Mutex // guards what follows
	left map[string]leaving
}

// leaving is what an entry of the ledger left in a path.
type leaving struct {
	image *delta.Image
	seq   int64
}

// Leave notes what the session left in the paths of a set, with its entry or nil.
func (f *Files) Leave(set delta.Set, entry *ledger.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == nil {
		f.left = map[string]leaving{}
	}
	for _, c := range set {
		was := f.left[c.Path]
		l := leaving{image: c.Post, seq: was.seq}
		if entry != nil {
			l.seq = entry.Seq
		}
		f.left[c.Path] = l
	}
}

// Change tells how a path went from what the session left there to what it holds now, by
// somebody else's hand. ok is false when it did not, or when an entry of another Kerf
// tells it.
func (f *Files) Change(path string, now *delta.Image) (c delta.Change, ok bool, err error) {
	f.mu.Lock()
	was, known := f.left[path]
	f.mu.Unlock()
	if !known || was.image.Same(now) {
		return c, false, nil
	}
	f.Leave(delta.Set{{Path: path, Post: now}}, nil)
	later, err := f.Ledger.Read(was.seq)
	for _, e := range slices.Backward(later) {
		for _, ch := range e.Changes {
			if ch.Path == path && ch.Post.Delta() == now.At() {
				return c, false, nil
			}
		}
	}
	return delta.Change{Path: path, Pre: was.image, Post: now}, true, err
}

// Changes is Change for several paths, which look reads. What cannot be read is left
// out. A command of the session that runs on may have written one of them just now: enter
// is called once the paths are read, and enters what such commands did until then. It may
// be nil.
func (f *Files) Changes(paths []string, look func(string) (*delta.Image, error), enter func()) (delta.Set, error) {
	slices.Sort(paths)
	type stray struct{ was, now *delta.Image }
	strays := map[string]stray{}
	for _, p := range slices.Compact(paths) {
		was, known := f.Left(p)
		if now, err := look(p); err == nil && known && !was.Same(now) {
			strays[p] = stray{was, now}
		}
	}
	if len(strays) > 0 && enter != nil {
		enter()
	}
	var set delta.Set
	for _, p := range slices.Sorted(maps.Keys(strays)) {
		s := strays[p]
		if is, _ := f.Left(p); !is.Same(s.was) {
			continue // a command did it
		}
		c, ok, err := f.Change(p, s.now)
		if err != nil {
			return set, err
		}
		if ok {
			set = append(set, c)
		}
	}
	return set, nil
}

// Left is what the session left in a path, if it changed it.
func (f *Files) Left(path string) (*delta.Image, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.left[path]
	return l.image, ok
}
