//go:build unix

package txn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/ordinary"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn/journal"
)

// dirScene is a commit that also makes, removes and changes directories.
func dirScene(t *testing.T) (*fixture, delta.Set, CommitOptions) {
	f := newFixture(t)
	f.write("open/x", "old x", "shut/y", "old y", "empty/z", "the last one", "a", "old a")
	for dir, mode := range map[string]os.FileMode{"open": 0o500, "shut": 0o755, "empty": 0o750} {
		if err := os.Chmod(f.path(dir), mode); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) ledger.Path { return ledger.Path(f.path(name)) }
	o := CommitOptions{
		Make:  []ledger.Dir{{Path: at("made"), Mode: 0o750}, {Path: at("made/closed"), Mode: 0o500}, {Path: at("plain"), Mode: ledger.AnyMode}},
		Prune: []string{f.path("empty")},
		Chmod: []ledger.DirMode{{Path: at("open"), Pre: 0o500, Post: 0o755}, {Path: at("shut"), Pre: 0o755, Post: 0o500}},
	}
	set := delta.Set{f.change("a", "new a"), f.change("open/new", "n"), f.change("shut/y", "new y"), f.change("empty/z"),
		f.change("made/closed/in", "i")}
	return f, set, o
}

// TestSEC_E1_CrashWithDirectories: directories that are made, removed and given other permission bits
// are as before or as after, too, whichever call is the last.
func TestSEC_E1_CrashWithDirectories(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	t.Parallel()
	f, set, o := dirScene(t)
	old := f.snapshot()
	calls := callsOf(t, f, set, o)
	next := f.snapshot()
	if cmp.Equal(old, next) || calls < 20 {
		t.Fatalf("%d calls", calls)
	}
	for name, want := range map[string]string{"made/closed": "dr-x------", "made": "drwxr-x---", "open": "drwxr-xr-x", "shut": "dr-x------", "empty": ""} {
		if next[name] != want {
			t.Errorf("%s is %s, not %s", name, next[name], want)
		}
	}
	for k := 1; k <= calls; k++ {
		f, set, o := dirScene(t)
		what := crashAt(f, set, k, o)
		checkWhole(t, f, old, next, what)
	}
}

// TestSEC_E3_FailureWithDirectories: a commit that fails at any call has changed no directory either.
func TestSEC_E3_FailureWithDirectories(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	t.Parallel()
	f, set, o := dirScene(t)
	old := f.snapshot()
	calls := callsOf(t, f, set, o)
	failed := 0
	for k := 1; k <= calls; k++ {
		f, set, o := dirScene(t)
		c := &fault{at: k, err: errors.New("broken")}
		w := f.open(false, c.hook)
		out, err := w.Commit(context.Background(), set, o)
		if err == nil {
			continue // the cleaning
		}
		failed++
		if got := f.snapshot(); !cmp.Equal(old, got) || len(out.Committed) > 0 || !out.Exact {
			t.Errorf("call %d (%s): %v\n%s", k, c.calls[k-1], err, cmp.Diff(old, got))
		}
	}
	if failed < 10 {
		t.Errorf("%d calls were noticed to fail", failed)
	}
}

// TestSEC_E1_CrashBeforeAMove: a workspace that is found under another name after a crash is brought
// to before or after there, and what recovery enters has the names of now.
func TestSEC_E1_CrashBeforeAMove(t *testing.T) {
	t.Parallel()
	late := 0
	for _, n := range []int{1, 4} {
		begin := func() (*fixture, delta.Set) {
			f := newFixture(t)
			f.write("a", "old a", "b", "old b", "h1", "linked")
			if err := os.Link(f.path("h1"), f.path("h2")); err != nil {
				t.Skip(err)
			}
			return f, delta.Set{f.change("a", "new a"), f.change("b"), f.change("sub/c", "new c"), f.change("h1", "in place")}[:n]
		}
		f, set := begin()
		old := f.snapshot()
		calls := callsOf(t, f, set, CommitOptions{})
		next := f.snapshot()
		for k := 1; k <= calls; k++ {
			f, set := begin()
			what := crashAt(f, set, k, CommitOptions{})
			late += recoverElsewhere(t, f, old, next, what)
		}
	}
	if late == 0 {
		t.Error("no recovery entered a change by its name of now")
	}
}

// recoverElsewhere renames the root, recovers there, and counts the changes that were entered by their
// names of now; what was entered before is renamed when it is read.
func recoverElsewhere(t *testing.T, f *fixture, old, next map[string]string, what string) (late int) {
	t.Helper()
	was := f.root
	f.root += "-elsewhere"
	if err := os.Rename(was, f.root); err != nil {
		t.Fatal(err)
	}
	err := ledger.NoteMove(filepath.Join(f.home, "journal"), filepath.ToSlash(was), filepath.ToSlash(f.root))
	if err != nil && !errors.Is(err, os.ErrNotExist) { // before the first call there is no journal
		t.Fatal(err)
	}
	checkWhole(t, f, old, next, what)
	list, err := f.open(false, nil).Ledger.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		for _, c := range e.Changes {
			switch {
			case strings.HasPrefix(c.Path, f.root+"/"):
				late++
			case !strings.HasPrefix(c.Path, was+"/"):
				t.Errorf("%s: the entry names %s", what, c.Path)
			}
		}
	}
	return late
}

