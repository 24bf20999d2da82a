// Package contents brings what changes hold into the store and out of it. Contents that are larger
// than tree.Options.Whole are never in memory.
package contents

import (
	"errors"
	"fmt"
	"os"

	"kerf/internal/text/delta"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
)

// Load returns img with its content, if that is not larger than whole. The store must have it in
// any case, or it fails with store.ErrNotFound.
func Load(s *store.Store, img *delta.Image, whole int64) (*delta.Image, error) {
	if img.Loaded {
		return img, nil
	}
	full := *img
	if img.Size > whole {
		if !s.Has(img.Sum) {
			return &full, fmt.Errorf("object %s: %w", img.Sum, store.ErrNotFound)
		}
		return &full, nil
	}
	data, err := s.Get(img.Sum)
	full.Data, full.Loaded = data, true
	return &full, err
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

// ErrChanged says that a file does not hold what it was seen to hold.
var ErrChanged = errors.New("its content has changed")

// Keep sees to it that the store has img, which is not loaded. If it does not, the content is that
// of the file called name in d.
func Keep(s *store.Store, img *delta.Image, d *tree.Dir, name string, durable bool) error {
	err := s.Keep(img.Sum, durable)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return d.Lend(name, func(f *os.File) error {
		kept, err := s.PutFile(store.Source{File: f, Durable: durable})
		if err == nil && kept.Sum != img.Sum {
			err = ErrChanged
		}
		return err
	})
}
