package boundary

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kerf/internal/work/boundary/links"
	"kerf/internal/work/boundary/makes"
	"kerf/internal/work/boundary/mounts"
	"kerf/internal/work/boundary/nested"
	"kerf/internal/work/repo"
)

// Disk is the View of the machine's own disk.
type Disk struct {
	Layers []nested.Layer // the overlays that are on it
	known  *nested.Memory // nil remembers nothing
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

// Nested looks in the tree below root, and remembers what it saw if the Disk is a session's.
func (d Disk) Nested(root string, thorough bool) []string { return d.known.Find(root, thorough) }

// Placeholder knows ours by what nobody else makes at these places: a socket,
// or something with the sticky bit that holds no more than we put there. What
// others filled is theirs.
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
		return err == nil && (len(names) == 0 || len(names) == 1 && names[0].Name() == Keeper)
	}
	return false
}

// Mounts reads the table of the kernel.
func (Disk) Mounts() []mounts.Point { return mounts.Table() }

// Links looks through the git directory.
func (Disk) Links(gitDir string) []string { return links.In(gitDir) }

// Makes tells whether something can be made in a directory now, and ever.
func (Disk) Makes(dir string) (now, ever bool) { return makes.In(dir) }
