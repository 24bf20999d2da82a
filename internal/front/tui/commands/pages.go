package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/approval"
	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// page is the command that shows rows on the whole screen.
func page(title string, rows func(c *Commands, width int) []style.Line) func(*Commands, string) tea.Cmd {
	return func(c *Commands, _ string) tea.Cmd {
		c.ui.Push(&panels.Pager{Title: title, Draw: func(width int, _ bool) []style.Line { return rows(c, width) }})
		return nil
	}
}

// whole draws items whole.
func (c *Commands) whole(width int) conversation.Format {
	return conversation.Format{Width: width, Cwd: c.ui.Session.Settings.Cwd, Whole: true}
}

// Look is the page that a key opens: ctrl+t the transcript, ctrl+o what was shortened last.
func (c *Commands) Look(key string) *panels.Pager {
	if key == "ctrl+o" {
		return c.LastShortenedPage()
	}
	return c.TranscriptPage()
}

// TranscriptPage shows everything whole.
func (c *Commands) TranscriptPage() *panels.Pager {
	items := c.ui.Shown().Transcript // the items are never changed, only added
	return &panels.Pager{Title: "Transcript", Bottom: true,
		Draw: func(width int, _ bool) []style.Line { return items.Rows(c.whole(width)) }}
}

// LastShortenedPage shows the last item that was shortened, whole.
func (c *Commands) LastShortenedPage() *panels.Pager {
	it, ok := c.ui.Shown().Transcript.LastShortened(c.ui.Format())
	return &panels.Pager{Title: "Whole", Draw: func(width int, _ bool) []style.Line {
		if !ok {
			return style.WrapText(style.Dim, "nothing was shortened", width)
		}
		return c.whole(width).Item(it)
	}}
}

// processPage shows the output of a background process, as it was told last.
func (c *Commands) processPage(id int) *panels.Pager {
	var x protocol.Process
	for _, p := range slices.Concat(c.ui.Session.Processes, c.ui.Session.Over) {
		if p.ID == id {
			x = p
		}
	}
	return &panels.Pager{Title: fmt.Sprintf("Process #%d  %s", x.ID, style.OneLine(x.Command)), Bottom: true,
		Draw: func(width int, _ bool) []style.Line {
			rows := style.WrapText(style.Plain, style.Output(x.Output), width)
			if x.Outcome != "" {
				end := fmt.Sprintf("%s after %s", x.Outcome, humanize.Duration(x.Took))
				rows = append(rows, style.L(outcomeRole(x), end).Cut(width))
			}
			return rows
		}}
}

func outcomeRole(x protocol.Process) style.Role {
	switch {
	case x.Failed:
		return style.Bad
	case x.Outcome != "":
		return style.Good
	}
	return style.Accent
}

// serverPage shows the tools of an MCP server.
func serverPage(s protocol.Server) *panels.Pager {
	return &panels.Pager{Title: "MCP server " + style.OneLine(s.Name), Draw: func(width int, _ bool) []style.Line {
		rows := style.WrapText(style.Bad, s.Error, width)
		for _, t := range s.Tools {
			rows = append(rows, style.WrapText(style.Plain, t, width)...)
		}
		return rows
	}}
}

// showDiff shows what was changed, by whom.
func showDiff(c *Commands, words string) tea.Cmd {
	if words == "turn" || c.ui.Workspace == nil {
		c.ui.Push(panels.DiffPager("Changes of the last turn", c.ui.Shown().Diff.Diff+c.ui.Shown().Diff.Outside))
		return nil
	}
	return fetch(c, c.changes(), func(list []protocol.ChangeEntry) tea.Cmd {
		// What others did before the session did anything is not of the session.
		own := func(d protocol.ChangeEntry) bool { return !d.Foreign() }
		if i := slices.IndexFunc(list, own); i >= 0 {
			list = list[i:]
		} else {
			list = nil
		}
		c.ui.Push(&panels.Pager{Title: "Changes of this session", Toggle: "side by side",
			Draw: func(width int, wide bool) []style.Line {
				var rows []style.Line
				for _, d := range list {
					who := d.Cause
					if d.Tool != "" {
						who += " " + d.Tool
					}
					if d.Running {
						who += ", still running"
					} else if d.Certainty == protocol.Unproven {
						who += ", unproven"
					}
					if d.Undone {
						who += ", undone"
					}
					rows = append(rows, style.Line{style.Bold(style.Heading, who), style.S(style.Dim, "  "+d.Time.Format("15:04:05"))})
					rows = append(rows, diffview.Page(diffview.Parse(d.Diff), width, wide)...)
					rows = append(rows, nil)
				}
				return rows
			}})
		return nil
	})
}

