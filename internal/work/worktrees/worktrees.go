// Package worktrees keeps git work trees that people gave a name: a session works in one, on a
// branch of its own, while the tree that it was made from stays as it is.
//
// They lie below WORKTREES in Kerf's home, in a directory for each repository:
//
//	NAME        the work tree
//	NAME.json   what it is about; shared locks on it are held by sessions in the tree
//
// The branch is kerf/NAME. What the tree began with is a commit, which git gc leaves alone for as
// long as the tree is there. A tree is removed when nothing would be lost with it, or when the
// user says so; a branch that alone has a commit stays even then.
package worktrees

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"kerf/internal/atomicfile"
	"kerf/internal/text/pattern"
	"kerf/internal/work/repo"
)

// Tree is a work tree with a name. It is for one goroutine.
type Tree struct {
	Name, Dir string
	Meta      Meta

	lock *flock.Flock
}

// Meta is what a work tree is about.
type Meta struct {
	V       int       `json:"v"`
	Root    string    `json:"root"`    // of the tree that it was made from
	Start   string    `json:"start"`   // the commit where its branch began
	Base    string    `json:"base"`    // the commit of all that it began with, or of what was merged last
	Carried int       `json:"carried"` // files that were not committed in Root and were taken along
	Made    time.Time `json:"made"`
	Merged  time.Time `json:"merged,omitzero"` // the last time
	Request string    `json:"request,omitempty"`
}

var (
	// ErrNone says that there is no such work tree.
	ErrNone = errors.New("there is no such work tree; see kerf worktree list")
	// ErrUsed says that a session is in the work tree.
	ErrUsed = errors.New("a session is using it")
)

// names are what a tree may be called: names of directories and branches everywhere.
var names = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)

const maxName = 64

// CheckName says what is wrong with a name, or nothing.
func CheckName(name string) error {
	if len(name) > maxName || !names().MatchString(name) || strings.HasSuffix(name, ".lock") ||
		strings.HasSuffix(name, ".json") {
		return fmt.Errorf("%q is no name for a work tree: use letters, digits, dots, - and _, at most %d", name, maxName)
	}
	return nil
}

// place is where the work trees of a repository are, whichever of its work trees cwd is in.
func place(home, cwd string) (dir, root string, err error) {
	root, gitDir, ok := repo.Find(cwd)
	if !ok {
		return "", "", errors.New("a work tree needs a git repository, and this directory is in none")
	}
	common := repo.CommonDir(gitDir)
	if real, err := filepath.EvalSymlinks(common); err == nil {
		common = real
	}
	sum := sha256.Sum256([]byte(common))
	name := filepath.Base(filepath.Dir(common))
	if CheckName(name) != nil {
		name = "repository"
	}
	return filepath.Join(home, "worktrees", name+"-"+hex.EncodeToString(sum[:4])), root, nil
}

// Branch is the branch that the tree was made with.
func (t *Tree) Branch() string { return "kerf/" + t.Name }

func (t *Tree) metaFile() string { return t.Dir + ".json" }

// Get finds a work tree by its name in the repository that cwd is in.
func Get(home, cwd, name string) (*Tree, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	dir, _, err := place(home, cwd)
	if err != nil {
		return nil, err
	}
	t := &Tree{Name: name, Dir: filepath.Join(dir, name)}
	text, err := os.ReadFile(t.metaFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &t.Meta); err != nil {
		return nil, fmt.Errorf("work tree %s: %w", name, err)
	}
	return t, nil
}

// Branches are the names of the branches that a work tree can begin at.
func Branches(cwd string) []string { return repo.Branches(cwd) }

// List is all work trees of the repository that cwd is in, by name.
func List(home, cwd string) ([]*Tree, error) {
	dir, _, err := place(home, cwd)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var list []*Tree
	for _, f := range files {
		if t, err := Get(home, cwd, strings.TrimSuffix(filepath.Base(f), ".json")); err == nil {
			list = append(list, t)
		}
	}
	return list, nil
}

// Options say how a work tree is made.
type Options struct {
	From  string // a commit; empty: the one that is checked out
	Carry bool   // what is not committed comes along; not with From
	// Hidden says why something is left behind in any case; nil leaves nothing.
	Hidden  func(path string) (why string)
	Request string
}

