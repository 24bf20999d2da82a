package boundary

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary/names"
)

// nestedLimit is how many repositories below a root are kept fit for commits.
// More are read-only.
const nestedLimit = 16

// protect closes, inside everything writable, what Kerf obeys and what makes
// git run or follow something, at the top of each writable tree and in the
// repositories found below it.
func (r *resolver) protect(p Policy) error {
	var roots []string
	for path, a := range r.access {
		if a == Write {
			roots = append(roots, path)
		}
	}
	slices.Sort(roots)
	var faults []error
	for _, root := range roots {
		info, err := r.view.Lstat(root)
		if err != nil {
			faults = append(faults, fmt.Errorf("sandbox: %w", err))
			continue
		}
		if !info.IsDir() {
			continue
		}
		faults = append(faults, r.protectName(filepath.Join(root, Kerf)), r.protectGit(root))
		r.protectNested(root)
	}
	r.protectHome(p)
	return errors.Join(faults...)
}

// protectNested guards the repositories below a root. What is odd about them
// makes them read-only and no error: they may come with dependencies.
func (r *resolver) protectNested(root string) {
	repositories := 0
	for _, path := range r.nested(root) {
		if r.effective(path) != Write || r.access[path] != "" {
			continue
		}
		switch at := r.at(path); {
		case at == absent:
			continue
		case at == link:
		case names.Fold(filepath.Base(path)) == Kerf:
			r.close(path)
			continue
		case repositories >= nestedLimit:
			r.close(path)
			r.follow(path)
		case at == file:
			r.close(path)
			if target, err := r.view.Pointer(path); err == nil {
				_ = r.protectTarget(path, target)
			}
		case at == dir:
			r.protectDir(path)
		}
		repositories++
		r.pin(root, filepath.Dir(path))
	}
}

// nested are the repositories below a root, those first that were found there earlier in
// the session.
func (r *resolver) nested(root string) []string {
	var paths []string
	if r.session == nil {
		paths = r.view.Nested(root, false)
	} else {
		paths = r.session.remember(root, r.view)
	}
	r.found = append(r.found, paths...)
	return paths
}

type state int

const (
	absent state = iota
	link
	file
	dir
)

// at tells what stands at path; a placeholder of ours counts as absent. Each path is looked at
// once: all of a plan is of one look.
func (r *resolver) at(path string) state {
	s, ok := r.seen[path]
	if !ok {
		s = r.look(path)
		r.seen[path] = s
	}
	return s
}

func (r *resolver) look(path string) state {
	info, err := r.view.Lstat(path)
	switch {
	case err != nil, info.Mode()&(fs.ModeSocket|fs.ModeSticky) != 0 && r.view.Placeholder(path):
		return absent
	case info.Mode()&fs.ModeSymlink != 0:
		return link
	case info.IsDir():
		return dir
	}
	return file
}

// close makes path read-only, unless a rule hides it, or what it lies in.
func (r *resolver) close(path string) {
	if r.access[path] == Read || r.effective(path) == None {
		return
	}
	r.access[path], r.closed[path] = Read, true
	if why := whyProtected(filepath.ToSlash(path)); why != "" {
		r.why[path] = why
	} else {
		r.why[path] = "git runs or follows what is there"
	}
}

func (r *resolver) protectName(path string) error {
	switch r.at(path) {
	case absent:
		r.mask(MaskSocket, path, "")
	case link:
		if real, err := r.view.Real(path); err == nil && r.effective(real) == Write && !r.isRoot(real) {
			r.close(real)
			r.why[real] = whyProtected(filepath.ToSlash(path))
		}
		return fmt.Errorf("sandbox: %s: %w", path, ErrSymlink)
	default:
		r.close(path)
	}
	return nil
}

