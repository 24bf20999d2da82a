package boundary

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kerf/internal/work/boundary/mounts"
	"kerf/internal/work/repo"
)

// Disk is the View of the machine's own disk.
type Disk struct {
	known *listings // nil remembers nothing
}

// Lstat is os.Lstat.
func (Disk) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// Real follows all links.
func (Disk) Real(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Pointer reads a `.git` file.
func (Disk) Pointer(file string) (string, error) { return repo.Pointer(file) }

// Follows reads the settings.
func (Disk) Follows(gitDir, top, home string) []repo.Target { return repo.Follows(gitDir, top, home) }

// Home reads what a worktree's directory, or the configuration of a submodule's,
// says about where the working tree is.
func (Disk) Home(gitDir string) string {
	if text, err := readSmall(filepath.Join(gitDir, "gitdir")); err == nil {
		return realOf(gitDir, filepath.Dir(strings.TrimSpace(text)))
	}
	if dir := repo.Worktree(gitDir); dir != "" {
		return realOf(gitDir, dir)
	}
	return ""
}

func realOf(base, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

func readSmall(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return "", fs.ErrInvalid
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// The part of a tree in which Nested looks: each time, and once in a session.
const (
	nestedDepth   = 4
	nestedDirs    = 512
	thoroughDepth = 64
	thoroughDirs  = 50_000
	thoroughTime  = 150 * time.Millisecond
)

// Nested looks breadth first, so that what is near is found. What was installed into
// node_modules is looked at only once in a session, and last.
func (d Disk) Nested(root string, thorough bool) []string {
	depths, dirs, until := nestedDepth, nestedDirs, time.Time{}
	if thorough {
		depths, dirs, until = thoroughDepth, thoroughDirs, time.Now().Add(thoroughTime)
	}
	var found []string
	level := []string{root}
	for depth, seen := 0, 0; depth < depths && len(level) > 0; depth++ {
		var next, last []string
		for _, dir := range level {
			if seen++; seen > dirs || thorough && seen%64 == 0 && time.Now().After(until) {
				return found
			}
			here, err := d.known.list(dir)
			if err != nil {
				continue
			}
			if dir != root && here.bare {
				found = append(found, dir)
				continue
			}
			if dir != root {
				found = appendPaths(found, dir, here.own)
			}
			next = appendPaths(next, dir, here.dirs)
			if here.modules {
				last = append(last, filepath.Join(dir, modules))
			}
		}
		if thorough {
			next = append(next, last...)
		}
		level = next
	}
	return found
}

func appendPaths(list []string, dir string, names []string) []string {
	for _, name := range names {
		list = append(list, filepath.Join(dir, name))
	}
	return list
}

// Placeholder knows ours by what nobody else makes at these places: a socket,
// or something with the sticky bit that holds no more than we put there.
func (Disk) Placeholder(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSocket != 0:
		return true
	case mode.IsRegular():
		return mode&fs.ModeSticky != 0 && info.Size() <= 2
	case mode.IsDir():
		if mode&fs.ModeSticky == 0 {
			return false
		}
		names, err := os.ReadDir(path)
		return err == nil && len(names) == 0
	}
	return false
}

// Mounts reads the table of the kernel.
func (Disk) Mounts() []mounts.Point { return mounts.Table() }

// Links walks a git directory without following links. Below objects only what
// can be a directory's name is looked at: git never writes through the rest.
func (Disk) Links(gitDir string) []string {
	root, err := os.OpenRoot(gitDir)
	if err != nil {
		return nil
	}
	defer root.Close()
	var links []string
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // unreadable parts are not followed either
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			links = append(links, filepath.Join(gitDir, path))
		}
		if d.IsDir() && inObjects(path) {
			return fs.SkipDir
		}
		return nil
	})
	return links
}

func inObjects(path string) bool {
	rest, ok := strings.CutPrefix(path, "objects/")
	return ok && rest != "info" && rest != "pack"
}
