package nested

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// remembering is a Memory that takes all times for settled, and counts what it reads.
func remembering(reads *int) *Memory {
	l := New()
	l.now = func() time.Time { return time.Now().Add(time.Hour) }
	l.read = func(dir string) ([]fs.DirEntry, error) {
		*reads++
		return os.ReadDir(dir)
	}
	return l
}

// tick is longer than a tick of the clock that file systems use.
func tick() { time.Sleep(15 * time.Millisecond) }

// TestARememberedTreeIsTheTree changes a tree and looks at it with and without memory.
func TestARememberedTreeIsTheTree(t *testing.T) {
	root := t.TempDir()
	reads := 0
	d := remembering(&reads)
	if _, ok := d.stamp(root); !ok {
		t.Skip("SKIP the file system of the tests is not known to keep times")
	}
	random := rand.New(rand.NewPCG(1, 2))
	old := time.Unix(1e9, 0)
	dir := func() string {
		p := root
		for range random.IntN(4) {
			p = filepath.Join(p, string(rune('a'+random.IntN(3))))
		}
		return p
	}
	names := []string{".git", ".GIT", ".kerf", "node_modules", "HEAD", "objects", "refs", "a", "b", "c"}
	for i := range 120 {
		tick()
		at := dir()
		name := filepath.Join(at, names[random.IntN(len(names))])
		switch random.IntN(5) {
		case 0, 1:
			_ = os.MkdirAll(name, 0o755)
		case 2:
			_ = os.WriteFile(name, nil, 0o644)
		case 3:
			_ = os.Rename(name, filepath.Join(dir(), names[random.IntN(len(names))]))
		case 4:
			_ = os.RemoveAll(name)
		}
		_ = os.Chtimes(at, old, old) // who changes a directory can hide it so
		tick()
		for _, thorough := range []bool{false, true} {
			if got, want := d.Find(root, thorough), (*Memory)(nil).Find(root, thorough); !slices.Equal(got, want) {
				t.Fatalf("after change %d, thorough %v:\n%q\nwant\n%q", i, thorough, got, want)
			}
		}
	}
}

func TestAnUnchangedTreeIsNotReadAgain(t *testing.T) {
	root := t.TempDir()
	for i := range 40 {
		if err := os.MkdirAll(filepath.Join(root, fmt.Sprint(i), "d"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	reads := 0
	d := remembering(&reads)
	if _, ok := d.stamp(root); !ok {
		t.Skip("SKIP the file system of the tests is not known to keep times")
	}
	d.Find(root, false)
	if reads != 81 {
		t.Errorf("the first look read %d directories, want 81", reads)
	}
	tick()
	if err := os.WriteFile(filepath.Join(root, "7", "f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	reads = 0
	d.Find(root, false)
	if reads != 1 {
		t.Errorf("the look after one change read %d directories, want 1", reads)
	}
}

// What was just changed may change again within the same tick.
func TestWhatWasJustChangedIsNotRemembered(t *testing.T) {
	root := t.TempDir()
	reads := 0
	d := remembering(&reads)
	s, ok := d.stamp(root)
	if !ok {
		t.Skip("SKIP the file system of the tests is not known to keep times")
	}
	d.now = func() time.Time { return time.Unix(0, s.top.ctime).Add(settled / 2) }
	d.Find(root, false)
	d.Find(root, false)
	if reads != 2 {
		t.Errorf("%d looks were read, want 2", reads)
	}
}

// TestAWideTreeIsTheTree: many directories side by side are checked two at a time.
func TestAWideTreeIsTheTree(t *testing.T) {
	root := t.TempDir()
	reads := 0
	d := remembering(&reads)
	if _, ok := d.stamp(root); !ok {
		t.Skip("SKIP the file system of the tests is not known to keep times")
	}
	const wide = 3 * enough
	for i := range wide {
		if err := os.Mkdir(filepath.Join(root, fmt.Sprint("d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tick()
	if found := d.Find(root, false); len(found) > 0 {
		t.Fatalf("found %q", found)
	}
	reads = 0
	if found := d.Find(root, false); len(found) > 0 || reads > 0 {
		t.Fatalf("found %q, read %d directories again", found, reads)
	}
	for _, i := range []int{0, wide / 2, wide - 1} {
		git := filepath.Join(root, fmt.Sprint("d", i), ".git")
		if err := os.Mkdir(git, 0o755); err != nil {
			t.Fatal(err)
		}
		reads = 0
		if found := d.Find(root, false); !slices.Contains(found, git) || reads != 2 {
			t.Errorf("found %q, not %s; read %d directories, not what changed and the new one", found, git, reads)
		}
		tick()
	}
}

// TestWorkingTreesInAGitDirectoryAreFound: some keep all working trees of a repository in its git
// directory. What git keeps there itself is not looked into.
func TestWorkingTreesInAGitDirectoryAreFound(t *testing.T) {
	root := t.TempDir()
	for _, git := range []string{"", ".git/", "bare/", "sub/.git/", "bare/objects/in/", "sub/.git/refs/in/"} {
		for _, dir := range []string{"objects", "refs/heads"} {
			if err := os.MkdirAll(filepath.Join(root, git, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, git, "HEAD"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tree := range []string{"a", ".git/b", "bare/c", "bare", "sub/.git/d/e", "sub/.git", "no/.git/f"} {
		if err := os.MkdirAll(filepath.Join(root, tree), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, tree, ".git"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../bare", filepath.Join(root, "a/.GIT")); err != nil {
		t.Fatal(err)
	}
	for _, thorough := range []bool{false, true} {
		var got []string
		for _, path := range (*Memory)(nil).Find(root, thorough) {
			rel, _ := filepath.Rel(root, path)
			got = append(got, rel)
		}
		slices.Sort(got)
		want := []string{".git/b/.git", "a/.GIT", "a/.git", "bare", "bare/.git", "bare/c/.git", "no/.git", "sub/.git", "sub/.git/.git"}
		if thorough {
			want = append(want, "sub/.git/d/e/.git")
		}
		if !slices.Equal(got, want) {
			t.Errorf("thorough %v: found\n%q\nwant\n%q", thorough, got, want)
		}
	}
}
