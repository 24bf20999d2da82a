package place

import (
	"fmt"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/text/visible"
	"kerf/internal/work/ledger"
)

// Unasked warns of control files that were changed without a question about them: by a
// command, or where nobody is asked. relative shortens a path.
func Unasked(changes []history.FileChange, relative func(string) string) []string {
	var names []string
	for _, c := range changes {
		if name := visible.Line(relative(string(c.Path))); c.ControlFile && c.Cause != ledger.CauseOutside &&
			!slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if more := len(names) - ShownTargets; more > 0 {
		names = append(names[:ShownTargets], fmt.Sprintf("and %d more", more))
	}
	return []string{fmt.Sprintf("changed without a question: %s, which agents, editors or build machines obey; look at "+
		"it before they do", strings.Join(names, ", "))}
}
