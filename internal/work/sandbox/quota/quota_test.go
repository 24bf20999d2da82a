//go:build unix

package quota

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestUsedIsWhatTheDiskHolds: each name counts, links are not followed, and a sparse file takes what it has.
func TestUsedIsWhatTheDiskHolds(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	big := make([]byte, 1<<20)
	must(t, os.WriteFile(filepath.Join(elsewhere, "big"), big, 0o600))
	empty := Used(dir)
	if empty != perFile {
		t.Errorf("an empty directory takes %d", empty)
	}
	must(t, errors.Join(os.Symlink(elsewhere, filepath.Join(dir, "link")), os.Symlink(elsewhere+"/big", filepath.Join(dir, "file"))))
	if got := Used(dir); got != 3*perFile {
		t.Errorf("with two links %d", got)
	}
	must(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "a", "b", "big"), big, 0o600))
	if got := Used(dir); got < 1<<20+6*perFile || got > 2<<20 {
		t.Errorf("with 1 MiB %d", got)
	}
	f, err := os.Create(filepath.Join(dir, "sparse"))
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(1<<40))
	if got := Used(dir); got > 2<<20 {
		t.Errorf("with a sparse file %d", got)
	}
	if got := Used(filepath.Join(dir, "none")); got > perFile {
		t.Errorf("a directory that is not there takes %d", got)
	}
}

// TestTooMuchIsToldOnce, and what lay there before does not count as too much.
func TestTooMuchIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "before"), make([]byte, 1<<20), 0o600))
	told := make(chan bool, 8)
	w := Start(dir, 1, func() { told <- true })
	select {
	case <-told:
		t.Error("what lay there is too much")
	case <-time.After(2 * interval):
	}
	must(t, os.WriteFile(filepath.Join(dir, "more"), make([]byte, 1<<20), 0o600))
	<-told
	for range 2 {
		if !w.End() {
			t.Error("it is not told at the end")
		}
	}
	if len(told) != 0 {
		t.Error("it is told again")
	}
	none := Start(dir, 1<<40, func() { t.Error("it is not too much") })
	if none.End() || (*Watch)(nil).End() {
		t.Error("it is told at the end, and was not too much")
	}
}
