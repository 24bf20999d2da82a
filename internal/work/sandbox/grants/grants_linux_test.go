package grants

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
)

func TestReadableNamesSiblings(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"/a/b", "/a/c", "/d", "/e/f/g"} {
		if err := os.MkdirAll(dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(Readable([]boundary.Mount{{Kind: boundary.MountHideDir, Path: dir + "/a/b"},
		{Kind: boundary.MountHideFile, Path: dir + "/gone/secret"},
		{Kind: boundary.MountHideDir, Path: dir + "/e"}, {Kind: boundary.MountRead, Path: dir + "/e/f"}}),
		func(path string) bool { return !strings.HasPrefix(path, dir) })
	if d := cmp.Diff([]string{dir + "/a/c", dir + "/d", dir + "/e/f", dir + "/file"}, got); d != "" {
		t.Error(d)
	}
}

// TestReadableIsWhatIsNotHidden draws trees and mounts: a file can be read by the grants if, and only
// if, the nearest mount above it does not hide it, and a directory is granted as a whole only if
// nothing below it is hidden.
func TestReadableIsWhatIsNotHidden(t *testing.T) {
	base := t.TempDir()
	var files, dirs []string
	for _, d := range []string{"a", "a/a", "a/b", "a/b/a", "b", "b/a", "b/a/b", "ab", "c"} {
		if err := os.Mkdir(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, filepath.Join(base, d))
	}
	for _, d := range append(slices.Clone(dirs), base) {
		for _, name := range []string{"f", "g"} {
			files = append(files, filepath.Join(d, name))
			if err := os.WriteFile(filepath.Join(d, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	kinds := []boundary.MountKind{boundary.MountRead, boundary.MountWrite, boundary.MountTmp}
	rapid.Check(t, func(rt *rapid.T) {
		at := map[string]boundary.MountKind{}
		for range rapid.IntRange(0, 5).Draw(rt, "mounts") {
			if rapid.Bool().Draw(rt, "a file") {
				at[rapid.SampledFrom(files).Draw(rt, "file")] = boundary.MountHideFile
			} else if rapid.IntRange(0, 2).Draw(rt, "hide") > 0 {
				at[rapid.SampledFrom(dirs).Draw(rt, "dir")] = boundary.MountHideDir
			} else {
				at[rapid.SampledFrom(dirs).Draw(rt, "dir")] = rapid.SampledFrom(kinds).Draw(rt, "kind")
			}
		}
		var mounts []boundary.Mount
		for _, p := range slices.Sorted(maps.Keys(at)) {
			mounts = append(mounts, boundary.Mount{Kind: at[p], Path: p})
		}
		got := Readable(mounts)
		granted := func(p string) bool {
			return slices.ContainsFunc(got, func(g string) bool { return pathname.Under(g, p) })
		}
		for _, p := range files {
			hidden, opened := false, false // opened by a rule that reads, after something above hid it
			for up := "/"; ; {
				if k, ok := at[up]; ok {
					switch {
					case k == boundary.MountHideDir || k == boundary.MountHideFile || k == boundary.MountTmp:
						hidden, opened = true, false
					case k == boundary.MountRead && hidden:
						hidden, opened = false, true
					}
				}
				if up == p {
					break
				}
				next, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(p, up), "/"), "/")
				up = filepath.Join(up, next)
			}
			if granted(p) == hidden {
				rt.Errorf("%s: granted %v, hidden %v, opened %v\nmounts %v\ngrants %q", p, granted(p), hidden, opened, mounts,
					slices.DeleteFunc(slices.Clone(got), func(g string) bool { return !pathname.Under(base, g) }))
			}
		}
		for i, g := range got {
			if slices.ContainsFunc(got, func(other string) bool { return other != g && pathname.Under(other, g) }) || slices.Contains(got[:i], g) {
				rt.Errorf("%s is granted twice: %q", g, got)
			}
		}
	})
}

// TestADirectoryUnderAnotherName: what is hidden, and what holds something hidden, is not granted by
// the name of a bind mount either.
func TestADirectoryUnderAnotherName(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"/hidden/x", "/above/x/x", "/above/y", "/free/x"} {
		if err := os.MkdirAll(dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g := newGranter([]boundary.Mount{{Kind: boundary.MountHideDir, Path: dir + "/hidden"},
		{Kind: boundary.MountHideFile, Path: dir + "/above/x/secret"}, {Kind: boundary.MountRead, Path: dir + "/free"}})
	g.mounts = nil // as under another name: only what the directories are tells
	for path, want := range map[string][]string{"/hidden": nil, "/above": {dir + "/above/x/x", dir + "/above/y"}, "/free": {dir + "/free"},
		"/free/x": {dir + "/free/x"}, "/gone": {dir + "/gone"}} {
		if d := cmp.Diff(want, g.readable(dir+path, true)); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	if identity(dir+"/gone") != (boundary.FileID{}) {
		t.Error("what is not there has an identity")
	}
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if identity(dir+"/file") != (boundary.FileID{}) {
		t.Error("a file is taken for a directory")
	}
}

// TestAllDirectoriesAboveAreKnown, up to the root of the disk.
func TestAllDirectoriesAboveAreKnown(t *testing.T) {
	dir := t.TempDir()
	got := Readable([]boundary.Mount{{Kind: boundary.MountHideFile, Path: dir + "/secret"}})
	for up := dir; ; up = filepath.Dir(up) {
		if slices.Contains(got, up) {
			t.Errorf("%s is granted as a whole", up)
		}
		if up == "/" {
			break
		}
	}
	if got := Readable(nil); !slices.Equal(got, []string{"/"}) {
		t.Errorf("nothing is hidden, granted %q", got)
	}
}

// TestWhatIsHiddenByNameOnly: where directories cannot be told from each other, their names count.
func TestWhatIsHiddenByNameOnly(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"/a/hidden/open", "/a/b"} {
		if err := os.MkdirAll(dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g := newGranter([]boundary.Mount{{Kind: boundary.MountRead, Path: dir + "/a/hidden"}, {Kind: boundary.MountHideDir, Path: dir + "/a/hidden"},
		{Kind: boundary.MountRead, Path: dir + "/a/hidden/open"}, {Kind: boundary.MountRead, Path: dir + "/elsewhere"}})
	g.above, g.hidden = nil, nil
	if d := cmp.Diff([]string{dir + "/a/b", dir + "/a/hidden/open"}, g.readable(dir+"/a", true)); d != "" {
		t.Error(d)
	}
}
