package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/approval"
	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/panels"
	"kerf/internal/protocol"
)

// page is the command that shows rows on the whole screen.
func page(title string, rows func(m *Model, width int) []ink.Line) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		m.push(&panels.Pager{Title: title, Draw: func(width int, _ bool) []ink.Line { return rows(m, width) }})
		return nil
	}
}

// whole draws items whole.
func (m *Model) whole(width int) conversation.Format {
	return conversation.Format{Width: width, Cwd: m.session.Settings.Cwd, Whole: true}
}

// transcriptPage shows everything whole.
func (m *Model) transcriptPage() *panels.Pager {
	items := m.shown.Transcript // the items are never changed, only added
	return &panels.Pager{Title: "Transcript", Bottom: true, Draw: func(width int, _ bool) []ink.Line { return items.Rows(m.whole(width)) }}
}

// lastShortenedPage shows the last item that was shortened, whole.
func (m *Model) lastShortenedPage() *panels.Pager {
	it, ok := m.shown.Transcript.LastShortened(m.format())
	return &panels.Pager{Title: "Whole", Draw: func(width int, _ bool) []ink.Line {
		if !ok {
			return ink.WrapText(ink.Dim, "nothing was shortened", width)
		}
		return m.whole(width).Item(it)
	}}
}

// processPage shows the output of a background process.
func (m *Model) processPage(x protocol.Process) *panels.Pager {
	c := m.shown
	return &panels.Pager{Title: fmt.Sprintf("Process #%d  %s", x.ID, ink.OneLine(x.Command)), Bottom: true, Draw: func(width int, _ bool) []ink.Line {
		out := c.ProcessOutput(x.ID)
		if out == "" {
			return nil
		}
		return ink.WrapText(ink.Plain, ink.Output(out), width)
	}}
}

// serverPage shows the tools of an MCP server.
func serverPage(s protocol.Server) *panels.Pager {
	return &panels.Pager{Title: "MCP server " + ink.OneLine(s.Name), Draw: func(width int, _ bool) []ink.Line {
		rows := ink.WrapText(ink.Bad, s.Error, width)
		for _, t := range s.Tools {
			rows = append(rows, ink.WrapText(ink.Plain, t, width)...)
		}
		return rows
	}}
}

// showDiff shows what was changed, by whom.
func showDiff(m *Model, words string) tea.Cmd {
	if words == "turn" || m.o.Desk == nil {
		m.push(panels.DiffPager("Changes of the last turn", m.shown.Diff.Diff+m.shown.Diff.Outside))
		return nil
	}
	return fetch(m, m.changes(), func(list []protocol.Deed) tea.Cmd {
		m.push(&panels.Pager{Title: "Changes of this session", Toggle: "side by side", Draw: func(width int, wide bool) []ink.Line {
			var rows []ink.Line
			for _, d := range list {
				who := d.Cause
				if d.Tool != "" {
					who += " " + d.Tool
				}
				if d.Undone {
					who += ", undone"
				}
				rows = append(rows, ink.Line{ink.Styled(ink.Strong(ink.Heading), who), ink.S(ink.Dim, "  "+d.Time.Format("15:04:05"))})
				rows = append(rows, diffview.Page(diffview.Parse(d.Diff), width, wide)...)
				rows = append(rows, nil)
			}
			return rows
		}})
		return nil
	})
}

