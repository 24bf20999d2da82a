package boundary

import (
	"slices"
	"strings"

	"kerf/internal/work/boundary/names"
)

// The names that are protected in every directory.
const (
	Kerf = names.Kerf
	Git  = names.Git
)

// Part is an entry of a git directory that makes git run or follow something.
type Part struct {
	// Name is the path from the git directory, with slashes.
	Name string
	// Dir says that git knows the part as a directory: an empty one stands in for
	// it while it is absent. Otherwise it is a file with the bytes of Content. Both
	// mean to git what absence means.
	Dir     bool
	Content string
	// Kept says that git removes the directory when it is empty.
	Kept bool
}

// GitParts are the parts of a git directory that only the user changes. Remotes and
// branches hold addresses in the way of older versions.
var GitParts = []Part{
	{Name: "hooks", Dir: true},
	{Name: "info", Dir: true},
	{Name: "modules", Dir: true},
	{Name: "worktrees", Dir: true, Kept: true},
	{Name: "config"},
	{Name: "config.worktree"},
	{Name: "commondir", Content: ".\n"},
	{Name: "objects/info/alternates"},
	{Name: "objects/info/http-alternates"},
	{Name: "remotes", Dir: true},
	{Name: "branches", Dir: true},
}

// WorktreeParts are the parts of the directory that a linked worktree has below
// the worktrees of its repository.
var WorktreeParts = []Part{{Name: "gitdir"}, {Name: "commondir"}, {Name: "config.worktree"}, {Name: "modules", Dir: true}}

// Keeper is the name of what stands in directories that git would remove, so that it does
// not. To git it is a work tree that is locked, and is none: it has no more in it than the
// file KeeperLock.
const (
	Keeper     = ".kerf-placeholder"
	KeeperLock = "locked"
)

// GitOperations are the parts of a git directory that exist while an operation is under
// way, and from which git runs commands or takes settings when it goes on. What the user
// began is closed to commands. What a command begins it may finish: without that no
// rebase would work.
var GitOperations = []string{"rebase-merge", "rebase-apply", "sequencer", "bisect_run", "bisect_start", "bisect_terms",
	"fsmonitor--daemon"}

// whyProtected says why rel, a slash-separated path below a root, is changed by the user
// only; empty when it is not. Case does not matter, nor other spellings that some file
// system takes for the same.
func whyProtected(rel string) string {
	if !strings.Contains(rel, ".") && !strings.Contains(rel, "~") {
		return "" // no protected name is without one of them
	}
	parts := strings.Split(names.Fold(rel), "/")
	for i, p := range parts {
		switch p {
		case Kerf:
			return "Kerf's own settings are changed by the user only"
		case Git:
			if why := gitPart(strings.Join(parts[i+1:], "/")); why != "" {
				return why
			}
		}
	}
	return ""
}

// gitPart says why a path inside a git directory is protected, or nothing.
func gitPart(inside string) string {
	if inside == "" {
		return "a .git of this kind redirects git"
	}
	within := func(name string) bool {
		rest, ok := strings.CutPrefix(inside, name)
		return ok && (rest == "" || rest[0] == '/')
	}
	if slices.ContainsFunc(GitParts, func(p Part) bool { return within(p.Name) }) {
		return "git runs or follows it"
	}
	if slices.ContainsFunc(GitOperations, within) {
		return "git runs commands or takes settings from it when the operation goes on"
	}
	return ""
}
