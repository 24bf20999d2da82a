// Package approval is a question of a session that waits for the user: what is asked,
// whole, and the ways to answer it.
package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// Actions are what a question has others do.
type Actions struct {
	// Reply takes the question away and sends the answer.
	Reply func(*Question, protocol.Answer) tea.Cmd
	// Open shows a panel above the question.
	Open func(panels.Panel)
	// Edit has the user edit a text in the editor and hands it to then.
	Edit   func(name, text string, then func(string) tea.Cmd) tea.Cmd
	Notice func(role style.Role, text string)
	// Path shortens a path.
	Path func(string) string
	Now  func() time.Time
	// Waiting is how many questions there are.
	Waiting func() int
}

// Question is an approval that waits. What is asked is shown whole: it can be allowed
// only once its last row has been on the screen.
type Question struct {
	Approval protocol.Approval
	from     string // the sub-agent that asks, if any
	do       Actions

	shown time.Time // when it came up, zero before
	calm  bool      // it was up long enough
	rows  []style.Line
	width int
	top   int
	room  int
	seen  bool
	small bool // the screen is too small to judge anything
	at    int
	armed string // the key of an answer that waits for enter
}

// New returns a question of a session, or of the sub-agent that from names.
func New(a protocol.Approval, from string, do Actions) *Question {
	q := &Question{Approval: a, from: from, do: do}
	if !undoable(a) {
		for i, o := range q.options() {
			if o.key == "n" {
				q.at = i
			}
		}
	}
	return q
}

// undoable reports whether what is asked can be taken back for certain: changes of files
// that Kerf makes itself, and answers that change nothing.
func undoable(a protocol.Approval) bool {
	return a.Question != nil || a.Change != nil && !a.Change.Unseen
}

const (
	// A screen smaller than this cannot show a question.
	LeastWidth, LeastHeight = 12, 6
)

// option is one of the ways to answer: a decision, or something to do.
type option struct {
	key, label string
	decision   protocol.Decision
	act        func(*Question) (tea.Cmd, bool)
}

// Headline says in a few words what is asked.
func Headline(a protocol.Approval) string {
	switch {
	case a.Command != nil && a.Command.Unsandboxed:
		return "Run this command outside the sandbox?"
	case a.Command != nil:
		return "Run this command?"
	case a.Change != nil && a.Change.Unseen:
		return "Take these changes back, too?"
	case a.Change != nil:
		return "Make this change?"
	case a.Tool != nil:
		return "Call this tool?"
	case a.Network != nil:
		return "Allow this connection?"
	case a.Question != nil:
		return "A question"
	}
	return "Allow this?"
}

// settled reports whether keys count by now.
func (q *Question) settled(k panels.Key) bool {
	q.calm = q.calm || !q.shown.IsZero() && k.At.Sub(q.shown) >= panels.Settle && k.At.Sub(k.Last) >= panels.Settle
	return q.calm
}

// Asks reports that typing must not answer it.
func (q *Question) Asks() bool { return true }

// Takes reports whether a key that types something is for the question. What is not
// belongs to a message.
func (q *Question) Takes(k panels.Key) bool {
	if k.Name == "space" {
		return true // scrolls
	}
	if !q.settled(k) || q.armed != "" {
		return false
	}
	return k.Name == "d" && q.Approval.Change != nil || slices.ContainsFunc(q.options(), func(o option) bool {
		return o.key == k.Name
	})
}

// Typing says that the user writes a message: the question waits for a second without
// keys again. It returns the key of the answer that was waiting for enter, if one was: it
// was the beginning of a word.
func (q *Question) Typing() string {
	first := q.armed
	q.calm, q.armed = false, ""
	return first
}