func TestMismatchErrorSaysWhatIsThere(t *testing.T) {
	file := func(text string, mode uint32) delta.Version { return delta.NewFile([]byte(text), mode).Version }
	for want, e := range map[string]*MismatchError{
		"p exists already":        {Path: "p", Have: file("x", 0o644)},
		"p is gone":               {Path: "p", Want: file("x", 0o644)},
		"p has mode 755, not 644": {Path: "p", Want: file("x", 0o644), Have: file("x", 0o755)},
		"p has changed":           {Path: "p", Want: file("x", 0o644), Have: file("y", 0o755)},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestOtherNames(t *testing.T) {
	f := newFixture(t)
	f.write("a", "text", "alone", "text", "c", "text")
	for from, to := range map[string]string{"a": "sub-a", "c": "sub-c"} {
		if err := os.Link(f.path(from), f.path(to)); err != nil {
			t.Skip(err)
		}
	}
	set := delta.Set{f.change("a", "next"), f.change("alone", "next"), f.change("c", "next"), f.change("sub-c", "next"), f.change("new", "n")}
	want := delta.Set{{Path: f.path("sub-a"), Pre: set[0].Pre, Post: set[0].Post}}
	if d := cmp.Diff(want, f.w.OtherNames(set)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := f.w.OtherNames(delta.Set{f.change("a")}); len(got) > 0 {
		t.Errorf("a removal concerns %v", got)
	}
}

// TestOnlyNamesOfWhatLandedAreEntered: of a file that was written in place and stays, the other names
// that have the new content have landed, too; those of another file have not.
func TestOnlyNamesOfWhatLandedAreEntered(t *testing.T) {
	f := newFixture(t)
	f.write("a", "new a", "a2", "new a", "a3", "old a", "c2", "what somebody wrote")
	made := func(kind, name, pre, post string) *op {
		return &op{Kind: kind, Path: ledger.Path(f.path(name)), pre: delta.NewFile([]byte(pre), 0o644), post: delta.NewFile([]byte(post), 0o644)}
	}
	a, a2, a3 := made(opInPlace, "a", "old a", "new a"), made(opLinked, "a2", "old a", "new a"), made(opLinked, "a3", "old a", "new a")
	c, c2 := made(opInPlace, "c", "old c", "new c"), made(opLinked, "c2", "old c", "new c")
	d2, e2 := made(opLinked, "c2", "old a", "other"), made(opLinked, "c2", "other", "new a")
	got := withOtherNames(f.w.Tree, []*op{a, a2, a3, c, c2, d2, e2}, []*op{a})
	if !slices.Equal(got, []*op{a, a2}) {
		var names []string
		for _, o := range got {
			names = append(names, fmt.Sprint(o.Kind, " ", filepath.Base(string(o.Path))))
		}
		t.Errorf("%v", names)
	}
}

// TestTheNameOfTheJournalIsDurable: a commit whose journal is new flushes the directories that lead to
// it, and nothing is changed if that fails.
func TestTheNameOfTheJournalIsDurable(t *testing.T) {
	f := newFixture(t)
	f.write("a", "old", "b", "old")
	dirs := map[string]bool{}
	broken := ""
	w := f.open(true, func(op, path string) error {
		if op != "syncdir" || strings.HasPrefix(path, f.root) {
			return nil
		}
		dirs[path] = true
		if path == broken {
			return errors.New("broken")
		}
		return nil
	})
	old := f.snapshot()
	dir := filepath.Join(f.home, "journal")
	for range journal.NewLevels + 1 {
		broken = dir
		if _, err := w.Commit(context.Background(), delta.Set{f.change("a", "new"), f.change("b", "new")}, CommitOptions{}); err == nil {
			t.Errorf("%s is not flushed, and it commits", dir)
		}
		if got := f.snapshot(); !cmp.Equal(old, got) {
			t.Errorf("%s is not flushed: %s", dir, cmp.Diff(old, got))
		}
		if !dirs[dir] {
			t.Errorf("%s is not flushed", dir)
		}
		if err := errors.Join(w.Close(), os.Remove(filepath.Join(f.home, "journal", "journal.jsonl"))); err != nil {
			t.Fatal(err)
		}
		dir = filepath.Dir(dir)
	}
	broken = ""
	if _, err := w.Commit(context.Background(), delta.Set{f.change("a", "new"), f.change("b", "new")}, CommitOptions{}); err != nil {
		t.Error(err)
	}
}

// TestRootsThatAreGone: what a crash left in a directory that is not there any more is let go.
func TestRootsThatAreGone(t *testing.T) {
	f := newFixture(t)
	f.write("a", "old a", "b", "old b")
	set := delta.Set{f.change("a", "new a"), f.change("b", "new b")}
	calls := callsOf(t, f, set, CommitOptions{})
	f2 := newFixture(t)
	f2.write("a", "old a", "b", "old b")
	crashAt(f2, delta.Set{f2.change("a", "new a"), f2.change("b", "new b")}, calls/2, CommitOptions{})
	if err := os.RemoveAll(f2.root); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(f2.root+"2", 0o755); err != nil {
		t.Fatal(err)
	}
	f2.root += "2"
	w := f2.open(false, nil)
	if w.Unrecovered != nil || w.journal.Pending() || len(f2.snapshot()) > 0 {
		t.Errorf("%v, %v", w.Unrecovered, f2.snapshot())
	}
}

// TestExactIsNotSaidOfWhatIsHalfWritten: the tree fails from one call on, for good. What is committed is
// on the disk, what is not is as before; where that is not so, the outcome is not exact.
func TestExactIsNotSaidOfWhatIsHalfWritten(t *testing.T) {
	t.Parallel()
	inexact := 0
	for _, best := range []bool{false, true} {
		for k := 1; k < 200; k++ {
			f := newFixture(t)
			f.write("a", "old a", "h1", "a text that is linked", "b", "old b")
			if err := os.Link(f.path("h1"), f.path("h2")); err != nil {
				t.Skip(err)
			}
			set := delta.Set{f.change("a", "new a"), f.change("h1", "another text that is linked"), f.change("b")}
			n := 0
			w := f.open(false, func(op, path string) error {
				if !strings.HasPrefix(path, f.root) {
					return nil
				}
				if n++; n >= k {
					return errors.New("broken")
				}
				return nil
			})
			out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: best})
			if err == nil && len(out.Failed) == 0 && n < k {
				break // no call failed
			}
			landed := map[string]*delta.Image{}
			for _, c := range out.Committed {
				landed[c.Path] = c.Post
			}
			asSaid := true
			for _, c := range append(set, delta.Change{Path: f.path("h2"), Pre: set[1].Pre, Post: set[1].Post}) {
				want, ok := landed[c.Path]
				if !ok {
					want = c.Pre
				}
				asSaid = asSaid && f.image(filepath.Base(c.Path)).Same(want)
			}
			if asSaid != out.Exact && out.Exact {
				t.Errorf("call %d (best effort: %v): %+v is said to be exact\n%v", k, best, out.Committed, f.snapshot())
			}
			if !out.Exact {
				inexact++
			}
		}
	}
	if inexact == 0 {
		t.Error("nothing was half written")
	}
}

// TestJournalsOfOlderVersions: these changed modes of directories before the end, and closed what they
// had made by a change of its mode. What they left is taken back, or stays if it has an entry.
func TestJournalsOfOlderVersions(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	for _, entered := range []bool{false, true} {
		f := newFixture(t)
		f.write("shut/y", "y", "made/in", "i")
		for dir, mode := range map[string]os.FileMode{"shut": 0o550, "made": 0o500} {
			if err := os.Chmod(f.path(dir), mode); err != nil {
				t.Fatal(err)
			}
		}
		old := fmt.Sprintf(`{"v":1,"type":"begin","id":"old","roots":[%[1]q],"ops":[`+
			`{"kind":"mkdir","path":"%[1]s/made","pre":null,"post":null,"at":0,"mode":320,"fixed":true},`+
			`{"kind":"chmod","path":"%[1]s/shut","pre":null,"post":null,"at":0,"mode":360,"was":509},`+
			`{"kind":"chmod","path":"%[1]s/made","pre":null,"post":null,"at":0,"mode":320,"was":448,"fixed":true}]}`+"\n"+
			`{"v":1,"type":"intent","id":"old"}`+"\n", f.root)
		if err := errors.Join(os.MkdirAll(f.w.Dir, 0o700), os.WriteFile(f.w.journal.Path, []byte(old), 0o600)); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"shut": "drwxrwxr-x", "made": "dr-x------"}
		if entered {
			e := &ledger.Entry{ID: "old", Cause: ledger.CauseTool, Modes: []ledger.DirMode{{Path: ledger.Path(f.path("shut")), Pre: 0o775, Post: 0o550}}}
			if err := f.w.Ledger.Append(e); err != nil {
				t.Fatal(err)
			}
			want["shut"] = "dr-xr-x---"
		}
		if _, err := f.w.Recover(context.Background()); err != nil {
			t.Fatal(err)
		}
		for dir, mode := range want {
			if got := f.snapshot()[dir]; got != mode {
				t.Errorf("entered %t: %s is %s, not %s", entered, dir, got, mode)
			}
		}
		f.checkClean()
	}
}
