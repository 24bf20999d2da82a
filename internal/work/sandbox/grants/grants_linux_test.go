package grants

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/work/boundary"
)

func TestReadableNamesSiblings(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"/a/b", "/a/c", "/d", "/e/f/g"} {
		if err := os.MkdirAll(dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got := slices.DeleteFunc(Readable([]boundary.Mount{{Kind: boundary.MountHideDir, Path: dir + "/a/b"},
		{Kind: boundary.MountHideDir, Path: dir + "/e"}, {Kind: boundary.MountRead, Path: dir + "/e/f"}}),
		func(path string) bool { return !strings.HasPrefix(path, dir) })
	if d := cmp.Diff([]string{dir + "/a/c", dir + "/d", dir + "/e/f"}, got); d != "" {
		t.Error(d)
	}
}
