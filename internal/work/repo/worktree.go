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
	"strconv"
	"strings"
	"time"
)

// treeLimit is how long git may take for one step with a work tree.
const treeLimit = 2 * time.Minute

// Snapshot makes a commit of what the working tree of cwd holds, and returns its name.
// Ignored files are left out, as are those that hidden, if not nil, gives a reason for: of
// these the commit has what git has of them already. Index, branches and files stay as they
// are, and no filter of the repository is run: the bytes are those on disk.
func Snapshot(ctx context.Context, cwd string, hidden func(path string) (why string)) (string, error) {
	root, gitDir, ok := Find(cwd)
	if !ok {
		return "", ErrNoRepository
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
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
	a := adder{root: root, dir: dir, env: env, off: off, hidden: hidden}
	for range addTries {
		if err = a.all(ctx); !errors.Is(err, errMoved) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	return commitIndex(ctx, root, env, off)
}

// copyIndex gives git what it knows already, so that it reads only what changed. The copy is as
// old as the index: git reads a file again that may have changed since in the same moment.
func copyIndex(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Chtimes(to, st.ModTime(), st.ModTime())
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
	return addTree(ctx, cwd, dir, "--detach", dir, commit)
}

// AddBranch is AddTree on a new branch that begins at the commit.
func AddBranch(ctx context.Context, cwd, dir, commit, branch string) error {
	return addTree(ctx, cwd, dir, "-b", branch, dir, commit)
}

func addTree(ctx context.Context, cwd, dir string, args ...string) error {
	return withoutFilters(ctx, cwd, func(ctx context.Context, root string, off []string) error {
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return err
		}
		_, err := git(ctx, root, slices.Concat(off, []string{"-c", "core.autocrlf=false", "worktree", "add", "--quiet"},
			args)...)
		return err
	})
}

// TreeDiff is the git diff from commit to what the work tree at dir holds now.
func TreeDiff(ctx context.Context, dir, commit string) ([]byte, error) {
	now, err := Snapshot(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	return Between(ctx, dir, commit, now)
}

// Between is the git diff from one commit to another one.
func Between(ctx context.Context, dir, from, to string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, treeLimit)
	defer cancel()
	return git(ctx, dir, "-c", "core.quotePath=true", "diff", "--binary", "--full-index", "--no-renames", "--no-color",
		"--no-ext-diff", "--no-textconv",
		"--src-prefix=a/", "--dst-prefix=b/", from, to)
}

// RemoveTree takes a work tree away with all that is in it.
func RemoveTree(ctx context.Context, cwd, dir string) error {
	return withoutFilters(ctx, cwd, func(ctx context.Context, root string, off []string) error {
		_, err := git(ctx, root, append(off, "worktree", "remove", "--force", dir)...)
		return err
	})
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

// Fill gives the files of the work tree at dir what a commit holds. Its index and its branch stay
// as they are. Under a name that belongs to this work tree the commit is kept from git gc.
func Fill(ctx context.Context, dir, commit, name string) error {
	return withoutFilters(ctx, dir, func(ctx context.Context, root string, off []string) error {
		if err := Keep(ctx, root, commit, name); err != nil {
			return err
		}
		_, err := git(ctx, root, append(off, "-c", "core.autocrlf=false", "restore", "--source="+commit, "--worktree", "--",
			".")...)
		return err
	})
}

// Keep keeps a commit from git gc under a name that belongs to the work tree at dir.
func Keep(ctx context.Context, dir, commit, name string) error {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	_, err := git(ctx, dir, "update-ref", "refs/worktree/"+name, commit)
	return err
}

// Prune has git forget work trees of the repository of cwd whose directories are gone.
func Prune(ctx context.Context, cwd string) error {
	return withoutFilters(ctx, cwd, func(ctx context.Context, root string, _ []string) error {
		_, err := git(ctx, root, "worktree", "prune")
		return err
	})
}

// withoutFilters does something at the root of a working tree, with the arguments that
// switch its filters off.
func withoutFilters(ctx context.Context, cwd string, do func(ctx context.Context, root string,
	off []string) error) error {
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
	return do(ctx, root, slices.Clip(off))
}

// State counts what the working tree of cwd has beside its commit.
type State struct {
	Changed, Staged, Untracked, Ignored int
}

// StateOf asks git for the state of the working tree of cwd. A directory of untracked or
// ignored files may count as one.
func StateOf(ctx context.Context, cwd string) (s State, err error) {
	err = withoutFilters(ctx, cwd, func(ctx context.Context, root string, off []string) error {
		out, err := git(ctx, root, append(off, "status", "--porcelain=v1", "--no-renames", "--untracked-files=all",
			"--ignored=traditional", "--ignore-submodules=none", "-z")...)
		if err != nil {
			return err
		}
		for entry := range strings.SplitSeq(string(out), "\x00") {
			switch {
			case len(entry) < 3:
			case entry[:2] == "??":
				s.Untracked++
			case entry[:2] == "!!":
				s.Ignored++
			default:
				s.Changed++
				if entry[0] != ' ' {
					s.Staged++
				}
			}
		}
		return nil
	})
	return s, err
}

// Filtered counts the files of the working tree of cwd that a filter makes, such as those of git
// lfs: in a work tree that was made without filters they are as git stores them.
func Filtered(ctx context.Context, cwd string) (n int, err error) {
	root, _, ok := Find(cwd)
	if !ok {
		return 0, ErrNoRepository
	}
	ctx, cancel := context.WithTimeout(ctx, treeLimit)
	defer cancel()
	out, err := git(ctx, root, "config", "--includes", "-z", "--name-only", "--get-regexp", `^filter\..*$`)
	if err != nil {
		return 0, nil // there are no filters
	}
	seen := map[string]bool{}
	for key := range strings.SplitSeq(string(out), "\x00") {
		name, ok := filterName(key)
		if !ok || seen[name] || strings.ContainsAny(name, "(), ") {
			continue
		}
		seen[name] = true
		files, err := git(ctx, root, "ls-files", "-z", "--", ":(top,attr:filter="+name+")")
		if err != nil {
			return 0, err
		}
		n += strings.Count(string(files), "\x00")
	}
	return n, nil
}

// Commits counts the commits that HEAD of the working tree of cwd has, and a commit has not.
func Commits(ctx context.Context, cwd, since string) (int, error) {
	out, err := commitOf(ctx, cwd, since, "rev-list", "--count", since+"..HEAD")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// OnlyHere reports whether a commit would be lost without a branch: no other branch and no tag has it.
func OnlyHere(ctx context.Context, cwd, commit, branch string) (bool, error) {
	out, err := commitOf(ctx, cwd, commit, "for-each-ref", "--contains="+commit, "--format=%(refname)", "refs/heads",
		"refs/remotes", "refs/tags")
	if err != nil {
		return false, err
	}
	for _, ref := range strings.Fields(out) {
		if ref != "refs/heads/"+branch {
			return false, nil
		}
	}
	return true, nil
}

// RemoveBranch takes a branch away that is at a commit, and leaves one that is elsewhere.
func RemoveBranch(ctx context.Context, cwd, branch, commit string) error {
	root, _, ok := Find(cwd)
	if !ok {
		return ErrNoRepository
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	_, err := git(ctx, root, "update-ref", "-d", "refs/heads/"+branch, commit)
	return err
}
