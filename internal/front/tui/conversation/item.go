package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/markdown"
	"kerf/internal/protocol"
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

var bullet = map[protocol.Status]ink.Role{protocol.InProgress: ink.Accent, protocol.Completed: ink.Good,
	protocol.Failed: ink.Bad, protocol.Declined: ink.Warn}

// Item draws an item.
func (f Format) Item(it protocol.Item) []ink.Line {
	switch b := it.Body.(type) {
	case protocol.UserMessage:
		return f.user(b)
	case protocol.AgentMessage:
		return f.said(markdown.Render(b.Text, f.Width-2), ink.S(ink.Accent, "• "))
	case protocol.Reasoning:
		return f.said(italic(markdown.Render(b.Text, f.Width-2)), ink.S(ink.Dim, "· "))
	case protocol.ProposedPlan:
		return append([]ink.Line{{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Heading), "Proposed plan")}},
			f.said(markdown.Render(b.Text, f.Width-2), ink.S(ink.Border, "│ "))...)
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
	case protocol.Problem:
		return f.Note(ink.Warn, "! ", b.Message)
	}
	return nil
}

// head is the first row of an item: a mark, what was done, and to what.
func (f Format) head(st protocol.Status, verb, rest string) []ink.Line {
	l := ink.Line{ink.S(bullet[st], "• "), ink.Styled(ink.Strong(ink.Plain), verb)}
	if rest = ink.OneLine(rest); rest != "" {
		l = append(l, ink.S(ink.Plain, " "+rest))
	}
	return ink.Prefix(ink.Wrap(l, f.Width-2), ink.Span{}, ink.Span{Text: "  "})
}

// said indents rows below a mark.
func (f Format) said(rows []ink.Line, mark ink.Span) []ink.Line {
	rest := ink.Span{Text: "  "}
	if mark.Text == "│ " {
		rest = mark
	}
	return ink.Prefix(rows, mark, rest)
}

func italic(rows []ink.Line) []ink.Line {
	for i, l := range rows {
		rows[i] = l.With(ink.Dim)
		for j := range rows[i] {
			rows[i][j].Style.Italic = true
		}
	}
	return rows
}

// Note draws a text with a mark, wrapped.
func (f Format) Note(role ink.Role, mark, text string) []ink.Line {
	rows := ink.WrapText(role, text, f.Width-ink.Width(mark))
	return ink.Prefix(rows, ink.S(role, mark), ink.Span{Text: strings.Repeat(" ", ink.Width(mark))})
}

func (f Format) user(b protocol.UserMessage) []ink.Line {
	var rows []ink.Line
	for _, in := range b.Input {
		if in.ImageURL != "" {
			rows = append(rows, ink.L(ink.Accent, "[image]"))
			continue
		}
		rows = append(rows, ink.WrapText(ink.User, in.Text, f.Width-2)...)
	}
	if !f.Whole {
		rows = shorten(rows, 30, 10)
	}
	return ink.Prefix(rows, ink.S(ink.Accent, "› "), ink.Span{Text: "  "})
}

// shorten keeps the first and the last rows and says how many are between.
func shorten(rows []ink.Line, head, tail int) []ink.Line {
	if len(rows) <= head+tail+1 {
		return rows
	}
	out := append([]ink.Line{}, rows[:head]...)
	out = append(out, ink.L(ink.Dim, fmt.Sprintf("… %d more lines (ctrl+t shows all)", len(rows)-head-tail)))
	return append(out, rows[len(rows)-tail:]...)
}

func (f Format) command(it protocol.Item, b protocol.Command) []ink.Line {
	verb := map[protocol.Status]string{protocol.InProgress: "Running", protocol.Completed: "Ran", protocol.Failed: "Ran", protocol.Declined: "Refused"}[it.Status]
	if b.User {
		verb = "You ran"
	}
	rows := f.commandHead(it, b, verb)
	body := f.output(b.Output, it.Status == protocol.InProgress)
	if len(body) == 0 && it.Status == protocol.Completed && b.Process == 0 {
		body = []ink.Line{ink.L(ink.Dim, "(no output)")}
	}
	return append(rows, ink.Prefix(body, ink.S(ink.Border, "  └ "), ink.Span{Text: "    "})...)
}

// glance is how many bytes at each end of an output are looked at to show a few
// rows of it.
const glance = 4 << 10

