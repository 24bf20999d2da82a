// Package records has the commands that show what was done, and take it back or
// make it again.
package records

import "kerf/cmd/kerf/internal/program"

// Commands returns them.
func Commands() program.Commands {
	return program.Commands{
		"sessions session": sessionsCommand, "diff": diffCommand, "apply": applyCommand,
		"apply-patch": applyPatchCommand, "verify": verifyCommand,
		"undo": undoCommand, "redo": redoCommand, "log": logCommand,
		"blame": blameCommand, "commit": commitCommand, "export": exportCommand,
		"replay": replayCommand,
	}
}
