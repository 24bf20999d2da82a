package host

import (
	"fmt"

	"kerf/internal/protocol"
	"kerf/internal/work/room"
	"kerf/internal/work/workspace"
)

// insist says how to go on without a record.
const insist = "%w; to go on without a record, add --unrecorded"

// recordable fails when the records of a session cannot be written. By the user's own
// word the session has none then.
func (op opener) recordable(o *protocol.OpenOptions) error {
	if o.Ephemeral {
		return nil
	}
	switch err := room.Usable(op.sessionsDir()); {
	case err == nil:
		return nil
	case !op.unrecorded:
		return fmt.Errorf(insist, err)
	case o.Resume != "" || o.Last:
		return fmt.Errorf("an earlier session cannot go on: %w", err)
	}
	o.Ephemeral = true
	return nil
}

// sessionWorkspace opens the workspace of a session. When what is done there cannot be
// recorded it fails, or, by the user's own word, returns one that keeps nothing, and why.
func (op opener) sessionWorkspace(o WorkspaceOptions) (ws *workspace.Workspace, notKept string, err error) {
	if ws, err = op.workspace(o); err != nil {
		return nil, "", err
	}
	full := ws.Room.Check()
	if full == nil {
		return ws, "", nil
	}
	_ = ws.Close()
	if !op.unrecorded {
		return nil, "", fmt.Errorf(insist, full)
	}
	o.Unrecorded = true
	if ws, err = op.workspace(o); err != nil {
		return nil, "", err
	}
	return ws, "what this session does is not recorded, as --unrecorded allows, and cannot be taken back once the " +
		"session is closed: " + room.Reason(full), nil
}

// told is a list of a warning, if there is one.
func told(warning string) []string {
	if warning == "" {
		return nil
	}
	return []string{warning}
}
