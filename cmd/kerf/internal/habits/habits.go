// Package habits has the commands about what people keep for agents and do again and again:
// skills, plugins, set times, and what is carried over from other agents.
package habits

import "kerf/cmd/kerf/internal/program"

// Commands returns them.
func Commands() program.Commands {
	return program.Commands{
		"skills": skillsCommand, "plugin": pluginCommand, "import": importCommand, "schedule": scheduleCommand,
	}
}
