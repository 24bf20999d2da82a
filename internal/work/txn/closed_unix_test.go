//go:build unix

package txn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/long"
	"kerf/internal/testkit/ordinary"
	"kerf/internal/text/delta"
	"kerf/internal/work/boundary"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
)

// closedScene is a commit in directories that are closed to their owner, before or after.
type closedScene struct {
	files []string               // names and texts
	dirs  map[string]os.FileMode // modes, with special bits
	also  func(f *fixture)       // makes what else is there, before directories are closed
	set   func(f *fixture) delta.Set
	make  map[string]uint32
	prune []string
	chmod map[string]uint32 // to what
	o     CommitOptions
	want  map[string]string // some of what is there afterwards
}

var (
	undoes = CommitOptions{Cause: ledger.CauseUndo, Real: true}
	redoes = CommitOptions{Cause: ledger.CauseRedo, Real: true}
	asMade = CommitOptions{AsMade: true, Real: true}
)

var closedScenes = map[string]closedScene{
	"nested": {
		files: []string{"a/b/x", "old x", "a/b/y", "old y", "a/z", "old z"},
		dirs:  map[string]os.FileMode{"a/b": 0o500, "a": 0o500},
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("a/b/x", "new x"), f.change("a/b/y"), f.change("a/b/n/n", "n"), f.change("a/z", "new z")}
		},
		o:    undoes,
		want: map[string]string{"a": "dr-x------", "a/b": "dr-x------", "a/b/x": "-rw-r--r-- new x", "a/b/n/n": "-rw-r--r-- n"},
	},
	"locked": {
		files: []string{"d/x", "old x", "d/in/y", "old y", "e/z", "old z"},
		dirs:  map[string]os.FileMode{"d/in": 0, "d": 0, "e": 0o300},
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("d/x", "new x"), f.change("d/in/y"), f.change("d/in/n", "n"), f.change("e/z", "new z")}
		},
		chmod: map[string]uint32{"d": 0o755},
		o:     undoes,
		want:  map[string]string{"d": "drwxr-xr-x", "d/in": "d---------", "d/in/n": "-rw-r--r-- n", "e": "d-wx------"},
	},
	"removed": {
		files: []string{"g/x", "old x", "g/sub/y", "old y", "kept/g/z", "old z"},
		dirs:  map[string]os.FileMode{"g/sub": 0o500, "g": 0o550, "kept/g": 0o555, "kept": 0o500},
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("g/x"), f.change("g/sub/y"), f.change("kept/g/z")}
		},
		prune: []string{"g", "g/sub", "kept/g"},
		o:     undoes,
		want:  map[string]string{"g": "", "kept": "dr-x------", "kept/g": ""},
	},
	"made": {
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("m/n/in", "in"), f.change("m/locked/in", "in"), f.change("m/f", "f")}
		},
		make: map[string]uint32{"m": 0o500, "m/n": 0o555, "m/locked": 0o100, "m/empty": 0o050},
		o:    redoes,
		want: map[string]string{"m": "dr-x------", "m/n": "dr-xr-xr-x", "m/locked": "d--x------", "m/empty": "d---r-x---", "m/n/in": "-rw-r--r-- in"},
	},
	"exchanged": {
		files: []string{"c/f", "a file", "c/g/h", "in a directory"},
		dirs:  map[string]os.FileMode{"c/g": 0o500, "c": 0o500},
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("c/f"), {Path: f.path("c/f/in"), Post: delta.NewFile([]byte("in"), 0o600)}, f.change("c/g/h"),
				{Path: f.path("c/g"), Post: delta.NewFile([]byte("a file"), 0o644)}}
		},
		prune: []string{"c/g"},
		make:  map[string]uint32{"c/f": 0o500},
		o:     undoes,
		want:  map[string]string{"c": "dr-x------", "c/f": "dr-x------", "c/f/in": "-rw------- in", "c/g": "-rw-r--r-- a file"},
	},
	"links": {
		files: []string{"c/h1", "linked", "c/gone", "gone"},
		dirs:  map[string]os.FileMode{"c": 0o500},
		also: func(f *fixture) {
			if err := errors.Join(os.Link(f.path("c/h1"), f.path("c/h2")), os.Symlink("h1", f.path("c/l")),
				os.Symlink("h2", f.path("c/l2")), os.Symlink("/", f.path("c/out"))); err != nil {
				f.t.Skip(err)
			}
		},
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("c/h1", "other text"), f.change("c/h2", "other text"), f.change("c/l2"), f.change("c/out"),
				{Path: f.path("c/l"), Pre: f.image("c/l"), Post: delta.NewSymlink("h2")},
				{Path: f.path("c/made"), Post: delta.NewSymlink("gone")}}
		},
		o:    undoes,
		want: map[string]string{"c": "dr-x------", "c/h1": "-rw-r--r-- other text", "c/l": "Lrwxrwxrwx h2", "c/l2": ""},
	},
	"moved": {
		files: []string{"from/a", "a", "from/b", "b", "to/c", "c"},
		dirs:  map[string]os.FileMode{"from": 0o500, "to": 0o511},
		set: func(f *fixture) delta.Set {
			return append(append(f.move("from/a", "to/a"), f.move("from/b", "to/sub/b")...), f.move("to/c", "c")...)
		},
		prune: []string{"from"},
		o:     redoes,
		want:  map[string]string{"from": "", "to": "dr-x--x--x", "to/a": "-rw-r--r-- a", "to/sub/b": "-rw-r--r-- b", "c": "-rw-r--r-- c"},
	},
	"special bits": {
		files: []string{"s/x", "old x", "t/y", "old y"},
		dirs:  map[string]os.FileMode{"s": 0o550 | fs.ModeSetgid, "t": 0o500 | fs.ModeSticky, "u": 0o770 | fs.ModeSetgid | fs.ModeSticky},
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("s/x", "new x"), f.change("t/y"), f.change("u/z", "z")}
		},
		chmod: map[string]uint32{"t": 0o755, "u": 0o050},
		o:     undoes,
		want:  map[string]string{"s": "dgr-xr-x---", "t": "dtrwxr-xr-x", "u": "dgt---r-x---"},
	},
	"modes alone": {
		files: []string{"a/in/x", "x"},
		dirs:  map[string]os.FileMode{"a/in": 0, "a": 0, "b": 0o755, "c": 0o300},
		set:   func(f *fixture) delta.Set { return nil },
		chmod: map[string]uint32{"a": 0o500, "a/in": 0o755, "b": 0, "c": 0o500},
		o:     undoes,
		want:  map[string]string{"a": "dr-x------", "a/in": "drwxr-xr-x", "b": "d---------", "c": "dr-x------"},
	},
	"closing": {
		files: []string{"p/x", "old x", "p/q/y", "old y", "p/q/z", "old z"},
		dirs:  map[string]os.FileMode{"p/q": 0o755, "p": 0o700},
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("p/x", "new x"), f.change("p/q/y", "new y"), f.change("p/q/z"), f.change("p/q/n", "n")}
		},
		chmod: map[string]uint32{"p": 0, "p/q": 0o500},
		want:  map[string]string{"p": "d---------", "p/q": "dr-x------", "p/q/n": "-rw-r--r-- n"},
	},
	"kept of a try": {
		files: []string{"d\n'/x", "old x", "e/y", "old y"}, // names may be odd
		dirs:  map[string]os.FileMode{"d\n'": 0o500, "e": 0o755},
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("d\n'/x", "new x"), f.change("d\n'/n", "n"), f.change("e/y")}
		},
		make:  map[string]uint32{"d\n'/sub": 0o500},
		chmod: map[string]uint32{"e": 0o500},
		o:     asMade,
		want:  map[string]string{"d\n'": "dr-x------", "d\n'/sub": "dr-x------", "e": "dr-x------"},
	},
	"the root": {
		files: []string{"x", "old x"},
		dirs:  map[string]os.FileMode{".": 0o500},
		set:   func(f *fixture) delta.Set { return delta.Set{f.change("x", "new x"), f.change("n", "n")} },
		o:     undoes,
		want:  map[string]string{"x": "-rw-r--r-- new x", "n": "-rw-r--r-- n"},
	},
}

