package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gofrs/flock"

	"kerf/internal/text/delta"
	"kerf/internal/work/homes"
	"kerf/internal/work/txn"
)

// TestOpenLeaksNothing lets each part fail in turn. Afterwards no file, lock or
// temporary directory of the parts before it is left.
func TestOpenLeaksNothing(t *testing.T) {
	for _, part := range []string{"tree", "tmp", "store", "ledger", "txn", "scanner"} {
		t.Run(part, func(t *testing.T) {
			home, root := dirs(t)
			fault := errors.New("seeded")
			o := Options{Home: home, Roots: []string{root}, Tmp: "leak"}
			o.Before = func(p string) error {
				if p == part {
					return fault
				}
				return nil
			}
			before := descriptors(t)
			if _, err := Open(o); !errors.Is(err, fault) {
				t.Fatalf("the error is %v", err)
			}
			nothingLeft(t, before, homes.Of(home, root))
		})
	}
}

// TestOpenLeaksNothingInUse lets the last part fail after the others were used: files
// are open and locks are held by then.
func TestOpenLeaksNothingInUse(t *testing.T) {
	home, root := dirs(t)
	before := descriptors(t)
	fault := errors.New("seeded")
	o := Options{Home: home, Roots: []string{root}, Tmp: "leak"}
	opened := &Workspace{}
	o.Before = func(p string) error {
		if p != "scanner" {
			return nil
		}
		use(t, opened)
		if inUse := descriptors(t); before >= 0 && inUse <= before {
			t.Errorf("%d descriptors are open in use, %d before: the test shows nothing", inUse, before)
		}
		return fault
	}
	if err := opened.open(o); !errors.Is(err, fault) {
		t.Fatalf("the error is %v", err)
	}
	nothingLeft(t, before, homes.Of(home, root))
}

// TestOpenLeaksNothingAfterFailedRecovery has a journal that cannot be settled.
func TestOpenLeaksNothingAfterFailedRecovery(t *testing.T) {
	home, root := dirs(t)
	dir := homes.Of(home, root)
	err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte("damaged\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	if _, err := Open(Options{Home: home, Roots: []string{root}, Tmp: "leak"}); err == nil {
		t.Fatal("it opens")
	}
	nothingLeft(t, before, dir)
}

// use commits a change, so that the ledger, the store and the journal are open.
func use(t *testing.T, w *Workspace) {
	t.Helper()
	post := delta.NewFile([]byte("hello\n"), 0o644)
	set := delta.Set{{Path: filepath.ToSlash(filepath.Join(w.Roots[0], "a.txt")), Post: post}}
	if _, err := w.Txn.Commit(t.Context(), set, txn.CommitOptions{}); err != nil {
		t.Fatal(err)
	}
}

func dirs(t *testing.T) (home, root string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, root = filepath.Join(top, "home"), filepath.Join(top, "root")
	for _, d := range []string{home, root, filepath.Join(top, "tmp")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(top, "tmp"))
	t.Setenv("TMP", filepath.Join(top, "tmp"))
	return home, root
}

// descriptors counts the open files of this process, or returns -1 where that is
// not known.
func descriptors(t *testing.T) int {
	t.Helper()
	dir := map[string]string{"linux": "/proc/self/fd", "darwin": "/dev/fd"}[runtime.GOOS]
	if dir == "" {
		return -1
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func nothingLeft(t *testing.T, before int, dir string) {
	t.Helper()
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s is left", e.Name())
	}
	leases, _ := os.ReadDir(filepath.Join(dir, "store", "live"))
	for _, e := range leases {
		t.Errorf("the lease %s of the store is left", e.Name())
	}
	for _, name := range []string{"lock", "ledger.lock"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			continue
		}
		l := flock.New(filepath.Join(dir, name))
		if got, err := l.TryLock(); err != nil || !got {
			t.Errorf("%s is held: %v", name, err)
		}
		_ = l.Unlock()
	}
}
