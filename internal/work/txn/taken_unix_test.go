//go:build unix

package txn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kerf/internal/testkit/long"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

const saved = "what the user saved"

// savedIsKept fails unless what the user saved in the last moment is at its name or, where something else is there, in
// the store, as what an entry says went away; and no entry says that what the change was made for went.
func savedIsKept(t *testing.T, f *fixture, what string) {
	t.Helper()
	sum, there := delta.SumOf([]byte(saved)), false
	for _, v := range f.snapshot() {
		there = there || strings.Contains(v, saved)
	}
	for _, e := range f.entries() {
		for _, c := range e.Changes {
			if c.Path != f.path("r") {
				continue
			}
			if c.Pre == nil || delta.Sum(c.Pre.Sum) != sum || e.Exact {
				t.Errorf("%s: entered, exact %t: %+v", what, e.Exact, c)
			}
			there = there || c.Pre != nil && delta.Sum(c.Pre.Sum) == sum && f.w.Store.Has(sum)
		}
	}
	if !there {
		t.Errorf("%s: what the user saved is nowhere: %v", what, f.snapshot())
	}
}

// lastMoment has the user save r just before a commit moves it away, and asks then at each call after.
func lastMoment(f *fixture, then func(op, path string) error) func(op, path string) error {
	moved := false
	return func(op, path string) error {
		if moved {
			return then(op, path)
		}
		if moved = (op == "exchange" || op == "rename") && strings.HasPrefix(path, f.root); moved {
			f.write("r", saved)
		}
		return nil
	}
}

// aloneOrNot are changes of r: written or removed, alone or with others.
func aloneOrNot(f *fixture, remove bool, others int) delta.Set {
	set := delta.Set{f.change("r", "after")}
	if remove {
		set = delta.Set{f.change("r")}
	}
	if others > 0 {
		f.write("c", "before")
		set = append(set, f.change("c", "after"))
	}
	return set
}

// TestWhatIsSavedInTheLastMomentIsKept: somebody saves a file between the last look at it and the exchange of names. Then
// the process is killed, or the disk, or that of the tree alone, fails for good, at each call; and what recovers it may
// fail once, too.
func TestWhatIsSavedInTheLastMomentIsKept(t *testing.T) {
	long.Slow(t)
	for n := range 24 {
		remove, best, others, kill, tree := n&1 != 0, n&2 != 0, n>>2&1, n>>3 == 1, n>>3 == 2
		for call, more := 0, true; more; call++ {
			for again := range 3 {
				f := newFixture(t)
				f.write("r", "before")
				set := aloneOrNot(f, remove, others)
				calls, broken := 0, true
				w := f.open(true, lastMoment(f, func(_, path string) error {
					if calls++; !broken || calls <= call || tree && !strings.HasPrefix(path, f.root) {
						return nil
					}
					if kill && calls == call+1 {
						panic(crashed{})
					}
					return syscall.EIO
				}))
				survive(func() { _, _ = w.Commit(context.Background(), set, CommitOptions{BestEffort: best}) })
				more, broken = calls > call, false
				recoveries := 0
				if w, err := openAt(f.root, f.home, true, func(string, string) error {
					if recoveries++; recoveries == again {
						return syscall.EIO
					}
					return nil
				}); err == nil {
					_ = w.Close()
				}
				f.open(true, nil)
				savedIsKept(t, f, fmt.Sprintf("removed %t, best effort %t, others %d, killed %t, tree %t, call %d, recovery call %d",
					remove, best, others, kill, tree, call, again))
				if t.Failed() {
					return
				}
			}
		}
	}
}

// TestWhatIsSavedAndCannotBeMovedBackIsKept: no disk fails. Somebody else takes the name that is free for a moment; the
// process may be killed right then.
func TestWhatIsSavedAndCannotBeMovedBackIsKept(t *testing.T) {
	for n := range 8 {
		f := newFixture(t)
		f.write("r", "before")
		best, kill, taken := n&1 != 0, n&4 != 0, false
		w := f.open(true, lastMoment(f, func(op, path string) error {
			if op == "rename" && path == f.path("r") && !taken {
				taken = true
				f.write("r", "another's")
				if kill {
					panic(crashed{})
				}
			}
			return nil
		}))
		what := fmt.Sprintf("best effort %t, others %d, killed %t", best, n>>1&1, kill)
		set := aloneOrNot(f, true, n>>1&1)
		dead := survive(func() {
			out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: best})
			if out.Exact || len(out.Failed) == 0 || (err == nil) != (best && len(out.Committed) > 0) {
				t.Errorf("%s: exact %t, failed %v: %v", what, out.Exact, out.Failed, err)
			}
		})
		if dead != kill || !taken {
			t.Fatalf("%s: killed %t, name taken %t", what, dead, taken)
		}
		f.open(true, nil)
		savedIsKept(t, f, what)
		if v := f.snapshot()["r"]; !strings.Contains(v, "another's") {
			t.Errorf("%s: r holds %q", what, v)
		}
	}
}

