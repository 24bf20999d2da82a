package moved

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/text/delta"
)

// body is a text of n lines.
func body(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of a file\n", i)
	}
	return b.String()
}

// look has the present of a test's directory, and counts what is read.
type look struct {
	dir  string
	read []string
	// loads counts how often the content of a file that is gone was asked for.
	loads int
}

func (l *look) put(t *testing.T, name, text string, at time.Time) {
	t.Helper()
	p := filepath.Join(l.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(p, at, at); err != nil {
		t.Fatal(err)
	}
}

func (l *look) finder() *Finder {
	return &Finder{Roots: []string{l.dir}, Read: func(p string, _ int64) (*delta.Image, error) {
		l.read = append(l.read, filepath.Base(p))
		data, err := os.ReadFile(p)
		return delta.NewFile(data, 0o644), err
	}}
}

func (l *look) find(text string, since time.Time, known ...string) string {
	l.read = nil
	return l.in(l.finder(), text, since, known...)
}

func (l *look) in(f *Finder, text string, since time.Time, known ...string) string {
	was := delta.NewFile([]byte(text), 0o644)
	found := f.Find(Search{Path: filepath.ToSlash(filepath.Join(l.dir, "gone.txt")), Image: was.Version, Since: since,
		Load:  func() (*delta.Image, error) { l.loads++; return was, nil },
		Known: func(p string) bool { return slices.Contains(known, filepath.Base(p)) }})
	rel, _ := filepath.Rel(l.dir, found)
	if found == "" {
		return ""
	}
	return filepath.ToSlash(rel)
}

// TestFind finds the file that is most like the one that is gone, and none where that is not one.
func TestFind(t *testing.T) {
	before := time.Now().Add(-time.Hour)
	for _, c := range []struct {
		name  string
		files map[string]string
		gone  string
		known []string
		want  string
	}{
		{name: "nothing there", gone: body(9)},
		{name: "the same", files: map[string]string{"d/new.txt": body(9), "other.txt": "else\n"}, gone: body(9),
			want: "d/new.txt"},
		{name: "much like it", files: map[string]string{"new.txt": body(9) + "mine\n"}, gone: body(9), want: "new.txt"},
		{name: "little like it", files: map[string]string{"new.txt": body(3)}, gone: body(9)},
		{name: "of its size, and something else", files: map[string]string{"new.txt": strings.Repeat("x\n", len(body(9))/2)},
			gone: body(9)},
		{name: "the best of two", files: map[string]string{"a": body(9) + "mine\n", "b": body(9)}, gone: body(9), want: "b"},
		{name: "two alike", files: map[string]string{"a": body(9), "b": body(9)}, gone: body(9)},
		{name: "two alike, and a better one", files: map[string]string{"a": body(8), "b": body(8), "c": body(9)}, gone: body(9),
			want: "c"},
		{name: "known", files: map[string]string{"a": body(9), "b": body(8)}, gone: body(9), known: []string{"a"}, want: "b"},
		{name: "git's own", files: map[string]string{".git/a": body(9)}, gone: body(9)},
		{name: "an empty file", files: map[string]string{"a": ""}},
	} {
		l := &look{dir: t.TempDir()}
		for name, text := range c.files {
			l.put(t, name, text, before)
		}
		if got := l.find(c.gone, before, c.known...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestOldFilesAreNotIt: what was there before, under another name, was not moved. With the same name
// its directory may have been.
func TestOldFilesAreNotIt(t *testing.T) {
	l := &look{dir: t.TempDir()}
	l.put(t, "old.txt", body(9), time.Now())
	if got := l.find(body(9), time.Now().Add(time.Hour)); got != "" || len(l.read) > 0 || l.loads > 0 {
		t.Errorf("found %q, read %q, asked %d times what it was", got, l.read, l.loads)
	}
	l.put(t, "d/gone.txt", body(9), time.Now())
	if got := l.find(body(9), time.Now().Add(time.Hour)); got != "d/gone.txt" {
		t.Errorf("found %q", got)
	}
}

// TestARenameCounts, though the file itself is as old as before.
func TestARenameCounts(t *testing.T) {
	l := &look{dir: t.TempDir()}
	old := time.Now().Add(-time.Hour)
	l.put(t, "gone.txt", body(9), old)
	since := time.Now()
	if err := os.Rename(filepath.Join(l.dir, "gone.txt"), filepath.Join(l.dir, "new.txt")); err != nil {
		t.Fatal(err)
	}
	if got := l.find(body(9), since); got != "new.txt" {
		t.Errorf("found %q", got)
	}
}

// TestLinksAreNotRead, nor what is no file.
func TestLinksAreNotRead(t *testing.T) {
	l := &look{dir: t.TempDir()}
	l.put(t, "a", body(9), time.Now())
	if err := os.Symlink("a", filepath.Join(l.dir, "link")); err != nil {
		t.Skip("links cannot be made here")
	}
	if got := l.find(body(9), time.Now().Add(-time.Hour)); got != "a" || len(l.read) != 1 {
		t.Errorf("found %q, read %q", got, l.read)
	}
}

// TestManyThatAreGone are looked for in one list, and no more is read than the bounds allow.
func TestManyThatAreGone(t *testing.T) {
	l := &look{dir: t.TempDir()}
	for i := range 50 {
		l.put(t, fmt.Sprintf("d%d/f%d.txt", i%7, i), body(9)+fmt.Sprintf("%d\n", i), time.Now())
	}
	before, f := time.Now().Add(-time.Hour), l.finder()
	for i := range 50 {
		got, want := l.in(f, body(9)+fmt.Sprintf("%d\n", i), before), fmt.Sprintf("f%d.txt", i)
		if len(l.read) < maxFiles && filepath.Base(got) != want {
			t.Errorf("%d: %q", i, got)
		}
	}
	if len(l.read) != maxFiles {
		t.Errorf("%d files were read, the bound is %d", len(l.read), maxFiles)
	}
	l.put(t, "new.txt", body(9), time.Now())
	if got := l.in(f, body(9), before); got != "" {
		t.Errorf("found %q in a new list", got)
	}
}
