package txn

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"kerf/internal/testkit/faults"
	"kerf/internal/testkit/long"
	"kerf/internal/testkit/ordinary"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// TestNoFileStaysOpen behind a commit or a recovery, whichever call fails or is the last.
func TestNoFileStaysOpen(t *testing.T) {
	long.Slow(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what was forgotten
	scenes := map[string]func() (*fixture, delta.Set, CommitOptions){
		"every kind": func() (*fixture, delta.Set, CommitOptions) {
			f, set := scene(t, 1)
			return f, set, CommitOptions{}
		},
		"each for itself": func() (*fixture, delta.Set, CommitOptions) {
			f, set := scene(t, 1)
			return f, set, CommitOptions{BestEffort: true}
		},
		"directories": func() (*fixture, delta.Set, CommitOptions) { return dirScene(t) },
	}
	for name, begin := range scenes {
		f, set, o := begin()
		calls := callsOf(t, f, set, o)
		for k := 0; k <= calls; k++ {
			f, set, o := begin()
			c := &fault{at: k, err: syscall.EIO}
			w, err := openAt(f.root, f.home, k%2 == 0, c.hook)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Commit(context.Background(), set, o)
			_, again := w.Recover(context.Background())
			if err := errors.Join(w.Close(), w.Ledger.Close(), f.w.Close(), f.w.Ledger.Close()); err != nil {
				t.Error(err)
			}
			if left := openedBelow(t, filepath.Dir(f.root)); len(left) > 0 {
				t.Fatalf("%s, call %d fails (%v, %v): %q stay open", name, k, err, again, left)
			}
		}
	}
}

// openedBelow are the files and directories below dir that this process has open, but for what says that it
// uses the store.
func openedBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	return slices.DeleteFunc(faults.Opened(t, dir), func(name string) bool { return strings.Contains(name, "store/live/") })
}

// TestAJournalThatCannotBeEmptied is told beside what failed, where nothing landed.
func TestAJournalThatCannotBeEmptied(t *testing.T) {
	f := newFixture(t)
	f.write("a", "old")
	w := f.open(false, func(op, path string) error {
		switch op {
		case "exchange":
			return syscall.EIO
		case "truncate":
			return syscall.EROFS
		}
		return nil
	})
	out, err := w.Commit(context.Background(), delta.Set{f.change("a", "new")}, CommitOptions{BestEffort: true})
	if !errors.Is(err, syscall.EIO) || !errors.Is(err, syscall.EROFS) || len(out.Failed) != 1 || out.Entry != nil || f.snapshot()["a"] != "-rw-r--r-- old" {
		t.Errorf("%+v, %v", out, err)
	}
	f.w = f.open(false, nil)
	f.checkClean()
}

// TestTheMaskTakesNothingFromWhatIsAskedFor: directories of a mode that is known get it, whatever the mask.
func TestTheMaskTakesNothingFromWhatIsAskedFor(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	f := newFixture(t)
	mask := syscall.Umask(0o022)
	defer syscall.Umask(mask)
	w := f.open(false, func(op, path string) error {
		if op == "mkdir" && path == f.path("made") {
			syscall.Umask(0o777)
		}
		return nil
	})
	o := CommitOptions{Make: []ledger.Dir{{Path: ledger.Path(f.path("made")), Mode: 0o775}}}
	_, err := w.Commit(context.Background(), delta.Set{{Path: f.path("made/a"), Post: delta.NewFile([]byte("text"), 0o644)}}, o)
	syscall.Umask(0o022)
	if st, statErr := os.Stat(f.path("made")); err != nil || statErr != nil || st.Mode().Perm() != 0o775 {
		t.Errorf("%v, %v, %v", st, statErr, err)
	}
	f.w = f.open(false, nil)
	f.checkClean()
}
