package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes"
	"kerf/internal/work/homes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// madeIn makes a project with a change in its history, and returns its directory.
func madeIn(t *testing.T, home, root, text string) string {
	t.Helper()
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	w := openAt(t, home, root)
	post := delta.NewFile([]byte(text), 0o644)
	set := delta.Set{{Path: filepath.ToSlash(filepath.Join(root, "a.txt")), Post: post}}
	if _, err := w.Txn.Commit(t.Context(), set, txn.CommitOptions{Origin: txn.Origin{Session: "s", Turn: "t"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return root
}

func openAt(t *testing.T, home, root string) *Workspace {
	t.Helper()
	w, err := Open(Options{Home: home, Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// knows checks that the history of root is there, under its present name, and that undo
// works and is entered.
func knows(t *testing.T, w *Workspace) {
	t.Helper()
	file := filepath.Join(w.Roots[0], "a.txt")
	log, err := w.Changes().Log(changes.Filter{})
	if err != nil || len(log) != 1 || string(log[0].Changes[0].Path) != filepath.ToSlash(file) {
		t.Fatalf("the log is %+v, %v", log, err)
	}
	if _, err := w.Ledger.Verify(); err != nil {
		t.Errorf("verify: %v", err)
	}
	report, err := w.Changes().Undo(t.Context(), w.Txn, changes.Choice{}, changes.UndoOptions{})
	if err != nil || report.Problem != "" {
		t.Fatalf("undo: %+v, %v", report, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("undo did nothing")
	}
	log, err = w.Changes().Log(changes.Filter{})
	if err != nil || len(log) != 2 || string(log[0].Changes[0].Path) != filepath.ToSlash(file) {
		t.Errorf("the log after undo is %+v, %v", log, err)
	}
}

func TestRenamedProjectKeepsItsHistory(t *testing.T) {
	home, top := dirs(t)
	old, now := madeIn(t, home, filepath.Join(top, "old"), "one\n"), filepath.Join(top, "new")
	if err := os.Rename(old, now); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(now, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if at := Find(home, sub); at != now {
		t.Errorf("found from below: %s", at)
	}
	w := openAt(t, home, now)
	if w.Joined != filepath.ToSlash(old) || !strings.Contains(w.Notice(), "its history counts here now") {
		t.Errorf("joined %q, notice %q", w.Joined, w.Notice())
	}
	knows(t, w)
	report, err := w.Changes().Undo(t.Context(), w.Txn, changes.Choice{Redo: true}, changes.UndoOptions{})
	if err != nil || report.Problem != "" {
		t.Fatalf("redo: %+v, %v", report, err)
	}
	_ = w.Close()
	// And once more: names change by both moves.
	again := filepath.Join(now+"er", "below")
	if err := os.MkdirAll(filepath.Dir(again), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(now, again); err != nil {
		t.Fatal(err)
	}
	w = openAt(t, home, again)
	log, err := w.Changes().Log(changes.Filter{})
	if err != nil || len(log) != 3 {
		t.Fatalf("after a second move: %+v, %v", log, err)
	}
	for _, e := range log {
		if string(e.Changes[0].Path) != filepath.ToSlash(filepath.Join(again, "a.txt")) {
			t.Errorf("#%d is about %s", e.Seq, e.Changes[0].Path)
		}
	}
}

// TestRestoredElsewhere has a copy of a project and of Kerf's home, with the originals
// still there, and with them gone.
func TestRestoredElsewhere(t *testing.T) {
	for _, gone := range []bool{false, true} {
		home, top := dirs(t)
		old := madeIn(t, home, filepath.Join(top, "old"), "one\n")
		backup, now := filepath.Join(top, "backup"), filepath.Join(top, "new")
		copyTree(t, home, backup)
		copyTree(t, old, now)
		if gone {
			if err := os.RemoveAll(old); err != nil {
				t.Fatal(err)
			}
		}
		if w := openAt(t, home, now); (w.Joined != "") != gone {
			t.Errorf("the original's home joins %q to the copy; the original is gone: %v", w.Joined, gone)
		}
		knows(t, openAt(t, backup, now))
	}
}

// TestAJoinThatWasCutShort, behind the note in the ledger's directory, is begun again; a directory that
// has its old name again keeps its history.
func TestAJoinThatWasCutShort(t *testing.T) {
	for _, back := range []bool{false, true} {
		home, top := dirs(t)
		old, now := madeIn(t, home, filepath.Join(top, "old"), "one\n"), filepath.Join(top, "new")
		if err := ledger.AddMove(homes.Of(home, old), filepath.ToSlash(old), filepath.ToSlash(now)); err != nil {
			t.Fatal(err)
		}
		if back {
			now = old
		} else if err := os.Rename(old, now); err != nil {
			t.Fatal(err)
		}
		w := openAt(t, home, now)
		if (w.Joined == "") != back {
			t.Errorf("back: %v, joined %q", back, w.Joined)
		}
		knows(t, w)
	}
}

// TestAHomeThatMovedAlone leaves each history with its directory, also where there is a copy of that, and
// also where the home's old name leads to it.
func TestAHomeThatMovedAlone(t *testing.T) {
	for _, linked := range []bool{false, true} {
		home, top := dirs(t)
		old := madeIn(t, home, filepath.Join(top, "old"), "one\n")
		moved, twin := filepath.Join(top, "home2"), filepath.Join(top, "twin")
		copyTree(t, old, twin)
		if err := os.Rename(home, moved); err != nil {
			t.Fatal(err)
		}
		if linked && os.Symlink(moved, home) != nil {
			continue // a system without links
		}
		if w := openAt(t, moved, twin); w.Notice() != "" {
			t.Errorf("linked: %v, a copy beside its original: %q", linked, w.Notice())
		}
		knows(t, openAt(t, moved, old))
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func TestTwoHistoriesFit(t *testing.T) {
	home, top := dirs(t)
	one := madeIn(t, home, filepath.Join(top, "one"), "same\n")
	two := madeIn(t, home, filepath.Join(top, "two"), "same\n")
	now := filepath.Join(top, "now")
	copyTree(t, one, now)
	for _, dir := range []string{one, two} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	w := openAt(t, home, now)
	if n := w.Notice(); w.Joined != "" || !strings.Contains(n, one) || !strings.Contains(n, two) ||
		!strings.Contains(n, "kerf adopt") {
		t.Fatalf("joined %q, notice %q", w.Joined, n)
	}
	sum, err := w.Store.Put([]byte("an output"))
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if err := Adopt(home, two, now); err != nil {
		t.Fatal(err)
	}
	w = openAt(t, home, now)
	if !w.Store.Has(sum) {
		t.Error("what was kept before is gone")
	}
	knows(t, w)
	for _, from := range []string{one, filepath.Join(top, "never")} {
		if err := Adopt(home, from, now); err == nil {
			t.Errorf("adopt %s: no error", from)
		}
	}
}

// TestAnotherProjectJoinsNothing has a directory that has nothing to do with one that is
// gone, and one whose original is still there.
func TestAnotherProjectJoinsNothing(t *testing.T) {
	home, top := dirs(t)
	old := madeIn(t, home, filepath.Join(top, "old"), "one\n")
	twin := filepath.Join(top, "twin")
	copyTree(t, old, twin)
	if w := openAt(t, home, twin); w.Notice() != "" {
		t.Errorf("a copy beside its original: %q", w.Notice())
	}
	if err := os.RemoveAll(old); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(top, "other")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "a.txt"), []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := openAt(t, home, other); w.Notice() != "" {
		t.Errorf("another project: %q", w.Notice())
	}
}

// TestRecoverOnACopy cuts a change of two files short before each call that changes the
// disk, copies the tree and Kerf's home elsewhere, and opens the copy: both files are old
// or both are new, and nothing is left over.
func TestRecoverOnACopy(t *testing.T) {
	for nth := 1; ; nth++ {
		home, top := dirs(t)
		old := madeIn(t, home, filepath.Join(top, "old"), "one\n")
		if !cutShort(t, home, old, nth) {
			if nth < 10 {
				t.Errorf("only %d calls", nth)
			}
			return
		}
		backup, now := filepath.Join(top, "backup"), filepath.Join(top, "new")
		copyTree(t, home, backup)
		copyTree(t, old, now)
		w := openAt(t, backup, now)
		if w.Joined == "" {
			t.Errorf("call %d: the history was not found", nth)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		state := ""
		for _, name := range []string{"a.txt", "b.txt"} {
			data, _ := os.ReadFile(filepath.Join(now, name)) // b.txt may not be there
			state += string(data)
		}
		if state != "one\n" && state != "two\nthree\n" {
			t.Errorf("call %d: the files are %q", nth, state)
		}
		left, err := os.ReadDir(now)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			if strings.HasPrefix(e.Name(), ".kerf-") {
				t.Errorf("call %d: %s is left", nth, e.Name())
			}
		}
	}
}

// cutShort changes two files, and dies before the nth call that changes the disk. It
// reports false if there are not as many.
func cutShort(t *testing.T, home, root string, nth int) bool {
	t.Helper()
	calls := 0
	die := func(string, string) error {
		if calls++; calls == nth {
			runtime.Goexit()
		}
		return nil
	}
	dir := homes.Of(home, root)
	tr, err := tree.Open(tree.Options{Roots: []string{root}, Before: die})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := txn.Open(txn.Options{Tree: tr, Store: s, Ledger: l, Dir: dir, Before: die})
	if err != nil {
		t.Fatal(err)
	}
	pre := delta.NewFile([]byte("one\n"), 0o644)
	set := delta.Set{
		{Path: filepath.ToSlash(filepath.Join(root, "a.txt")), Pre: pre, Post: delta.NewFile([]byte("two\n"), 0o644)},
		{Path: filepath.ToSlash(filepath.Join(root, "b.txt")), Post: delta.NewFile([]byte("three\n"), 0o644)}}
	whole := false
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := w.Commit(t.Context(), set, txn.CommitOptions{}); err != nil {
			t.Error(err)
		}
		whole = true
	}()
	<-done
	_ = l.Close()
	_ = s.Close()
	_ = w.Close()
	return !whole
}