// New makes a work tree of the repository that cwd is in. Nothing of the repository's own runs
// for that: no hook and no filter.
func New(ctx context.Context, home, cwd, name string, o Options) (*Tree, error) {
	dir, root, err := place(home, cwd)
	if err == nil {
		err = CheckName(name)
	}
	if err != nil {
		return nil, err
	}
	t := &Tree{Name: name, Dir: filepath.Join(dir, name), Meta: Meta{V: 1, Root: root, Made: time.Now().UTC(),
		Request: o.Request}}
	if o.From == "" {
		o.From = "HEAD"
	}
	if t.Meta.Start, err = repo.Commit(ctx, root, o.From); err != nil {
		if o.From == "HEAD" {
			return nil, errors.New("this repository has no commit yet, and a work tree begins as one")
		}
		return nil, err
	}
	t.Meta.Base = t.Meta.Start
	if o.Carry {
		state, err := repo.StateOf(ctx, root)
		if err != nil {
			return nil, err
		}
		if t.Meta.Carried = state.Changed + state.Untracked; t.Meta.Carried > 0 {
			if t.Meta.Base, err = repo.Snapshot(ctx, root, o.Hidden); err != nil {
				return nil, err
			}
		}
	}
	if err := t.fill(ctx); err != nil {
		return nil, fmt.Errorf("make the work tree %s: %w", name, err)
	}
	return t, nil
}

// fill makes the tree and what is kept about it. What fails half way is taken away again.
func (t *Tree) fill(ctx context.Context) error {
	_, none := repo.Commit(ctx, t.Meta.Root, "refs/heads/"+t.Branch())
	if err := repo.AddBranch(ctx, t.Meta.Root, t.Dir, t.Meta.Start, t.Branch()); err != nil {
		if none != nil { // git makes the branch first, and leaves it
			_ = repo.RemoveBranch(ctx, t.Meta.Root, t.Branch(), t.Meta.Start)
		}
		return err
	}
	err := repo.Fill(ctx, t.Dir, t.Meta.Base, "kerf-base")
	if err == nil {
		err = t.write()
	}
	if err != nil {
		return errors.Join(err, repo.RemoveTree(ctx, t.Meta.Root, t.Dir),
			repo.RemoveBranch(ctx, t.Meta.Root, t.Branch(), t.Meta.Start))
	}
	return nil
}

func (t *Tree) write() error {
	text, err := json.Marshal(t.Meta)
	if err != nil {
		return err
	}
	return atomicfile.Write(t.metaFile(), append(text, '\n'), 0o600)
}

// Enter holds the tree for a session, beside others; Exit lets it go.
func (t *Tree) Enter() error { return t.hold((*flock.Flock).TryRLock) }

// Alone holds the tree for one that removes or merges it.
func (t *Tree) Alone() error { return t.hold((*flock.Flock).TryLock) }

func (t *Tree) hold(take func(*flock.Flock) (bool, error)) error {
	l := flock.New(t.Dir+".lock", flock.SetPermissions(0o600))
	ok, err := take(l)
	if err != nil || !ok {
		_ = l.Close()
		return errors.Join(ErrUsed, err)
	}
	t.lock = l
	return nil
}

// Exit lets go of the tree.
func (t *Tree) Exit() {
	if t.lock != nil {
		_ = t.lock.Close()
		t.lock = nil
	}
}

// Used reports whether a session is in the tree.
func (t *Tree) Used() bool {
	l := flock.New(t.Dir+".lock", flock.SetPermissions(0o600))
	defer l.Close()
	ok, err := l.TryLock()
	return err == nil && !ok
}

// There reports whether the directory of the tree is there.
func (t *Tree) There() bool {
	_, _, ok := repo.Find(t.Dir)
	st, err := os.Stat(t.Dir)
	return ok && err == nil && st.IsDir()
}

// At is the directory of the tree that corresponds to one of the tree that it was made from, or of
// another work tree of the repository; its root where there is none.
func (t *Tree) At(cwd string) string {
	root, _, _ := repo.Find(cwd)
	rel, err := filepath.Rel(root, cwd)
	if err != nil {
		return t.Dir
	}
	dir := filepath.Join(t.Dir, rel)
	real, err := filepath.EvalSymlinks(t.Dir)
	if err != nil {
		return t.Dir
	}
	if there, err := filepath.EvalSymlinks(dir); err != nil || there != filepath.Join(real, rel) {
		return t.Dir // not there, or a link elsewhere
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return t.Dir
	}
	return dir
}

// Left counts the files that are not committed where the tree was made from; 0 if git cannot tell.
func (t *Tree) Left(ctx context.Context) int {
	s, err := repo.StateOf(ctx, t.Meta.Root)
	if err != nil {
		return 0
	}
	return s.Changed + s.Untracked
}

