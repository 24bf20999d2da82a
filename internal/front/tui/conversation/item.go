package conversation

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/markdown"
	"kerf/internal/front/tui/style"
	"kerf/internal/front/tui/syntax"
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
	// Now is the time, Since when the item began: a command under way tells how long.
	Now, Since time.Time
	// Asked reports whether a call waits for the user's answer; nil when none does.
	Asked func(protocol.CallID) bool
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
	case protocol.AgentMessage, protocol.ProposedPlan:
		text, _ := Text(b)
		return f.marked(b, markdown.Rows(text, f.Width-2), true)
	case protocol.Reasoning:
		return f.reasoning(b.Text)
	case protocol.Command:
		return f.command(it, b)
	case protocol.FileChange:
		return f.change(it, b)
	case protocol.ToolCall:
		return f.tool(it, b)
	case protocol.TodoList:
		return f.Plan(b)
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

// marked gives rows of a text that streams their mark.
func (f Format) marked(b protocol.Body, rows []style.Line, first bool) []style.Line {
	if _, plan := b.(protocol.ProposedPlan); plan {
		edge := style.S(style.Border, "│ ")
		out := style.Prefix(rows, edge, edge)
		if first && len(rows) > 0 {
			head := style.Line{style.S(style.Accent, "• "), style.Bold(style.Heading, "Proposed plan")}
			out = append([]style.Line{head}, out...)
		}
		return out
	}
	mark, rest := style.S(style.Accent, "• "), style.Span{Text: "  "}
	if !first {
		mark = rest
	}
	return style.Prefix(rows, mark, rest)
}

// reasoning draws what the model thought in one row, or whole.
func (f Format) reasoning(text string) []style.Line {
	rows := italic(markdown.Rows(text, f.Width-2))
	if !f.Whole && len(rows) > 1 {
		first := append(rows[0][:len(rows[0]):len(rows[0])], style.S(style.Dim, " …"))
		rows = []style.Line{first.Cut(f.Width - 2)}
	}
	return f.said(rows, style.S(style.Dim, "· "))
}

// thinkingRows are the rows of what the model thinks at the moment.
const thinkingRows = 3

// thinking draws the end of what the model thinks at the moment.
func (f Format) thinking(text string) []style.Line {
	if len(text) > glance {
		text = strings.ToValidUTF8(text[len(text)-glance:], "")
	}
	rows := italic(markdown.Rows(text, f.Width-2))
	return f.said(rows[max(0, len(rows)-thinkingRows):], style.S(style.Dim, "· "))
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
	rows = style.Prefix(rows, style.S(style.User, "› "), style.S(style.User, "  "))
	for i, l := range rows {
		rows[i] = l.On(style.User).Pad(f.Width, style.As(style.User))
	}
	return rows
}

// shorten keeps the first and the last rows and says how many are between.
func shorten(rows []style.Line, head, tail int) []style.Line {
	if len(rows) <= head+tail+1 {
		return rows
	}
	out := append([]style.Line{}, rows[:head]...)
	out = append(out, style.L(style.Dim, fmt.Sprintf("… %d more rows (ctrl+o shows all)", len(rows)-head-tail)))
	return append(out, rows[len(rows)-tail:]...)
}

func (f Format) command(it protocol.Item, b protocol.Command) []style.Line {
	rows := f.commandHead(it, b)
	body := f.output(b.Output, b.Lines, it.Status == protocol.InProgress)
	if len(body) == 0 && it.Status == protocol.Completed && b.Process == 0 {
		body = []style.Line{style.L(style.Dim, "(no output)")}
	}
	return append(rows, style.Prefix(body, style.S(style.Border, "  └ "), style.Span{Text: "    "})...)
}

// glance is how many bytes at the end of a text under way are looked at.
const glance = 4 << 10

// output draws what a command printed: all of it, or a few of its lines, each in one row. Of the
// printed lines text may hold only a part.
func (f Format) output(text string, printed int, running bool) []style.Line {
	kept := strings.Count(text, "\n")
	text = strings.TrimRight(text, "\n")
	switch {
	case text == "":
		return nil
	case f.Whole:
		return style.WrapText(style.Dim, style.Output(text), f.Width-4)
	}
	line := func(s string) style.Line {
		return style.L(style.Dim, style.Output(s[:min(len(s), glance)])).Cut(f.Width - 4)
	}
	if running {
		above := 0
		if len(text) > glance {
			above = strings.Count(text[:len(text)-glance], "\n")
			text = strings.ToValidUTF8(text[len(text)-glance:], "")
		}
		lines := strings.Split(style.Output(text), "\n")
		var rows []style.Line
		if n := above + len(lines) - outputRows; n > 0 {
			rows = append(rows, style.L(style.Dim, fmt.Sprintf("… %s above", humanize.Count(n, "line"))))
		}
		for _, l := range lines[max(0, len(lines)-outputRows):] {
			rows = append(rows, line(l))
		}
		return rows
	}
	var rows []style.Line
	n := strings.Count(text, "\n") + 1
	hidden := n - outputRows
	if hidden == 1 {
		hidden = 0
	}
	more := humanize.Count(hidden, "more line") + " (ctrl+o shows all)"
	if printed > kept+1 {
		more = humanize.Count(printed-outputRows, "more line") + " (ctrl+o shows those that are kept)"
	}
	i := 0
	for l := range strings.SplitSeq(text, "\n") {
		if i == outputRows/2 && hidden > 0 {
			rows = append(rows, style.L(style.Dim, "… "+more))
		}
		if hidden <= 0 || i < outputRows/2 || i >= n-outputRows/2 {
			rows = append(rows, line(l))
		}
		i++
	}
	return rows
}

