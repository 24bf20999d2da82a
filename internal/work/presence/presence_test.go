package presence

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestSessionsKnowOfEachOther(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "present")
	join := func(id string) *Presence {
		p, err := Join(dir, id)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := join("a")
	if got := a.Others(); len(got) > 0 {
		t.Errorf("alone, and there are %v", got)
	}
	c, b := join("c"), join("b")
	if got := a.Others(); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("%v", got)
	}
	if _, err := Join(dir, "b"); err == nil {
		t.Error("two sessions are the same")
	}
	if err := b.Leave(); err != nil {
		t.Error(err)
	}
	if got := c.Others(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%v", got)
	}
	// One that died left its file. It is not counted, and goes when it is old.
	left := filepath.Join(dir, "d")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := a.Others(); !slices.Equal(got, []string{"c"}) {
		t.Errorf("%v", got)
	}
	if _, err := os.Stat(left); err != nil {
		t.Error("a file that may be of a session that begins is gone")
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	_ = a.Others()
	if _, err := os.Stat(left); err == nil {
		t.Error("the file of a process that died stays")
	}
	if got := (*Presence)(nil).Others(); got != nil || (*Presence)(nil).Leave() != nil {
		t.Errorf("nobody: %v", got)
	}
}
