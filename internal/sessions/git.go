package sessions

import (
	"kerf/internal/agent/rollout"
	"kerf/internal/work/repo"
)

// GitOf reads what files tell; whether the work tree is dirty costs a process and is
// asked for later.
func GitOf(cwd string) rollout.Git {
	root, gitDir, ok := repo.Find(cwd)
	if !ok {
		return rollout.Git{}
	}
	name, detached, _ := repo.Branch(gitDir)
	if detached {
		name = ""
	}
	return rollout.Git{Root: root, Branch: name, Commit: repo.Head(gitDir), Remote: repo.Remote(gitDir, name)}
}
