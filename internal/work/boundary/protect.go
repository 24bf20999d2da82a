// Package protect names the files below a root that only the user changes: Kerf's
// own settings, and what makes git run a program or follow a path. The file tools
// and the sandbox both obey this list.
package boundary

import (
	"fmt"
	"strings"
)

// The names that are protected in every directory.
const (
	Kerf = ".kerf"
	Git  = ".git"
)

// Part is an entry of a git directory that makes git run or follow something.
type Part struct {
	// Name is the path from the git directory, with slashes.
	Name string
	// Dir says that an empty directory may stand in for the part while it is
	// absent. Otherwise it is a file with the bytes of Content. Both mean to git
	// what absence means.
	Dir     bool
	Content string
}

// GitParts are the parts of a git directory. Modules and worktrees are stood in
// for by files, because git removes these directories when they are empty.
var GitParts = []Part{
	{Name: "hooks", Dir: true},
	{Name: "info", Dir: true},
	{Name: "modules"},
	{Name: "worktrees"},
	{Name: "config"},
	{Name: "config.worktree"},
	{Name: "commondir", Content: ".\n"},
	{Name: "objects/info/alternates"},
}

// WorktreeParts are the parts of the directory that a linked worktree has below
// the worktrees of its repository.
var WorktreeParts = []Part{{Name: "gitdir"}, {Name: "commondir"}, {Name: "config.worktree"}, {Name: "modules"}}

// Check returns an error when rel, a slash-separated path below a root, is
// protected. Case does not matter.
func Check(rel string) error {
	parts := strings.Split(rel, "/")
	for i, p := range parts {
		switch strings.ToLower(p) {
		case Kerf:
			return fmt.Errorf("%s is protected: Kerf's own settings are changed by the user only", rel)
		case Git:
			if why := gitPart(strings.ToLower(strings.Join(parts[i+1:], "/"))); why != "" {
				return fmt.Errorf("%s is protected: %s", rel, why)
			}
		}
	}
	return nil
}

// gitPart says why a path inside a git directory is protected, or nothing.
func gitPart(inside string) string {
	if inside == "" {
		return "a .git of this kind redirects git"
	}
	for _, p := range GitParts {
		if inside == p.Name || strings.HasPrefix(inside, p.Name+"/") {
			return "git runs or follows it"
		}
	}
	return ""
}
