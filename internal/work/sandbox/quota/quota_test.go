//go:build unix

package quota

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
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
	var st syscall.Stat_t
	must(t, syscall.Stat(filepath.Join(dir, "a", "b", "big"), &st))
	if got := Used(dir); got != 6*perFile+512*uint64(st.Blocks) || got < 1<<20 {
		t.Errorf("with 1 MiB %d", got)
	}
	f, err := os.Create(filepath.Join(dir, "sparse"))
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(1<<40))
	if got := Used(dir); got > 2<<20 {
		t.Errorf("with a sparse file %d", got)
	}
	if got := Used(filepath.Join(dir, "none")); got != 0 {
		t.Errorf("a directory that is not there takes %d", got)
	}
}

// TestTooMuchIsToldOnce, and what lay there before does not count as too much. When it has ended nobody looks any more.
func TestTooMuchIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "before"), make([]byte, 1<<20), 0o600))
	synctest.Test(t, func(t *testing.T) {
		told := 0
		w := Start(dir, 1, func() { told++ })
		none := Start(dir, 1<<40, func() { t.Error("it is not too much") })
		time.Sleep(10 * interval)
		if told != 0 {
			t.Error("what lay there is too much")
		}
		must(t, os.WriteFile(filepath.Join(dir, "more"), nil, 0o600))
		time.Sleep(10 * interval)
		for range 2 {
			if !w.End() || told != 1 {
				t.Errorf("told %d times", told)
			}
		}
		if none.End() || (*Watch)(nil).End() {
			t.Error("it is told at the end, and was not too much")
		}
		early := Start(dir, Used(dir), func() { t.Error("told after its end") })
		must(t, os.WriteFile(filepath.Join(dir, "late"), nil, 0o600))
		if early.End() {
			t.Error("nobody has looked yet")
		}
		time.Sleep(10 * interval)
	})
}
