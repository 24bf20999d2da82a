package boundary

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	// namesLimit bounds the files that are looked at for other names of a file.
	namesLimit = 200_000
	// outsideLimit is the bound for a hidden directory outside of the workspace: plans are
	// made for each command, and caches and profiles of browsers are large.
	outsideLimit = 500
)

// Identity asks the system.
func (Disk) Identity(path string) (FileID, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return FileID{}, false
	}
	return IdentityOf(info)
}

// Multiples walks dir, but for directories in which only contents are kept.
func (Disk) Multiples(dir string, limit int) []Multiple {
	var found []Multiple
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be seen cannot be compared
		}
		if limit--; limit < 0 {
			return fs.SkipAll
		}
		if d.IsDir() && path != dir && slices.Contains(contents, d.Name()) {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			if id, several := identity(d); several {
				found = append(found, Multiple{path, id})
			}
		}
		return nil
	})
	return found
}

// contents are directories of git and of Kerf whose files share their bytes with others
// without being settings. The copy that a try works on is seen at the usual place, too.
var contents = []string{"objects", "store", "sessions", "workspaces", "worktrees", "tries"}

// Names walks dirs.
func (Disk) Names(wanted map[FileID]bool, dirs []string) map[FileID][]string {
	names := make(map[FileID][]string)
	limit := namesLimit
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if limit--; limit < 0 {
				return fs.SkipAll
			}
			if d.Type().IsRegular() {
				if id, several := identity(d); several && wanted[id] {
					names[id] = append(names[id], path)
				}
			}
			return nil
		})
	}
	return names
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
