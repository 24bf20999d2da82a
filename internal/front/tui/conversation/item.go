package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/markdown"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// Format says how items are drawn.
type Format struct {
	Width int
	// Cwd is the directory that paths are shortened by.
	Cwd string
	// Whole draws all of an item; otherwise long ones are shortened.
	Whole bool
}

const (
	outputRows  = 6 // rows of a command's output that are shown
	commandRows = 4
)

var bullet = map[protocol.Status]style.Role{protocol.InProgress: style.Accent, protocol.Completed: style.Good,
	protocol.Failed: style.Bad, protocol.Declined: style.Warn}

// Item draws an item.
func (f Format) Item(it protocol.Item) []style.Line {
	switch b := it.Body.(type) {
	case protocol.UserMessage:
		return f.user(b)
	case protocol.AgentMessage:
		return f.said(markdown.Render(b.Text, f.Width-2), style.S(style.Accent, "• "))
	case protocol.Reasoning:
		return f.said(italic(markdown.Render(b.Text, f.Width-2)), style.S(style.Dim, "· "))
	case protocol.ProposedPlan:
		return append([]style.Line{{style.S(style.Accent, "• "), style.Bold(style.Heading, "Proposed plan")}},
			f.said(markdown.Render(b.Text, f.Width-2), style.S(style.Border, "│ "))...)
	case protocol.Command:
		return f.command(it, b)
	case protocol.FileChange:
		return f.change(it, b)
	case protocol.ToolCall:
		return f.tool(it, b)
	case protocol.TodoList:
		return f.todo(b)
	case protocol.SubAgent:
		return f.subAgent(it, b)
	case protocol.WebSearch:
		return f.head(it.Status, "Searched the web", " "+b.Query)
	case protocol.Compaction:
		return f.compaction(b)
	case protocol.ReviewResult:
		return f.review(b)
	case protocol.Answered:
		return f.head(it.Status, b.Outcome(), " "+f.cut(b.Detail(), 160))
	case protocol.Problem:
		return f.Note(style.Warn, "! ", b.Message)
	}
	return nil
}

// head is the first row of an item: a mark, what was done, and to what.
func (f Format) head(st protocol.Status, verb, rest string) []style.Line {
	l := style.Line{style.S(bullet[st], "• "), style.Bold(style.Plain, verb)}
	if rest = style.OneLine(rest); rest != "" {
		l = append(l, style.S(style.Plain, " "+rest))
	}
	return style.Prefix(style.Wrap(l, f.Width-2), style.Span{}, style.Span{Text: "  "})
}

// said indents rows below a mark.
func (f Format) said(rows []style.Line, mark style.Span) []style.Line {
	rest := style.Span{Text: "  "}
	if mark.Text == "│ " {
		rest = mark
	}
	return style.Prefix(rows, mark, rest)
}

func italic(rows []style.Line) []style.Line {
	for i, l := range rows {
		rows[i] = l.With(style.Dim)
		for j := range rows[i] {
			rows[i][j].Style.Italic = true
		}
	}
	return rows
}

// Note draws a text with a mark, wrapped.
func (f Format) Note(role style.Role, mark, text string) []style.Line {
	rows := style.WrapText(role, text, f.Width-style.Width(mark))
	return style.Prefix(rows, style.S(role, mark), style.Span{Text: strings.Repeat(" ", style.Width(mark))})
}

func (f Format) user(b protocol.UserMessage) []style.Line {
	var rows []style.Line
	for _, in := range b.Input {
		if in.ImageURL != "" {
			rows = append(rows, style.L(style.Accent, "[image]"))
			continue
		}
		rows = append(rows, style.WrapText(style.User, in.Text, f.Width-2)...)
	}
	if !f.Whole {
		rows = shorten(rows, 30, 10)
	}
	return style.Prefix(rows, style.S(style.Accent, "› "), style.Span{Text: "  "})
}

