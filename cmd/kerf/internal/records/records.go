// Package records has the commands that show what was done, and take it back or
// make it again.
package records

import (
	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
)

// Commands returns them.
func Commands(p *program.Program) []*cobra.Command {
	return []*cobra.Command{sessionsCommand(p), diffCommand(p), applyCommand(p), applyPatchCommand(p), verifyCommand(p),
		recoverCommand(p), adoptCommand(p),
		takeBack(p, false), takeBack(p, true), logCommand(p), blameCommand(p), commitCommand(p), exportCommand(p), gcCommand(p), replayCommand(p)}
}
