// Package telling has commands that tell something of sessions and their work, and change
// nothing: what runs, what was used, and who wrote what.
package telling

import "kerf/cmd/kerf/internal/program"

// Commands returns them.
func Commands() program.Commands {
	return program.Commands{
		"ps": psCommand, "trace": traceCommand, "usage": usageCommand,
	}
}
