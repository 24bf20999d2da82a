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

// A later step of the commit fails. While r is taken back somebody saves it.
func TestSavedWhileItIsTakenBack(t *testing.T) {
	const theirs = "theirs, saved while it was taken back"
	for _, kind := range []string{"replace", "create", "inplace"} {
		for how, save := range map[string]func(f *fixture){
			"in place": func(f *fixture) { f.write("r", theirs) },
			"rename":   func(f *fixture) { byRename(t, f, "r", theirs) },
		} {
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
				aside := op == "rename" && strings.HasPrefix(filepath.Base(path), ".kerf-")
				if failed && !done && (aside || path == f.path("r") && (op == "exchange" || op == "write")) {
					done = true
					save(f)
				}
				return nil
			})
			out, err := w.Commit(context.Background(), set, CommitOptions{})
			if !failed || !done || err == nil {
				t.Fatalf("%s %s: %t %t %v", kind, how, failed, done, err)
			}
			f.open(true, nil)
			there := false
			for _, v := range f.snapshot() {
				there = there || strings.Contains(v, theirs)
			}
			if !there && !f.w.Store.Has(delta.SumOf([]byte(theirs))) {
				t.Errorf("%s, saved %s: it is nowhere; exact %t, %v\n%v %+v", kind, how, out.Exact, err, f.snapshot(), f.entries())
			}
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
		there := f.w.Store.Has(delta.SumOf([]byte(again)))
		for _, v := range f.snapshot() {
			there = there || strings.Contains(v, again)
		}
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
