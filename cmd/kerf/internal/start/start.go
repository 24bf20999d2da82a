// Package start has the commands that open sessions: headless, in the terminal UI,
// and for editors and other programs.
package start

import (
	"kerf/cmd/kerf/internal/guarding"
	"kerf/cmd/kerf/internal/program"
)

// Commands returns them, but for the root, which TUI makes.
func Commands() program.Commands {
	return program.Commands{
		"exec e": execCommand, "resume": resumeCommand, "fork": forkCommand, "review": reviewCommand,
		"init": initCommand, "demo": demoCommand, "acp": acpCommand, "mcp-server": mcpServerCommand,
		"guard": guarding.Command, "serve": serveCommand, "attach": attachCommand,
	}
}