// twoNames has names with a second name each, so that they are written in place; fails names the writes that fail.
func twoNames(t *testing.T, fails map[string][]int, more func(op, path string) error, names ...string) (*fixture, *Workspace, *bool) {
	f, broken, writes := newFixture(t), true, map[string]int{}
	for _, n := range names {
		f.write(n, "before")
		if err := os.Link(f.path(n), f.path(n+"2")); err != nil {
			t.Skip(err)
		}
	}
	return f, f.open(true, func(op, path string) error {
		if !broken {
			return nil
		}
		if name := filepath.Base(path); op == "write" && path == f.path(name) {
			writes[name]++
			for _, k := range fails[name] {
				if writes[name] == k {
					return syscall.EIO
				}
			}
		}
		if more != nil {
			return more(op, path)
		}
		return nil
	}), &broken
}

const longPost = "AFTER, and longer"

// laterIsTheUsers: the user writes p after a commit that took it back.
func laterIsTheUsers(t *testing.T, f *fixture, text string, recover func() error) {
	t.Helper()
	if !strings.HasSuffix(f.snapshot()["p"], " before") {
		t.Fatalf("p was not taken back: %v", f.snapshot())
	}
	f.write("p", text)
	err := recover()
	if b, _ := os.ReadFile(f.path("p")); string(b) != text {
		t.Errorf("the user wrote %q into p later; after the recovery (%v) it holds %q", text, err, b)
	}
	for _, e := range f.entries() {
		for _, c := range e.Changes {
			if c.Path == f.path("p") {
				t.Errorf("%q in p is entered as the tool's, exact %t", text, e.Exact)
			}
		}
	}
}

// p is taken back, another step is not, so the journal is kept. What is in p later is the user's.
func TestWhatWasTakenBackBesideOthersIsNotClaimedLater(t *testing.T) {
	all := []int{2, 3, 4, 5}
	for _, text := range []string{"theirs", "AFTER, and", longPost} {
		for _, best := range []bool{false, true} {
			for _, others := range []bool{false, true} {
				fails := map[string][]int{"q": all}
				if best {
					fails["p"] = []int{2}
				}
				f, w, broken := twoNames(t, fails, nil, "p", "q")
				f.write("c", "before")
				set := delta.Set{f.change("p", longPost), f.change("q", longPost)}
				if others {
					set = append(set, f.change("c", "after"))
				}
				_, _ = w.Commit(context.Background(), set, CommitOptions{BestEffort: best})
				*broken = false
				laterIsTheUsers(t, f, text, func() error { _, err := w.Recover(context.Background()); return err })
			}
		}
	}
}

// Only a directory that was made cannot be removed.
func TestWhatWasTakenBackBesideADirectoryIsNotClaimedLater(t *testing.T) {
	f, w, broken := twoNames(t, map[string][]int{"p": {2}}, func(op, _ string) error {
		if op == "rmdir" {
			return syscall.EIO
		}
		return nil
	}, "p")
	_, _ = w.Commit(context.Background(), delta.Set{{Path: f.path("d/new"), Post: delta.NewFile([]byte("n"), 0o644)},
		f.change("p", longPost)}, CommitOptions{})
	*broken = false
	laterIsTheUsers(t, f, "AFTER, and", func() error { _, err := w.Recover(context.Background()); return err })
}

// Kept, then the entry cannot be written, then all is taken back.
func TestWhatWasTakenBackInTheEndIsNotClaimedLater(t *testing.T) {
	f, w, broken := twoNames(t, map[string][]int{"p": {2, 3}}, nil, "p")
	f.write("c", "before")
	w.Ledger.Hook = func(string, string) error { return syscall.EIO }
	_, _ = w.Commit(context.Background(), delta.Set{f.change("p", longPost), f.change("c", "after")}, CommitOptions{BestEffort: true})
	*broken, w.Ledger.Hook = false, nil
	laterIsTheUsers(t, f, "AFTER, and", func() error { _, err := w.Recover(context.Background()); return err })
}

