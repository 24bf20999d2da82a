package host

import (
	"path/filepath"

	"kerf/internal/agent/skills"
)

// skills are those of the user, then those of a trusted project, which so cannot put
// its own in place of the user's.
func (c configured) skills() []skills.Skill {
	dirs := []string{filepath.Join(c.Home, "skills")}
	if c.trusted() {
		dirs = append(dirs, filepath.Join(c.Root, ".kerf", "skills"))
		if c.Cwd != c.Root {
			dirs = append(dirs, filepath.Join(c.Cwd, ".kerf", "skills"))
		}
	}
	return skills.Read(dirs...)
}
