//go:build unix

package txn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/pathname"
	"kerf/internal/testkit/long"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// crashAt commits set and dies at call k. It returns the call.
func crashAt(f *fixture, set delta.Set, k int, o CommitOptions) string {
	c := &fault{at: k, crash: true, err: errors.New("dead")}
	survive(func() {
		if w, err := openAt(f.root, f.home, false, c.hook); err == nil {
			_, _ = w.Commit(context.Background(), set, o)
		}
	})
	return fmt.Sprintf("call %d (%s)", k, c.calls[min(k, len(c.calls))-1])
}

// callsOf counts the calls of a commit.
func callsOf(t *testing.T, f *fixture, set delta.Set, o CommitOptions) int {
	t.Helper()
	count := &fault{}
	if _, err := f.open(false, count.hook).Commit(context.Background(), set, o); err != nil {
		t.Fatal(err)
	}
	return count.n
}

// TestSEC_E1_SavedAfterTheCrashStays: after the crash somebody writes on in the very files that
// the commit changed. What they wrote is there after recovery, which tells of such files.
func TestSEC_E1_SavedAfterTheCrashStays(t *testing.T) {
	t.Parallel()
	begin := func() (*fixture, delta.Set) {
		f := newFixture(t)
		f.write("a", "old a\n", "b", "old b\n")
		return f, delta.Set{f.change("a", "new a\n"), f.change("b", "new b\n"), f.change("c", "new c\n")}
	}
	f, set := begin()
	calls := callsOf(t, f, set, CommitOptions{})
	told := 0
	for k := 1; k <= calls; k++ {
		f, set := begin()
		what := crashAt(f, set, k, CommitOptions{})
		onto := map[string]string{} // what they wrote on in, by path
		for _, ch := range set {
			text, err := os.ReadFile(ch.Path)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			onto[ch.Path] = string(text) + "theirs\n"
			if err = errors.Join(err, os.WriteFile(ch.Path, []byte(onto[ch.Path]), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		w, err := openAt(f.root, f.home, false, nil) // recovers
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		list, err := w.Ledger.Read(0)
		if err = errors.Join(err, w.Close(), w.Ledger.Close()); err != nil {
			t.Fatal(err)
		}
		for p, want := range onto {
			if got, err := os.ReadFile(p); err != nil || string(got) != want {
				t.Errorf("%s: %s holds %q, not %q, %v", what, p, got, want, err)
			}
			ours := strings.HasPrefix(want, "new") && strings.TrimPrefix(p, f.root) != "/c"
			entered := slices.ContainsFunc(list, func(e ledger.Entry) bool {
				return slices.ContainsFunc(e.Changes, func(c ledger.Change) bool { return c.Path == p })
			})
			if ours && !entered {
				t.Errorf("%s: %s has the text of the commit below theirs, and no entry tells", what, p)
			}
			if ours {
				told++
			}
		}
		f.checkClean()
	}
	if told == 0 {
		t.Error("no crash left a change for them to write on")
	}
}

// TestSEC_E2_FailureDuringRecovery fails each call of a recovery once. It says so, and what it did
// not do is done by the next.
func TestSEC_E2_FailureDuringRecovery(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	old, next, calls := afterwards(t, 1, false, nil, CommitOptions{})
	said := 0
	for k := calls / 3; k <= calls; k += calls / 6 { // some crashes, of which each call of the recovery
		for r := 1; ; r++ {
			f, set := scene(t, 1)
			what := crashAt(f, set, k, CommitOptions{})
			broken := &fault{at: r, err: syscall.EIO}
			w, err := openAt(f.root, f.home, false, broken.hook)
			if err == nil {
				_, err = w.Recover(context.Background())
				_, _ = w.Close(), w.Ledger.Close()
			}
			if err != nil {
				said++
			}
			checkWhole(t, f, old, next, fmt.Sprintf("%s, recovery call %d: %v", what, r, err))
			if broken.n < r {
				break
			}
		}
	}
	if said == 0 {
		t.Error("no failure was told of")
	}
}

// TestRecoveredEntriesTellWhatIsThere: each file is committed for itself, and the commit dies at
// each of its calls. The entry that recovery writes has exactly those that landed, with the modes
// that they got, the directories that were made for them, and the time of the commit.
func TestRecoveredEntriesTellWhatIsThere(t *testing.T) {
	t.Parallel()
	begin := func() (*fixture, delta.Set) {
		f := newFixture(t)
		f.write("a*", "old a\n", "gone", "g\n", "h1", "linked")
		if err := os.Link(f.path("h1"), f.path("h2")); err != nil {
			t.Skip(err)
		}
		made := f.change("c", "new c\n")
		made.Post = delta.NewFile(made.Post.Data, 0o666) // the umask takes its part
		return f, delta.Set{f.change("a", "new a\n"), f.change("d/in/b", "new b\n"), made, f.change("gone"), f.change("h1", "linked still"),
			f.change("e/b", "b\n")}
	}
	o := CommitOptions{BestEffort: true}
	f, set := begin()
	for k := range callsOf(t, f, set, o) {
		f, set := begin()
		what := crashAt(f, set, k+1, o)
		died := time.Now()
		w := f.open(false, nil) // recovers
		list, err := w.Ledger.Read(0)
		if err != nil || len(list) > 1 {
			t.Fatalf("%s: %v %v", what, list, err)
		}
		dirs := map[string]bool{"d": false, "d/in": false, "e": false} // those that are entered
		for _, e := range list {
			if e.Time.IsZero() || e.Time.After(died) || !e.Exact {
				t.Errorf("%s: entered as of %v, it died at %v; exact %v", what, e.Time, died, e.Exact)
			}
			for _, dir := range e.Dirs {
				dirs[strings.TrimPrefix(string(dir), f.root+"/")] = true
			}
		}
		for dir, entered := range dirs {
			if _, err := os.Stat(f.path(dir)); (err == nil) != entered {
				t.Errorf("%s: the directory %s: entered %v, %v", what, dir, entered, err)
			}
		}
		f.checkClean()
		var entered delta.Set
		for _, e := range list {
			entered = append(entered, e.Set()...)
		}
		for _, ch := range set {
			is := f.image(strings.TrimPrefix(ch.Path, f.root+"/")).At()
			i := slices.IndexFunc(entered, func(c delta.Change) bool { return c.Path == ch.Path })
			switch {
			case i < 0 && is != ch.Pre.At():
				t.Errorf("%s: %s is %v, and no entry tells", what, ch.Path, is)
			case i >= 0 && is != entered[i].Post.At():
				t.Errorf("%s: %s is %v, not %v", what, ch.Path, is, entered[i].Post.At())
			}
		}
	}
}

func TestModesThatAreNotGiven(t *testing.T) {
	f := newFixture(t)
	f.write("old*", "text")
	change := func(name string) delta.Change {
		c := f.change(name, "new")
		c.Post = delta.NewFile(c.Post.Data, 0)
		return c
	}
	w := f.open(true, nil)
	set := delta.Set{change("new"), change("old")}
	if _, err := w.Commit(context.Background(), set, CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	if a, b := f.image("new").Mode, f.image("old").Mode; a&0o600 != 0o600 || a&0o111 != 0 || b != 0o751 {
		t.Errorf("a new file has mode %o, and one that was there %o", a, b)
	}
	set = delta.Set{{Path: f.path("old"), Pre: f.image("old"), Post: delta.NewFile([]byte("older"), 0)}}
	if _, err := w.Commit(context.Background(), set, CommitOptions{Cause: ledger.CauseUndo}); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(f.path("old")); err != nil || st.Mode().Perm() != 0 {
		t.Errorf("undone to %v, %v", st.Mode(), err)
	}
}

// TestAFileThatGrewIsNoMatch: what is there now is more than would ever be shown.
func TestAFileThatGrewIsNoMatch(t *testing.T) {
	f := newFixture(t)
	f.write("a", "small")
	set := delta.Set{f.change("a", "other")}
	const size = maxShown + 1
	if err := os.Truncate(f.path("a"), size); err != nil {
		t.Fatal(err)
	}
	_, err := f.open(true, nil).Commit(context.Background(), set, CommitOptions{})
	var mismatch *MismatchError
	if !errors.As(err, &mismatch) || mismatch.Path != f.path("a") || mismatch.Have.Size != size {
		t.Errorf("%v", err)
	}
}

// TestWhatCannotBeRecordedIsToldOf: a store or a ledger that fails leaves no entry, and Record says
// so. Where only the disk of the store is full, the changes are entered without their contents.
func TestWhatCannotBeRecordedIsToldOf(t *testing.T) {
	for name, c := range map[string]struct {
		store, ledger error
		entries       int
	}{
		"the store fails":   {syscall.EIO, nil, 0},
		"the store is full": {syscall.ENOSPC, nil, 1},
		"the ledger fails":  {nil, syscall.EIO, 0},
		"all is well":       {nil, nil, 1},
	} {
		f := newFixture(t)
		set := delta.Set{f.change("a", strings.Repeat("text\n", 100))}
		f.w.Store.Hook = func(string, string) error { return c.store }
		f.w.Ledger.Hook = func(op, _ string) error {
			if op == "write" {
				return c.ledger
			}
			return nil
		}
		e, err := f.w.Record(context.Background(), set, CommitOptions{})
		want := errors.Join(c.store, c.ledger)
		if (err == nil) != (want == nil) || err != nil && !errors.Is(err, errors.Join(c.store, c.ledger)) &&
			!errors.Is(err, c.store) && !errors.Is(err, c.ledger) || (e != nil) != (c.entries > 0) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		list := f.entries()
		if len(list) != c.entries || c.entries > 0 && list[0].Cause != ledger.CauseTool {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

// TestTheJournalIsItsOwnersAlone: what files held is in it.
func TestTheJournalIsItsOwnersAlone(t *testing.T) {
	f := newFixture(t)
	f.commit(f.change("a", "text"))
	if st, err := os.Stat(f.w.Dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if st, err := os.Stat(f.w.journal.Path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// TestSEC_E3_FailureOfTheTreeAlone fails every call of the tree from one on, as when the disk of a
// project is full or broken and that of Kerf's home is not. When the disk is well again, every file
// is as it was, or as the ledger tells.
func TestSEC_E3_FailureOfTheTreeAlone(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	_, _, calls := afterwards(t, 1, false, nil, CommitOptions{})
	for _, kind := range []string{"", "write", "exchange"} { // of those that fail from then on
		for k := 1; k <= calls; k++ {
			f, set := scene(t, 1)
			set = append(set, f.change("h2", "other text that is linked, and longer")) // the other name of h1
			n := 0
			w, err := openAt(f.root, f.home, false, func(op, path string) error {
				if !pathname.Under(f.root, path) {
					return nil
				}
				if n++; n == k || n > k && (kind == "" || op == kind) {
					return syscall.EIO
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Commit(context.Background(), set, CommitOptions{})
			_, _ = w.Close(), w.Ledger.Close()
			what := fmt.Sprintf("call %d, then each %s: %v", k, kind, err)
			entered := map[string]*delta.Image{}
			for _, e := range openAgain(t, f) {
				for _, c := range e.Set() {
					entered[c.Path] = c.Post
				}
			}
			for _, ch := range set {
				is, want := (*delta.Image)(nil), ch.Pre
				if st, err := os.Lstat(ch.Path); err != nil || !st.IsDir() {
					is = f.image(strings.TrimPrefix(ch.Path, f.root+"/"))
				}
				if post, ok := entered[ch.Path]; ok {
					want = post
				}
				if is.At() != want.At() {
					t.Fatalf("%s:\n%s is %v, not %v; %d are entered", what, ch.Path, is.At(), want.At(), len(entered))
				}
			}
			f.checkClean()
		}
	}
}

// openAgain recovers and reads the ledger.
func openAgain(t *testing.T, f *fixture) []ledger.Entry {
	t.Helper()
	w := f.open(false, nil)
	list, err := w.Ledger.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEachFileThatLandedIsEntered: of files that are committed each for itself some fail, one or all.
func TestEachFileThatLandedIsEntered(t *testing.T) {
	for _, c := range []struct{ files, fail, entered string }{
		{"ab", "b", "a"}, {"ab", "ab", ""}, {"ab", "", "a b"}, {"a", "a", ""},
	} {
		f := newFixture(t)
		w := f.open(true, func(op, path string) error {
			if op == "rename" && path != "" && strings.Contains(c.fail, path[len(path)-1:]) {
				return syscall.EIO
			}
			return nil
		})
		var set delta.Set
		for _, name := range c.files {
			set = append(set, f.change("d/"+string(name), "text"))
		}
		out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: true})
		if len(out.Failed) != len(c.fail) || (err == nil) != (c.entered != "") {
			t.Errorf("%q fail: %+v, %v", c.fail, out.Failed, err)
		}
		var names []string
		for _, e := range f.entries() {
			for _, ch := range e.Changes {
				names = append(names, strings.TrimPrefix(ch.Path, f.path("d")+"/"))
			}
		}
		if got := strings.Join(names, " "); got != c.entered || c.entered == "" && len(f.entries()) > 0 {
			t.Errorf("%q fail: %q are entered in %d entries", c.fail, got, len(f.entries()))
		}
	}
}

// TestWhatWasTakenBackIsNotClaimedLater breaks the disk at each call of a commit, until the journal cannot be emptied
// either. What somebody writes after that is theirs, also if it is what the commit wanted.
func TestWhatWasTakenBackIsNotClaimedLater(t *testing.T) {
	long.Slow(t)
	for name, want := range map[string]int{"a": 2, "c": 3, "new": 3, "d/e/new": 3} {
		for _, text := range []string{"theirs", "after", "aft"} {
			waited := 0
			for _, best := range []bool{false, true} {
				for k := 1; takenBack(t, name, text, best, k, &waited); k++ {
				}
			}
			if waited < want {
				t.Errorf("%s: the journal waited %d times", name, waited)
			}
		}
	}
}

// takenBack reports whether a call k was there to fail.
func takenBack(t *testing.T, name, text string, best bool, k int, waited *int) bool {
	f := newFixture(t)
	f.write("a", "before", "c", "before")
	if err := os.Link(f.path("a"), f.path("b")); err != nil {
		t.Skip(err)
	}
	calls, broken := 0, false
	w := f.open(true, func(op, _ string) error {
		if calls++; broken && calls >= k {
			return fmt.Errorf("%s: %w", op, syscall.EIO)
		}
		return nil
	})
	c := delta.Change{Path: f.path(name), Pre: f.image(name), Post: delta.NewFile([]byte("after"), 0o644)}
	calls, broken = 0, true
	out, err := w.Commit(context.Background(), delta.Set{c}, CommitOptions{BestEffort: best})
	broken = false
	if !out.Exact || len(out.Committed) > 0 || !w.journal.Pending() {
		return err != nil
	}
	*waited++
	f.write(name, text)
	before := f.snapshot()
	r, err := w.Recover(context.Background())
	if err != nil || len(r.Conflicts) > 0 || r.Kept > 0 || r.Finished > 0 || w.journal.Pending() {
		t.Errorf("%s, call %d: recovered: %+v, %v", name, k, r, err)
	}
	maps.DeleteFunc(before, func(name, _ string) bool { return strings.HasPrefix(path.Base(name), ".kerf-") })
	if d := cmp.Diff(before, f.snapshot()); d != "" {
		t.Errorf("%s, call %d: %s was written after the commit: %s", name, k, text, d)
	}
	if entries, err := w.Ledger.Read(0); err != nil || len(entries) > 0 {
		t.Errorf("%s, call %d: the ledger claims %+v, %v", name, k, entries, err)
	}
	return true
}

// TestWhatAFailedCommitLeftHalfWrittenIsMended: the disk loses every write into one file with two names, also the one
// that takes the first back, and nothing else. When it is well again the file is as it was, and the other is as asked.
func TestWhatAFailedCommitLeftHalfWrittenIsMended(t *testing.T) {
	for _, best := range []bool{false, true} {
		for _, others := range []bool{false, true} {
			f := newFixture(t)
			f.write("a", "before", "c", "before")
			if err := os.Link(f.path("a"), f.path("b")); err != nil {
				t.Skip(err)
			}
			want, writes, broken := f.snapshot(), 0, true
			w := f.open(true, func(op, path string) error {
				if broken && op == "write" && (path == f.path("a") || path == f.path("b")) {
					if writes++; writes > 1 {
						return syscall.EIO
					}
				}
				return nil
			})
			set := delta.Set{f.change("a", "AFTER")}
			if others {
				set = append(set, f.change("c", "after"))
			}
			out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: best})
			if half := f.snapshot(); err == nil && len(out.Failed) == 0 || out.Exact || half["a"] == want["a"] {
				t.Fatalf("%+v, %v: %v", out, err, half)
			}
			broken = false
			if len(out.Committed) > 0 {
				want["c"] = f.snapshot()["c"]
			}
			if r, err := w.Recover(context.Background()); err != nil || len(r.Conflicts) > 0 || w.journal.Pending() {
				t.Errorf("best %t, others %t: recovered: %+v, %v", best, others, r, err)
			}
			if d := cmp.Diff(want, f.snapshot()); d != "" {
				t.Errorf("best %t, others %t: %s", best, others, d)
			}
		}
	}
}
