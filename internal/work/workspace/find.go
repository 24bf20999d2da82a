package workspace

import (
	"os"
	"path/filepath"

	"kerf/internal/work/txn"
)

// Find is the first root of the workspace that dir is in: the nearest directory
// upwards with a ledger below home, or dir.
func Find(home, dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		st, err := os.Stat(filepath.Join(txn.HomeOf(home, at), "ledger.jsonl"))
		if err == nil && st.Size() > 0 {
			return at
		}
		if filepath.Dir(at) == at {
			return findFormer(home, dir)
		}
	}
}

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
