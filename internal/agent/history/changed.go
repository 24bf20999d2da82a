package history

import "kerf/internal/protocol"

// Changed are changed files as front ends show them: those of one cause, or of all where
// cause is empty.
func Changed(list []FileChange, cause string) []protocol.PathChange {
	var shown []protocol.PathChange
	for _, c := range list {
		if cause != "" && c.Cause != cause {
			continue
		}
		s := protocol.PathChange{Path: string(c.Path), Kind: protocol.Update, Moved: string(c.MovedFrom),
			Certainty: c.Certainty, ControlFile: c.ControlFile}
		switch c.Operation {
		case "created":
			s.Kind = protocol.Add
		case "deleted":
			s.Kind = protocol.Delete
		}
		shown = append(shown, s)
	}
	return shown
}
