package proc

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAFileLiesWhereLinksLead: a name outside of a directory that leads into it counts as
// one inside.
func TestAFileLiesWhereLinksLead(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	for _, dir := range []string{"work/sub", "home"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"work/rc", "home/own"} {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"home/rc": "../work/rc", "home/dangling": at("work/later"), "home/dir": "../work/sub",
		"alias": "work", "home/kept": "own"} {
		if err := os.Symlink(to, at(name)); err != nil {
			t.Skip(err)
		}
	}
	for name, want := range map[string]bool{"work/rc": true, "home/rc": true, "home/dangling": true, "home/dir/new": true,
		"alias/rc": true, "home/own": false, "home/kept": false, "home/new": false} {
		for _, dir := range []string{"work", "alias"} {
			if got := Within(at(name), []string{at(dir)}); got != want {
				t.Errorf("%s within %s: %v", name, dir, got)
			}
		}
	}
}
