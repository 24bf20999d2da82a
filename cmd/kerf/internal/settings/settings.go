// Package settings has the commands that look at and change how Kerf works here:
// settings, trust, rules, models, servers, and what it would decide.
package settings

import (
	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
)

// Commands returns them.
func Commands(p *program.Program) []*cobra.Command {
	return []*cobra.Command{modelsCommand(p), loginCommand(p), logoutCommand(p), scriptCommand(p), toolCommand(p),
		configCommand(p),
		sandboxCommand(p), doctorCommand(p), schemaCommand(p), mcpCommand(p), explainCommand(p), debugCommand(p),
		rulesCommand(p), trustCommand(p), uninstallCommand(p)}
}
