package ignore

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// GitDir finds the git directory of the work tree whose top is dir: dir/.git,
// or what that file points to. Common holds what linked work trees share. It
// reports false where there is no repository. A pointer may lead anywhere;
// nothing found there may be run or written.
func GitDir(dir string) (gitDir, common string, ok bool) {
	gitDir = filepath.Join(dir, ".git")
	info, err := os.Lstat(gitDir)
	if err != nil {
		return "", "", false
	}
	if info.Mode().IsRegular() {
		target, ok := strings.CutPrefix(string(ReadFile(gitDir)), "gitdir: ")
		if !ok {
			return "", "", false
		}
		gitDir = beneath(dir, target)
	}
	if info, err = os.Stat(gitDir); err != nil || !info.IsDir() {
		return "", "", false
	}
	common = gitDir
	if target := ReadFile(filepath.Join(gitDir, "commondir")); target != nil {
		common = beneath(gitDir, string(target))
	}
	return gitDir, common, true
}

// Top returns the top of the work tree that dir lies in, and whether it lies
// in one.
func Top(dir string) (string, bool) {
	for {
		if _, _, ok := GitDir(dir); ok {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// Info reads the rules a repository keeps to itself, those of info/exclude in
// its common directory.
func Info(common string) *Set {
	return Parse(ReadFile(filepath.Join(common, "info", "exclude")))
}

// ReadFile reads a small regular file, at most MaxFile bytes of it. It returns
// nil for anything else, and never waits for a writer as a FIFO would make it.
func ReadFile(name string) []byte {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(info, now) {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile))
	if err != nil {
		return nil
	}
	return data
}

func beneath(dir, target string) string {
	target = filepath.FromSlash(strings.TrimRight(target, "\r\n"))
	if filepath.IsAbs(target) {
		return filepath.Clean(target)
	}
	return filepath.Join(dir, target)
}
