package rollout

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestFindInShortSessions: each record is found by its number, between any two places that hold it, and
// in no others.
func TestFindInShortSessions(t *testing.T) {
	for n := range 6 {
		dir := session(t, n)
		ends := []int64{0}
		for _, line := range bytes.SplitAfter(mustRead(t, file1(dir)), []byte("\n"))[:n] {
			ends = append(ends, ends[len(ends)-1]+int64(len(line)))
		}
		for seq := range n + 2 {
			for from := range n + 1 {
				for end := from; end <= n; end++ {
					got, ok := Find(dir, int64(seq), ends[from], ends[end], nil)
					within := seq > from && seq <= end || seq > from && seq <= n && ends[end] == 0
					if ok != within || ok && got != ends[seq-1] {
						t.Errorf("of %d records, %d between %d and %d: at %d, %t", n, seq, from, end, got, ok)
					}
				}
			}
		}
	}
	if _, ok := Find(filepath.Join(t.TempDir(), "none"), 1, 0, 0, nil); ok {
		t.Error("found where there is nothing")
	}
}

// TestNumbersOfDiffs rise above those that are there. What is no number of ours does not count.
func TestNumbersOfDiffs(t *testing.T) {
	for name, want := range map[string]string{"": "diffs/001.diff", "007.diff": "diffs/008.diff", "0999.diff": "diffs/1000.diff",
		"2147483647.diff": "diffs/2147483648.diff", "2147483648.diff": "diffs/001.diff", "99999999999999999999.diff": "diffs/001.diff",
		"-5.diff": "diffs/001.diff", "x.diff": "diffs/001.diff", "12.patch": "diffs/001.diff", "1.diff.diff": "diffs/001.diff"} {
		dir := session(t, 1)
		if err := os.Mkdir(filepath.Join(dir, "diffs"), 0o700); err != nil {
			t.Fatal(err)
		}
		if name != "" {
			mustWrite(t, filepath.Join(dir, "diffs", name), nil)
		}
		w, _, _, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.SaveDiff([]byte("+x\n")); got != want || err != nil {
			t.Errorf("beside %q: %q, %v, not %q", name, got, err, want)
		}
		w.Close()
	}
}

// TestSyncedOnceIsSynced: where nothing came since, there is nothing to flush, and a session whose
// directory is gone ends without an error.
func TestSyncedOnceIsSynced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files that are open cannot be moved")
	}
	dir := filepath.Join(t.TempDir(), "sessions", "id")
	w, err := Create(dir, Options{Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	use := func() {
		t.Helper()
		if err := w.Append(Entry{"user_input", said{"x"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.SaveDiff([]byte("+x\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.SaveBlob([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := w.NoteMetadata(Metadata{ID: "id"}); err != nil {
			t.Fatal(err)
		}
	}
	use()
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	use()
	if err := os.Rename(filepath.Dir(dir), filepath.Dir(dir)+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := w.Sync(); err == nil {
		t.Error("names are synced that are gone")
	}
	if err := os.Rename(filepath.Dir(dir)+"-away", filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Dir(dir), filepath.Dir(dir)+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := w.Sync(); err != nil {
		t.Errorf("synced before: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("synced before: %v", err)
	}
}
