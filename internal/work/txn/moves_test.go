//go:build unix

package txn

import (
	"context"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
)

// drawMoves draws moves of files with one-letter names: whose name each path has the content of, before
// and after.
func drawMoves(rt *rapid.T) (before, after map[string]string) {
	names := []string{"a", "b", "c", "d", "e"}
	targets := rapid.Permutation(append([]string{"a/x", "b/y", "n", "q/r"}, names...)).Draw(rt, "targets")
	before, after = map[string]string{}, map[string]string{}
	for _, name := range names {
		before[name], after[name] = name, name
	}
	for i, name := range names[:rapid.IntRange(1, 5).Draw(rt, "moves")] {
		if after[name] == name {
			delete(after, name)
		}
		after[targets[i]] = name
	}
	return before, after
}

// movesOf are the changes that lead from one to the other; nil if there is no such tree, or a file is lost.
func movesOf(rt *rapid.T, f *fixture, before, after map[string]string) (set delta.Set) {
	image := func(name string) *delta.Image {
		if name == "" {
			return nil
		}
		return delta.NewFile([]byte(name), 0o644)
	}
	to := map[string]string{}
	for p, name := range after {
		if after[path.Dir(p)] != "" || to[name] != "" {
			return nil
		}
		to[name] = p
	}
	for _, p := range []string{"a", "b", "c", "d", "e", "a/x", "b/y", "n", "q/r"} {
		pre, post := before[p], after[p]
		if pre == post {
			continue
		}
		c := delta.Change{Path: f.path(p), Pre: image(pre), Post: image(post)}
		if post != "" {
			c.From = f.path(post)
		} else {
			c.To = f.path(to[pre])
		}
		set = append(set, c)
	}
	if len(to) != len(before) || len(set) == 0 {
		return nil
	}
	return rapid.Permutation(set).Draw(rt, "set")
}

// TestNoMovedFileIsLost: moves that are committed file by file lose no file, whatever others do to some of
// them, which call of the system fails, and where the commit dies.
func TestNoMovedFileIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		before, after := drawMoves(rt)
		set := movesOf(rt, f, before, after)
		if set == nil {
			return
		}
		for name := range before {
			f.write(name, name)
		}
		theirs := map[string]string{}
		for _, c := range set {
			rel := strings.TrimPrefix(c.Path, f.path("")+"/")
			if rapid.IntRange(0, 5).Draw(rt, "others") > 0 || before[path.Dir(rel)] != "" {
				continue
			}
			theirs[rel] = "theirs"
			f.write(rel, "theirs")
		}
		bad := &fault{at: rapid.IntRange(0, 60).Draw(rt, "call"), err: syscall.EIO, crash: rapid.Bool().Draw(rt, "dies")}
		var out Outcome
		var err error
		dead := survive(func() {
			w, openErr := openAt(f.root, f.home, false, bad.hook)
			if openErr != nil {
				err = openErr
				return
			}
			defer w.Ledger.Close()
			defer w.Close()
			out, err = w.Commit(context.Background(), set, CommitOptions{BestEffort: true})
		})
		w, openErr := openAt(f.root, f.home, false, nil)
		if openErr != nil {
			rt.Fatal(openErr)
		}
		defer w.Ledger.Close()
		defer w.Close()
		told := map[string]bool{}
		for _, e := range out.Failed {
			told[e.Path] = true
		}
		where := map[string][]string{}
		for p, text := range f.snapshot() {
			if kind, content, _ := strings.Cut(text, " "); kind[0] == '-' {
				where[content] = append(where[content], p)
			}
			if strings.Contains(p, ".kerf-") {
				rt.Errorf("stray %s", p)
			}
		}
		for p := range theirs {
			if !slices.Contains(where["theirs"], p) {
				rt.Errorf("what others wrote to %s is lost", p)
			}
		}
		for name := range before {
			switch at := where[name]; {
			case len(at) == 0 && theirs[name] == "":
				rt.Errorf("%s is lost", name)
			case !dead && err == nil && theirs[name] == "" && after[name] != name && slices.Contains(at, name) && !told[f.path(name)]:
				rt.Errorf("%s is at %v, and nobody is told", name, at)
			}
		}
		if rt.Failed() {
			rt.Logf("after %v\n%v\n%v %v\n%v\n%v", after, set.Paths(), dead, err, out.Failed, where)
			if bad.at > 0 && bad.at <= len(bad.calls) {
				rt.Logf("at %s", bad.calls[bad.at-1])
			}
		}
	})
}

// TestWhatHasNoDirectoryStays: others change a file that was to become a directory, so what was to move below it
// stays where it is.
func TestWhatHasNoDirectoryStays(t *testing.T) {
	f := newFixture(t)
	f.write("a", "a", "b", "b", "c", "c")
	set := append(f.move("c", "b"), f.change("a"), delta.Change{Path: f.path("a/x"), Post: f.image("b"), From: f.path("b")})
	f.write("a", "theirs")
	out, err := f.w.Commit(context.Background(), set, CommitOptions{BestEffort: true})
	if err == nil || len(out.Committed) > 0 || len(out.Failed) != 4 {
		t.Errorf("%v, %+v", err, out)
	}
	if d := cmp.Diff(map[string]string{"a": "-rw-r--r-- theirs", "b": "-rw-r--r-- b", "c": "-rw-r--r-- c"}, f.snapshot()); d != "" {
		t.Error(d)
	}
	f.checkClean()
}
