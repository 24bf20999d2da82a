package executor

import (
	"fmt"
	"slices"
	"strings"

	"kerf/internal/agent/executor/place"
	"kerf/internal/agent/history"
	"kerf/internal/agent/turn"
	"kerf/internal/text/visible"
	"kerf/internal/work/ledger"
)

// warnOfControlFiles warns of control files that were changed without a question about
// them: by a command, or where nobody is asked.
func (h *Executor) warnOfControlFiles(changes []history.FileChange, j judged) []string {
	a := j.prepared.Approval
	if a != nil && a.Change != nil && j.prepared.Verdict == turn.Ask {
		return nil
	}
	var names []string
	for _, c := range changes {
		if name := visible.Line(h.files.Relative(string(c.Path))); c.ControlFile && c.Cause != ledger.CauseOutside &&
			!slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if more := len(names) - place.ShownTargets; more > 0 {
		names = append(names[:place.ShownTargets], fmt.Sprintf("and %d more", more))
	}
	return []string{fmt.Sprintf("changed without a question: %s, which agents, editors or build machines obey; look at "+
		"it before they do", strings.Join(names, ", "))}
}