// Filtered counts the files that would look otherwise if filters had run; 0 if git cannot tell.
func (t *Tree) Filtered(ctx context.Context) int {
	n, err := repo.Filtered(ctx, t.Dir)
	if err != nil {
		return 0
	}
	return n
}

// Manifest says what a tree began with, and where the tree that it was made from is now.
type Manifest struct {
	Branch  string // that is checked out there; empty if none is
	Head    string // the commit there
	Later   int    // commits there that the tree did not begin with
	Changed int    // files there that are not committed
}

// Manifest looks at the tree that this one was made from.
func (t *Tree) Manifest(ctx context.Context) (m Manifest, err error) {
	_, gitDir, ok := repo.Find(t.Meta.Root)
	if !ok {
		return m, fmt.Errorf("%s is no git repository any more", t.Meta.Root)
	}
	if name, detached, _ := repo.Branch(gitDir); !detached {
		m.Branch = name
	}
	if m.Head, err = repo.Commit(ctx, t.Meta.Root, "HEAD"); err != nil {
		return m, err
	}
	if m.Later, err = repo.Commits(ctx, t.Meta.Root, t.Meta.Start); err != nil {
		return m, err
	}
	m.Changed = t.Left(ctx)
	return m, nil
}

// Diff is what changed in the tree since it was made or merged, and the commit of what it holds.
func (t *Tree) Diff(ctx context.Context) (diff []byte, now string, err error) {
	if now, err = repo.Snapshot(ctx, t.Dir, nil); err != nil {
		return nil, "", err
	}
	diff, err = repo.Between(ctx, t.Dir, t.Meta.Base, now)
	return diff, now, err
}

// Took notes that what the tree held, the commit that Diff told, was merged.
func (t *Tree) Took(ctx context.Context, now string) error {
	t.Meta.Base, t.Meta.Merged = now, time.Now().UTC()
	return errors.Join(repo.Keep(ctx, t.Dir, now, "kerf-base"), t.write())
}

// Holds is what would be lost with a tree.
type Holds struct {
	Diff    []byte // since it was made or merged
	Now     string // the commit of all that it holds, ignored files apart
	Staged  int    // files whose next commit is prepared
	Ignored int    // files that git ignores; a directory counts as one
	Commits int    // that its branch has beside the one where it began
	Stray   bool   // its HEAD is on no branch, and has commits that no branch has
}

// None reports whether nothing would be lost.
func (h Holds) None() bool {
	return len(h.Diff) == 0 && h.Staged == 0 && h.Ignored == 0 && h.Commits == 0 && !h.Stray
}

// Holds looks at what would be lost with the tree.
func (t *Tree) Holds(ctx context.Context) (h Holds, err error) {
	if h.Diff, h.Now, err = t.Diff(ctx); err != nil {
		return h, err
	}
	state, err := repo.StateOf(ctx, t.Dir)
	if err != nil {
		return h, err
	}
	h.Staged, h.Ignored = state.Staged, state.Ignored
	if h.Commits, err = repo.Commits(ctx, t.Dir, t.Meta.Start); err != nil {
		return h, err
	}
	head, err := repo.Commit(ctx, t.Dir, "HEAD")
	if err != nil {
		return h, err
	}
	h.Stray, err = repo.OnlyHere(ctx, t.Dir, head, "")
	return h, err
}

// Remove takes the tree away, with all that is in it, and its branch if another branch or a tag has
// all commits of it. It returns the branch where that stays.
func (t *Tree) Remove(ctx context.Context) (kept string, err error) {
	if t.There() {
		err = repo.RemoveTree(ctx, t.Meta.Root, t.Dir)
	} else {
		err = repo.Prune(ctx, t.Meta.Root)
	}
	if err != nil {
		return "", err
	}
	tip, err := repo.Commit(ctx, t.Meta.Root, "refs/heads/"+t.Branch())
	if err == nil {
		only, err := repo.OnlyHere(ctx, t.Meta.Root, tip, t.Branch())
		if err != nil || only {
			kept = t.Branch()
		} else if err := repo.RemoveBranch(ctx, t.Meta.Root, t.Branch(), tip); err != nil {
			kept = t.Branch()
		}
	}
	for _, file := range []string{t.metaFile(), t.Dir + ".lock"} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kept, err
		}
	}
	return kept, nil
}