// shorten keeps the first and the last rows and says how many are between.
func shorten(rows []style.Line, head, tail int) []style.Line {
	if len(rows) <= head+tail+1 {
		return rows
	}
	out := append([]style.Line{}, rows[:head]...)
	out = append(out, style.L(style.Dim, fmt.Sprintf("… %d more lines (ctrl+t shows all)", len(rows)-head-tail)))
	return append(out, rows[len(rows)-tail:]...)
}

func (f Format) command(it protocol.Item, b protocol.Command) []style.Line {
	verb := map[protocol.Status]string{protocol.InProgress: "Running", protocol.Completed: "Ran", protocol.Failed: "Ran",
		protocol.Declined: "Refused"}[it.Status]
	if b.User {
		verb = "You ran"
	}
	rows := f.commandHead(it, b, verb)
	body := f.output(b.Output, it.Status == protocol.InProgress)
	if len(body) == 0 && it.Status == protocol.Completed && b.Process == 0 {
		body = []style.Line{style.L(style.Dim, "(no output)")}
	}
	return append(rows, style.Prefix(body, style.S(style.Border, "  └ "), style.Span{Text: "    "})...)
}

// glance is how many bytes at each end of an output are looked at to show a few
// rows of it.
const glance = 4 << 10

// output draws what a command printed: all of it, or a few rows.
func (f Format) output(text string, running bool) []style.Line {
	text = strings.TrimRight(text, "\n")
	switch {
	case text == "":
		return nil
	case f.Whole:
		return style.WrapText(style.Dim, style.Output(text), f.Width-4)
	case running:
		above := 0
		if len(text) > glance {
			above = strings.Count(text[:len(text)-glance], "\n")
			text = strings.ToValidUTF8(text[len(text)-glance:], "")
		}
		body := style.WrapText(style.Dim, style.Output(text), f.Width-4)
		if len(body) <= outputRows {
			return body
		}
		above += len(body) - outputRows
		return append([]style.Line{style.L(style.Dim, fmt.Sprintf("… %d lines above", above))},
			body[len(body)-outputRows:]...)
	case len(text) <= 2*glance:
		return shorten(style.WrapText(style.Dim, style.Output(text), f.Width-4), outputRows/2, outputRows/2)
	}
	head := style.WrapText(style.Dim, style.Output(strings.ToValidUTF8(text[:glance], "")), f.Width-4)
	tail := style.WrapText(style.Dim, style.Output(strings.ToValidUTF8(text[len(text)-glance:], "")), f.Width-4)
	between := strings.Count(text[glance:len(text)-glance], "\n") + len(head) + len(tail) - outputRows
	more := style.L(style.Dim, fmt.Sprintf("… about %d more lines (ctrl+t shows all)", between))
	head = append(head[:min(len(head), outputRows/2)], more)
	return append(head, tail[max(0, len(tail)-outputRows/2):]...)
}

func (f Format) commandHead(it protocol.Item, b protocol.Command, verb string) []style.Line {
	text := strings.TrimSpace(b.Command)
	lines := style.WrapText(style.Code, text, f.Width-len(verb)-4)
	if !f.Whole && len(lines) > commandRows {
		lines = shorten(lines, commandRows-1, 0)
	}
	state := ""
	role := style.Dim
	switch {
	case b.Process > 0 && b.ExitCode == nil && it.Status != protocol.InProgress:
		state = fmt.Sprintf("  still running as #%d", b.Process)
	case b.ExitCode != nil && *b.ExitCode != 0:
		state, role = fmt.Sprintf("  exit %d", *b.ExitCode), style.Bad
	}
	if state != "" {
		if n := len(lines) - 1; lines[n].Width()+len(state) <= f.Width-len(verb)-4 {
			lines[n] = append(lines[n], style.S(role, state))
		} else {
			lines = append(lines, style.L(role, strings.TrimSpace(state)))
		}
	}
	rows := style.Prefix(lines, style.Bold(style.Plain, verb+" "), style.S(style.Border, "│ "))
	return style.Prefix(rows, style.S(bullet[it.Status], "• "), style.Span{Text: "  "})
}

// Path shortens a path below the working directory.
func (f Format) Path(p string) string {
	if f.Cwd == "" || !filepath.IsAbs(p) {
		return p
	}
	rel, err := filepath.Rel(f.Cwd, p)
	if err != nil || strings.HasPrefix(rel, "..") {
		return p
	}
	return rel
}

