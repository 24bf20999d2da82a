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
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/ordinary"
	"kerf/internal/text/delta"
	"kerf/internal/work/boundary"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
)

func (f *fixture) link(target, name string) {
	f.t.Helper()
	if err := os.Symlink(target, f.path(name)); err != nil {
		f.t.Skip(err)
	}
}

// throughLinks commits changes that lead out through links, sees each refused and
// nothing outside touched. The control is that the same change inside succeeds.
func throughLinks(t *testing.T, changes func(f *fixture, victim, evil *delta.Image) map[string]delta.Change) {
	t.Helper()
	f := newFixture(t)
	out := f.outside()
	f.write("src", "victim")
	f.link(filepath.Join(out, "victim"), "f")
	f.link(out, "d")
	before := snapshot(t, out)
	for name, c := range changes(f, delta.NewFile([]byte("victim"), 0o644), delta.NewFile([]byte("evil"), 0o644)) {
		res, err := f.w.Commit(context.Background(), delta.Set{c}, CommitOptions{})
		if err == nil || len(res.Committed) > 0 {
			t.Errorf("%s: %+v", name, res.Committed)
		}
		if d := cmp.Diff(before, snapshot(t, out)); d != "" {
			t.Fatalf("%s: %s", name, d)
		}
	}
	f.commit(f.change("src", "evil"))
	// The link itself may be removed.
	f.commit(delta.Change{Path: f.path("f"), Pre: f.image("f")})
	if d := cmp.Diff(before, snapshot(t, out)); d != "" {
		t.Error(d)
	}
}

func TestSEC_L1_NothingIsWrittenThroughALinkOut(t *testing.T) {
	throughLinks(t, func(f *fixture, victim, evil *delta.Image) map[string]delta.Change {
		return map[string]delta.Change{
			"edit":      {Path: f.path("f"), Pre: victim, Post: evil},
			"add over":  {Path: f.path("f"), Post: evil},
			"delete":    {Path: f.path("f"), Pre: victim},
			"move onto": {Path: f.path("f"), Pre: victim, Post: evil, From: f.path("src")},
		}
	})
}

func TestSEC_L2_NothingIsDoneBelowALinkOut(t *testing.T) {
	throughLinks(t, func(f *fixture, victim, evil *delta.Image) map[string]delta.Change {
		return map[string]delta.Change{
			"add below":   {Path: f.path("d/new"), Post: evil},
			"delete in d": {Path: f.path("d/victim"), Pre: victim},
			"deep":        {Path: f.path("d/a/b/c"), Post: evil},
			"edit in d":   {Path: f.path("d/victim"), Pre: victim, Post: evil},
		}
	})
}

// TestSEC_L6_FileBecomesALink: a command puts a link in the place of a file that was
// read before; the edit of what was read does not follow it, however the link was made.
func TestSEC_L6_FileBecomesALink(t *testing.T) {
	for name, replace := range map[string]func(victim, f string) error{
		"symbolic": os.Symlink,
		"hard":     os.Link,
	} {
		f := newFixture(t)
		out := f.outside()
		f.write("f", "mine")
		edit := f.change("f", "edited")
		control := f.change("f", "edited before")
		f.commit(control)
		edit.Pre = control.Post
		before := snapshot(t, out)
		if err := os.Remove(f.path("f")); err != nil {
			t.Fatal(err)
		}
		if err := replace(filepath.Join(out, "victim"), f.path("f")); err != nil {
			t.Skip(err)
		}
		if res, err := f.w.Commit(context.Background(), delta.Set{edit}, CommitOptions{}); err == nil ||
			len(res.Committed) > 0 {
			t.Errorf("%s: %+v", name, res.Committed)
		}
		if d := cmp.Diff(before, snapshot(t, out)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestSEC_L3_RaceOfDirectoryAndLink edits below a directory that another goroutine
// exchanges with a link to outside.
func TestSEC_L3_RaceOfDirectoryAndLink(t *testing.T) {
	f := newFixture(t)
	out := f.outside()
	f.write("d/file", "0")
	f.link(out, "l")
	before := snapshot(t, out)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond): // long enough for an edit to land
			}
			a, b, tmp := f.path("d"), f.path("l"), f.path("t")
			_ = os.Rename(a, tmp)
			_ = os.Rename(b, a)
			_ = os.Rename(tmp, b)
		}
	}()
	w := f.open(false, nil)
	landed, refused := 0, 0
	end := time.Now().Add(15 * time.Second)
	for i := 0; i < 2000 || landed < 50 && time.Now().Before(end); i++ {
		name := f.path("d/file")
		img, err := w.Tree.Read(name, 0)
		if err != nil || img == nil {
			refused++
			continue
		}
		post := delta.NewFile(fmt.Append(nil, i), 0o644)
		if _, err := w.Commit(context.Background(), delta.Set{{Path: name, Pre: img, Post: post}},
			CommitOptions{}); err == nil {
			landed++
		} else {
			refused++
		}
	}
	close(stop)
	<-done
	if d := cmp.Diff(before, snapshot(t, out)); d != "" {
		t.Error(d)
	}
	if t.Logf("%d edits landed, %d were refused", landed, refused); landed == 0 || refused == 0 {
		t.Error("the race did not run")
	}
}

