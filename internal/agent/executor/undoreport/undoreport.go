// Package undoreport tells of an undo: to front ends, to the user and to the model.
package undoreport

import (
	"fmt"
	"slices"
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
		report.Files = append(report.Files, protocol.UndoFile{Path: f.Path, Outcome: f.Outcome, Note: f.Note,
			Removed: f.Removed && f.Outcome == changes.Restored})
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
	if len(r.Files) == 0 { // it is about no file: what was named is not there
		return tool.Refuse(tool.NotFound, "%s. Name a call or a turn that changed files, or none for the last call",
			r.Problem)
	}
	return tool.Refuse(tool.WriteFailed, "%s. Nothing was written; make the change by hand with edit_file", r.Problem)
}

// named is how many files the model is told of that simply came back.
const named = 40

// Text tells what an undo did to which file.
func Text(r protocol.UndoReport, name func(string) string) string {
	var b strings.Builder
	verb := "undone"
	if r.Redo {
		verb = "redone"
	}
	fmt.Fprintf(&b, "%s: %s", verb, r.What)
	plain := 0
	for _, f := range r.Files {
		if f.Outcome == changes.Restored && f.Note == "" {
			if plain++; plain > named {
				continue
			}
		}
		fmt.Fprintf(&b, "\n%-9s %s", f.Outcome, name(f.Path))
		if f.Note != "" {
			b.WriteString(" (" + f.Note + ")")
		}
	}
	if plain > named {
		fmt.Fprintf(&b, "\nand %d more files %s", plain-named, changes.Restored)
	}
	return b.String()
}

// Stopped is the report of an undo that its user stopped before it began.
var Stopped = protocol.UndoReport{Problem: "nothing was taken back: the question about it was not answered"}

// ForModel tells the model what the user took back, or "" if that came to nothing.
func ForModel(r protocol.UndoReport, relative func(string) string) string {
	if !slices.ContainsFunc(r.Files, func(f protocol.UndoFile) bool {
		return f.Outcome == changes.Restored || f.Outcome == changes.Merged
	}) {
		return ""
	}
	what := "took changes back"
	if r.Redo {
		what = "brought changes back"
	}
	return "The user " + what + ". Files are not as you left them; re-read them before you edit them.\n" +
		Text(r, relative)
}
