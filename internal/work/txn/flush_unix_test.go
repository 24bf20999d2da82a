//go:build unix

package txn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
)

// flushes counts the flushes of a durable commit: of its staged files, of their directory, of their file
// system, and of the journal. Before says which come before the intent is announced.
type flushes struct{ Staged, Dir, All, Journal, Before int }

// flushing is a workspace that counts its flushes. What fails is asked before each.
func flushing(f *fixture, count *flushes, fails func(op string) error) *Workspace {
	announced := 0
	return f.open(true, func(op, path string) error {
		base := filepath.Base(path)
		switch {
		case op == "write" && base == "journal.jsonl":
			announced++
		case op == "sync" && base == "journal.jsonl":
			count.Journal++
		case op == "sync" && strings.HasPrefix(base, ".kerf-"):
			count.Staged++
		case op == "syncdir" && filepath.Clean(path) == f.path("d"):
			count.Dir++
		case op == "syncall":
			count.All++
		}
		if announced < 2 {
			count.Before = count.Staged + count.All
		}
		if fails != nil && strings.HasPrefix(op, "sync") && strings.HasPrefix(path, f.root) {
			return fails(op)
		}
		return nil
	})
}

// TestManyFilesAreFlushedAtOnce, few each for itself, and many too where the system cannot do it. The staged
// files are on the disk before the intent is announced; their directory is flushed once with their names,
// and once without the temporary ones.
func TestManyFilesAreFlushedAtOnce(t *testing.T) {
	unsupported := func(op string) error {
		if op == "syncall" {
			return errors.ErrUnsupported
		}
		return nil
	}
	for name, c := range map[string]struct {
		files int
		fails func(op string) error
		want  flushes
	}{
		"one":                         {1, nil, flushes{Staged: 1, Dir: 2, Journal: 1, Before: 1}},
		"few":                         {few, nil, flushes{Staged: few, Dir: 2, Journal: 2, Before: few}},
		"many":                        {few + 1, nil, flushes{All: 1, Dir: 2, Journal: 2, Before: 1}},
		"many, and no such operation": {few + 1, unsupported, flushes{Staged: few + 1, All: 1, Dir: 2, Journal: 2, Before: few + 2}},
	} {
		f := newFixture(t)
		f.write("d/x", "x")
		var set delta.Set
		for i := range c.files {
			set = append(set, f.change(fmt.Sprint("d/", i), "text"))
		}
		f.commit(f.change("d/x", "y")) // the journal has its name by now
		got := flushes{}
		out, err := flushing(f, &got, c.fails).Commit(context.Background(), set, CommitOptions{})
		if d := cmp.Diff(c.want, got); d != "" || err != nil || len(out.Committed) != c.files {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, d)
		}
	}
}

// TestManyDirectoriesAreFlushedAtOnce, also where files are only removed.
func TestManyDirectoriesAreFlushedAtOnce(t *testing.T) {
	for _, n := range []int{few, few + 1} {
		f := newFixture(t)
		f.write("x", "x")
		f.commit(f.change("x", "y"))
		var set delta.Set
		for i := range n {
			f.write(fmt.Sprint("d", i, "/x"), "x")
			set = append(set, f.change(fmt.Sprint("d", i, "/x")))
		}
		dirs, all := 0, 0
		w := f.open(true, func(op, path string) error {
			switch {
			case op == "syncdir" && strings.HasPrefix(path, f.path("d")):
				dirs++
			case op == "syncall":
				all++
			}
			return nil
		})
		if _, err := w.Commit(context.Background(), set, CommitOptions{}); err != nil {
			t.Fatal(err)
		}
		want := [2]int{2 * n, 0} // with the names that went, and without the temporary ones
		if n > few {
			want = [2]int{0, 2}
		}
		if got := [2]int{dirs, all}; got != want {
			t.Errorf("%d directories: %d are flushed, and %d times all; want %v", n, dirs, all, want)
		}
	}
}

// TestTheIntentIsFlushed where recovery could not do without it: not for one file that trades names.
func TestTheIntentIsFlushed(t *testing.T) {
	for name, c := range map[string]struct {
		files   []string
		best    bool
		journal int
	}{
		"one": {[]string{"d/a"}, false, 1}, "two": {[]string{"d/a", "d/b"}, false, 2}, "two, each for itself": {[]string{"d/a", "d/b"}, true, 1},
		"one in place": {[]string{"d/h1"}, false, 2}, "in place, each for itself": {[]string{"d/a", "d/h1"}, true, 2},
	} {
		f := newFixture(t)
		f.write("d/a", "a", "d/b", "b", "d/h1", "linked", "d/x", "x")
		if err := os.Link(f.path("d/h1"), f.path("d/h2")); err != nil {
			t.Skip(err)
		}
		f.commit(f.change("d/x", "y"))
		var set delta.Set
		for _, file := range c.files {
			set = append(set, f.change(file, "new"))
		}
		got := flushes{}
		if _, err := flushing(f, &got, nil).Commit(context.Background(), set, CommitOptions{BestEffort: c.best}); err != nil || got.Journal != c.journal {
			t.Errorf("%s: the journal is flushed %d times, not %d; %v", name, got.Journal, c.journal, err)
		}
	}
}

// TestAFlushThatFails takes everything back.
func TestAFlushThatFails(t *testing.T) {
	for _, files := range []int{2, few + 1} {
		for _, op := range []string{"sync", "syncdir", "syncall"} {
			f := newFixture(t)
			f.write("d/x", "x")
			if err := os.Symlink("x", f.path("d/l")); err != nil {
				t.Skip(err)
			}
			old := f.snapshot()
			var set delta.Set
			for i := range files {
				set = append(set, f.change(fmt.Sprint("d/", i), "text"))
			}
			set = append(set, delta.Change{Path: f.path("d/l"), Pre: f.image("d/l"), Post: delta.NewSymlink("y")})
			got, once := flushes{}, true
			out, err := flushing(f, &got, func(now string) error {
				if now == op && once {
					once = false
					return syscall.EIO
				}
				return nil
			}).Commit(context.Background(), set, CommitOptions{})
			if once { // it was not asked for
				if err != nil || (op == "syncall") == (files > few) && op == "syncall" {
					t.Errorf("%d files, no %s: %v", files, op, err)
				}
				continue
			}
			if !errors.Is(err, syscall.EIO) || len(out.Committed) > 0 || !out.Exact || !same(old, f.snapshot()) {
				t.Errorf("%d files, %s fails: %+v, %v\n%s", files, op, out, err, cmp.Diff(old, f.snapshot()))
			}
			f.checkClean()
		}
	}
}
