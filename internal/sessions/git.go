package sessions

import (
	"kerf/internal/agent/rollout"
	"kerf/internal/work/repo"
)

// GitOf reads what files tell; whether the work tree is dirty costs a process and is
// asked for later.
func GitOf(cwd string) rollout.Git {
	c, ok := repo.Look(cwd)
	if !ok {
		return rollout.Git{}
	}
	name, detached, _ := c.Branch()
	if detached {
		name = ""
	}
	return rollout.Git{Root: c.Root, Branch: name, Commit: c.Commit(), Remote: c.Remote(name)}
}
