package executor

import (
	"kerf/internal/agent/executor/place"
	"kerf/internal/agent/history"
	"kerf/internal/agent/turn"
)

// warnOfControlFiles warns of control files that were changed without a question.
func warnOfControlFiles(h *Executor, changes []history.FileChange, j judged) []string {
	a := j.prepared.Approval
	if a != nil && a.Change != nil && j.prepared.Verdict == turn.Ask {
		return nil
	}
	return place.Unasked(changes, h.files.Relative)
}