// Key scrolls, or answers.
func (q *Question) Key(k panels.Key) (tea.Cmd, bool) {
	name := k.Name
	switch name {
	case "up":
		q.top--
		return nil, true
	case "down":
		q.top++
		return nil, true
	case "pgup":
		q.top -= max(q.room-1, 1)
		return nil, true
	case "pgdown", "space":
		q.top += max(q.room-1, 1)
		return nil, true
	case "home":
		q.top = 0
		return nil, true
	case "end":
		q.top = 1 << 20
		return nil, true
	}
	if !q.settled(k) {
		return nil, true
	}
	options := q.options()
	if name == "enter" && q.armed != "" {
		return q.confirm(k)
	}
	q.armed = ""
	switch name {
	case "left", "shift+tab":
		q.at = (q.at + len(options) - 1) % len(options)
		return nil, true
	case "right", "tab":
		q.at = (q.at + 1) % len(options)
		return nil, true
	case "enter":
		return q.take(options[min(q.at, len(options)-1)])
	case "ctrl+c":
		name = "esc"
	case "d":
		if q.Approval.Change != nil {
			q.do.Open(panels.DiffPager("Proposed change", q.Approval.Change.Diff))
			return nil, true
		}
	}
	for _, o := range options {
		if o.key == name {
			return q.take(o)
		}
	}
	return nil, true
}

// take carries an answer out, if it may be given.
func (q *Question) take(o option) (tea.Cmd, bool) {
	if (o.decision.Allows() || o.act != nil && o.decision == "") && (!q.seen || q.small) && o.key != "n" {
		q.top += max(q.room-1, 1)
		return nil, true
	}
	lasting := o.decision == protocol.ForSession || o.decision == protocol.Always
	if lasting {
		q.armed = o.key
		return nil, true
	}
	return q.carryOut(o)
}

// confirm carries out the answer that waits for enter, if enter is a key of its own.
func (q *Question) confirm(k panels.Key) (tea.Cmd, bool) {
	if k.At.Sub(k.Last) < panels.Rest {
		return nil, true
	}
	for _, o := range q.options() {
		if o.key == q.armed {
			q.armed = ""
			return q.carryOut(o)
		}
	}
	return nil, true
}

func (q *Question) carryOut(o option) (tea.Cmd, bool) {
	if o.act != nil {
		return o.act(q)
	}
	return q.reply(protocol.Answer{Decision: o.decision}), true
}

func (q *Question) reply(a protocol.Answer) tea.Cmd {
	a.Approval = q.Approval.ID
	return q.do.Reply(q, a)
}

// Abort answers that nobody can answer any more.
func (q *Question) Abort() tea.Cmd { return q.reply(protocol.Answer{Decision: protocol.Abort}) }

// Outcome is the line that tells how the question was answered.
func (q *Question) Outcome(a protocol.Answer) style.Line {
	word := map[protocol.Decision]string{protocol.Once: "Allowed", protocol.ForSession: "Allowed for this session",
		protocol.Always: "Allowed always",
		protocol.Deny:   "Denied", protocol.Abort: "Stopped"}[a.Decision]
	role := style.Good
	if !a.Decision.Allows() {
		role = style.Warn
	}
	l := style.Line{style.S(role, "• "), style.Bold(style.Plain, word), style.S(style.Plain, "  "),
		style.S(style.Dim, subject(q.Approval))}
	if a.Words != "" {
		l = append(l, style.S(style.Dim, "  “"+style.OneLine(a.Words)+"”"))
	}
	return l
}

// subject names in a few words what was asked about.
func subject(a protocol.Approval) string {
	switch {
	case a.Command != nil:
		return style.OneLine(a.Command.Command)
	case a.Change != nil:
		var names []string
		for _, c := range a.Change.Changes {
			names = append(names, humanize.Base(c.Path))
		}
		return strings.Join(names, ", ")
	case a.Tool != nil:
		return a.Tool.Server + "." + a.Tool.Tool
	case a.Network != nil:
		return fmt.Sprintf("%s:%d", a.Network.Host, a.Network.Port)
	case a.Question != nil:
		return style.OneLine(a.Question.Message)
	}
	return ""
}

