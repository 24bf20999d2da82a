package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// treeLimit is how long git may take for one step with a work tree.
const treeLimit = 2 * time.Minute

// Snapshot makes a commit of what the working tree of cwd holds, ignored files
// apart, and returns its name. Index, branches and files stay as they are, and no
// filter of the repository is run: the bytes are those on disk.
func Snapshot(ctx context.Context, cwd string) (string, error) {
	root, gitDir, ok := Find(cwd)
	if !ok {
		return "", ErrNoRepository
	}
	ctx, cancel := context.WithTimeout(ctx, treeLimit)
	defer cancel()
	off, err := filtersOff(ctx, root)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "kerf-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	index := filepath.Join(dir, "index")
	if err := copyIndex(filepath.Join(gitDir, "index"), index); err != nil {
		return "", err
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	off = slices.Clip(off)
	quiet := append(off, "-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "advice.addEmbeddedRepo=false")
	if _, err := gitWith(ctx, root, env, append(quiet, "add", "--all")...); err != nil {
		return "", err
	}
	return commitIndex(ctx, root, env, off)
}

// copyIndex gives git what it knows already, so that it reads only what changed.
func copyIndex(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// commitIndex makes a commit of an index. Writing one may read files again, so filters
// are off here, too.
func commitIndex(ctx context.Context, root string, env, off []string) (string, error) {
	out, err := gitWith(ctx, root, env, append(off, "write-tree")...)
	if err != nil {
		return "", err
	}
	args := []string{"-c", "user.name=kerf", "-c", "user.email=kerf@localhost", "-c", "commit.gpgSign=false",
		"commit-tree", strings.TrimSpace(string(out)), "-m", "kerf: what a work tree held"}
	if head, err := git(ctx, root, "rev-parse", "--verify", "--quiet", "HEAD"); err == nil {
		args = append(args, "-p", strings.TrimSpace(string(head)))
	}
	out, err = git(ctx, root, args...)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}

// AddTree makes a work tree of the repository of cwd at dir, which must not exist,
// with the content of a commit and on no branch.
func AddTree(ctx context.Context, cwd, dir, commit string) error {
	root, _, ok := Find(cwd)
	if !ok {
		return ErrNoRepository
	}
	ctx, cancel := context.WithTimeout(ctx, treeLimit)
	defer cancel()
	off, err := filtersOff(ctx, root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	_, err = git(ctx, root, append(off, "-c", "core.autocrlf=false", "worktree", "add", "--quiet", "--detach",
		dir, commit)...)
	return err
}

// TreeDiff is the git diff from commit to what the work tree at dir holds now.
func TreeDiff(ctx context.Context, dir, commit string) ([]byte, error) {
	now, err := Snapshot(ctx, dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, treeLimit)
	defer cancel()
	return git(ctx, dir, "-c", "core.quotePath=true", "diff", "--binary", "--full-index", "--no-renames", "--no-color",
		"--no-ext-diff", "--no-textconv",
		"--src-prefix=a/", "--dst-prefix=b/", commit, now)
}

// RemoveTree takes a work tree away with all that is in it.
func RemoveTree(ctx context.Context, cwd, dir string) error {
	root, _, ok := Find(cwd)
	if !ok {
		return ErrNoRepository
	}
	ctx, cancel := context.WithTimeout(ctx, treeLimit)
	defer cancel()
	off, err := filtersOff(ctx, root)
	if err != nil {
		return err
	}
	_, err = git(ctx, root, append(off, "worktree", "remove", "--force", dir)...)
	return err
}

// MergeBase is the commit at which the working tree of cwd parted from a branch.
func MergeBase(ctx context.Context, cwd, branch string) (string, error) {
	return commitOf(ctx, cwd, branch, "merge-base", "HEAD", branch)
}

// Commit is the full name of a commit that something names.
func Commit(ctx context.Context, cwd, name string) (string, error) {
	return commitOf(ctx, cwd, name, "rev-parse", "--verify", "--quiet", name+"^{commit}")
}

func commitOf(ctx context.Context, cwd, name string, args ...string) (string, error) {
	root, _, ok := Find(cwd)
	switch {
	case !ok:
		return "", ErrNoRepository
	case name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \n\x00"):
		return "", fmt.Errorf("%q is not the name of a commit", name)
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	out, err := git(ctx, root, args...)
	if err != nil {
		return "", fmt.Errorf("git does not know %q here", name)
	}
	return strings.TrimSpace(string(out)), nil
}