// chooseEdits lets the user take back some of the edits of a change.
func chooseEdits(d protocol.Deed) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		switch {
		case d.Cause == "outside":
			m.notice(ink.Warn, "this change was made by neither tool nor command; Kerf does not undo it")
			return nil
		case d.Undone:
			m.notice(ink.Warn, "this change is taken back already; r brings it back")
			return nil
		}
		h := &approval.Hunks{Title: "Choose what to take back", Foot: "space mark · enter take back what is marked · esc back"}
		paths := map[int]string{} // by number of the file
		for i, f := range diffview.Parse(d.Diff) {
			paths[i] = editedPath(d.Changes, f.Name)
			if paths[i] == "" {
				continue
			}
			for k, e := range f.Edits() {
				h.List = append(h.List, approval.Hunk{File: i, Edit: k, Off: true, Rows: e.Rows,
					Label: fmt.Sprintf("%s:%d", m.format().Path(paths[i]), e.Line)})
			}
		}
		if len(h.List) == 0 {
			m.notice(ink.Warn, "there are no single edits in this change; u takes all of it back")
			return nil
		}
		h.Accept = func() (tea.Cmd, bool) {
			chosen := map[string][]int{}
			for _, x := range h.List {
				if !x.Off {
					chosen[paths[x.File]] = append(chosen[paths[x.File]], x.Edit)
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
}

// editedPath is the absolute path of a file in the diff of changes; empty when it was
// made or removed as a whole, and has no edits of its own.
func editedPath(changes []protocol.PathChange, name string) string {
	for _, c := range changes {
		slashed := strings.ReplaceAll(c.Path, `\`, "/")
		if c.Kind == protocol.Update && c.Moved == "" && (slashed == name || strings.HasSuffix(slashed, "/"+name)) {
			return c.Path
		}
	}
	return ""
}

// doctor shows what Kerf needs on this machine, and whether it is there.
func doctor(m *Model, _ string) tea.Cmd {
	if m.o.Desk == nil {
		return m.missing("the check")
	}
	return fetch(m, m.o.Desk.Check, func(list []protocol.Check) tea.Cmd {
		return page("Doctor", func(_ *Model, width int) []ink.Line {
			var rows []ink.Line
			for _, c := range list {
				l := ink.Line{ink.S(conversation.StateRole(c.State), fmt.Sprintf("%-5s", c.State)), ink.Styled(ink.Strong(ink.Plain), c.Name), ink.S(ink.Plain, "  "+ink.OneLine(c.Detail))}
				rows = append(rows, ink.Wrap(l, width)...)
				if c.Hint != "" {
					rows = append(rows, ink.Prefix(ink.WrapText(ink.Dim, c.Hint, width-6), ink.Span{Text: "      "}, ink.Span{Text: "      "})...)
				}
			}
			return rows
		})(m, "")
	})
}

// Hook is a program of the user's that watches the session.
type Hook struct {
	Event, Matcher, Command string
	From                    string // the file it stands in
	Required                bool
}

const aboutHooks = "Hooks are set by [[hooks.EVENT]] in config.toml, in hooks.json of KERF_HOME, and in .kerf/hooks.json of a trusted project; doc/approvals.md tells how."

// showHooks shows the hooks that hold here.
func showHooks(m *Model, _ string) tea.Cmd {
	if m.o.Hooks == nil {
		m.shown.Note(ink.Plain, "  ", aboutHooks)
		return nil
	}
	type found struct {
		list     []Hook
		warnings []string
	}
	return fetch(m, func(context.Context) (found, error) {
		list, warnings, err := m.o.Hooks()
		return found{list, warnings}, err
	}, func(f found) tea.Cmd {
		return page("Hooks", func(m *Model, width int) []ink.Line {
			var rows []ink.Line
			for _, w := range f.warnings {
				rows = append(rows, ink.WrapText(ink.Warn, w, width)...)
			}
			rows = append(rows, hookRows(f.list, m.session.ShortHome, width)...)
			return append(append(rows, nil), ink.WrapText(ink.Dim, aboutHooks, width)...)
		})(m, "")
	})
}

func hookRows(list []Hook, short func(path string) string, width int) []ink.Line {
	if len(list) == 0 {
		return ink.WrapText(ink.Plain, "No hook is set.", width)
	}
	var rows []ink.Line
	last := ""
	for _, h := range list {
		if h.Event != last {
			if last != "" {
				rows = append(rows, nil)
			}
			rows, last = append(rows, ink.Line{ink.Styled(ink.Strong(ink.Heading), h.Event)}.Cut(width)), h.Event
		}
		l := ink.Line{ink.S(ink.Accent, "  "+cmp.Or(h.Matcher, "all")), ink.S(ink.Plain, "  "), {Text: ink.Exact(ink.OneLine(h.Command)), Style: ink.As(ink.Code)}}
		if h.Required {
			l = append(l, ink.S(ink.Warn, "  required"))
		}
		rows = append(rows, ink.Wrap(append(l, ink.S(ink.Dim, "  "+short(h.From))), width)...)
	}
	return rows
}