// The journal cannot be emptied once; the process ends in order on a disk that is well.
func TestWhatWasTakenBackIsNotClaimedByTheNextProcess(t *testing.T) {
	once := true
	f, w, broken := twoNames(t, map[string][]int{"p": {2}}, func(op, path string) error {
		if op == "truncate" && filepath.Base(path) == "journal.jsonl" && once {
			once = false
			return syscall.EIO
		}
		return nil
	}, "p")
	_, _ = w.Commit(context.Background(), delta.Set{f.change("p", longPost)}, CommitOptions{})
	*broken = false
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	laterIsTheUsers(t, f, "AFTER, and", func() error { return f.open(true, nil).Unrecovered })
}

// A directory that the commit opened stays open, although the ledger says it was closed, and nobody is told.
func TestADirectoryIsShutThoughTheJournalIsKept(t *testing.T) {
	for _, others := range []bool{false, true} {
		f := newFixture(t)
		f.write("d/p", "before", "d/c", "before")
		if err := os.Link(f.path("d/p"), f.path("d/p2")); err != nil {
			t.Skip(err)
		}
		if err := os.Chmod(f.path("d"), 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(f.path("d"), 0o755) })
		writes := 0
		w := f.open(true, func(op, path string) error {
			if op == "write" && path == f.path("d/p") {
				if writes++; writes > 1 {
					return syscall.EIO
				}
			}
			return nil
		})
		set := delta.Set{f.change("d/p", "AFTER")}
		if others {
			set = append(set, f.change("d/c", "after"))
		}
		out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: true,
			Chmod: []ledger.DirMode{{Path: ledger.Path(f.path("d")), Pre: 0o555, Post: 0o500}}})
		st, _ := os.Stat(f.path("d"))
		if len(out.Left) == 0 && st.Mode().Perm()&0o200 != 0 {
			t.Errorf("others %t: d has mode %o, nobody is told (%v); the ledger: %+v", others, st.Mode().Perm(), err, f.entries())
		}
	}
}

// Directories that the user made or removed after all was taken back.
func TestDirectoriesThatWereTakenBackAreTheUsers(t *testing.T) {
	for _, prune := range []bool{false, true} {
		f := newFixture(t)
		f.write("x", "1")
		broken := false
		w := f.open(true, func(op, path string) error {
			if op == "rename" && path == f.path("d/new") || broken && op == "truncate" {
				broken = true
				return syscall.EIO
			}
			return nil
		})
		set, o := delta.Set{{Path: f.path("d/new"), Post: delta.NewFile([]byte("n"), 0o644)}}, CommitOptions{}
		if prune {
			f.write("d/x", "1")
			w.Ledger.Hook = func(string, string) error { broken = true; return syscall.EIO }
			set, o = delta.Set{f.change("d/x")}, CommitOptions{Prune: []string{f.path("d")}}
		}
		out, err := w.Commit(context.Background(), set, o)
		if err == nil || !out.Exact || len(out.Committed) > 0 || !w.journal.Pending() {
			t.Fatalf("%+v %v", out, err)
		}
		broken, w.Ledger.Hook = false, nil
		if prune {
			err = os.RemoveAll(f.path("d"))
		} else {
			err = os.Mkdir(f.path("d"), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Recover(context.Background())
		if _, err := os.Stat(f.path("d")); (err == nil) == prune {
			t.Errorf("prune %t: the recovery changed what the user did with d: %v", prune, err)
		}
	}
}

// A best-effort commit of which nothing landed leaves directories that no entry names.
func TestDirectoriesOfWhatFailedGo(t *testing.T) {
	f := newFixture(t)
	w := f.open(true, func(op, path string) error {
		if op == "rename" && filepath.Base(path) == "new" {
			return syscall.EIO
		}
		return nil
	})
	out, err := w.Commit(context.Background(), delta.Set{{Path: f.path("d/e/new"), Post: delta.NewFile([]byte("n"), 0o644)}},
		CommitOptions{BestEffort: true})
	if _, there := os.Stat(f.path("d")); there == nil && len(out.Left) == 0 {
		t.Errorf("d is left (%v), the journal waits: %t, entries: %v", err, w.journal.Pending(), f.entries())
	}
}
