package outside_test

import (
	"testing"

	"kerf/internal/agent/executor/outside"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// TestWhatACommandThatRunsOnWroteIsNotFromOutside: it wrote once more between what was
// entered of it last and the look at the file.
func TestWhatACommandThatRunsOnWroteIsNotFromOutside(t *testing.T) {
	l, err := ledger.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := outside.Files{Ledger: l}
	img := func(text string) *delta.Image { return delta.NewFile([]byte(text), 0o644) }
	f.Leave(delta.Set{{Path: "/w/loop", Post: img("1\n")}, {Path: "/w/users", Post: img("a\n")}}, nil)
	now := map[string]*delta.Image{"/w/loop": img("1\n2\n"), "/w/users": img("b\n")}
	look := func(p string) (*delta.Image, error) { return now[p], nil }
	set, err := f.Changes([]string{"/w/loop", "/w/users", "/w/other"}, look, func() {
		f.Leave(delta.Set{{Path: "/w/loop", Pre: img("1\n"), Post: img("1\n2\n3\n")}}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(set) != 1 || set[0].Path != "/w/users" || !set[0].Post.Same(img("b\n")) {
		t.Errorf("from outside: %v, want the user's file alone", set.Paths())
	}
	if set, err := f.Changes([]string{"/w/users"}, look, nil); err != nil || len(set) > 0 {
		t.Errorf("told again: %v %v", set.Paths(), err)
	}
}
