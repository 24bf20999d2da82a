//go:build linux || darwin

package endpoint

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAServerIsOverWhenAnotherCanBegin: not as soon as its file is gone.
func TestAServerIsOverWhenAnotherCanBegin(t *testing.T) {
	home, err := os.MkdirTemp("", "kerf-end") // short, as the paths of sockets have to be
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	if !Ended(filepath.Join(home, "none")) {
		t.Error("a server runs in a home that is not there")
	}
	for range 2 {
		l, err := Listen(home, "", "1")
		if err != nil {
			t.Fatal(err)
		}
		if Ended(home) {
			t.Error("it runs, and is over")
		}
		_ = l.Close()
		if err := os.Rename(fileOf(home), fileOf(home)+".aside"); err != nil {
			t.Fatal(err)
		}
		if Ended(home) {
			t.Error("it is over while it holds its lock")
		}
		if err := os.Rename(fileOf(home)+".aside", fileOf(home)); err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
		if !Ended(home) {
			t.Error("it is not over")
		}
	}
}
