// Package telling has commands that tell something of sessions and their work, and change
// nothing: what runs, what was used, and who wrote what.
package telling

import (
	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
)

// Commands returns them.
func Commands(p *program.Program) []*cobra.Command {
	return []*cobra.Command{psCommand(p), traceCommand(p), usageCommand(p)}
}
