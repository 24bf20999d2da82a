// Package contents brings what changes hold into the store and out of it. A content that is larger
// than tree.Options.Whole is not in memory, unless it takes part in a merge.
package contents

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"kerf/internal/text/delta"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
)

// Images has contents by their sums. Its errors are those of *store.Store.
type Images interface {
	Get(delta.Sum) ([]byte, error)
	// Verify reads a content and checks it, whatever its size.
	Verify(delta.Sum) error
}

// Limit is the size in bytes of the largest content that is loaded.
const Limit = 1 << 30

// ErrLarge says that a content is larger than Limit.
var ErrLarge = errors.New("too large to be in memory")

// Load returns img with its content.
func Load(from Images, img *delta.Image) (*delta.Image, error) {
	if img == nil || img.Loaded {
		return img, nil
	}
	if img.Size > Limit {
		return nil, ErrLarge
	}
	data, err := from.Get(img.Sum)
	if err != nil {
		return nil, err
	}
	full := *img
	full.Data, full.Loaded = data, true
	return &full, nil
}

// Large reports whether img is not loaded because it is larger than whole, or than tree.Whole if
// that is 0.
func Large(img *delta.Image, whole int64) bool {
	return img != nil && !img.Loaded && img.Size > cmp.Or(whole, tree.Whole)
}

// Ready is Load for what is to be committed: an image that is large stays as it is, if its content
// is to be had and is not damaged.
func Ready(from Images, img *delta.Image, whole int64) (*delta.Image, error) {
	if !Large(img, whole) {
		return Load(from, img)
	}
	return img, from.Verify(img.Sum)
}

// Here is Ready for what is committed now. It does not read what is large: whoever copies it checks it.
func Here(s *store.Store, img *delta.Image, whole int64) (*delta.Image, error) {
	if !Large(img, whole) {
		return Load(s, img)
	}
	if !s.Has(img.Sum) {
		return nil, fmt.Errorf("object %s: %w", img.Sum, store.ErrNotFound)
	}
	return img, nil
}

// Of is what the store takes of a change: the contents that are loaded.
func Of(c delta.Change) []store.Content {
	var both []store.Content
	for _, i := range []*delta.Image{c.Pre, c.Post} {
		if i != nil && i.Loaded {
			both = append(both, store.Content{Sum: i.Sum, Data: i.Data})
		}
	}
	if len(both) == 2 {
		both[1].Base = &both[0]
	}
	return both
}

// Keep sees to it that the store has img, which is not loaded. If it does not, the content is that
// of the file called name in d; tree.ErrChanged says that it is another one by now.
func Keep(s *store.Store, img *delta.Image, d *tree.Dir, name string, durable bool) error {
	err := s.Keep(img.Sum, durable)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return d.Lend(name, func(f *os.File) error {
		kept, err := s.PutFile(store.Source{File: f, Durable: durable})
		if err == nil && kept.Sum != img.Sum {
			err = tree.ErrChanged
		}
		return err
	})
}

// Save has the store know what a name holds, and returns that; nil if it is known, nothing, or no
// regular file nor link.
func Save(s *store.Store, d *tree.Dir, name string, known delta.Version) (*delta.Image, error) {
	e, err := d.Look(name, 0)
	var special *tree.SpecialError
	if errors.As(err, &special) || errors.Is(err, tree.ErrDirectory) ||
		err == nil && (e == nil || e.Image.Version == known) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if e.Image.Loaded {
		return e.Image, s.PutAll([]store.Content{{Sum: e.Image.Sum, Data: e.Image.Data}}, true)
	}
	return e.Image, Keep(s, e.Image, d, name, true)
}
