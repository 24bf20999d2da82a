package boundary

import (
	"path/filepath"
	"slices"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary/names"
	"kerf/internal/work/repo"
)

// follow closes what the settings of a git directory have git run or read in the
// workspace: it is as good as the hooks and the configuration of the git directory itself.
func (r *resolver) follow(git string) {
	top := r.view.Home(git)
	switch {
	case top != "":
	case filepath.Base(git) == Git:
		top = filepath.Dir(git)
	default:
		top = git
	}
	r.followFrom(git, top)
}

// followFrom is follow for a working tree that is known.
func (r *resolver) followFrom(git, top string) {
	for _, t := range r.view.Follows(git, top, r.home) {
		why := "git runs or reads it, says " + t.Setting + " in " + t.File
		real := r.followLinks(t.Path, why)
		if r.effective(real) != Write {
			continue
		}
		if t.Kind == repo.Programs && r.holdsRoot(real) {
			for _, hook := range names.Hooks {
				r.closeNamed(filepath.Join(real, hook), repo.Settings, why)
			}
			continue
		}
		r.closeNamed(real, t.Kind, why)
	}
}

// followLinks is the path that a name leads to. The links that it passes in
// writable directories are the user's only, too.
func (r *resolver) followLinks(path, why string) (real string) {
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if r.at(at) == link && r.effective(at) == Write && !r.isRoot(at) {
			r.untouched(at)
			r.why[at] = why
		}
	}
	return r.lead(path)
}

// holdsRoot reports whether dir is a directory of the workspace, or holds one.
func (r *resolver) holdsRoot(dir string) bool {
	return slices.ContainsFunc(r.roots, func(root string) bool { return pathname.Under(dir, root) })
}

// closeNamed closes a file or directory that git runs or reads, and keeps the directories
// above it in their place. Where it is absent something empty stands, which means to git
// what absence means; for a program that is absent there is no such thing, and it is
// watched for.
func (r *resolver) closeNamed(path string, kind repo.TargetKind, why string) {
	at, above := r.at(path), r.at(filepath.Dir(path))
	switch {
	case at == dir && kind != repo.Programs:
		return // git cannot run or read it
	case at != absent:
		r.close(path)
	case above == dir && kind == repo.Programs:
		r.mask(MaskDir, path, "")
	case above == dir && kind == repo.Settings:
		r.mask(MaskFile, path, "")
	default:
		r.plan.Untouched = append(r.plan.Untouched, Name{path, kind != repo.Program})
	}
	r.why[path] = why
	if at == absent && above != dir {
		return
	}
	for _, root := range r.roots {
		r.pin(root, filepath.Dir(path))
	}
}
