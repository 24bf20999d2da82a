// Package settings has the commands that look at and change how Kerf works here:
// settings, trust, rules, models, servers, and what it would decide.
package settings

import "kerf/cmd/kerf/internal/program"

// Commands returns them.
func Commands() program.Commands {
	return program.Commands{
		"models": modelsCommand, "login": loginCommand, "logout": logoutCommand, "script": scriptCommand,
		"tool": toolCommand, "config": configCommand, "sandbox": sandboxCommand, "doctor": doctorCommand,
		"schema": schemaCommand, "mcp": mcpCommand, "explain": explainCommand, "debug": debugCommand,
		"rules": rulesCommand, "trust": trustCommand, "uninstall": uninstallCommand,
	}
}