func (f Format) change(it protocol.Item, b protocol.FileChange) []style.Line {
	if it.Status == protocol.Failed || it.Status == protocol.Declined {
		rows := f.head(it.Status, map[protocol.Status]string{protocol.Failed: "Did not change",
			protocol.Declined: "Refused change of"}[it.Status], " "+f.Paths(b.Changes))
		if b.Error != "" {
			rows = append(rows, f.said(f.Note(style.Bad, "", b.Error), style.S(style.Border, "  └ "))...)
		}
		return rows
	}
	files := diffview.Parse(b.Diff)
	if len(files) == 0 {
		verb := "Changed"
		if it.Status == protocol.InProgress {
			verb = "Changing"
		}
		return f.head(it.Status, verb, " "+f.Paths(b.Changes))
	}
	verb := "Edited"
	name := fmt.Sprintf(" %d files ", len(files))
	if len(files) == 1 {
		verb = cmp.Or(map[string]string{"new": "Created", "deleted": "Deleted"}[files[0].Note], verb)
		name = " " + files[0].Title() + " "
	}
	l := style.Line{style.S(bullet[it.Status], "• "), style.Bold(style.Plain, verb), style.S(style.Plain, name)}
	rows := style.Wrap(append(l, diffview.Counts(diffview.Total(files))...), f.Width)
	if f.Whole {
		return append(rows, diffview.Whole(files, f.Width)...)
	}
	return append(rows, diffview.Summary(files, f.Width)...)
}

