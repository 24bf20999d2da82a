package sandbox

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// protect closes, inside everything writable, what Kerf obeys and what makes
// git run or follow something. Only the top of each writable tree is looked at.
func (r *resolver) protect() error {
	var roots []string
	for path, a := range r.access {
		if a == Write {
			roots = append(roots, path)
		}
	}
	slices.Sort(roots)
	for _, root := range roots {
		info, err := r.view.Lstat(root)
		if err != nil {
			return fmt.Errorf("sandbox: %w", err)
		}
		if !info.IsDir() {
			continue
		}
		if err := r.protectName(filepath.Join(root, ".kerf")); err != nil {
			return err
		}
		if err := r.protectGit(root); err != nil {
			return err
		}
	}
	return nil
}

type state int

const (
	absent state = iota
	link
	file
	dir
)

// at tells what stands at path; a placeholder of ours counts as absent.
func (r *resolver) at(path string) state {
	info, err := r.view.Lstat(path)
	switch {
	case err != nil, r.view.Placeholder(path):
		return absent
	case info.Mode()&fs.ModeSymlink != 0:
		return link
	case info.IsDir():
		return dir
	}
	return file
}

// close makes path read-only, unless a rule hides it altogether.
func (r *resolver) close(path string) {
	if r.access[path] != None {
		r.access[path] = Read
	}
}

func (r *resolver) protectName(path string) error {
	switch r.at(path) {
	case absent:
		r.mask(MaskSocket, path, "")
	case link:
		return fmt.Errorf("sandbox: %s: %w", path, errSymlink)
	default:
		r.close(path)
	}
	return nil
}

func (r *resolver) protectGit(root string) error {
	path := filepath.Join(root, ".git")
	if r.effective(path) != Write {
		return nil // a rule closed it already
	}
	switch r.at(path) {
	case dir:
		r.protectDir(path)
	case file:
		r.close(path)
		target, err := r.view.Pointer(path)
		if err != nil {
			return nil // points nowhere, and stays so
		}
		return r.protectTarget(path, target)
	default:
		if r.bare(root) {
			r.protectDir(root)
		}
		return r.protectName(path)
	}
	return nil
}

// protectTarget guards what a pointer leads to where commands could write it.
// Elsewhere it is read-only already: a pointer grants nothing, because the
// repository chose it.
func (r *resolver) protectTarget(pointer, unresolved string) error {
	target, err := r.view.Real(unresolved)
	if err != nil {
		if r.effective(unresolved) == Write {
			return fmt.Errorf("sandbox: %s points to a git directory that is not there: %w", pointer, err)
		}
		return nil
	}
	for _, dir := range []string{target, r.common(target)} {
		if r.effective(dir) == Write {
			r.protectDir(dir)
		}
	}
	return nil
}

// common is where a worktree's directory, below the `worktrees` of its
// repository, shares the rest.
func (r *resolver) common(gitDir string) string {
	if filepath.Base(filepath.Dir(gitDir)) == "worktrees" {
		return filepath.Dir(filepath.Dir(gitDir))
	}
	return gitDir
}

func (r *resolver) bare(path string) bool {
	return r.at(filepath.Join(path, "HEAD")) != absent && r.at(filepath.Join(path, "objects")) == dir && r.at(filepath.Join(path, "refs")) == dir
}

// protectDir guards a git directory and leaves it fit for commits:
//
//	.git            writable, a mount of its own: it cannot be renamed away
//	  config hooks info modules worktrees
//	                read-only, or a placeholder that is
//	  commondir config.worktree
//	                likewise
//	  objects objects/info
//	                writable mounts, so that they stay where they are
//	  objects/info/alternates
//	                read-only, or a placeholder
//
// Placeholders mean to git what absence means: an empty configuration or list,
// and a common directory that is the directory itself. A directory that is no
// repository, or has links in these places, becomes read-only as a whole.
func (r *resolver) protectDir(git string) {
	in := func(name string) string { return filepath.Join(git, filepath.FromSlash(name)) }
	if !r.regular(git) {
		r.close(git)
		r.closeTargets(git)
		return
	}
	r.plan.GitDirs = append(r.plan.GitDirs, git)
	for _, name := range []string{"", "objects", "objects/info"} {
		switch {
		case r.at(in(name)) == absent:
			r.mask(MaskDir, in(name), "")
		case r.access[in(name)] == "":
			r.access[in(name)] = Write
		}
	}
	for _, name := range []string{"hooks", "info", "modules", "worktrees"} {
		r.closeOr(in(name), MaskDir, "")
	}
	r.closeOr(in("config"), MaskFile, "")
	r.closeOr(in("config.worktree"), MaskFile, "")
	r.closeOr(in("commondir"), MaskFile, ".\n")
	if r.at(in("objects/info")) == dir {
		r.closeOr(in("objects/info/alternates"), MaskFile, "")
	}
}

// guarded are the parts that must not be links if the rest is to be writable.
var guarded = []string{
	"hooks", "info", "modules", "worktrees", "config", "config.worktree", "commondir",
	"objects", "objects/info", "objects/info/alternates",
}

func (r *resolver) regular(git string) bool {
	for _, name := range guarded {
		if r.at(filepath.Join(git, filepath.FromSlash(name))) == link {
			return false
		}
	}
	return r.bare(git)
}

// closeTargets makes what the links of a git directory lead to read-only, too.
func (r *resolver) closeTargets(git string) {
	for _, name := range guarded {
		path := filepath.Join(git, filepath.FromSlash(name))
		if r.at(path) != link {
			continue
		}
		if real, err := r.view.Real(path); err == nil && r.effective(real) == Write {
			r.close(real)
		}
	}
}

func (r *resolver) closeOr(path string, kind MaskKind, content string) {
	if r.at(path) == absent {
		r.mask(kind, path, content)
		return
	}
	r.close(path)
}
