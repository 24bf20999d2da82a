package contents

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
)

// room is a store, and a directory with a file in it.
func room(t *testing.T, file string) (*store.Store, *tree.Dir) {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "w")
	if err := errors.Join(os.Mkdir(root, 0o755), os.WriteFile(filepath.Join(root, "f"), []byte(file), 0o644)); err != nil {
		t.Fatal(err)
	}
	tr, err := tree.Open(tree.Options{Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := tr.OpenDir(tr.Roots()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return s, d
}

func unloaded(text string) *delta.Image {
	return &delta.Image{Version: delta.NewFile([]byte(text), 0o644).Version}
}

func TestHere(t *testing.T) {
	s, _ := room(t, "")
	if _, err := s.Put([]byte("content")); err != nil {
		t.Fatal(err)
	}
	there, gone := unloaded("content"), unloaded("nowhere")
	for _, whole := range []int64{6, 7} {
		if got, err := Here(s, there, whole); err != nil || got.Loaded != (whole == 7) || string(got.Data) != "content"[:7*(whole-6)] {
			t.Errorf("of %d bytes at most: %+v, %v", whole, got, err)
		}
		if _, err := Here(s, gone, whole); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what is not there: %v", err)
		}
	}
	loaded := delta.NewFile([]byte("elsewhere"), 0o644)
	if got, err := Here(s, loaded, 1); got != loaded || err != nil {
		t.Errorf("what is loaded: %+v, %v", got, err)
	}
	if there.Loaded {
		t.Error("the image of the caller was changed")
	}
}

func TestOf(t *testing.T) {
	a, b := delta.NewFile([]byte("a"), 0o644), delta.NewFile([]byte("b"), 0o644)
	for name, c := range map[string]struct {
		change delta.Change
		sums   []delta.Sum
		based  bool
	}{
		"both": {delta.Change{Pre: a, Post: b}, []delta.Sum{a.Sum, b.Sum}, true},
		"made": {delta.Change{Post: b}, []delta.Sum{b.Sum}, false}, "gone": {delta.Change{Pre: a}, []delta.Sum{a.Sum}, false},
		"half": {delta.Change{Pre: unloaded("a"), Post: b}, []delta.Sum{b.Sum}, false},
		"none": {delta.Change{Pre: unloaded("a"), Post: unloaded("b")}, nil, false},
	} {
		got := Of(c.change)
		if len(got) != len(c.sums) {
			t.Errorf("%s: %d contents", name, len(got))
			continue
		}
		for i, sum := range c.sums {
			var base *store.Content
			if c.based && i == 1 {
				base = &got[0]
			}
			if got[i].Sum != sum || got[i].Base != base {
				t.Errorf("%s: %d is %s, based on %v", name, i, got[i].Sum, got[i].Base)
			}
		}
	}
}

// TestKeep: what the store has, it has anew; what it has not, comes from the file, if that is it.
func TestKeep(t *testing.T) {
	for _, durable := range []bool{false, true} {
		s, d := room(t, "content")
		img, old := unloaded("content"), unloaded("another one")
		if err := Keep(s, img, d, "f", durable); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(img.Sum); err != nil || string(got) != "content" {
			t.Errorf("the store has %q, %v", got, err)
		}
		if err := Keep(s, img, d, "none", durable); err != nil {
			t.Errorf("what the store has is looked for in the tree: %v", err)
		}
		if err := Keep(s, old, d, "f", durable); !errors.Is(err, tree.ErrChanged) {
			t.Errorf("of another file: %v", err)
		}
		if err := Keep(s, old, d, "none", durable); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("of no file: %v", err)
		}
	}
}

// TestKeepTellsWhatFails: each call of the store that fails is told, of a content that is there and of one that is not.
func TestKeepTellsWhatFails(t *testing.T) {
	full := errors.New("the disk is full")
	for _, there := range []bool{false, true} {
		for fails := 0; ; fails++ {
			s, d := room(t, "content")
			img := unloaded("content")
			if there {
				if err := Keep(s, img, d, "f", true); err != nil {
					t.Fatal(err)
				}
			}
			calls := 0
			s.Hook = func(string, string) error {
				if calls++; calls == fails+1 {
					return full
				}
				return nil
			}
			err := Keep(s, img, d, "f", true)
			if calls <= fails { // no call is left that could fail
				if err != nil || fails == 0 {
					t.Errorf("there %v: after %d calls %v", there, fails, err)
				}
				break
			}
			if !errors.Is(err, full) {
				t.Errorf("there %v: call %d fails: %v", there, fails+1, err)
			}
		}
	}
}
