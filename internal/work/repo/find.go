// Package repo tells what git knows about a working tree.
//
// A repository is hostile until trusted: its configuration can name programs
// that git runs (fsmonitor, filters, hooks, pagers, diff drivers, transports).
// Find and Branch therefore read files and start nothing. Dirty and the others ask
// git with all of that switched off, for a bounded time and without ever asking
// for a password; git itself is never taken from inside the repository.
package repo

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
)

// Find looks for the working tree that holds cwd: its root, and the directory
// with its HEAD, to which a `.git` pointer file of a linked worktree or a
// submodule is followed. It reads files only.
func Find(cwd string) (root, gitDir string, ok bool) {
	c, ok := Look(cwd)
	return c.Root, c.GitDir, ok
}

// Look is Find, with what is checked out there.
func Look(cwd string) (c Checkout, ok bool) {
	dir, err := filepath.Abs(cwd)
	if err != nil {
		return c, false
	}
	for {
		if c, ok := checkoutAt(dir); ok {
			return c, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return c, false
		}
		dir = parent
	}
}

func checkoutAt(root string) (c Checkout, ok bool) {
	path := filepath.Join(root, ".git")
	info, err := os.Stat(path)
	if err != nil {
		return c, false
	}
	if info.Mode().IsRegular() {
		if path, err = Pointer(path); err != nil {
			return c, false
		}
	}
	// Like git, pass over a directory that only has the name.
	head, err := readSmall(filepath.Join(path, "HEAD"), maxRef)
	if err != nil {
		return c, false
	}
	return Checkout{Root: root, GitDir: path, head: head}, true
}

// Top is the root of the working tree that holds dir, or dir itself where there is
// no repository.
func Top(dir string) string {
	if root, _, ok := Find(dir); ok {
		return root
	}
	return dir
}

// ErrNoPointer says that a file is no `gitdir:` pointer.
var ErrNoPointer = errors.New("not a gitdir pointer")

// Pointer returns the absolute directory that a `.git` file names. It need not
// exist.
func Pointer(file string) (string, error) {
	text, err := readSmall(file, 8192)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(text, "gitdir: ")
	target = strings.TrimRight(target, "\r\n")
	if !ok || target == "" || strings.ContainsAny(target, "\x00\n") {
		return "", ErrNoPointer
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	return filepath.Clean(target), nil
}

// CommonDir returns the directory that holds what the worktrees of a repository
// share; for the main worktree it is gitDir itself.
func CommonDir(gitDir string) string {
	text, err := readSmall(filepath.Join(gitDir, "commondir"), 8192)
	if text = strings.TrimRight(text, "\r\n"); err != nil || text == "" || strings.ContainsRune(text, 0) {
		return gitDir
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(gitDir, text)
	}
	return filepath.Clean(text)
}

var objectName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
})

// validRef holds the rules of git check-ref-format that keep a name from being
// a path elsewhere, a pattern, or something a terminal obeys.
func validRef(ref string) bool {
	if !strings.HasPrefix(ref, "refs/") || strings.HasSuffix(ref, "/") || strings.HasSuffix(ref, ".") ||
		ref == "refs/heads/.invalid" {
		return false
	}
	if strings.Contains(ref, "..") || strings.Contains(ref, "//") || strings.Contains(ref, "@{") ||
		strings.ContainsAny(ref, " ~^:?*[\\\x7f") {
		return false
	}
	for part := range strings.SplitSeq(ref, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(ref, func(r rune) bool { return r < ' ' || r == '\uFFFD' })
}

var errNotRegular = errors.New("not a regular file of a reasonable size")

// readSmall reads a regular file of up to limit bytes. A FIFO does not block it.
func readSmall(path string, limit int64) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return "", errNotRegular
	}
	b, err := io.ReadAll(io.LimitReader(f, limit))
	return string(b), err
}
