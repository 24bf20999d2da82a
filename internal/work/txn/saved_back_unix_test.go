//go:build unix

package txn

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kerf/internal/text/delta"
)

// byRename saves as most editors, formatters and sed -i do.
func byRename(t *testing.T, f *fixture, name, text string) {
	t.Helper()
	f.write(".saving", text)
	if err := os.Rename(f.path(".saving"), f.path(name)); err != nil {
		t.Fatal(err)
	}
}

// A later step of the commit fails. While r is taken back somebody saves it: that has the name then. Should Kerf be killed in
// that moment, it is in the store at least.
func TestSavedWhileItIsTakenBack(t *testing.T) {
	const theirs = "theirs, saved while it was taken back"
	for n := range 12 {
		kind, save, kill := []string{"replace", "create", "inplace"}[n%3], n/3%2 == 0, n/6 == 1
		f := newFixture(t)
		f.write("z", "before")
		text := "after"
		if kind != "create" {
			f.write("r", "before")
		}
		if kind == "inplace" {
			if err := os.Link(f.path("r"), f.path("r2")); err != nil {
				t.Skip(err)
			}
		}
		set := delta.Set{f.change("r", text), f.change("z", "AFTER")}
		failed, done := false, false
		w := f.open(true, func(op, path string) error {
			if !failed && path == f.path("z") {
				if b, _ := os.ReadFile(f.path("r")); string(b) == text {
					failed = true
					return syscall.EIO
				}
			}
			if kill && done {
				panic(crashed{})
			}
			aside := op == "rename" && strings.HasPrefix(filepath.Base(path), ".kerf-")
			if failed && !done && (aside || path == f.path("r") && (op == "exchange" || op == "write")) {
				if done = true; save {
					f.write("r", theirs)
				} else {
					byRename(t, f, "r", theirs)
				}
			}
			return nil
		})
		var out Outcome
		var err error
		survive(func() { out, err = w.Commit(context.Background(), set, CommitOptions{}) })
		if !failed || !done || !kill && err == nil {
			t.Fatalf("%s %d: %t %t %v", kind, n, failed, done, err)
		}
		r := f.open(true, nil).Settled
		b, _ := os.ReadFile(f.path("r"))
		if string(b) != theirs && !(kill && f.w.Store.Has(delta.SumOf([]byte(theirs)))) {
			t.Errorf("%s, in place %t, killed %t: it holds %q; exact %t, %v, %+v\n%v %+v", kind, save, kill, b, out.Exact, err, r,
				f.snapshot(), f.entries())
		}
	}
}

// So it is for a file that was made alone and cannot be entered; and if its name is taken again meanwhile, what was saved is
// in the store.
func TestSavedWhileAFileAloneIsTakenBack(t *testing.T) {
	const theirs = "theirs, saved while it was taken back"
	for _, how := range []string{"", "killed", "taken"} {
		f := newFixture(t)
		failed, done := false, false
		w := f.open(true, func(op, path string) error {
			if how == "killed" && done {
				panic(crashed{})
			}
			switch {
			case failed && !done && op == "rename" && strings.HasPrefix(filepath.Base(path), ".kerf-"):
				done = true
				byRename(t, f, "r", theirs)
			case how == "taken" && done && op == "rename" && path == f.path("r"):
				f.write("r", "another's")
			}
			return nil
		})
		w.Ledger.Hook = func(string, string) error { failed = true; return syscall.EIO }
		survive(func() { _, _ = w.Commit(context.Background(), delta.Set{f.change("r", "after")}, CommitOptions{}) })
		w.Ledger.Hook = nil
		r := f.open(true, nil).Settled
		want := map[bool]string{false: theirs, true: "another's"}[how == "taken"]
		if b, _ := os.ReadFile(f.path("r")); !done || string(b) != want || how == "taken" && !f.w.Store.Has(delta.SumOf([]byte(theirs))) {
			t.Errorf("%s: %t, it holds %q, %+v %v %+v", how, done, b, r, f.snapshot(), f.entries())
		}
	}
}

// Somebody saves r in the last moment, so that names are exchanged back; right before that somebody saves again.
func TestSavedAgainBeforeItIsExchangedBack(t *testing.T) {
	const again = "what the user saved again"
	for n := range 4 {
		f := newFixture(t)
		f.write("r", "before")
		best, others, done := n&1 != 0, n>>1, false
		set := aloneOrNot(f, false, others)
		w := f.open(true, lastMoment(f, func(op, path string) error {
			if op == "exchange" && path == f.path("r") && !done {
				done = true
				byRename(t, f, "r", again)
			}
			return nil
		}))
		out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: best})
		if !done {
			t.Fatal("not saved again")
		}
		f.open(true, nil)
		there := strings.Contains(f.snapshot()["r"], again)
		if !there {
			t.Errorf("best %t, others %d: nowhere: %v; exact %t, %v; %+v", best, others, f.snapshot(), out.Exact, err, f.entries())
		}
	}
}

// Somebody saves r in the last moment, and somebody else takes its name while it is away. The store has no room for what
// was saved. It is still somewhere, and no entry says that "before" went.
func TestSavedInTheLastMomentOnAFullDisk(t *testing.T) {
	for _, others := range []int{0, 1} {
		f := newFixture(t)
		f.write("r", "before")
		full, taken := false, false
		w := f.open(true, lastMoment(f, func(op, path string) error {
			if op == "rename" && path == f.path("r") && !taken {
				taken, full = true, true
				f.write("r", "another's")
			}
			if full && strings.HasPrefix(path, f.home+"/store") {
				return syscall.ENOSPC
			}
			return nil
		}))
		set := aloneOrNot(f, true, others)
		out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: true})
		t.Logf("others %d: committed %v, failed %v, left %v: %v", others, len(out.Committed), out.Failed, out.Left, err)
		full = false
		f.open(true, nil)
		savedIsKept(t, f, "full store")
	}
}
