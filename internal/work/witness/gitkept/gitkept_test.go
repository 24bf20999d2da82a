package gitkept

import (
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	asked := 0
	there := func(dir string) bool {
		asked++
		return slices.Contains([]string{"/r/.git", "/r/gone/.git/modules/a/.git"}, dir)
	}
	left := Names(there, func(name string) bool { return name == "/r/file/.git" })
	for name, want := range map[string]bool{
		"/r/a": false, "/r/.git/index": true, "/r/.git": true, "/r/.gitignore": false, "/r/.github/a": false, "/r/a.git/b": false,
		"/r/gone/.git/HEAD": false, "/r/gone/.git/modules/a/.git/HEAD": true, "/r/file/.git": false, "/r/never/.git": true,
		"/r/.git.d/.git/x": false, "/r/.kerf-1-2": false,
	} {
		if left(name) != want {
			t.Errorf("%s: left to git %v, want %v", name, !want, want)
		}
	}
	was := asked
	if left("/r/.git/objects/x"); asked != was {
		t.Error("a directory is asked about twice")
	}
}
