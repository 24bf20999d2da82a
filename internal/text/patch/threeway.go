package patch

import (
	"fmt"

	"kerf/internal/text/merge"
	"kerf/internal/text/patch/unified"
)

// threeWay makes the change to the content that the diff was made from and
// merges the result with the current one. Where that conflicts, misfit gets the
// lines.
func (pl *planner) threeWay(f *unified.File, name string, ours []byte, misfit *unified.Error) ([]byte, bool) {
	if pl.opt.ThreeWay == nil || f.Create || f.Remove || f.OldID == "" || unified.NullID(f.OldID) {
		return nil, false
	}
	base, ok := pl.opt.ThreeWay(name, f.OldID)
	if !ok || !unified.IsBlob(base, f.OldID) {
		return nil, false
	}
	theirs, err := unified.Apply(base, f.Hunks, 0)
	if err != nil {
		return nil, false
	}
	merged, _, conflicts := merge.Three(base, ours, theirs)
	if len(conflicts) == 0 {
		if pl.opt.Merged != nil {
			pl.opt.Merged(name)
		}
		return merged, true
	}
	r := conflicts[0].OursLines
	misfit.Conflict = true
	misfit.Message = fmt.Sprintf("the file and the diff both changed the same place (lines %d-%d, %d such places); "+
		"make the diff from the file as it is\n%s",
		r.Start, max(r.Start, r.End), len(conflicts), misfit.Message)
	return nil, false
}
