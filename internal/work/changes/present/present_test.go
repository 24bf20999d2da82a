package present

import (
	"slices"
	"testing"

	"kerf/internal/work/tree"
)

// TestWhereMovedFilesAreLookedFor: below the roots of the tree, and where everything is a root, in the directory of
// the workspace alone.
func TestWhereMovedFilesAreLookedFor(t *testing.T) {
	dir := t.TempDir()
	for _, roots := range [][]string{{dir}, {"/"}, {dir, "/"}} {
		tr, err := tree.Open(tree.Options{Roots: roots})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"/base"}
		if len(roots) == 1 && roots[0] == dir {
			want = tr.Roots()
		}
		if got := finder(tr, "/base").Roots; !slices.Equal(got, want) {
			t.Errorf("roots %q: %q, want %q", roots, got, want)
		}
	}
}
