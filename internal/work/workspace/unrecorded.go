package workspace

import (
	"fmt"

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
		for _, f := range r.Files {
			if f.Outcome != changes.Restored && (f.Outcome != changes.Merged || conflicts != settle.Theirs) {
				continue
			}
			now, err := w.Tree.ReadEntry(f.Path, 0)
			if err == nil && now != nil && !w.Store.Has(now.Sum) {
				err = fmt.Errorf("nothing was changed: what %s holds is kept nowhere, and now nothing can be recorded: %s; "+
					"see to that first", visible.Plain(f.Path), visible.Plain(why))
			}
			if err != nil {
				return false, err
			}
		}
		if then == nil {
			return true, nil
		}
		return then(r)
	}
}
