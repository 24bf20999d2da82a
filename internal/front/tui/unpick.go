package tui

import (
	"fmt"
	"strings"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

// unpick lets the user take back some of the edits of a call.
func (m *Model) unpick(d protocol.Deed) cmd {
	switch {
	case d.Cause == "outside":
		m.notice(ink.Warn, "this change was made by neither tool nor command; Kerf does not undo it")
		return nil
	case d.Undone:
		m.notice(ink.Warn, "this change is taken back already; r brings it back")
		return nil
	}
	h := &hunks{title: "Choose what to take back", foot: "space mark · enter take back what is marked · esc back"}
	paths := map[int]string{} // by number of the file
	for i, f := range parseDiff(d.Diff) {
		paths[i] = pathOf(d, f)
		if paths[i] == "" {
			continue
		}
		for k, run := range f.runs() {
			h.list = append(h.list, hunk{file: i, edit: k, off: true, rows: run.rows,
				label: fmt.Sprintf("%s:%d", m.draw().path(paths[i]), run.line)})
		}
	}
	if len(h.list) == 0 {
		m.notice(ink.Warn, "there are no single edits in this change; u takes all of it back")
		return nil
	}
	h.take = func(m *Model) (cmd, bool) {
		chosen := map[string][]int{}
		for _, x := range h.list {
			if !x.off {
				chosen[paths[x.file]] = append(chosen[paths[x.file]], x.edit)
			}
		}
		if len(chosen) == 0 {
			return nil, true
		}
		return m.submit(protocol.Undo{Turn: d.Turn, Call: d.Call, Hunks: chosen}), false
	}
	m.push(h)
	return nil
}

// pathOf is the absolute path of a file in a deed's diff; empty when it was made or
// removed as a whole, and has no edits of its own.
func pathOf(d protocol.Deed, f diffFile) string {
	for _, c := range d.Changes {
		slashed := strings.ReplaceAll(c.Path, `\`, "/")
		if c.Kind == protocol.Update && c.Moved == "" && (slashed == f.name || strings.HasSuffix(slashed, "/"+f.name)) {
			return c.Path
		}
	}
	return ""
}

// editRun is one edit of a file: lines next to each other that go and come.
type editRun struct {
	line int
	rows []ink.Line
}

func (f diffFile) runs() []editRun {
	var out []editRun
	open := false
	for _, l := range f.lines {
		role := ink.Added
		switch l.kind {
		case '\\':
			continue
		case '+':
		case '-':
			role = ink.Removed
		default:
			open = false
			continue
		}
		if !open {
			out, open = append(out, editRun{line: max(l.new, l.old)}), true
			if l.kind == '+' {
				out[len(out)-1].line = l.new
			}
		}
		r := &out[len(out)-1]
		r.rows = append(r.rows, ink.Line{{Text: string(l.kind) + ink.Exact(l.text), Style: ink.As(role)}})
	}
	return out
}