// output draws what a command printed: all of it, or a few rows.
func (f Format) output(text string, running bool) []ink.Line {
	text = strings.TrimRight(text, "\n")
	switch {
	case text == "":
		return nil
	case f.Whole:
		return ink.WrapText(ink.Dim, ink.Output(text), f.Width-4)
	case running:
		above := 0
		if len(text) > glance {
			above = strings.Count(text[:len(text)-glance], "\n")
			text = strings.ToValidUTF8(text[len(text)-glance:], "")
		}
		body := ink.WrapText(ink.Dim, ink.Output(text), f.Width-4)
		if len(body) <= outputRows {
			return body
		}
		above += len(body) - outputRows
		return append([]ink.Line{ink.L(ink.Dim, fmt.Sprintf("… %d lines above", above))}, body[len(body)-outputRows:]...)
	case len(text) <= 2*glance:
		return shorten(ink.WrapText(ink.Dim, ink.Output(text), f.Width-4), outputRows/2, outputRows/2)
	}
	head := ink.WrapText(ink.Dim, ink.Output(strings.ToValidUTF8(text[:glance], "")), f.Width-4)
	tail := ink.WrapText(ink.Dim, ink.Output(strings.ToValidUTF8(text[len(text)-glance:], "")), f.Width-4)
	between := strings.Count(text[glance:len(text)-glance], "\n") + len(head) + len(tail) - outputRows
	head = append(head[:min(len(head), outputRows/2)], ink.L(ink.Dim, fmt.Sprintf("… about %d more lines (ctrl+t shows all)", between)))
	return append(head, tail[max(0, len(tail)-outputRows/2):]...)
}

func (f Format) commandHead(it protocol.Item, b protocol.Command, verb string) []ink.Line {
	text := strings.TrimSpace(b.Command)
	lines := ink.WrapText(ink.Code, text, f.Width-len(verb)-4)
	if !f.Whole && len(lines) > commandRows {
		lines = shorten(lines, commandRows-1, 0)
	}
	state := ""
	role := ink.Dim
	switch {
	case b.Process > 0 && b.ExitCode == nil && it.Status != protocol.InProgress:
		state = fmt.Sprintf("  still running as #%d", b.Process)
	case b.ExitCode != nil && *b.ExitCode != 0:
		state, role = fmt.Sprintf("  exit %d", *b.ExitCode), ink.Bad
	}
	if state != "" {
		if n := len(lines) - 1; lines[n].Width()+len(state) <= f.Width-len(verb)-4 {
			lines[n] = append(lines[n], ink.S(role, state))
		} else {
			lines = append(lines, ink.L(role, strings.TrimSpace(state)))
		}
	}
	rows := ink.Prefix(lines, ink.Styled(ink.Strong(ink.Plain), verb+" "), ink.S(ink.Border, "│ "))
	return ink.Prefix(rows, ink.S(bullet[it.Status], "• "), ink.Span{Text: "  "})
}

// Path shortens a path below the working directory.
func (f Format) Path(p string) string {
	if rel, err := filepath.Rel(f.Cwd, p); err == nil && f.Cwd != "" && filepath.IsAbs(p) && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return p
}

