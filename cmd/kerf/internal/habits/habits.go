// Package habits has the commands about what people keep for agents and do again and again:
// skills, plugins, set times, and what is carried over from other agents.
package habits

import (
	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
)

// Commands returns them.
func Commands(p *program.Program) []*cobra.Command {
	return []*cobra.Command{skillsCommand(p), pluginCommand(p), importCommand(p), scheduleCommand(p)}
}