func TestSEC_L4_LinkMadeAfterApprovalIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(f *fixture){
		"file": func(f *fixture) { os.Remove(f.path("d/f")); f.link("../twin", "d/f") },
		"directory": func(f *fixture) {
			os.Rename(f.path("d"), f.path("e"))
			f.link("e", "d")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("d/f", "same", "twin", "same")
			c := f.change("d/f", "new")
			spoil(f)
			before := f.snapshot()
			_, err := f.w.Commit(context.Background(), delta.Set{c}, CommitOptions{Real: true})
			var le *tree.LinkError
			var mm *MismatchError
			if !errors.As(err, &le) && !errors.As(err, &mm) {
				t.Errorf("got %v", err)
			}
			if d := cmp.Diff(before, f.snapshot()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSEC_L5_NothingIsMadeThroughBadLinks(t *testing.T) {
	f := newFixture(t)
	f.link("missing", "dangling")
	f.link("loop", "loop")
	f.link("/proc/self/fd/1", "fd")
	f.link("..", "up")
	before := f.snapshot()
	post := delta.NewFile([]byte("x"), 0o644)
	for _, name := range []string{"dangling", "loop", "fd", "up", "up/x", "dangling/x", "loop/x"} {
		if _, err := f.w.Commit(context.Background(), delta.Set{{Path: f.path(name), Post: post}},
			CommitOptions{}); err == nil {
			t.Errorf("%s: committed", name)
		}
	}
	if d := cmp.Diff(before, f.snapshot()); d != "" {
		t.Error(d)
	}
}

func TestSEC_P1_CommitsStayInside(t *testing.T) {
	f := newFixture(t)
	evil := f.root + "-evil"
	if err := os.Mkdir(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	post := delta.NewFile([]byte("x"), 0o644)
	for _, path := range []string{f.root + "/../w-evil/x", evil + "/x", "/kerf-test-evil", "../w-evil/x"} {
		_, err := f.w.Commit(context.Background(), delta.Set{{Path: path, Post: post}}, CommitOptions{})
		var out *tree.OutsideError
		if !errors.As(err, &out) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := snapshot(t, evil); len(got) > 0 {
		t.Error(got)
	}
	f.commit(delta.Change{Path: f.root + "//./x", Post: post})
}

func TestSEC_P4_SpecialTargetsAreRefused(t *testing.T) {
	f := newFixture(t)
	if err := syscall.Mkfifo(f.path("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.write("dir/x", "x")
	post := delta.NewFile([]byte("x"), 0o644)
	for _, name := range []string{"fifo", "dir", "."} {
		for _, pre := range []*delta.Image{nil, post} {
			if _, err := f.w.Commit(context.Background(), delta.Set{{Path: f.path(name), Pre: pre, Post: post}},
				CommitOptions{}); err == nil {
				t.Errorf("%s: committed", name)
			}
		}
	}
}

func TestSEC_P6_WhatAMoveReplacesCanBeHadBack(t *testing.T) {
	f := newFixture(t)
	f.write("src", "mover", "dst", "replaced")
	out := f.commit(f.move("src", "dst")...)
	var old *delta.Image
	for _, c := range out.Committed {
		if c.Path == f.path("dst") {
			old = c.Pre
		}
	}
	if data, err := f.w.Store.Get(old.Sum); err != nil || string(data) != "replaced" {
		t.Errorf("%q %v", data, err)
	}
}

func TestSEC_E5_UnwritableTargetChangesNothing(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	f := newFixture(t)
	f.write("a", "1", "ro", "2")
	if err := os.Chmod(f.path("ro"), 0o444); err != nil {
		t.Fatal(err)
	}
	before := f.snapshot()
	_, err := f.w.Commit(context.Background(), delta.Set{f.change("a", "x"), f.change("ro", "y")}, CommitOptions{})
	if !errors.Is(err, tree.ErrNoAccess) {
		t.Error(err)
	}
	if d := cmp.Diff(before, f.snapshot()); d != "" {
		t.Error(d)
	}
}

func TestSEC_S5_TemporaryNamesAreUnpredictable(t *testing.T) {
	f := newFixture(t)
	f.write("a", "1")
	var names []string
	w := f.open(true, func(op, path string) error {
		if op == "create" && filepath.Dir(path) == f.root {
			names = append(names, filepath.Base(path))
		}
		return nil
	})
	for i := range 3 {
		if _, err := w.Commit(context.Background(), delta.Set{f.change("a", fmt.Sprint(i, "x"))},
			CommitOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) != 3 || names[0] == names[1] || names[1] == names[2] || len(names[0]) < 20 {
		t.Error(names)
	}
}

func TestProtectedPathsAreRefused(t *testing.T) {
	f := newFixture(t)
	f.write("ok", "1", ".git/config", "x")
	bound := boundary.NewSession(boundary.Disk{}, boundary.WorkspaceWrite, func(mode string) boundary.Policy {
		return boundary.Policy{Mode: mode, Roots: []string{f.root}}
	})
	tr, err := tree.Open(tree.Options{Roots: []string{f.root}, Boundary: bound})
	if err != nil {
		t.Fatal(err)
	}
	f.w.Tree = tr
	f.link(".git", "alias")
	before := f.snapshot()
	for _, c := range []delta.Change{f.change(".git/config", "y"), f.change(".git/hooks/new", "z"),
		f.change("alias/config", "y"), f.change(".git/config")} {
		if _, err := f.w.Commit(context.Background(), delta.Set{f.change("ok", "2"), c}, CommitOptions{}); !errors.As(err,
			new(*boundary.RefusedError)) {
			t.Errorf("%s: %v", c.Path, err)
		}
	}
	if d := cmp.Diff(before, f.snapshot()); d != "" {
		t.Error(d)
	}
}

// TestNamesOfOneFileGoApart where each gets a content of its own or goes, and where an undo is about one
// alone. They stay together where they get the same, and a commit that names one is about all.
func TestNamesOfOneFileGoApart(t *testing.T) {
	undo := CommitOptions{Cause: ledger.CauseUndo}
	for name, c := range map[string]struct {
		set  map[string]string // the new texts of names; "" is none
		o    CommitOptions
		want string // the texts of a, b and c
		same bool   // those that are left are one file
	}{
		"each its own, as made":   {map[string]string{"c": "", "a": "new a", "b": "new b"}, asMade, "new a, new b, ", false},
		"each its own":            {map[string]string{"c": "", "a": "new a", "b": "new b"}, CommitOptions{}, "new a, new b, ", false},
		"each its own, all three": {map[string]string{"c": "new c", "a": "new a", "b": "new b"}, CommitOptions{}, "new a, new b, new c", false},
		"an undo of one":          {map[string]string{"b": "before"}, undo, "old, before, old", false},
		"an undo of two":          {map[string]string{"a": "before", "b": "before"}, undo, "before, before, old", false},
		"an undo of all":          {map[string]string{"a": "before", "b": "before", "c": "before"}, undo, "before, before, before", true},
		"one":                     {map[string]string{"b": "new"}, CommitOptions{}, "new, new, new", true},
		"all":                     {map[string]string{"a": "new", "b": "new", "c": "new"}, CommitOptions{}, "new, new, new", true},
		"one goes":                {map[string]string{"b": ""}, CommitOptions{}, "old, , old", true},
		"one goes, one is new":    {map[string]string{"b": "", "c": "new"}, CommitOptions{}, "old, , new", false},
	} {
		f := newFixture(t)
		f.write("a", "old")
		for _, name := range []string{"b", "c"} {
			if err := os.Link(f.path("a"), f.path(name)); err != nil {
				t.Skip(err)
			}
		}
		var set delta.Set
		for _, name := range []string{"c", "a", "b"} {
			if text, ok := c.set[name]; ok && text == "" {
				set = append(set, f.change(name))
			} else if ok {
				set = append(set, f.change(name, text))
			}
		}
		out, err := f.w.Commit(context.Background(), set, c.o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var texts []string
		var one os.FileInfo
		same := true
		for _, name := range []string{"a", "b", "c"} {
			i := f.image(name)
			if i == nil {
				texts = append(texts, "")
				continue
			}
			st, err := os.Stat(f.path(name))
			if err != nil {
				t.Fatal(err)
			}
			if same = same && (one == nil || os.SameFile(one, st)); one == nil {
				one = st
			}
			texts = append(texts, string(i.Data))
		}
		if got := strings.Join(texts, ", "); got != c.want || same != c.same {
			t.Errorf("%s: %q, one file: %t", name, got, same)
		}
		told := map[string]int{}
		for _, ch := range out.Committed {
			told[filepath.Base(ch.Path)]++
		}
		for i, name := range []string{"a", "b", "c"} {
			want := 0
			if texts[i] != "old" {
				want = 1
			}
			if told[name] != want {
				t.Errorf("%s: %s is told %d times", name, name, told[name])
			}
		}
		f.checkClean()
	}
}
