package contents

import (
	"errors"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
)

// images has one content, and counts how often it is loaded and verified.
type images struct {
	sum            delta.Sum
	data           string
	gets, verifies int
}

func (i *images) Get(sum delta.Sum) ([]byte, error) {
	i.gets++
	return []byte(i.data), i.find(sum)
}

func (i *images) Verify(sum delta.Sum) error {
	i.verifies++
	return i.find(sum)
}

func (i *images) find(sum delta.Sum) error {
	if sum != i.sum {
		return store.ErrNotFound
	}
	return nil
}

func sized(size int64) *delta.Image {
	return &delta.Image{Version: delta.Version{Kind: delta.File, Size: size, Sum: delta.SumOf([]byte("x"))}}
}

// TestReady: what is committed is loaded if it is small, and is known to be there in any case.
func TestReady(t *testing.T) {
	for _, c := range []struct {
		size, whole    int64
		gets, verifies int
	}{{10, 10, 1, 0}, {11, 10, 0, 1}, {tree.Whole, 0, 1, 0}, {tree.Whole + 1, 0, 0, 1}} {
		from := &images{sum: sized(0).Sum, data: "x"}
		img := sized(c.size)
		got, err := Ready(from, img, c.whole)
		if err != nil || from.gets != c.gets || from.verifies != c.verifies || got.Loaded != (c.gets == 1) || img.Loaded {
			t.Errorf("%d of %d: loaded %v, %+v, %v", c.size, c.whole, got.Loaded, from, err)
		}
		if _, err := Ready(&images{}, img, c.whole); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%d of %d, not there: %v", c.size, c.whole, err)
		}
	}
	loaded := delta.NewFile([]byte("text"), 0o644)
	for _, img := range []*delta.Image{nil, loaded} {
		if got, err := Ready(&images{}, img, 1); got != img || err != nil {
			t.Errorf("%v: %v, %v", img, got, err)
		}
	}
}

// TestLoad: nothing is loaded that is too large for it.
func TestLoadHasALimit(t *testing.T) {
	from := &images{sum: sized(0).Sum, data: "x"}
	if got, err := Load(from, sized(Limit)); err != nil || !got.Loaded {
		t.Errorf("at the limit: %v, %v", got, err)
	}
	if _, err := Load(from, sized(Limit+1)); !errors.Is(err, ErrLarge) || from.gets != 1 {
		t.Errorf("beyond the limit: %v, %d", err, from.gets)
	}
}
