package boundary

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRememberedOnce: a repository is remembered once, however often it is looked for, and forgotten when
// it is gone.
func TestRememberedOnce(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a/.git", "b/.git"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := NewSession(Disk{}, WorkspaceWrite, nil)
	want := []string{filepath.Join(root, "a/.git"), filepath.Join(root, "b/.git")}
	for range 3 {
		if got := s.remember(root, s.view); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if got := s.remember(root, s.view); !slices.Equal(got, want[1:]) {
		t.Errorf("%q, want %q", got, want[1:])
	}
}

// looks is a disk on which a look finds what it is told to.
type looks struct {
	Disk
	finds    []string
	thorough []bool // the looks so far
}

func (l *looks) Nested(_ string, thorough bool) []string {
	l.thorough = append(l.thorough, thorough)
	return l.finds
}

// TestWhatALookPassesOverIsRemembered: the first look is a thorough one, and one after something went from its place.
func TestWhatALookPassesOverIsRemembered(t *testing.T) {
	root := t.TempDir()
	a, b := filepath.Join(root, "a", ".git"), filepath.Join(root, "b", ".git")
	for _, dir := range []string{a, b} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l := &looks{finds: []string{a}}
	s := NewSession(l, WorkspaceWrite, nil)
	step := func(finds []string, want ...string) {
		t.Helper()
		l.finds = finds
		if got := s.remember(root, l); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	step([]string{a}, a)
	step(nil, a)
	step([]string{b}, a, b)
	if err := os.RemoveAll(a); err != nil {
		t.Fatal(err)
	}
	step(nil, b)
	step(nil, b)
	if want := []bool{true, false, false, true, false}; !slices.Equal(l.thorough, want) {
		t.Errorf("thorough looks: %v, want %v", l.thorough, want)
	}
}
