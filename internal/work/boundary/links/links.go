// Package links finds links and special files in a git directory.
package links

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/work/tree/handle"
)

// In returns the sorted paths of what is neither file nor directory below a git directory.
// No link is followed. Below objects only what can be a directory's name is looked at: git
// never writes through the rest.
func In(gitDir string) []string {
	top, err := handle.Top(gitDir)
	if err != nil {
		return nil // unreadable parts are not followed either
	}
	defer top.Close()
	var found []string
	for dirs := []string{""}; len(dirs) > 0; { // one directory is open at a time, however deep they are
		rel := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		for _, e := range listIn(top, rel) {
			at := path.Join(rel, e.Name)
			switch {
			case e.Type.IsDir() && !inObjects(at):
				dirs = append(dirs, at)
			case !e.Type.IsDir() && !e.Type.IsRegular():
				found = append(found, filepath.Join(gitDir, at))
			}
		}
	}
	slices.Sort(found)
	return found
}

// listIn lists the directory at the path rel below top, empty for top itself.
func listIn(top handle.Dir, rel string) []handle.Named {
	opened := top
	if rel != "" {
		var err error
		if opened, err = top.OpenDir(rel); err != nil {
			return nil
		}
		defer opened.Close()
	}
	entries, _ := opened.List()
	return entries
}

func inObjects(path string) bool {
	rest, ok := strings.CutPrefix(path, "objects/")
	return ok && rest != "info" && rest != "pack"
}