// chooseEdits lets the user take back some of the edits of a change.
func chooseEdits(d protocol.ChangeEntry) func(*Commands) tea.Cmd {
	return func(c *Commands) tea.Cmd {
		switch {
		case d.Foreign():
			c.ui.Notice(style.Warn, "this change was made by neither tool nor command; Kerf does not undo it")
			return nil
		case d.Undone:
			c.ui.Notice(style.Warn, "this change was already taken back; r brings it back")
			return nil
		}
		h := &approval.Hunks{Title: "Choose what to take back",
			Foot: "space mark · enter take back what is marked · esc back"}
		paths := map[int]string{} // by number of the file
		for i, f := range diffview.Parse(d.Diff) {
			paths[i] = editedPath(d.Changes, f.Name)
			if paths[i] == "" {
				continue
			}
			for k, e := range f.Edits() {
				h.List = append(h.List, approval.Hunk{File: i, Edit: k, Off: true, Rows: e.Rows,
					Label: fmt.Sprintf("%s:%d", c.ui.Format().Path(paths[i]), e.Line)})
			}
		}
		if len(h.List) == 0 {
			c.ui.Notice(style.Warn, "there are no single edits in this change; u takes all of it back")
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
			return c.ui.Submit(protocol.Undo{Turn: d.Turn, Call: d.Call, Hunks: chosen}), false
		}
		c.ui.Push(h)
		return nil
	}
}

// editedPath is the absolute path of a file in the diff of changes; empty when it was
// made or removed as a whole, and has no edits of its own.
func editedPath(changes []protocol.PathChange, name string) string {
	for _, x := range changes {
		slashed := strings.ReplaceAll(x.Path, `\`, "/")
		if x.Kind == protocol.Update && x.Moved == "" && (slashed == name || strings.HasSuffix(slashed, "/"+name)) {
			return x.Path
		}
	}
	return ""
}

// doctor shows what Kerf needs on this machine, and whether it is there.
func doctor(c *Commands, _ string) tea.Cmd {
	if c.ui.Workspace == nil {
		return c.missing("the check")
	}
	return fetch(c, c.ui.Workspace.Check, func(list []protocol.Check) tea.Cmd {
		return page("Doctor", func(_ *Commands, width int) []style.Line {
			var rows []style.Line
			for _, x := range list {
				l := style.Line{style.S(conversation.StateRole(x.State), fmt.Sprintf("%-5s", x.State)),
					style.Bold(style.Plain, x.Name), style.S(style.Plain, "  "+style.OneLine(x.Detail))}
				rows = append(rows, style.Wrap(l, width)...)
				if x.Hint != "" {
					rows = append(rows, style.Indent(style.WrapText(style.Dim, x.Hint, width-6), 6)...)
				}
			}
			return rows
		})(c, "")
	})
}

// Hook is a program of the user's that watches the session.
type Hook struct {
	Event, Matcher, Command string
	From                    string // the file it stands in
	Required                bool
}

const aboutHooks = "Hooks are set by [[hooks.EVENT]] in config.toml, in hooks.json of KERF_HOME, " +
	"and in .kerf/hooks.json of a trusted project; kerf help approvals tells how."

// showHooks shows the hooks that apply here.
func showHooks(c *Commands, _ string) tea.Cmd {
	if c.ui.Hooks == nil {
		c.ui.Shown().Note(style.Plain, "  ", aboutHooks)
		return nil
	}
	type found struct {
		list     []Hook
		warnings []string
	}
	return fetch(c, func(context.Context) (found, error) {
		list, warnings, err := c.ui.Hooks()
		return found{list, warnings}, err
	}, func(f found) tea.Cmd {
		return page("Hooks", func(c *Commands, width int) []style.Line {
			var rows []style.Line
			for _, w := range f.warnings {
				rows = append(rows, style.WrapText(style.Warn, w, width)...)
			}
			rows = append(rows, hookRows(f.list, c.ui.Session.ShortHome, width)...)
			return append(append(rows, nil), style.WrapText(style.Dim, aboutHooks, width)...)
		})(c, "")
	})
}

func hookRows(list []Hook, short func(path string) string, width int) []style.Line {
	if len(list) == 0 {
		return style.WrapText(style.Plain, "No hook is set.", width)
	}
	var rows []style.Line
	last := ""
	for _, h := range list {
		if h.Event != last {
			if last != "" {
				rows = append(rows, nil)
			}
			rows, last = append(rows, style.Line{style.Bold(style.Heading, h.Event)}.Cut(width)), h.Event
		}
		l := style.Line{style.S(style.Accent, "  "+cmp.Or(h.Matcher, "all")), style.S(style.Plain, "  "),
			style.Exactly(style.Code, style.OneLine(h.Command))}
		if h.Required {
			l = append(l, style.S(style.Warn, "  required"))
		}
		rows = append(rows, style.Wrap(append(l, style.S(style.Dim, "  "+short(h.From))), width)...)
	}
	return rows
}
