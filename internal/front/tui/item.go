package tui

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/markdown"
	"kerf/internal/protocol"
)

// drawing is what items are drawn for.
type drawing struct {
	width int
	cwd   string
	// whole draws all of an item; otherwise long ones are shortened.
	whole bool
}

const (
	outputRows  = 6  // rows of a command's output that are shown
	diffLimit   = 40 // rows of a file's diff that are shown
	fileLimit   = 8  // files of a change whose diff is shown
	commandRows = 4
)

var bullet = map[protocol.Status]ink.Role{protocol.InProgress: ink.Accent, protocol.Completed: ink.Good,
	protocol.Failed: ink.Bad, protocol.Declined: ink.Warn}

// item draws a whole item.
func (d drawing) item(it protocol.Item) []ink.Line {
	switch b := it.Body.(type) {
	case protocol.UserMessage:
		return d.user(b)
	case protocol.AgentMessage:
		return d.said(markdown.Render(b.Text, d.width-2), ink.S(ink.Accent, "• "))
	case protocol.Reasoning:
		return d.said(italic(markdown.Render(b.Text, d.width-2)), ink.S(ink.Dim, "· "))
	case protocol.ProposedPlan:
		return append([]ink.Line{{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Heading), "Proposed plan")}},
			d.said(markdown.Render(b.Text, d.width-2), ink.S(ink.Border, "│ "))...)
	case protocol.Command:
		return d.command(it, b)
	case protocol.FileChange:
		return d.change(it, b)
	case protocol.ToolCall:
		return d.tool(it, b)
	case protocol.TodoList:
		return d.todo(b)
	case protocol.SubAgent:
		return d.subAgent(it, b)
	case protocol.WebSearch:
		return d.head(it.Status, "Searched the web", " "+b.Query)
	case protocol.Compaction:
		return d.compaction(b)
	case protocol.ReviewResult:
		return d.review(b)
	case protocol.Problem:
		return d.note(ink.Warn, "! ", b.Message)
	}
	return nil
}

// head is the first row of an item: a mark, what was done, and to what.
func (d drawing) head(st protocol.Status, verb, rest string) []ink.Line {
	l := ink.Line{ink.S(bullet[st], "• "), ink.Styled(ink.Strong(ink.Plain), verb)}
	if rest = oneLine(rest); rest != "" {
		l = append(l, ink.S(ink.Plain, " "+rest))
	}
	return ink.Prefix(ink.Wrap(l, d.width-2), ink.Span{}, ink.Span{Text: "  "})
}

func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", " ⏎ ") }