func (f Format) change(it protocol.Item, b protocol.FileChange) []ink.Line {
	if it.Status == protocol.Failed || it.Status == protocol.Declined {
		rows := f.head(it.Status, map[protocol.Status]string{protocol.Failed: "Did not change", protocol.Declined: "Refused change of"}[it.Status], " "+f.Paths(b.Changes))
		if b.Error != "" {
			rows = append(rows, f.said(f.Note(ink.Bad, "", b.Error), ink.S(ink.Border, "  └ "))...)
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
	l := ink.Line{ink.S(bullet[it.Status], "• "), ink.Styled(ink.Strong(ink.Plain), verb), ink.S(ink.Plain, name)}
	rows := ink.Wrap(append(l, diffview.Counts(diffview.Total(files))...), f.Width)
	if f.Whole {
		return append(rows, diffview.Whole(files, f.Width)...)
	}
	return append(rows, diffview.Summary(files, f.Width)...)
}

// Paths names changed paths; a control file is marked.
func (f Format) Paths(changes []protocol.PathChange) string {
	var names []string
	for _, c := range changes {
		name := f.Path(c.Path)
		if c.Steers {
			name += " (!)"
		}
		names = append(names, name)
	}
	if len(names) > 3 && !f.Whole {
		names = append(names[:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

func (f Format) tool(it protocol.Item, b protocol.ToolCall) []ink.Line {
	verb, rest := callText(b)
	rows := f.head(it.Status, verb, " "+f.cut(rest, 200))
	text, role := "", ink.Dim
	switch {
	case b.Error != "":
		text, role = b.Error, ink.Bad
	case f.Whole || b.Server != "":
		text = ink.Output(b.Output)
	}
	if text == "" {
		return rows
	}
	body := ink.WrapText(role, text, f.Width-4)
	if !f.Whole {
		body = shorten(body, outputRows/2, outputRows/2)
	}
	return append(rows, ink.Prefix(body, ink.S(ink.Border, "  └ "), ink.Span{Text: "    "})...)
}

func (f Format) cut(s string, n int) string {
	if f.Whole || len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
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

func (f Format) todo(b protocol.TodoList) []ink.Line {
	done := 0
	var steps []ink.Line
	for _, s := range b.Steps {
		mark, role := "□ ", ink.Plain
		switch s.Status {
		case "completed":
			mark, role = "✔ ", ink.Dim
			done++
		case "in_progress":
			mark, role = "▸ ", ink.Accent
		}
		rows := ink.Wrap(ink.L(role, ink.OneLine(s.Step)), f.Width-6)
		steps = append(steps, ink.Prefix(rows, ink.S(role, mark), ink.Span{Text: "  "})...)
	}
	rows := []ink.Line{{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Plain), "Plan"), ink.S(ink.Dim, fmt.Sprintf("  %d of %d done", done, len(b.Steps)))}}
	if b.Explanation != "" {
		rows = append(rows, f.said(ink.WrapText(ink.Dim, b.Explanation, f.Width-4), ink.Span{Text: "  "})...)
	}
	return append(rows, ink.Prefix(steps, ink.S(ink.Border, "  └ "), ink.Span{Text: "    "})...)
}

func (f Format) subAgent(it protocol.Item, b protocol.SubAgent) []ink.Line {
	verb := map[string]string{"spawn": "Started agent", "send": "Told agent", "wait": "Waited for agents", "resume": "Resumed agent", "close": "Closed agent"}[b.Deed]
	if verb == "" {
		verb = "Agent"
	}
	rows := f.head(it.Status, verb, " "+f.cut(b.Prompt, 160))
	for _, a := range b.Agents {
		l := ink.Line{ink.S(ink.Border, "  └ "), ink.S(ink.Plain, AgentName(a)+" "), ink.S(StateRole(a.State), a.State)}
		if a.Message != "" {
			l = append(l, ink.S(ink.Dim, "  "+ink.OneLine(a.Message)))
		}
		rows = append(rows, l.Cut(f.Width))
	}
	if b.Error != "" {
		rows = append(rows, f.said(f.Note(ink.Bad, "", b.Error), ink.S(ink.Border, "  └ "))...)
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
func StateRole(state string) ink.Role {
	switch state {
	case "completed", "ready", "ok":
		return ink.Good
	case "failed", "fail":
		return ink.Bad
	case "waiting", "starting", "warn":
		return ink.Warn
	}
	return ink.Accent
}

func (f Format) compaction(b protocol.Compaction) []ink.Line {
	rows := []ink.Line{{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Plain), "Compacted"),
		ink.S(ink.Dim, fmt.Sprintf("  %s → %s tokens", humanize.Tokens(b.Before), humanize.Tokens(b.After)))}}
	if f.Whole && b.Summary != "" {
		rows = append(rows, f.said(markdown.Render(b.Summary, f.Width-4), ink.S(ink.Border, "│ "))...)
	}
	return rows
}

func (f Format) review(b protocol.ReviewResult) []ink.Line {
	rows := []ink.Line{{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Plain), "Review"),
		ink.S(ink.Dim, "  "+humanize.Count(len(b.Findings), "finding"))}}
	rows = append(rows, f.said(markdown.Render(b.Text, f.Width-2), ink.Span{Text: "  "})...)
	for _, x := range b.Findings {
		place := f.Path(x.Path)
		if x.Start > 0 {
			place += fmt.Sprintf(":%d", x.Start)
		}
		role := ink.Warn
		if x.Priority <= 1 {
			role = ink.Bad
		}
		l := ink.Line{ink.S(role, fmt.Sprintf("  P%d ", x.Priority)), ink.Styled(ink.Strong(ink.Plain), x.Title), ink.S(ink.Dim, "  "+place)}
		rows = append(rows, ink.Wrap(l, f.Width)...)
		rows = append(rows, ink.Prefix(markdown.Render(x.Body, f.Width-5), ink.Span{Text: "     "}, ink.Span{Text: "     "})...)
	}
	return rows
}