// Paths names changed paths; control files and changes of which nobody saw who made
// them are marked.
func (f Format) Paths(changes []protocol.PathChange) string {
	var names []string
	for _, c := range changes {
		name := f.Path(c.Path)
		if c.ControlFile {
			name += " (!)"
		}
		if c.Certainty == protocol.Unproven {
			name += " (unproven)"
		}
		names = append(names, name)
	}
	if len(names) > 3 && !f.Whole {
		names = append(names[:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

func (f Format) tool(it protocol.Item, b protocol.ToolCall) []style.Line {
	verb, rest := callText(b)
	rows := f.head(it.Status, verb, " "+f.cut(rest, 200))
	text, role := "", style.Dim
	switch {
	case b.Error != "":
		text, role = b.Error, style.Bad
	case f.Whole || b.Server != "":
		text = style.Output(b.Output)
	}
	if text == "" {
		return rows
	}
	body := style.WrapText(role, text, f.Width-4)
	if !f.Whole {
		body = shorten(body, outputRows/2, outputRows/2)
	}
	return append(rows, style.Prefix(body, style.S(style.Border, "  └ "), style.Span{Text: "    "})...)
}

// cut shortens a text, unless items are drawn whole.
func (f Format) cut(s string, n int) string {
	if f.Whole {
		return s
	}
	return visible.Clip(s, n)
}

// callText says what a tool call does: a verb and its object.
func callText(b protocol.ToolCall) (verb, rest string) {
	if b.Server != "" {
		return "Called", b.Server + "." + b.Tool + " " + string(b.Args)
	}
	var a map[string]any
	_ = json.Unmarshal(b.Args, &a)
	get := func(names ...string) string {
		for _, n := range names {
			if s, ok := a[n].(string); ok {
				return s
			}
		}
		return string(b.Args)
	}
	switch b.Tool {
	case "read_file", "read_code":
		rest = get("file_path", "filePath", "path")
		if o, ok := a["offset"].(float64); ok {
			rest += fmt.Sprintf(" from line %d", int(o))
		}
		return "Read", rest
	case "view_image":
		return "Looked at", get("path")
	case "grep":
		return "Searched", get("pattern")
	case "glob":
		return "Listed", get("pattern")
	case "list_dir":
		return "Listed", get("path")
	case "write_stdin":
		return "Typed into process", string(b.Args)
	case "undo":
		return "Undid", ""
	}
	return "Called", b.Tool + " " + string(b.Args)
}

func (f Format) todo(b protocol.TodoList) []style.Line {
	done := 0
	var steps []style.Line
	for _, s := range b.Steps {
		mark, role := "□ ", style.Plain
		switch s.Status {
		case "completed":
			mark, role = "✔ ", style.Dim
			done++
		case "in_progress":
			mark, role = "▸ ", style.Accent
		}
		rows := style.Wrap(style.L(role, style.OneLine(s.Step)), f.Width-6)
		steps = append(steps, style.Prefix(rows, style.S(role, mark), style.Span{Text: "  "})...)
	}
	rows := []style.Line{{style.S(style.Accent, "• "), style.Bold(style.Plain, "Plan"),
		style.S(style.Dim, fmt.Sprintf("  %d of %d done", done, len(b.Steps)))}}
	if b.Explanation != "" {
		rows = append(rows, f.said(style.WrapText(style.Dim, b.Explanation, f.Width-4), style.Span{Text: "  "})...)
	}
	return append(rows, style.Prefix(steps, style.S(style.Border, "  └ "), style.Span{Text: "    "})...)
}

func (f Format) subAgent(it protocol.Item, b protocol.SubAgent) []style.Line {
	verb := map[string]string{"spawn": "Started agent", "send": "Told agent", "wait": "Waited for agents",
		"resume": "Resumed agent", "close": "Closed agent"}[b.Operation]
	if verb == "" {
		verb = "Agent"
	}
	rows := f.head(it.Status, verb, " "+f.cut(b.Prompt, 160))
	for _, a := range b.Agents {
		l := style.Line{style.S(style.Border, "  └ "), style.S(style.Plain, AgentName(a)+" "),
			style.S(StateRole(a.State), a.State)}
		if a.Message != "" {
			l = append(l, style.S(style.Dim, "  "+style.OneLine(a.Message)))
		}
		rows = append(rows, l.Cut(f.Width))
	}
	if b.Error != "" {
		rows = append(rows, f.said(f.Note(style.Bad, "", b.Error), style.S(style.Border, "  └ "))...)
	}
	return rows
}

// AgentName is the name of an agent, or the start of its id.
func AgentName(a protocol.Agent) string {
	if a.Name != "" {
		return a.Name
	}
	return string(a.ID[:min(8, len(a.ID))])
}

// StateRole is the role of the state of an agent, a server or a check.
func StateRole(state string) style.Role {
	switch state {
	case "completed", "ready", "ok":
		return style.Good
	case "failed", "fail":
		return style.Bad
	case "waiting", "starting", "warn":
		return style.Warn
	}
	return style.Accent
}

func (f Format) compaction(b protocol.Compaction) []style.Line {
	rows := []style.Line{{style.S(style.Accent, "• "), style.Bold(style.Plain, "Compacted"),
		style.S(style.Dim, fmt.Sprintf("  %s → %s tokens", humanize.Tokens(b.Before), humanize.Tokens(b.After)))}}
	if f.Whole && b.Summary != "" {
		rows = append(rows, f.said(markdown.Render(b.Summary, f.Width-4), style.S(style.Border, "│ "))...)
	}
	return rows
}

func (f Format) review(b protocol.ReviewResult) []style.Line {
	rows := []style.Line{{style.S(style.Accent, "• "), style.Bold(style.Plain, "Review"),
		style.S(style.Dim, "  "+humanize.Count(len(b.Findings), "finding"))}}
	rows = append(rows, f.said(markdown.Render(b.Text, f.Width-2), style.Span{Text: "  "})...)
	for _, x := range b.Findings {
		place := f.Path(x.Path)
		if x.Start > 0 {
			place += fmt.Sprintf(":%d", x.Start)
		}
		role := style.Warn
		if x.Priority <= 1 {
			role = style.Bad
		}
		l := style.Line{style.S(role, fmt.Sprintf("  P%d ", x.Priority)), style.Bold(style.Plain, x.Title),
			style.S(style.Dim, "  "+place)}
		rows = append(rows, style.Wrap(l, f.Width)...)
		rows = append(rows, style.Indent(markdown.Render(x.Body, f.Width-5), 5)...)
	}
	return rows
}