// said indents rows below a mark.
func (d drawing) said(rows []ink.Line, mark ink.Span) []ink.Line {
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

// note draws a text with a mark, wrapped.
func (d drawing) note(role ink.Role, mark, text string) []ink.Line {
	rows := ink.WrapText(role, text, d.width-ink.Width(mark))
	return ink.Prefix(rows, ink.S(role, mark), ink.Span{Text: strings.Repeat(" ", ink.Width(mark))})
}

func (d drawing) user(b protocol.UserMessage) []ink.Line {
	var rows []ink.Line
	for _, in := range b.Input {
		if in.ImageURL != "" {
			rows = append(rows, ink.L(ink.Accent, "[image]"))
			continue
		}
		rows = append(rows, ink.WrapText(ink.User, in.Text, d.width-2)...)
	}
	if !d.whole {
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

func (d drawing) command(it protocol.Item, b protocol.Command) []ink.Line {
	verb := map[protocol.Status]string{protocol.InProgress: "Running", protocol.Completed: "Ran", protocol.Failed: "Ran", protocol.Declined: "Refused"}[it.Status]
	if b.User {
		verb = "You ran"
	}
	rows := d.commandHead(it, b, verb)
	body := d.output(b.Output, it.Status == protocol.InProgress)
	if len(body) == 0 && it.Status == protocol.Completed && b.Process == 0 {
		body = []ink.Line{ink.L(ink.Dim, "(no output)")}
	}
	return append(rows, ink.Prefix(body, ink.S(ink.Border, "  └ "), ink.Span{Text: "    "})...)
}

// glance is how many bytes at each end of an output are looked at to show a few
// rows of it.
const glance = 4 << 10

// output draws what a command printed: all of it, or a few rows.
func (d drawing) output(text string, running bool) []ink.Line {
	text = strings.TrimRight(text, "\n")
	switch {
	case text == "":
		return nil
	case d.whole:
		return ink.WrapText(ink.Dim, ink.Output(text), d.width-4)
	case running:
		above := 0
		if len(text) > glance {
			above = strings.Count(text[:len(text)-glance], "\n")
			text = strings.ToValidUTF8(text[len(text)-glance:], "")
		}
		body := ink.WrapText(ink.Dim, ink.Output(text), d.width-4)
		if len(body) <= outputRows {
			return body
		}
		above += len(body) - outputRows
		return append([]ink.Line{ink.L(ink.Dim, fmt.Sprintf("… %d lines above", above))}, body[len(body)-outputRows:]...)
	case len(text) <= 2*glance:
		return shorten(ink.WrapText(ink.Dim, ink.Output(text), d.width-4), outputRows/2, outputRows/2)
	}
	head := ink.WrapText(ink.Dim, ink.Output(strings.ToValidUTF8(text[:glance], "")), d.width-4)
	tail := ink.WrapText(ink.Dim, ink.Output(strings.ToValidUTF8(text[len(text)-glance:], "")), d.width-4)
	between := strings.Count(text[glance:len(text)-glance], "\n") + len(head) + len(tail) - outputRows
	head = append(head[:min(len(head), outputRows/2)], ink.L(ink.Dim, fmt.Sprintf("… about %d more lines (ctrl+t shows all)", between)))
	return append(head, tail[max(0, len(tail)-outputRows/2):]...)
}

func (d drawing) commandHead(it protocol.Item, b protocol.Command, verb string) []ink.Line {
	text := strings.TrimSpace(b.Command)
	lines := ink.WrapText(ink.Code, text, d.width-len(verb)-4)
	if !d.whole && len(lines) > commandRows {
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
		if n := len(lines) - 1; lines[n].Width()+len(state) <= d.width-len(verb)-4 {
			lines[n] = append(lines[n], ink.S(role, state))
		} else {
			lines = append(lines, ink.L(role, strings.TrimSpace(state)))
		}
	}
	rows := ink.Prefix(lines, ink.Styled(ink.Strong(ink.Plain), verb+" "), ink.S(ink.Border, "│ "))
	return ink.Prefix(rows, ink.S(bullet[it.Status], "• "), ink.Span{Text: "  "})
}

// path shortens a path below the working directory.
func (d drawing) path(p string) string {
	if rel, err := filepath.Rel(d.cwd, p); err == nil && d.cwd != "" && filepath.IsAbs(p) && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return p
}

func (d drawing) change(it protocol.Item, b protocol.FileChange) []ink.Line {
	if it.Status == protocol.Failed || it.Status == protocol.Declined {
		rows := d.head(it.Status, map[protocol.Status]string{protocol.Failed: "Did not change", protocol.Declined: "Refused change of"}[it.Status], " "+d.paths(b.Changes))
		if b.Error != "" {
			rows = append(rows, d.said(d.note(ink.Bad, "", b.Error), ink.S(ink.Border, "  └ "))...)
		}
		return rows
	}
	files := parseDiff(b.Diff)
	if len(files) == 0 {
		verb := "Changed"
		if it.Status == protocol.InProgress {
			verb = "Changing"
		}
		return d.head(it.Status, verb, " "+d.paths(b.Changes))
	}
	added, removed := 0, 0
	for _, f := range files {
		added, removed = added+f.added, removed+f.removed
	}
	verb := "Edited"
	if len(files) == 1 {
		verb = map[string]string{"new": "Created", "deleted": "Deleted"}[files[0].note]
		if verb == "" {
			verb = "Edited"
		}
	}
	name := fmt.Sprintf(" %d files ", len(files))
	if len(files) == 1 {
		name = " " + files[0].title() + " "
	}
	l := ink.Line{ink.S(bullet[it.Status], "• "), ink.Styled(ink.Strong(ink.Plain), verb), ink.S(ink.Plain, name)}
	rows := ink.Wrap(append(l, counts(added, removed)...), d.width)
	return append(rows, d.hunks(files)...)
}

func (d drawing) hunks(files []diffFile) []ink.Line {
	var rows []ink.Line
	for i, f := range files {
		limit := diffLimit
		if d.whole {
			limit = 0
		} else if i >= fileLimit {
			return append(rows, ink.L(ink.Dim, fmt.Sprintf("  … %d more files (/diff shows all)", len(files)-i)))
		}
		if len(files) > 1 {
			l := ink.Line{ink.S(ink.Border, "  └ "), ink.S(ink.Plain, f.title()+" ")}
			rows = append(rows, ink.Wrap(append(l, counts(f.added, f.removed)...), d.width)...)
		}
		rows = append(rows, ink.Prefix(diffRows(f, d.width-4, limit), ink.Span{Text: "    "}, ink.Span{Text: "    "})...)
	}
	return rows
}

// title is a file's name, and what happened to it beside its lines.
func (f diffFile) title() string {
	name := f.name
	if f.note != "" && f.note != "new" && f.note != "deleted" {
		name += " (" + f.note + ")"
	}
	return name
}

func (d drawing) paths(changes []protocol.PathChange) string {
	var names []string
	for _, c := range changes {
		name := d.path(c.Path)
		if c.Steers {
			name += " (!)"
		}
		names = append(names, name)
	}
	if len(names) > 3 && !d.whole {
		names = append(names[:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

func (d drawing) tool(it protocol.Item, b protocol.ToolCall) []ink.Line {
	verb, rest := deed(b)
	rows := d.head(it.Status, verb, " "+d.cut(rest, 200))
	text, role := "", ink.Dim
	switch {
	case b.Error != "":
		text, role = b.Error, ink.Bad
	case d.whole || b.Server != "":
		text = ink.Output(b.Output)
	}
	if text == "" {
		return rows
	}
	body := ink.WrapText(role, text, d.width-4)
	if !d.whole {
		body = shorten(body, outputRows/2, outputRows/2)
	}
	return append(rows, ink.Prefix(body, ink.S(ink.Border, "  └ "), ink.Span{Text: "    "})...)
}

func (d drawing) cut(s string, n int) string {
	if d.whole || len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// deed words a tool call.
func deed(b protocol.ToolCall) (verb, rest string) {
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

func (d drawing) todo(b protocol.TodoList) []ink.Line {
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
		rows := ink.Wrap(ink.L(role, oneLine(s.Step)), d.width-6)
		steps = append(steps, ink.Prefix(rows, ink.S(role, mark), ink.Span{Text: "  "})...)
	}
	rows := []ink.Line{{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Plain), "Plan"), ink.S(ink.Dim, fmt.Sprintf("  %d of %d done", done, len(b.Steps)))}}
	if b.Explanation != "" {
		rows = append(rows, d.said(ink.WrapText(ink.Dim, b.Explanation, d.width-4), ink.Span{Text: "  "})...)
	}
	return append(rows, ink.Prefix(steps, ink.S(ink.Border, "  └ "), ink.Span{Text: "    "})...)
}

func (d drawing) subAgent(it protocol.Item, b protocol.SubAgent) []ink.Line {
	verb := map[string]string{"spawn": "Started agent", "send": "Told agent", "wait": "Waited for agents", "resume": "Resumed agent", "close": "Closed agent"}[b.Deed]
	if verb == "" {
		verb = "Agent"
	}
	rows := d.head(it.Status, verb, " "+d.cut(b.Prompt, 160))
	for _, a := range b.Agents {
		l := ink.Line{ink.S(ink.Border, "  └ "), ink.S(ink.Plain, agentName(a)+" "), ink.S(stateRole(a.State), a.State)}
		if a.Message != "" {
			l = append(l, ink.S(ink.Dim, "  "+oneLine(a.Message)))
		}
		rows = append(rows, l.Cut(d.width))
	}
	if b.Error != "" {
		rows = append(rows, d.said(d.note(ink.Bad, "", b.Error), ink.S(ink.Border, "  └ "))...)
	}
	return rows
}

func agentName(a protocol.Agent) string {
	if a.Name != "" {
		return a.Name
	}
	return string(a.ID[:min(8, len(a.ID))])
}

func stateRole(state string) ink.Role {
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

func (d drawing) compaction(b protocol.Compaction) []ink.Line {
	rows := []ink.Line{{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Plain), "Compacted"),
		ink.S(ink.Dim, fmt.Sprintf("  %s → %s tokens", tokensText(b.Before), tokensText(b.After)))}}
	if d.whole && b.Summary != "" {
		rows = append(rows, d.said(markdown.Render(b.Summary, d.width-4), ink.S(ink.Border, "│ "))...)
	}
	return rows
}

func (d drawing) review(b protocol.ReviewResult) []ink.Line {
	rows := []ink.Line{{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Plain), "Review"),
		ink.S(ink.Dim, "  "+plural(len(b.Findings), "finding"))}}
	rows = append(rows, d.said(markdown.Render(b.Text, d.width-2), ink.Span{Text: "  "})...)
	for _, f := range b.Findings {
		place := d.path(f.Path)
		if f.Start > 0 {
			place += fmt.Sprintf(":%d", f.Start)
		}
		role := ink.Warn
		if f.Priority <= 1 {
			role = ink.Bad
		}
		l := ink.Line{ink.S(role, fmt.Sprintf("  P%d ", f.Priority)), ink.Styled(ink.Strong(ink.Plain), f.Title), ink.S(ink.Dim, "  "+place)}
		rows = append(rows, ink.Wrap(l, d.width)...)
		rows = append(rows, ink.Prefix(markdown.Render(f.Body, d.width-5), ink.Span{Text: "     "}, ink.Span{Text: "     "})...)
	}
	return rows
}

// tokensText writes a count of tokens shortly.
func tokensText(n int) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprint(n)
}

// elapsed writes a duration shortly.
func elapsed(t time.Duration) string {
	t = t.Round(time.Second)
	switch {
	case t >= time.Hour:
		return fmt.Sprintf("%dh %02dm", int(t.Hours()), int(t.Minutes())%60)
	case t >= time.Minute:
		return fmt.Sprintf("%dm %02ds", int(t.Minutes()), int(t.Seconds())%60)
	}
	return fmt.Sprintf("%ds", int(t.Seconds()))
}
