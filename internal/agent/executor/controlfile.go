package executor

import (
	"fmt"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/text/visible"
	"kerf/internal/work/ledger"
)

// steers reports whether a change is one of a file that agents, editors or build
// machines obey.
func (h *Executor) steers(c delta.Change) bool {
	name := h.relative(c.Path)
	if policy.Steers(name) {
		return true
	}
	return policy.HoldsScripts(name) && policy.ScriptsDiffer(h.bytes(c.Pre), h.bytes(c.Post))
}

// bytes are those of an image, or none when they are not at hand.
func (h *Executor) bytes(img *delta.Image) []byte {
	if img = h.load(img); img == nil || !img.Loaded {
		return nil
	}
	return img.Data
}

// pathChanges lists the paths of a set as front ends show them, with a mark on
// what steers.
func (h *Executor) pathChanges(set delta.Set) []protocol.PathChange {
	list := pathChanges(set)
	for i, c := range set {
		list[i].Steers = h.steers(c)
	}
	return list
}

// steered warns of files that steer and were changed without a question about
// them: by a command, or where nobody is asked.
func (h *Executor) steered(changes []history.FileChange, j judged) []string {
	a := j.prepared.Approval
	if a != nil && a.Change != nil && j.prepared.Verdict == turn.Ask {
		return nil
	}
	var names []string
	for _, c := range changes {
		if name := visible.Line(h.relative(c.Path)); c.Steers && c.Cause != ledger.CauseOutside && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if more := len(names) - shownTargets; more > 0 {
		names = append(names[:shownTargets], fmt.Sprintf("and %d more", more))
	}
	return []string{fmt.Sprintf("changed without a question: %s, which agents, editors or build machines obey; look at it before they do", strings.Join(names, ", "))}
}
