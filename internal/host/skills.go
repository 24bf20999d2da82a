package host

import (
	"context"
	"path/filepath"

	"kerf/internal/agent/skills"
	"kerf/internal/protocol"
)

// skills are those of the user, then those of a trusted project, which so cannot put
// its own in place of the user's.
func (h *Host) skills() []skills.Skill {
	dirs := []string{filepath.Join(h.Config.Home, "skills")}
	if h.Trusted() {
		dirs = append(dirs, filepath.Join(h.Config.Root, ".kerf", "skills"))
		if h.Config.Cwd != h.Config.Root {
			dirs = append(dirs, filepath.Join(h.Config.Cwd, ".kerf", "skills"))
		}
	}
	return skills.Read(dirs...)
}

// Prompts lists the user's own commands, the files KERF_HOME/prompts/NAME.md,
// and the skills, each sorted by name.
func (h *Host) Prompts(ctx context.Context, cwd string) ([]protocol.Prompt, error) {
	list := skills.Prompts(filepath.Join(h.Config.Home, "prompts"))
	for _, s := range h.skills() {
		list = append(list, protocol.Prompt{Name: s.Name, Description: s.Description, Body: "$" + s.Name + " $ARGUMENTS", Skill: true})
	}
	return list, ctx.Err()
}
