package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"kerf/internal/atomicfile"
	"kerf/internal/pathname"
	"kerf/internal/text/order"
	"kerf/internal/work/homes"
	"kerf/internal/work/repo"
)

// Find is the first root of the workspace that dir is in: the nearest directory
// upwards with a ledger below home, or dir.
func Find(home, dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if !written(homes.Of(home, at)).IsZero() {
			return at
		}
		if filepath.Dir(at) == at {
			return findFormer(home, dir)
		}
	}
}

// written is when an entry was added to the ledger in dir last; zero where there is none.
func written(dir string) time.Time {
	st, err := os.Stat(filepath.Join(dir, "ledger.jsonl"))
	if err != nil || st.Size() == 0 && st.Mode().IsRegular() {
		return time.Time{}
	}
	return st.ModTime()
}

// Holding are the directories that path is in and that have a history each, the nearest first. Then
// come the others in the repository of path that have one: what ran there may have changed path, too.
func Holding(home, path string) (roots []string) {
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		if !written(homes.Of(home, at)).IsZero() {
			roots = append(roots, at)
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	if _, _, ok := repo.Find(filepath.Dir(path)); !ok {
		return roots
	}
	for _, n := range Beside(home, "", repo.Top(filepath.Dir(path))) {
		if !pathname.Under(n.Root, path) {
			roots = append(roots, n.Root)
		}
	}
	return roots
}

// Near is a directory with a history, and when that was added to last.
type Near struct {
	Root    string
	Written time.Time
}

// Beside are the directories that have histories beside that of own: those below dir, and those
// above it in its repository. The one that was added to last is the first; directories that are
// gone are left out.
func Beside(home, own, dir string) []Near {
	own, dir = rootName(own), rootName(dir)
	top := rootName(repo.Top(dir))
	workspaces := homes.All(home)
	var all []Near
	for _, name := range subdirs(workspaces) {
		data, err := atomicfile.Read(filepath.Join(workspaces, name, "root"))
		if err != nil {
			continue
		}
		root := strings.TrimSuffix(string(data), "\n")
		if root == own || !pathname.Under(dir, root) && !(pathname.Under(top, root) && pathname.Under(root, dir)) {
			continue
		}
		if st, err := os.Stat(root); err != nil || !st.IsDir() {
			continue
		}
		if at := written(filepath.Join(workspaces, name)); !at.IsZero() {
			all = append(all, Near{root, at})
		}
	}
	order.By(all, func(a, b Near) int { return b.Written.Compare(a.Written) })
	return all
}

// WrittenAt is when the history of root was added to last; zero where it has none.
func WrittenAt(home, root string) time.Time { return written(homes.Of(home, root)) }

// findFormer is Find where no directory has a ledger: the nearest one that has the
// history of a directory that is gone, without doubt, or dir.
func findFormer(home, dir string) string {
	for at := dir; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if fit := formers(home, rootName(at)); len(fit) == 1 {
			return at
		}
	}
	return dir
}

// Real is a path that the user gave in cwd as ledgers know it: absolute, and without
// links on the way. The file itself may be a link, and may be gone.
func Real(cwd, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	path = filepath.Clean(path)
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if dir != path {
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				return filepath.ToSlash(filepath.Join(real, rest))
			}
		}
		if filepath.Dir(dir) == dir {
			return filepath.ToSlash(path)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