// commandVerb says what becomes of a command, and what else is known of that.
func (f Format) commandVerb(it protocol.Item, b protocol.Command) (verb string, state style.Span) {
	switch {
	case it.Status == protocol.InProgress && f.Asked != nil && f.Asked(b.Call):
		return "Asks to run", style.S(style.Warn, "waits for you")
	case it.Status == protocol.InProgress:
		if verb = "Running"; b.Check {
			verb = "Checking"
		}
		if f.Now.After(f.Since) && !f.Since.IsZero() {
			state = style.S(style.Dim, humanize.Duration(f.Now.Sub(f.Since)))
		}
		return verb, state
	case it.Status == protocol.Declined:
		return "Refused", state
	case b.NoSandbox:
		return "Did not run", state
	case b.Process > 0 && b.ExitCode == nil:
		return "Runs in background", style.S(style.Dim, fmt.Sprintf("#%d", b.Process))
	}
	switch {
	case b.Verdict != "" && it.Status == protocol.Completed:
		return "Checked", style.S(style.Dim, b.Verdict)
	case b.Verdict != "":
		return "Check failed", style.S(style.Bad, b.Verdict)
	case b.User:
		verb = "You ran"
	case b.Check:
		verb = "Checked"
	default:
		verb = "Ran"
	}
	if b.ExitCode != nil && *b.ExitCode != 0 {
		state = style.S(style.Bad, fmt.Sprintf("exit %d", *b.ExitCode))
	}
	return verb, state
}

func (f Format) commandHead(it protocol.Item, b protocol.Command) []style.Line {
	verb, state := f.commandVerb(it, b)
	width := f.Width - 4
	x := syntax.New("sh")
	var lines []style.Line
	for i, s := range strings.Split(strings.TrimSpace(b.Command), "\n") {
		first := width
		if i == 0 {
			first -= style.Width(verb) + 3
		}
		lines = append(lines, style.Wrap(x.Line(s), max(first, 8))...)
	}
	if !f.Whole && len(lines) > commandRows {
		lines = shorten(lines, commandRows-1, 0)
	}
	if n := len(lines) - 1; state.Text != "" {
		if lines[n].Width()+style.Width(state.Text)+2 <= width-style.Width(verb)-3 {
			lines[n] = append(lines[n][:len(lines[n]):len(lines[n])], style.S(style.Plain, "  "), state)
		} else {
			lines = append(lines, style.Line{state})
		}
	}
	role := bullet[it.Status]
	if it.Status == protocol.InProgress && state.Style.Role == style.Warn {
		role = style.Warn
	}
	lines[0] = append(style.Line{style.S(role, "• "), style.Bold(style.Plain, verb), style.S(style.Dim, " $ ")}, lines[0]...)
	return append(lines[:1:1], style.Prefix(lines[1:], style.S(style.Border, "  │ "), style.S(style.Border, "  │ "))...)
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
			rows = append(rows, f.below(f.Note(style.Bad, "", reason(b.Error)))...)
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
	verb, by := "Edited", ""
	if foreign(b.Changes) {
		by = "outside Kerf "
	}
	name := fmt.Sprintf(" %d files ", len(files))
	if len(files) == 1 {
		verb = cmp.Or(map[string]string{"new": "Created", "deleted": "Deleted"}[files[0].Note], verb)
		name = " " + files[0].Title() + " "
	}
	l := style.Line{style.S(bullet[it.Status], "• "), style.Bold(style.Plain, verb), style.S(style.Plain, name),
		style.S(style.Warn, by)}
	rows := style.Wrap(append(l, diffview.Counts(diffview.Total(files))...), f.Width)
	if f.Whole {
		return append(rows, diffview.Whole(files, f.Width)...)
	}
	return append(rows, diffview.Summary(files, f.Width)...)
}

// foreign reports whether neither tools nor commands made the changes.
func foreign(changes []protocol.PathChange) bool {
	return len(changes) > 0 && !slices.ContainsFunc(changes,
		func(c protocol.PathChange) bool { return c.Certainty != protocol.Outside })
}

// below puts rows under the head of an item.
func (f Format) below(rows []style.Line) []style.Line {
	return style.Prefix(rows, style.S(style.Border, "  └ "), style.Span{Text: "    "})
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
		switch c.Certainty {
		case protocol.Unproven:
			name += " (unproven)"
		case protocol.Outside:
			name += " (outside)"
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
	switch {
	case it.Status == protocol.Declined:
		verb = "Refused: " + strings.ToLower(verb)
	case it.Status == protocol.Failed:
		verb = cmp.Or(couldNot[verb], verb)
	case it.Status == protocol.InProgress && f.Asked != nil && f.Asked(b.Call):
		verb = "Asks: " + strings.ToLower(verb)
	}
	rows := f.head(it.Status, verb, " "+f.cut(rest, 200))
	text, role := "", style.Dim
	switch {
	case b.Error != "":
		text, role = reason(b.Error), style.Bad
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
	return append(rows, f.below(body)...)
}

// cut shortens a text, unless items are drawn whole.
func (f Format) cut(s string, n int) string {
	if f.Whole {
		return s
	}
	return visible.Clip(s, n)
}

// Plan draws the steps of a plan, and how many are done.
func (f Format) Plan(b protocol.TodoList) []style.Line {
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
		rows = append(rows, f.below(f.Note(style.Bad, "", reason(b.Error)))...)
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
