package undoreport

import (
	"kerf/internal/protocol"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes/settle"
)

// Way is what an undo makes of files in conflict. A word that is not known leaves them, so that
// nothing is done.
func Way(op protocol.Undo) settle.Way {
	switch w := settle.Way(op.Conflicts); w {
	case settle.Merge, settle.Ours, settle.Theirs, settle.Skip:
		return w
	}
	return ""
}

// Parts are the single edits and lines that an undo is narrowed to, by paths as the ledger
// names them, which real makes of a path.
func Parts(op protocol.Undo, real func(path string) string) map[string]diff.Part {
	out := map[string]diff.Part{}
	for p, list := range op.Lines {
		out[real(p)] = diff.Part{Lines: list}
	}
	for p, list := range op.Hunks {
		out[real(p)] = diff.Part{Edits: list}
	}
	return out
}