// options are the answers there are, the harmless-by-default first.
func (q *Question) options() []option {
	if q.Approval.Question != nil {
		return q.questionOptions()
	}
	if c := q.Approval.Change; c != nil && c.Unseen {
		return []option{{key: "y", label: "take them back, too", decision: protocol.Once},
			{key: "n", label: "leave them, take back the rest", decision: protocol.Deny},
			{key: "esc", label: "take nothing back", decision: protocol.Abort}}
	}
	out := []option{{key: "y", label: "yes, once", decision: protocol.Once}}
	switch {
	case q.Approval.Command != nil:
		label := "yes, and exactly this command again in this session, as long as it starts the same"
		if p := q.Approval.Command.Prefix; len(p) > 0 {
			label = "yes, and in this session every command that begins with: " + strings.Join(p, " ")
		}
		out = append(out, option{key: "s", label: label, decision: protocol.ForSession})
		if q.Approval.Command.Rule != "" {
			out = append(out, option{key: "a", label: "yes, and always by this rule: " + q.Approval.Command.Rule,
				decision: protocol.Always, act: confirmRule})
		}
	case q.Approval.Change != nil:
		out = append(out, option{key: "s", label: "yes, and all changes inside the workspace in this session",
			decision: protocol.ForSession})
		if len(q.Approval.Change.Files) > 0 {
			out = append(out, option{key: "h", label: "choose hunks and files", act: chooseHunks},
				option{key: "e", label: "edit first", act: editChange})
		}
	case q.Approval.Tool != nil:
		out = append(out, option{key: "s", label: fmt.Sprintf("yes, and this tool (%s.%s) in this session",
			q.Approval.Tool.Server, q.Approval.Tool.Tool), decision: protocol.ForSession},
			option{key: "a", label: "yes, and this tool always", decision: protocol.Always})
	case q.Approval.Network != nil:
		out = append(out, option{key: "s", label: fmt.Sprintf("yes, and %s in this session", q.Approval.Network.Host),
			decision: protocol.ForSession})
	}
	return append(out, option{key: "n", label: "no, and tell the model why", decision: protocol.Deny, act: denyWithWords},
		option{key: "esc", label: "no, and stop the turn", decision: protocol.Abort})
}

// confirmRule asks once more before a rule is written: it holds for longer than anybody
// thinks of it.
func confirmRule(q *Question) (tea.Cmd, bool) {
	c := q.Approval.Command
	q.do.Open(&panels.Input{Title: "Always allow " + c.Covers + "? Type yes to write this rule",
		Done: func(text string) tea.Cmd {
			if strings.EqualFold(strings.TrimSpace(text), "yes") {
				return q.reply(protocol.Answer{Decision: protocol.Always})
			}
			q.do.Notice(style.Warn, "No rule was written; the question still waits.")
			return nil
		}})
	return nil, true
}

func denyWithWords(q *Question) (tea.Cmd, bool) {
	q.do.Open(&panels.Input{Title: "No. What should the model do instead? (may be empty)",
		Done: func(text string) tea.Cmd {
			return q.reply(protocol.Answer{Decision: protocol.Deny, Words: text})
		}})
	return nil, true
}

// questionOptions are the answers to a question of the model or a server.
func (q *Question) questionOptions() []option {
	asked := q.Approval.Question
	var out []option
	for i, c := range asked.Options {
		label := c.Label
		if c.Description != "" {
			label += ": " + c.Description
		}
		content, _ := json.Marshal(c.Label)
		out = append(out, option{key: fmt.Sprint(i + 1), label: label, act: func(q *Question) (tea.Cmd, bool) {
			return q.reply(protocol.Answer{Decision: protocol.Once, Content: content}), true
		}})
	}
	switch fields := schemaFields(asked.Schema); {
	case len(fields) > 0:
		out = append(out, option{key: "y", label: "fill in the form", act: func(q *Question) (tea.Cmd, bool) {
			q.fillIn(fields, map[string]any{})
			return nil, true
		}})
	case asked.Server != "": // a page to visit, a form without fields, or no form
		out = append(out, option{key: "y", label: "yes", decision: protocol.Once})
	case asked.Free || len(asked.Options) == 0:
		out = append(out, option{key: "w", label: "answer in words", act: func(q *Question) (tea.Cmd, bool) {
			q.do.Open(&panels.Input{Title: asked.Message, Done: func(text string) tea.Cmd {
				content, _ := json.Marshal(text)
				return q.reply(protocol.Answer{Decision: protocol.Once, Content: content})
			}})
			return nil, true
		}})
	}
	return append(out, option{key: "n", label: "decline", decision: protocol.Deny},
		option{key: "esc", label: "stop the turn", decision: protocol.Abort})
}