func (r *resolver) protectGit(root string) error {
	path := filepath.Join(root, Git)
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

// pinned are the directories from below root down to dir.
type pinned struct{ root, dir string }

// pin has the directories from below root down to dir made mounts of their own: they
// cannot be renamed away then. Without it a command moves the directory of a repository
// aside, and puts a copy with another configuration into its place.
func (r *resolver) pin(root, dir string) { r.pins = append(r.pins, pinned{root, dir}) }

// protectTarget guards what a pointer leads to. Where commands could not write
// it stays so, because the repository chose the pointer, unless the git directory
// itself says that it belongs to this working tree: then it is a linked worktree
// or a submodule, and open as far as commits need it.
func (r *resolver) protectTarget(pointer, unresolved string) error {
	target, err := r.view.Real(unresolved)
	if err != nil {
		if r.effective(unresolved) == Write {
			return fmt.Errorf("sandbox: %s points to a git directory that is not there: %w", pointer, err)
		}
		return nil
	}
	common := r.common(target)
	defer r.followFrom(target, filepath.Dir(pointer))
	mine := r.view.Home(target) == filepath.Dir(pointer)
	if mine && !r.ruled(target) && !r.ruled(common) && r.regular(common) {
		r.open(target, common)
		return nil
	}
	for _, dir := range []string{target, common} {
		if r.effective(dir) == Write {
			r.protectDir(dir)
		}
	}
	if common != target && mine && r.effective(common) == Write && !r.closedByRule(target) {
		r.openWorktree(target)
	}
	return nil
}

// ruled reports whether the policy, and not only its absence, says something
// about path.
func (r *resolver) ruled(path string) bool {
	return slices.ContainsFunc(r.paths(), func(dir string) bool { return pathname.Under(dir, path) })
}

// closedByRule reports whether path is not writable because a rule says so, and not because only
// the user changes it.
func (r *resolver) closedByRule(path string) bool {
	return r.effective(path) != Write && !r.closed[nearest(r.access, path)]
}

// open makes the git directory of a worktree or a submodule fit for commits.
func (r *resolver) open(target, common string) {
	r.access[common], r.why[common] = Write, "the git directory of the workspace"
	r.protectDir(common)
	if target == common {
		return
	}
	for _, name := range []string{"HEAD", "index"} { // those of the main worktree
		if path := filepath.Join(common, name); r.at(path) == file {
			r.close(path)
		}
	}
	r.openWorktree(target)
}

// openWorktree opens the part of a repository that is one worktree's own.
func (r *resolver) openWorktree(target string) {
	if r.at(target) != dir {
		return
	}
	r.access[target], r.why[target] = Write, "the git directory of the workspace"
	r.plan.GitDirs = append(r.plan.GitDirs, target)
	for _, p := range WorktreeParts {
		r.closePart(filepath.Join(target, p.Name), p)
	}
	r.closeOperations(target)
}

// closeOperations closes what belongs to operations that are under way and that no
// command of this session began.
func (r *resolver) closeOperations(git string) {
	for _, name := range GitOperations {
		for _, name := range []string{name, strings.ToUpper(name)} {
			path := filepath.Join(git, name)
			if there := r.at(path) != absent; !r.session.begun(path, there) && there {
				r.close(path)
			}
		}
	}
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
	return r.at(filepath.Join(path, "HEAD")) != absent && r.at(filepath.Join(path, "objects")) == dir &&
		r.at(filepath.Join(path, "refs")) == dir
}

// protectDir guards a git directory and leaves it fit for commits:
//
//	.git            writable, a mount of its own: it cannot be renamed away
//	  config hooks info modules worktrees
//	                read-only, or a placeholder that is; beside the command git
//	                may fill those that are directories
//	  commondir config.worktree
//	                likewise
//	  objects objects/info
//	                writable mounts, so that they stay where they are
//	  objects/info/alternates
//	                read-only, or a placeholder
//
// Placeholders mean to git what absence means: an empty configuration or list,
// and a common directory that is the directory itself. A directory that is no
// repository, has links in these places, or in which nothing can be made becomes
// read-only as a whole.
func (r *resolver) protectDir(git string) {
	in := func(name string) string { return filepath.Join(git, filepath.FromSlash(name)) }
	defer r.follow(git)
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
		case r.access[in(name)] == "" && !r.closedByRule(in(name)):
			r.access[in(name)], r.why[in(name)] = Write, "what commits need"
		}
	}
	for _, p := range GitParts {
		if path := in(p.Name); filepath.Dir(path) == git || r.at(filepath.Dir(path)) == dir {
			r.closePart(path, p)
		}
	}
	r.closeOperations(git)
	if r.at(in("modules")) == dir {
		for i, module := range r.view.Nested(in("modules"), false) {
			if i < nestedLimit && r.at(module) == dir && r.access[module] == "" && !r.closedByRule(module) {
				r.protectDir(module) // becomes writable again
			}
		}
	}
}

// linkless are the paths in a git directory that must not be links if the rest is
// to be writable.
var linkless = func() []string {
	names := []string{"objects", "objects/info"}
	for _, p := range GitParts {
		names = append(names, p.Name)
	}
	return names
}()

func (r *resolver) regular(git string) bool {
	for _, name := range linkless {
		if r.at(filepath.Join(git, filepath.FromSlash(name))) == link {
			return false
		}
	}
	for _, name := range []string{"", "objects", "objects/info"} {
		path := filepath.Join(git, filepath.FromSlash(name))
		if now, _ := r.view.Makes(path); !now && r.at(path) == dir {
			return false
		}
	}
	return r.bare(git)
}

// closeTargets makes what the links of a git directory lead to read-only, too.
func (r *resolver) closeTargets(git string) {
	for _, name := range linkless {
		path := filepath.Join(git, filepath.FromSlash(name))
		if r.at(path) != link {
			continue
		}
		if real, err := r.view.Real(path); err == nil && r.effective(real) == Write {
			r.close(real)
		}
	}
}

// closePart makes a part of a git directory read-only, or puts a placeholder where
// it is absent.
func (r *resolver) closePart(path string, p Part) {
	kept := p.Kept
	switch at := r.at(path); {
	case at != absent:
		r.close(path)
		now, _ := r.view.Makes(path)
		kept = kept && at == dir && now
	case p.Dir:
		kept = r.mask(MaskDir, path, "") && kept
	default:
		r.mask(MaskFile, path, p.Content)
	}
	if kept {
		r.plan.Kept = append(r.plan.Kept, path)
	}
}
