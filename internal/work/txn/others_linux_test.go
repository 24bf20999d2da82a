package txn

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// TestSEC_E5_ClosedDirectoriesOfOthersStay: an undo in a closed directory that belongs to somebody
// else, or whose setgid bit would go with a change of its mode, is refused in one line that names the
// directory, and nothing is changed. A process of another user does it.
func TestSEC_E5_ClosedDirectoriesOfOthersStay(t *testing.T) {
	const ordinary = 65534
	if root := os.Getenv("KERF_TEST_OTHERS"); root != "" {
		undoAsOther(t, root)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	for name, c := range map[string]struct {
		dir      string
		mode     fs.FileMode
		uid, gid int
		refused  string // "" for what can be done
	}{
		"own":                  {"d", 0o500, ordinary, ordinary, ""},
		"own, locked":          {"d", 0, ordinary, ordinary, ""},
		"own, setgid":          {"d", 0o500 | fs.ModeSetgid, ordinary, ordinary, ""},
		"own, of a group":      {"d", 0o500, ordinary, 0, ""},
		"setgid, of a group":   {"d", 0o500 | fs.ModeSetgid, ordinary, 0, "setgid"},
		"another's":            {"d", 0o555, 0, 0, "is closed by its mode 0555 and cannot be opened"},
		"another's, locked":    {"d", 0, 0, 0, "is closed by its mode 0000 and cannot be opened"},
		"another's, above it":  {"d", 0o400, 0, 0, "is closed by its mode 0400 and cannot be opened"},
		"another's, is open":   {"d", 0o755, 0, 0, "permission denied"},
		"another's, inside it": {"d/sub", 0o555, 0, 0, "is closed by its mode 0555 and cannot be opened"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			_, _ = f.w.Close(), f.w.Ledger.Close()
			f.write("a/x", "old x", "d/y", "old y", "d/sub/z", "old z")
			if err := os.Chmod(f.path("a"), 0o500); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Dir(filepath.Dir(f.root)), 0o755); err != nil {
				t.Fatal(err)
			}
			err := filepath.WalkDir(filepath.Dir(f.root), func(p string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				return os.Chown(p, ordinary, ordinary)
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(f.path(c.dir), c.uid, c.gid); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(f.path(c.dir), c.mode); err != nil {
				t.Fatal(err)
			}
			old := f.snapshot()
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestSEC_E5_ClosedDirectoriesOfOthersStay$", "-test.v")
			cmd.Env = append(os.Environ(), "KERF_TEST_OTHERS="+f.root, "TMPDIR="+filepath.Dir(f.root))
			cmd.Dir = f.root
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			_, said, _ := strings.Cut(string(text), "said: ")
			said, _, _ = strings.Cut(said, "\n")
			now := f.snapshot()
			switch {
			case c.refused != "" && (!cmp.Equal(old, now) || !strings.Contains(said, c.refused) || !strings.Contains(said, f.path(c.dir))):
				t.Errorf("%s\n%s", said, cmp.Diff(old, now))
			case c.refused == "" && (now["d/y"] != "-rw-r--r-- new y" || now["d/sub/z"] != "" || now["a/x"] != "" || now["d"] != old["d"]):
				t.Errorf("%s\n%s", said, cmp.Diff(old, now))
			}
		})
	}
}

// undoAsOther takes back what is below root, and says what came of it.
func undoAsOther(t *testing.T, root string) {
	f := &fixture{t: t, root: root, home: filepath.Join(filepath.Dir(root), "home")}
	f.w = f.open(false, nil)
	file := func(text string) *delta.Image { return delta.NewFile([]byte(text), 0o644) }
	set := delta.Set{{Path: f.path("a/x"), Pre: file("old x")}, {Path: f.path("d/sub/z"), Pre: file("old z")},
		{Path: f.path("d/y"), Pre: file("old y"), Post: file("new y")}, {Path: f.path("d/n"), Post: file("n")}}
	_, err := f.w.Commit(context.Background(), set, CommitOptions{Cause: ledger.CauseUndo, Real: true})
	t.Logf("said: %v", err)
	if f.w.journal.Pending() {
		t.Error("the journal is not empty")
	}
}