// body draws what is asked, whole, with everything in it visible.
func (q *Question) body(width int) []style.Line {
	var rows []style.Line
	add := func(role style.Role, text string) {
		for line := range strings.SplitSeq(text, "\n") {
			rows = append(rows, style.Wrap(style.Line{style.Exactly(role, line)}, width)...)
		}
	}
	if q.from != "" {
		add(style.Accent, "asked by agent "+q.from)
	}
	if q.Approval.Reason != "" {
		add(style.Dim, q.Approval.Reason)
	}
	rows = append(rows, quotes(q.Approval, width)...)
	switch {
	case q.Approval.Command != nil:
		add(style.Dim, "in "+q.Approval.Command.Cwd)
		if q.Approval.Command.Unsandboxed {
			add(style.Bad, "without the sandbox: it can reach everything that you can")
		}
		rows = append(rows, nil)
		add(style.Code, q.Approval.Command.Command)
	case q.Approval.Change != nil:
		rows = append(rows, q.changeBody(width)...)
	case q.Approval.Tool != nil:
		add(style.Plain, q.Approval.Tool.Server+"."+q.Approval.Tool.Tool)
		add(style.Code, indented(q.Approval.Tool.Args))
		if q.Approval.Tool.Changed != "" {
			add(style.Bad, "this tool changed since you allowed it:")
			add(style.Warn, q.Approval.Tool.Changed)
		}
	case q.Approval.Network != nil:
		add(style.Plain, fmt.Sprintf("%s, port %d", q.Approval.Network.Host, q.Approval.Network.Port))
		add(style.Code, q.Approval.Network.Command)
	case q.Approval.Question != nil:
		asked := q.Approval.Question
		if asked.URL != "" {
			add(style.Link, asked.URL)
		}
	}
	return rows
}

// quotes draws the texts of others. Each row of them is marked as theirs, so that none
// passes for a row of Kerf's.
func quotes(a protocol.Approval, width int) []style.Line {
	var rows []style.Line
	for _, quote := range a.Quotes() {
		head := style.Exactly(style.Dim, quote.Who+" says:")
		rows = append(rows, style.Wrap(style.Line{head}, width)...)
		for line := range strings.SplitSeq(quote.Text, "\n") {
			for _, row := range style.Wrap(style.Line{style.Exactly(style.Plain, line)}, max(width-2, 1)) {
				rows = append(rows, append(style.Line{style.S(style.Dim, "│ ")}, row...))
			}
		}
	}
	return rows
}

// changeBody draws the proposed diff; its text is made exact before it is drawn.
func (q *Question) changeBody(width int) []style.Line {
	var rows []style.Line
	change := q.Approval.Change
	for _, c := range change.Changes {
		if c.ControlFile {
			text := style.Exact(q.do.Path(c.Path)) + ": agents, editors or build machines obey this file"
			rows = append(rows, style.Wrap(style.Line{{Text: text, Style: style.As(style.Bad)}}, width)...)
		}
	}
	files := diffview.Parse(change.Diff)
	if len(files) > 0 {
		return append(rows, diffview.Exact(files, width)...)
	}
	for _, c := range change.Changes {
		rows = append(rows, style.Wrap(style.Line{style.S(style.Warn, string(c.Kind)+" "), {Text: style.Exact(c.Path)}},
			width)...)
	}
	return rows
}

// indented spreads JSON over lines; what is no JSON stays as it is.
func indented(s string) string {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return s
	}
	return string(b)
}

