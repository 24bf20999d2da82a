package repo

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxBranches bounds how many branches are listed.
const maxBranches = 1000

// Branches are the names of the local branches of the repository that holds cwd, sorted. It
// reads files only: no git runs.
func Branches(cwd string) []string {
	_, gitDir, ok := Find(cwd)
	if !ok {
		return nil
	}
	var list []string
	add := func(ref string) {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok && validRef(ref) && len(list) < maxBranches {
			list = append(list, name)
		}
	}
	common := CommonDir(gitDir)
	heads := os.DirFS(common)
	_ = fs.WalkDir(heads, "refs/heads", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || len(list) >= maxBranches:
			return fs.SkipAll
		case d.Type().IsRegular():
			add(path)
		}
		return nil
	})
	packed, _ := readSmall(filepath.Join(common, "packed-refs"), 64<<20)
	for line := range strings.Lines(packed) {
		if _, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && !strings.HasPrefix(line, "#") {
			add(ref)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
