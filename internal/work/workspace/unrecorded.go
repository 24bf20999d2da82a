package workspace

import (
	"cmp"
	"fmt"

	"kerf/internal/text/delta"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/settle"
)

// Ask is asked whether what a report tells is to be done.
type Ask = func(changes.Report) (bool, error)

// OnlyKept is for an undo without a record, with the reason. It asks then, which may be nil, unless a file would go, or
// be replaced whole or, where conflicts are settled so, in part, whose content is kept nowhere: nobody could bring that
// back.
func (w *Workspace) OnlyKept(why string, conflicts settle.Way, then Ask) Ask {
	return func(r changes.Report) (bool, error) {
		merged, gets := map[string]bool{}, map[string]*delta.Image{}
		for _, f := range r.Files {
			merged[f.Path] = f.Outcome == changes.Merged && conflicts != settle.Theirs
		}
		for _, c := range r.Set {
			gets[c.Path] = c.Post
		}
		for _, c := range r.Set {
			at := cmp.Or(c.To, c.Path) // where the content is afterwards, if it stays
			stays := c.Pre == nil || merged[at] || gets[at] != nil && gets[at].Sum == c.Pre.Sum
			if !stays && !w.Store.Has(c.Pre.Sum) {
				return false, fmt.Errorf("nothing was changed: what %s holds is kept nowhere, and now nothing can be "+
					"recorded: %s; see to that first", visible.Plain(c.Path), visible.Plain(why))
			}
		}
		if then == nil {
			return true, nil
		}
		return then(r)
	}
}