// View draws the part of the question that fits, and the answers.
func (q *Question) View(width, height int) panels.View {
	if q.shown.IsZero() {
		q.shown = q.do.Now()
	}
	q.small = width < LeastWidth || height < LeastHeight-2
	if q.rows == nil || q.width != width {
		q.rows, q.width, q.seen = q.body(width), width, false
	}
	options := q.optionRows(width)
	title := style.Line{style.Bold(style.Warn, "? "), style.Bold(style.Plain, Headline(q.Approval))}
	if n := q.do.Waiting(); n > 1 {
		title = append(title, style.S(style.Dim, fmt.Sprintf("  1 of %d", n)))
	}
	whole := q.rows
	if len(options)+5 > height { // the answers scroll with what is asked, rules and all
		whole = append(whole[:len(whole):len(whole)], options...)
		options = shortOptions(q.options(), width)
	}
	q.room = max(height-len(options)-2, 1)
	q.top = max(0, min(q.top, len(whole)-q.room))
	end := min(q.top+q.room, len(whole))
	if end == len(whole) && !q.small {
		q.seen = true
	}
	rows := append([]style.Line{title.Cut(width)}, whole[q.top:end]...)
	switch {
	case q.small:
		rows = append(rows, style.L(style.Bad, "screen too small").Cut(width))
	case end < len(whole):
		more := fmt.Sprintf("%d more rows: pgdown shows them; you can allow it then", len(whole)-end)
		if style.Width(more) > width {
			more = fmt.Sprintf("pgdown: %d more, then allow", len(whole)-end)
		}
		rows = append(rows, style.L(style.Warn, more).Cut(width))
	case q.top > 0:
		rows = append(rows, style.L(style.Dim, "end; pgup goes back").Cut(width))
	}
	return panels.View{Rows: append(rows, options...), Y: -1}
}

func (q *Question) optionRows(width int) []style.Line {
	var rows []style.Line
	for i, o := range q.options() {
		role, mark := style.Plain, "  "
		if i == q.at {
			role, mark = style.Accent, "▸ "
		}
		head := style.Line{style.S(role, mark), style.Bold(role, fmt.Sprintf("%-4s", o.key))}
		label := o.label
		if o.key == q.armed {
			role, label = style.Warn, "enter confirms: "+label
		}
		body := style.Wrap(style.Line{style.Exactly(role, label)}, width-6)
		for j, l := range body {
			if j == 0 {
				rows = append(rows, append(head, l...))
				continue
			}
			rows = append(rows, append(style.Line{{Text: "      "}}, l...))
		}
	}
	return rows
}

// shortOptions names the keys only, for small screens.
func shortOptions(options []option, width int) []style.Line {
	var keys []string
	for _, o := range options {
		keys = append(keys, o.key)
	}
	return []style.Line{style.L(style.Accent, "keys: "+strings.Join(keys, " ")).Cut(width)}
}

// Lines are the whole question and its answers.
func (q *Question) Lines() []style.Line {
	q.rows, q.width = q.body(panels.Wide), panels.Wide
	q.seen, q.shown = true, q.do.Now().Add(-time.Hour)
	rows := append([]style.Line{style.L(style.Warn, "? "+Headline(q.Approval))}, q.rows...)
	for _, o := range q.options() {
		rows = append(rows, style.L(style.Plain, style.Exact(o.key+"  "+o.label)))
	}
	return rows
}

// Line takes the key of an answer, or yes or no.
func (q *Question) Line(text string) (c tea.Cmd, stay, again bool) {
	key := strings.ToLower(strings.TrimSpace(text))
	switch key {
	case "yes":
		key = "y"
	case "no":
		key = "n"
	}
	for _, o := range q.options() {
		if o.key == key {
			if c, _ = q.take(o); q.armed != "" { // a whole line is no slip of a finger
				q.armed = ""
				c, _ = q.carryOut(o)
			}
			return c, true, false
		}
	}
	return nil, true, true // not an answer: ask again
}
