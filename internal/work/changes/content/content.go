// Package content gives what recorded images hold.
package content

import (
	"cmp"
	"errors"

	"kerf/internal/text/delta"
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

// Ready is Load for what is committed: an image that is large stays as it is, if its content is to
// be had.
func Ready(from Images, img *delta.Image, whole int64) (*delta.Image, error) {
	if !Large(img, whole) {
		return Load(from, img)
	}
	return img, from.Verify(img.Sum)
}

// Large reports whether img is not loaded because it is larger than whole, or than tree.Whole if
// that is 0.
func Large(img *delta.Image, whole int64) bool {
	return img != nil && !img.Loaded && img.Size > cmp.Or(whole, tree.Whole)
}
