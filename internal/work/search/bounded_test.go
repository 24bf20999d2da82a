package search

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"kerf/internal/work/boundary"
	"kerf/internal/work/tree/handle"
)

// asked is a boundary that counts how often it is asked about a path.
type asked struct {
	*boundary.Plan
	times atomic.Int64
}

func (a *asked) At(path string) boundary.Verdict {
	a.times.Add(1)
	return a.Plan.At(path)
}

// bounded is a searcher in a workspace, and its boundary.
func bounded(t *testing.T, dir string, rules ...boundary.Rule) (*Searcher, *asked) {
	t.Helper()
	plan, err := boundary.Resolve(boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{dir}, Cwd: dir, Rules: rules}, boundary.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	a := &asked{Plan: &plan}
	return New(Options{Roots: []string{dir}, Ripgrep: "-", Boundary: a}), a
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestWhatHidesNothingIsNotAsked: the boundary is not asked about each file where it hides
// none, as in a workspace below /tmp, and about those of one directory where it hides some.
func TestWhatHidesNothingIsNotAsked(t *testing.T) {
	dir := realDir(t)
	for i := range 200 {
		plant(t, dir, fmt.Sprintf("d%d/f%d=needle", i%10, i))
	}
	plant(t, dir, "d3/secret/key=needle")
	search := func(rules ...boundary.Rule) (found int, times int64) {
		s, a := bounded(t, dir, rules...)
		lines, _, err := s.Grep(t.Context(), Query{Pattern: "needle", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return len(lines), a.times.Load()
	}
	if found, times := search(); found != 201 || times > 10 {
		t.Errorf("nothing hidden: %d lines found, asked %d times", found, times)
	}
	hide := boundary.Rule{Path: filepath.Join(dir, "d3/secret"), Access: boundary.None}
	if found, times := search(hide); found != 200 || times > 50 {
		t.Errorf("a directory hidden: %d lines found, asked %d times", found, times)
	}
}

// TestNoFileIsReadThroughALink: a directory that was listed, and is a link by now, is not
// entered, although what it leads to lies in the searched directory.
func TestNoFileIsReadThroughALink(t *testing.T) {
	dir := realDir(t)
	plant(t, dir, "secret/key=needle", "a/key=needle", "l->secret", "b/l->../secret")
	s, _ := bounded(t, dir, boundary.Rule{Path: filepath.Join(dir, "secret"), Access: boundary.None})
	p, err := compile(Query{Pattern: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	for listed, want := range map[string]int{"a": 1, "l": 0, "b/l": 0} {
		g := &grepping{q: Query{Dir: dir}, p: p, limit: 10, s: s, left: 1 << 20}
		if err := g.search(t.Context(), map[string][]string{listed: {"key"}}); err != nil {
			t.Fatal(err)
		}
		if got := len(g.result(dir)); got != want || g.more != (want == 0) {
			t.Errorf("%s: %d lines, more %t", listed, got, g.more)
		}
	}
}

// TestTheRulesOfTheRepositoryHold: info/exclude counts in a workspace, too.
func TestTheRulesOfTheRepositoryHold(t *testing.T) {
	dir := realDir(t)
	plant(t, dir, ".git/HEAD=ref: refs/heads/main", ".git/objects/", ".git/refs/", ".git/info/exclude=*.log\n", "a.log=needle", "a.txt=needle",
		"sub/.git/info/exclude=*.txt\n", "sub/.git/HEAD=", "sub/b.txt=needle", "sub/b.log=needle")
	s, _ := bounded(t, dir)
	paths, _, err := s.Glob(t.Context(), dir, "**", 10)
	base := filepath.ToSlash(dir)
	if want := []string{base + "/a.txt", base + "/sub/b.log"}; err != nil || !slices.Equal(paths, want) {
		t.Errorf("%v, %v", paths, err)
	}
}

// TestReadFile: what a file holds is read whole, also when it is longer or shorter by now
// than it was said to be, and no more than allowed.
func TestReadFile(t *testing.T) {
	dir := realDir(t)
	plant(t, dir, "f=0123456789", "empty=")
	d, err := handle.Open(filepath.ToSlash(dir), "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, c := range []struct {
		size, max int64
		room      int
		want      string
		err       error
	}{
		{10, 20, 0, "0123456789", nil}, {10, 10, 0, "0123456789", nil}, {10, 9, 0, "012345678", errLarge}, {3, 20, 0, "0123456789", nil},
		{0, 20, 0, "0123456789", nil}, {15, 20, 0, "0123456789", nil}, {3, 5, 0, "01234", errLarge}, {10, 9, 64, "012345678", errLarge},
		{10, 20, 64, "0123456789", nil}, {9, 20, 3, "0123456789", nil},
	} {
		f, err := d.OpenRead("f")
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(f, make([]byte, 0, c.room), c.size, c.max)
		f.Close()
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if data, err := readFile(d, "empty", nil, 10, nil); err != nil || len(data) != 0 {
		t.Errorf("empty: %q, %v", data, err)
	}
}
