// Package undoreport tells of an undo: to front ends, to the user and to the model.
package undoreport

import (
	"fmt"
	"strconv"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
	"kerf/internal/work/changes"
)

// Of tells a plan in the types of the protocol.
func Of(r changes.Reader, p *changes.Plan) (protocol.UndoReport, error) {
	told, err := r.Report(p)
	if err != nil {
		return protocol.UndoReport{}, err
	}
	report := protocol.UndoReport{Redo: told.Redo, What: told.What, Diff: told.Diff, Problem: told.Problem}
	for _, f := range told.Files {
		report.Files = append(report.Files, protocol.UndoFile(f))
	}
	for _, l := range told.Left {
		report.Files = append(report.Files, protocol.UndoFile{Path: l.Path, Outcome: "left",
			Note: "nobody saw who changed it; kerf undo --entry " + strconv.FormatInt(l.Entry, 10) + " takes it back"})
	}
	return report, nil
}

// Changes lists the files that an undo changes.
func Changes(r protocol.UndoReport) []protocol.PathChange {
	list := []protocol.PathChange{}
	for _, f := range r.Files {
		if f.Outcome == changes.Restored || f.Outcome == changes.Merged {
			list = append(list, protocol.PathChange{Path: f.Path, Kind: protocol.Update})
		}
	}
	return list
}

// Refusal tells the model why an undo was not done.
func Refusal(r protocol.UndoReport) *tool.Error {
	if strings.HasPrefix(r.Problem, "nothing to ") {
		return tool.Refuse(tool.NoChange, "%s: no change of this session is left to take back", r.Problem)
	}
	return tool.Refuse(tool.WriteFailed, "%s. Nothing was written; make the change by hand with edit_file", r.Problem)
}

// Text tells what an undo did to which file.
func Text(r protocol.UndoReport, name func(string) string) string {
	var b strings.Builder
	verb := "undone"
	if r.Redo {
		verb = "redone"
	}
	fmt.Fprintf(&b, "%s: %s", verb, r.What)
	for _, f := range r.Files {
		fmt.Fprintf(&b, "\n%-9s %s", f.Outcome, name(f.Path))
		if f.Note != "" {
			b.WriteString(" (" + f.Note + ")")
		}
	}
	return b.String()
}