// begin makes the scene.
func (s closedScene) begin(t *testing.T) (*fixture, delta.Set, CommitOptions) {
	t.Helper()
	f := newFixture(t)
	f.write(s.files...)
	if s.also != nil {
		s.also(f)
	}
	for dir := range s.dirs {
		if err := os.MkdirAll(f.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	set := s.set(f)
	o := s.o
	for dir, mode := range s.make {
		o.Make = append(o.Make, ledger.Dir{Path: ledger.Path(f.path(dir)), Mode: mode})
	}
	for _, dir := range s.prune {
		o.Prune = append(o.Prune, f.path(dir))
	}
	for dir, mode := range s.chmod {
		o.Chmod = append(o.Chmod, ledger.DirMode{Path: ledger.Path(f.path(dir)), Pre: uint32(s.dirs[dir].Perm()), Post: mode})
	}
	s.close(t, f)
	return f, set, o
}

// close gives directories their modes, the innermost first.
func (s closedScene) close(t *testing.T, f *fixture) {
	t.Helper()
	for depth := 3; depth >= 0; depth-- {
		for dir, mode := range s.dirs {
			if strings.Count(dir, "/") != depth {
				continue
			}
			if err := os.Chmod(f.path(dir), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// inClosed runs test in each scene, with what a commit gives that is left alone.
func inClosed(t *testing.T, test func(t *testing.T, s closedScene, old, next map[string]string, calls []string)) {
	for name, s := range closedScenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, set, o := s.begin(t)
			old := f.snapshot()
			count := &fault{}
			if _, err := f.open(false, count.hook).Commit(context.Background(), set, o); err != nil {
				t.Fatal(err)
			}
			next := f.snapshot()
			for name, want := range s.want {
				if next[name] != want {
					t.Errorf("%s is %q, not %q", name, next[name], want)
				}
			}
			if cmp.Equal(old, next) {
				t.Fatal("nothing changes")
			}
			test(t, s, old, next, count.calls)
		})
	}
}

// TestSEC_E1_CrashInClosedDirectories: also where directories are closed to their owner all is as
// before or as after, and nothing of Kerf's is left, whichever call is the last.
func TestSEC_E1_CrashInClosedDirectories(t *testing.T) {
	long.Slow(t)
	if !ordinary.Run(t) {
		return
	}
	inClosed(t, func(t *testing.T, s closedScene, old, next map[string]string, calls []string) {
		for k := 1; k <= len(calls); k++ {
			f, set, o := s.begin(t)
			what := crashAt(f, set, k, o)
			checkWhole(t, f, old, next, what)
		}
	})
}

// TestSEC_E2_CrashOfRecoveryInClosedDirectories kills the recovery, too, at each of its calls.
func TestSEC_E2_CrashOfRecoveryInClosedDirectories(t *testing.T) {
	long.Slow(t)
	if !ordinary.Run(t) {
		return
	}
	inClosed(t, func(t *testing.T, s closedScene, old, next map[string]string, calls []string) {
		step := 9
		if os.Getenv("KERF_LONG") != "" {
			step = 1
		}
		for k := 1 + len(s.files)%step; k <= len(calls); k += step {
			for r, dead := 1, true; dead; r++ {
				f, set, o := s.begin(t)
				what := crashAt(f, set, k, o)
				again := &fault{at: r, crash: true, err: errors.New("dead")}
				dead = survive(func() { _, _ = openAt(f.root, f.home, false, again.hook) })
				checkWhole(t, f, old, next, fmt.Sprintf("%s, recovery call %d", what, r))
			}
		}
	})
}

// TestSEC_E3_FailureInClosedDirectories: a commit that fails at any call changes nothing; one that
// failed to clean up has happened, and recovery does the rest.
func TestSEC_E3_FailureInClosedDirectories(t *testing.T) {
	long.Slow(t)
	if !ordinary.Run(t) {
		return
	}
	inClosed(t, func(t *testing.T, s closedScene, old, next map[string]string, calls []string) {
		failed, left := 0, 0
		for k := 1; k <= len(calls); k++ {
			f, set, o := s.begin(t)
			c := &fault{at: k, err: syscall.EIO}
			if strings.HasPrefix(calls[k-1], "rmdir") {
				continue // a directory that cannot be removed stays
			}
			out, err := f.open(false, c.hook).Commit(context.Background(), set, o)
			now, what := f.snapshot(), fmt.Sprintf("call %d (%s): %v", k, c.calls[k-1], err)
			switch {
			case err != nil && (!cmp.Equal(old, now) || len(out.Committed) > 0 || !out.Exact || !errors.Is(err, syscall.EIO)):
				t.Errorf("%s: %+v\n%s", what, out, cmp.Diff(old, now))
			case err != nil:
				failed++
			case !cmp.Equal(next, now) && len(out.Left) == 0:
				t.Errorf("%s: nothing is said to be left\n%s", what, cmp.Diff(next, now))
			case !cmp.Equal(next, now):
				if left++; !strings.Contains(strings.Join(out.Strays(), "\n"), "kerf recover") {
					t.Errorf("%s: %v", what, out.Strays())
				}
			}
			checkWhole(t, f, old, next, what)
		}
		if failed < 3 || left == 0 {
			t.Errorf("%d calls were noticed to fail, and %d to leave something", failed, left)
		}
	})
}

// TestSEC_E1_NobodyElseGetsMore: at no call may the group or others do more in a directory than
// before or after, and recovery closes what a crash left open.
func TestSEC_E1_NobodyElseGetsMore(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	inClosed(t, func(t *testing.T, s closedScene, old, next map[string]string, calls []string) {
		f, set, o := s.begin(t)
		w := f.open(false, func(op, path string) error {
			for dir := range merged(s.make, s.chmod, s.dirs) {
				st, err := os.Lstat(f.path(dir))
				if err != nil || !st.IsDir() {
					continue // it is in a closed one, or not there
				}
				may := merged(map[string]os.FileMode{dir: 0}, s.dirs)[dir] | merged(map[string]os.FileMode{dir: 0}, s.make)[dir] |
					merged(map[string]os.FileMode{dir: 0}, s.chmod)[dir]
				if more := st.Mode().Perm() &^ may.Perm() & 0o077; more != 0 {
					t.Errorf("before %s %s: %s has mode %v", op, filepath.Base(path), dir, st.Mode())
				}
			}
			return nil
		})
		if _, err := w.Commit(context.Background(), set, o); err != nil {
			t.Fatal(err)
		}
	})
}

// merged joins modes by the names of their directories.
func merged(all ...any) map[string]os.FileMode {
	got := map[string]os.FileMode{}
	for _, one := range all {
		switch one := one.(type) {
		case map[string]uint32:
			for dir, mode := range one {
				got[dir] |= os.FileMode(mode)
			}
		case map[string]os.FileMode:
			for dir, mode := range one {
				got[dir] |= mode
			}
		}
	}
	return got
}

// TestSEC_E6_OthersInClosedDirectories: before each call somebody else puts a file into a directory or
// changes its mode. Both stay, whether the commit happens, and whether it is recovered.
func TestSEC_E6_OthersInClosedDirectories(t *testing.T) {
	long.Slow(t)
	if !ordinary.Run(t) {
		return
	}
	const theirs = 0o751
	step := 5
	if os.Getenv("KERF_LONG") != "" {
		step = 1
	}
	inClosed(t, func(t *testing.T, s closedScene, old, next map[string]string, calls []string) {
		for dir := range s.dirs {
			for k := 1 + len(dir)%step; k <= len(calls); k += step {
				for _, crash := range []bool{false, true} {
					f, set, o := s.begin(t)
					did := ""
					c := &fault{}
					c.wrap = func(op, path string) error {
						switch st, err := os.Lstat(f.path(dir)); {
						case c.n == k && err == nil && st.IsDir() && !(op == "chmod" && filepath.Clean(path) == filepath.Clean(f.path(dir))):
							did = fmt.Sprintf("call %d (%s %s), %s", k, op, filepath.Base(path), dir)
							if err := os.Chmod(f.path(dir), theirs|st.Mode()&(fs.ModeSetgid|fs.ModeSticky)); err != nil {
								t.Error(err)
							}
							if err := os.WriteFile(filepath.Join(f.path(dir), "theirs"), []byte("theirs"), 0o644); err != nil {
								t.Error(err)
							}
						case c.n > k && crash && did != "":
							panic(crashed{})
						}
						return nil
					}
					survive(func() { _, _ = f.open(false, c.hook).Commit(context.Background(), set, o) })
					if did == "" {
						continue
					}
					if _, err := f.open(false, nil).Recover(context.Background()); err != nil {
						t.Errorf("%s: %v", did, err)
					}
					now := f.snapshot()
					if text := now[filepath.Join(dir, "theirs")]; text != "-rw-r--r-- theirs" {
						t.Errorf("%s: their file is %q", did, text)
					}
					if mode := now[dir]; dir != "." && !strings.HasSuffix(mode, "rwxr-x--x") {
						t.Errorf("%s: the mode is %s, not theirs", did, mode)
					}
					f.checkClean()
				}
			}
		}
	})
}

// TestSEC_L7_ClosedDirectoryBecomesALink: before each call a closed directory is moved away and a link to
// one outside takes its place. That one keeps its mode and what is in it, and the workspace can be used.
func TestSEC_L7_ClosedDirectoryBecomesALink(t *testing.T) {
	long.Slow(t)
	if !ordinary.Run(t) {
		return
	}
	t.Parallel()
	s := closedScene{
		files: []string{"c/x", "old x", "c/y", "old y", "c/in/z", "old z", "other", "old"},
		dirs:  map[string]os.FileMode{"c/in": 0o500, "c": 0o500},
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("c/x", "new x"), f.change("c/y"), f.change("c/in/z", "new z"), f.change("c/n", "n")}
		},
		chmod: map[string]uint32{"c": 0o755},
		o:     undoes,
	}
	f, set, o := s.begin(t)
	calls, refused := callsOf(t, f, set, o), 0
	for k := 1; k <= calls; k++ {
		for _, crash := range []bool{false, true} {
			f, set, o := s.begin(t)
			outside := filepath.Join(filepath.Dir(f.root), "outside")
			if err := os.MkdirAll(filepath.Join(outside, "in"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"x", "y", "in/z"} {
				if err := os.WriteFile(filepath.Join(outside, name), []byte("old "+name[len(name)-1:]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, dir := range []string{"in", "."} {
				if err := os.Chmod(filepath.Join(outside, dir), 0o500); err != nil {
					t.Fatal(err)
				}
			}
			want := snapshot(t, outside)
			c := &fault{}
			c.wrap = func(string, string) error {
				switch {
				case c.n == k:
					if err := errors.Join(os.Rename(f.path("c"), f.path("away")), os.Symlink(outside, f.path("c"))); err != nil {
						t.Error(err)
					}
				case c.n > k && crash:
					panic(crashed{})
				}
				return nil
			}
			survive(func() {
				if _, err := f.open(false, c.hook).Commit(context.Background(), set, o); err != nil {
					refused++
				}
			})
			st, err := os.Stat(outside)
			if got := snapshot(t, outside); err != nil || st.Mode().Perm() != 0o500 || !cmp.Equal(got, want) {
				t.Errorf("call %d: outside is %v, %v\n%s", k, st.Mode(), err, cmp.Diff(want, got))
			}
			// Somebody puts the directory back.
			if err := errors.Join(os.Remove(f.path("c")), os.Rename(f.path("away"), f.path("c"))); err != nil {
				t.Fatal(err)
			}
			f.w = f.open(false, nil)
			if _, err := f.w.Recover(context.Background()); err != nil {
				t.Errorf("call %d: %v", k, err)
			}
			f.commit(f.change("other", "new"))
		}
	}
	if refused == 0 {
		t.Error("no commit was refused")
	}
}

// TestModesAreWhatTheEntryTells: somebody writes on in a file that a commit changed before it was killed,
// so recovery enters that file alone and takes the rest back. Wherever that recovery is killed, the
// directory has the mode from before in the end, as the entry tells.
func TestModesAreWhatTheEntryTells(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	t.Parallel()
	s := closedScene{
		files: []string{"c/x", "old x", "c/y", "old y"},
		dirs:  map[string]os.FileMode{"c": 0o500},
		set: func(f *fixture) delta.Set {
			return delta.Set{f.change("c/x", "new x"), f.change("c/y", "new y"), f.change("c/z", "new z")}
		},
		chmod: map[string]uint32{"c": 0o755},
		o:     undoes,
	}
	f, set, o := s.begin(t)
	calls, entered := callsOf(t, f, set, o), 0
	for k := calls / 2; k <= calls; k++ {
		for r, dead := 1, true; dead; r++ {
			f, set, o := s.begin(t)
			what := crashAt(f, set, k, o)
			if text, err := os.ReadFile(f.path("c/x")); err != nil || string(text) != "new x" {
				break
			}
			if err := os.WriteFile(f.path("c/x"), []byte("new x, and theirs"), 0o644); err != nil {
				t.Fatal(err)
			}
			again := &fault{at: r, crash: true, err: errors.New("dead")}
			dead = survive(func() { _, _ = openAt(f.root, f.home, false, again.hook) })
			list, err := f.open(false, nil).Ledger.Read(0)
			if err != nil || len(list) != 1 {
				t.Fatalf("%s, recovery call %d: %v, %v", what, r, list, err)
			}
			want := "dr-x------"
			if len(list[0].Modes) > 0 {
				want = "drwxr-xr-x" // it had happened
			} else {
				entered++
			}
			if got := f.snapshot(); got["c"] != want || got["c/x"] != "-rw-r--r-- new x, and theirs" {
				t.Errorf("%s, recovery call %d: %v, not %s", what, r, got, want)
			}
			f.checkClean()
		}
	}
	if entered == 0 {
		t.Error("no recovery entered a part")
	}
}

// TestSEC_E2_FailureOfRecoveryLeavesNothingOpen: a recovery that fails gives each directory the mode from
// before or after; the next one opens again what it must.
func TestSEC_E2_FailureOfRecoveryLeavesNothingOpen(t *testing.T) {
	long.Slow(t)
	if !ordinary.Run(t) {
		return
	}
	t.Parallel()
	s := closedScenes["nested"]
	f, set, o := s.begin(t)
	old, failed := f.snapshot(), 0
	calls := callsOf(t, f, set, o)
	next := f.snapshot()
	for k := calls / 2; k <= calls; k += 3 {
		for r := 1; ; r++ {
			f, set, o := s.begin(t)
			what := fmt.Sprintf("%s, recovery call %d", crashAt(f, set, k, o), r)
			broken := &fault{at: r, err: syscall.EIO}
			_, err := openAt(f.root, f.home, false, broken.hook)
			if now := f.snapshot(); err != nil && !strings.HasPrefix(broken.calls[r-1], "chmod") {
				failed++
				for dir := range s.dirs {
					if now[dir] != "dr-x------" {
						t.Errorf("%s: %v leaves %s with %s", what, err, dir, now[dir])
					}
				}
			}
			checkWhole(t, f, old, next, what)
			if broken.n < r {
				break
			}
		}
	}
	if failed == 0 {
		t.Error("no recovery failed")
	}
}

// TestOnlyWhatIsNamedIsOpened: a closed directory is opened if its mode changes, or modes are given back;
// one that is protected, or cannot be opened, never is.
func TestOnlyWhatIsNamedIsOpened(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	best := undoes
	best.BestEffort = true
	for name, c := range map[string]struct {
		o      CommitOptions
		dir    string // one of the two, the other one is e
		named  bool   // its mode changes
		fails  bool   // the change of its mode
		files  string // where new files are made
		opened string // what is opened
		ok     bool
	}{
		"none is":                         {CommitOptions{}, "d", false, false, "d", "", false},
		"one is named":                    {CommitOptions{}, "d", true, false, "d", "d", true},
		"one is named, and one is not":    {CommitOptions{}, "d", true, false, "d e", "d", false},
		"all":                             {undoes, "d", false, false, "d e", "d e", true},
		"as they were made":               {asMade, "d", true, false, "d e", "d e", true},
		"one is protected":                {undoes, ".git", false, false, ".git e", "e", false},
		"one is protected, and named":     {CommitOptions{}, ".git", true, false, ".", "", true},
		"protected, and modes go back":    {undoes, ".git", true, false, "e", "e", true},
		"one cannot be opened":            {undoes, "d", false, true, "d e", "d", false},
		"each for itself, and one cannot": {best, "d", false, true, "d", "d", false},
	} {
		f := newFixture(t)
		f.write(c.dir+"/x", "x", "e/x", "x")
		var set delta.Set
		for _, dir := range strings.Fields(c.files) {
			set = append(set, f.change(dir+"/n", "new"))
		}
		for _, dir := range []string{c.dir, "e"} {
			if err := os.Chmod(f.path(dir), 0o500); err != nil {
				t.Fatal(err)
			}
		}
		o := c.o
		if c.named {
			o.Chmod = []ledger.DirMode{{Path: ledger.Path(f.path(c.dir)), Pre: 0o500, Post: 0o755}}
		}
		tries := map[string]int{}
		hook := func(op, path string) error {
			if op != "chmod" || filepath.Dir(filepath.Clean(path)) != f.root {
				return nil
			}
			dir := filepath.Base(path)
			if tries[dir]++; c.fails && dir == c.dir {
				return syscall.EPERM
			}
			return nil
		}
		bound := boundary.NewSession(boundary.Disk{}, boundary.WorkspaceWrite, func(mode string) boundary.Policy {
			return boundary.Policy{Mode: mode, Roots: []string{f.root}}
		})
		tr, err := tree.Open(tree.Options{Roots: []string{f.root}, Boundary: bound, Before: hook})
		if err != nil {
			t.Fatal(err)
		}
		w := f.open(false, hook)
		w.Tree = tr
		old := f.snapshot()
		out, err := w.Commit(context.Background(), set, o)
		if (err == nil) != c.ok || !c.ok && !same(old, f.snapshot()) || len(out.Left) > 0 {
			t.Errorf("%s: %+v, %v\n%s", name, out, err, cmp.Diff(old, f.snapshot()))
		}
		for _, dir := range []string{c.dir, "e"} {
			st, statErr := os.Stat(f.path(dir))
			want := os.FileMode(0o500)
			if c.ok && c.named && dir == "d" {
				want = 0o755
			}
			if statErr != nil || st.Mode().Perm() != want || (tries[dir] > 0) != slices.Contains(strings.Fields(c.opened), dir) || tries[dir] > 2 {
				t.Errorf("%s: %s has mode %v after %d changes; %v", name, dir, st.Mode(), tries[dir], statErr)
			}
		}
		f.checkClean()
	}
}

// TestALockedDirectoryThatIsNamed is opened before anybody looks for what is in it.
func TestALockedDirectoryThatIsNamed(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	f := newFixture(t)
	f.write("d/x", "old")
	set := delta.Set{f.change("d/x", "new")}
	o := CommitOptions{Chmod: []ledger.DirMode{{Path: ledger.Path(f.path("d")), Pre: 0, Post: 0o755}}}
	if err := os.Chmod(f.path("d"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := f.w.Commit(context.Background(), set, o)
	if now := f.snapshot(); err != nil || now["d"] != "drwxr-xr-x" || now["d/x"] != "-rw-r--r-- new" {
		t.Errorf("%v, %v", err, now)
	}
}

// TestALinkInThePlaceOfADirectoryIsNotWaitedFor: a directory whose mode alone changes is moved away while
// the commit works, and a link has its name. Nothing is left for a recovery.
func TestALinkInThePlaceOfADirectoryIsNotWaitedFor(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	s := closedScenes["modes alone"]
	s.chmod = map[string]uint32{"b": 0}
	f, set, o := s.begin(t)
	chmods := 0
	w := f.open(false, func(op, path string) error {
		if op == "chmod" {
			chmods++
		}
		if op != "write" || chmods != 1 {
			return nil
		}
		chmods++
		return errors.Join(os.Rename(f.path("b"), f.path("away")), os.Symlink("away", f.path("b")))
	})
	out, err := w.Commit(context.Background(), set, o)
	if st, statErr := os.Stat(f.path("away")); err != nil || len(out.Left) > 0 || statErr != nil || st.Mode().Perm() != 0o755 || chmods != 2 {
		t.Errorf("%+v, %v; %v, %v; %d", out, err, st.Mode(), statErr, chmods)
	}
	f.checkClean()
}
