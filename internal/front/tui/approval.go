package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

// approval is a question of a session that waits for the user. What is asked is
// shown whole: it can be allowed only once its last row has been on the screen.
type approval struct {
	a    protocol.Approval
	from string // the sub-agent that asks, if any

	shown time.Time // when it came up, zero before
	calm  bool      // it was up long enough
	rows  []ink.Line
	width int
	top   int
	room  int
	seen  bool
	small bool // the screen is too small to judge anything
	at    int
	wide  bool // side by side
}

const (
	// settle is how long a question is up before keys count: what was being typed
	// when it came must not answer it.
	settle = 400 * time.Millisecond
	// A screen smaller than this cannot show a question.
	leastWidth, leastHeight = 12, 6
)

// answer is one of the ways to answer.
type answerOption struct {
	key, label string
	decision   protocol.Decision
	act        func(m *Model, a *approval) (cmd, bool)
}

func (m *Model) ask(a protocol.Approval, from string) cmd {
	m.asking = append(m.asking, &approval{a: a, from: from})
	return m.notify("Kerf asks", headline(a))
}

// answered takes away a question that is no longer open.
func (m *Model) answered(id protocol.ApprovalID) {
	for i, a := range m.asking {
		if a.a.ID == id {
			m.asking = append(m.asking[:i:i], m.asking[i+1:]...)
			return
		}
	}
}

func headline(a protocol.Approval) string {
	switch {
	case a.Command != nil && a.Command.Unsandboxed:
		return "Run this command outside the sandbox?"
	case a.Command != nil:
		return "Run this command?"
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
func (a *approval) settled(m *Model) bool {
	now := m.now()
	a.calm = a.calm || !a.shown.IsZero() && now.Sub(a.shown) >= settle && now.Sub(m.lastKey) >= settle/4
	return a.calm
}

func (a *approval) key(m *Model, k, text string) (cmd, bool) {
	switch k {
	case "up":
		a.top--
		return nil, true
	case "down":
		a.top++
		return nil, true
	case "pgup":
		a.top -= max(a.room-1, 1)
		return nil, true
	case "pgdown", "space":
		a.top += max(a.room-1, 1)
		return nil, true
	case "home":
		a.top = 0
		return nil, true
	case "end":
		a.top = 1 << 20
		return nil, true
	}
	if !a.settled(m) {
		return nil, true
	}
	options := a.options(m)
	switch k {
	case "left", "shift+tab":
		a.at = (a.at + len(options) - 1) % len(options)
		return nil, true
	case "right", "tab":
		a.at = (a.at + 1) % len(options)
		return nil, true
	case "enter":
		return a.take(m, options[min(a.at, len(options)-1)])
	case "ctrl+c":
		k = "esc"
	case "d":
		if a.a.Change != nil {
			m.push(diffPager("Proposed change", a.a.Change.Diff))
			return nil, true
		}
	}
	for _, o := range options {
		if o.key == k {
			return a.take(m, o)
		}
	}
	return nil, true
}

// take carries an answer out, if it may be given.
func (a *approval) take(m *Model, o answerOption) (cmd, bool) {
	if (o.decision.Allows() || o.act != nil && o.decision == "") && (!a.seen || a.small) && o.key != "n" {
		a.top += max(a.room-1, 1)
		return nil, true
	}
	if o.act != nil {
		return o.act(m, a)
	}
	return a.reply(m, protocol.Answer{Decision: o.decision}), true
}

// reply sends the answer and takes the question off the screen.
func (a *approval) reply(m *Model, ans protocol.Answer) cmd {
	ans.Approval = a.a.ID
	m.answered(a.a.ID)
	word := map[protocol.Decision]string{protocol.Once: "Allowed", protocol.ForSession: "Allowed for this session", protocol.Always: "Allowed always",
		protocol.Deny: "Denied", protocol.Abort: "Stopped"}[ans.Decision]
	role := ink.Good
	if !ans.Decision.Allows() {
		role = ink.Warn
	}
	l := ink.Line{ink.S(role, "• "), ink.Styled(ink.Strong(ink.Plain), word), ink.S(ink.Plain, "  "), ink.S(ink.Dim, subject(a.a))}
	if ans.Words != "" {
		l = append(l, ink.S(ink.Dim, "  “"+oneLine(ans.Words)+"”"))
	}
	m.emit(l.Cut(m.draw().width))
	return m.submit(ans)
}

// subject names in a few words what was asked about.
func subject(a protocol.Approval) string {
	switch {
	case a.Command != nil:
		return oneLine(a.Command.Command)
	case a.Change != nil:
		var names []string
		for _, c := range a.Change.Changes {
			names = append(names, lastElement(c.Path))
		}
		return strings.Join(names, ", ")
	case a.Tool != nil:
		return a.Tool.Server + "." + a.Tool.Tool
	case a.Network != nil:
		return fmt.Sprintf("%s:%d", a.Network.Host, a.Network.Port)
	case a.Question != nil:
		return oneLine(a.Question.Message)
	}
	return ""
}

// options are the answers there are, the harmless-by-default first.
func (a *approval) options(m *Model) []answerOption {
	if a.a.Question != nil {
		return a.questionOptions()
	}
	out := []answerOption{{key: "y", label: "yes, once", decision: protocol.Once}}
	switch {
	case a.a.Command != nil:
		label := "yes, and exactly this command again in this session"
		if p := a.a.Command.Prefix; len(p) > 0 {
			label = "yes, and in this session every command that begins with: " + strings.Join(p, " ")
		}
		out = append(out, answerOption{key: "s", label: label, decision: protocol.ForSession})
		if a.a.Command.Rule != "" {
			out = append(out, answerOption{key: "a", label: "yes, and always by this rule: " + a.a.Command.Rule, decision: protocol.Always})
		}
	case a.a.Change != nil:
		out = append(out, answerOption{key: "s", label: "yes, and all changes inside the workspace in this session", decision: protocol.ForSession})
		if len(a.a.Change.Files) > 0 {
			out = append(out, answerOption{key: "h", label: "choose hunks and files", act: chooseHunks},
				answerOption{key: "e", label: "edit first", act: editChange})
		}
	case a.a.Tool != nil:
		out = append(out, answerOption{key: "s", label: fmt.Sprintf("yes, and this tool (%s.%s) in this session", a.a.Tool.Server, a.a.Tool.Tool), decision: protocol.ForSession},
			answerOption{key: "a", label: "yes, and this tool always", decision: protocol.Always})
	case a.a.Network != nil:
		out = append(out, answerOption{key: "s", label: fmt.Sprintf("yes, and %s in this session", a.a.Network.Host), decision: protocol.ForSession})
	}
	return append(out, answerOption{key: "n", label: "no, and tell the model why", decision: protocol.Deny, act: denyWithWords},
		answerOption{key: "esc", label: "no, and stop the turn", decision: protocol.Abort})
}

func denyWithWords(m *Model, a *approval) (cmd, bool) {
	m.push(&asker{title: "No. What shall the model do instead? (may be empty)", done: func(m *Model, text string) cmd {
		return a.reply(m, protocol.Answer{Decision: protocol.Deny, Words: text})
	}})
	return nil, true
}

// questionOptions are the answers to a question of the model or a server.
func (a *approval) questionOptions() []answerOption {
	q := a.a.Question
	var out []answerOption
	for i, c := range q.Options {
		label := c.Label
		if c.Description != "" {
			label += ": " + c.Description
		}
		content, _ := json.Marshal(c.Label)
		out = append(out, answerOption{key: fmt.Sprint(i + 1), label: label, act: func(m *Model, a *approval) (cmd, bool) {
			return a.reply(m, protocol.Answer{Decision: protocol.Once, Content: content}), true
		}})
	}
	switch fields := schemaFields(q.Schema); {
	case len(fields) > 0:
		out = append(out, answerOption{key: "y", label: "fill it in", act: func(m *Model, a *approval) (cmd, bool) {
			fillIn(m, a, fields, map[string]any{})
			return nil, true
		}})
	case q.URL != "" || len(q.Schema) > 0:
		out = append(out, answerOption{key: "y", label: "yes", decision: protocol.Once})
	case q.Free || len(q.Options) == 0:
		out = append(out, answerOption{key: "w", label: "answer in words", act: func(m *Model, a *approval) (cmd, bool) {
			m.push(&asker{title: q.Message, done: func(m *Model, text string) cmd {
				content, _ := json.Marshal(text)
				return a.reply(m, protocol.Answer{Decision: protocol.Once, Content: content})
			}})
			return nil, true
		}})
	}
	return append(out, answerOption{key: "n", label: "decline", decision: protocol.Deny}, answerOption{key: "esc", label: "stop the turn", decision: protocol.Abort})
}

// body draws what is asked, whole, with everything in it visible.
func (a *approval) body(m *Model, width int) []ink.Line {
	var rows []ink.Line
	add := func(role ink.Role, text string) {
		for line := range strings.SplitSeq(text, "\n") {
			rows = append(rows, ink.Wrap(ink.Line{{Text: ink.Exact(line), Style: ink.As(role)}}, width)...)
		}
	}
	if a.from != "" {
		add(ink.Accent, "asked by agent "+a.from)
	}
	if a.a.Reason != "" {
		add(ink.Dim, a.a.Reason)
	}
	switch {
	case a.a.Command != nil:
		add(ink.Dim, "in "+a.a.Command.Cwd)
		if a.a.Command.Unsandboxed {
			add(ink.Bad, "without the sandbox: it can reach everything that you can")
		}
		rows = append(rows, nil)
		add(ink.Code, a.a.Command.Command)
	case a.a.Change != nil:
		rows = append(rows, a.changeBody(m, width)...)
	case a.a.Tool != nil:
		add(ink.Plain, a.a.Tool.Server+"."+a.a.Tool.Tool)
		add(ink.Code, indented(a.a.Tool.Args))
		if a.a.Tool.Changed != "" {
			add(ink.Bad, "this tool is not what it was when it was allowed:")
			add(ink.Warn, a.a.Tool.Changed)
		}
	case a.a.Network != nil:
		add(ink.Plain, fmt.Sprintf("%s, port %d", a.a.Network.Host, a.a.Network.Port))
		add(ink.Code, a.a.Network.Command)
	case a.a.Question != nil:
		q := a.a.Question
		if q.Server != "" {
			add(ink.Dim, "asked by MCP server "+q.Server)
		}
		if q.Header != "" {
			add(ink.Heading, q.Header)
		}
		add(ink.Plain, q.Message)
		if q.URL != "" {
			add(ink.Link, q.URL)
		}
	}
	return rows
}

// changeBody draws the proposed diff; its text is made exact before it is drawn.
func (a *approval) changeBody(m *Model, width int) []ink.Line {
	var rows []ink.Line
	for _, c := range a.a.Change.Changes {
		if c.Steers {
			rows = append(rows, ink.Wrap(ink.Line{{Text: ink.Exact(m.draw().path(c.Path)) + ": agents, editors or build machines obey this file", Style: ink.As(ink.Bad)}}, width)...)
		}
	}
	files := parseDiff(a.a.Change.Diff)
	if len(files) == 0 {
		for _, c := range a.a.Change.Changes {
			rows = append(rows, ink.Wrap(ink.Line{ink.S(ink.Warn, string(c.Kind)+" "), {Text: ink.Exact(c.Path)}}, width)...)
		}
		return rows
	}
	for _, f := range files {
		for i := range f.lines {
			f.lines[i].text = ink.ExactTabs(f.lines[i].text)
		}
		l := ink.Line{{Text: ink.Exact(f.name) + " ", Style: ink.Strong(ink.Plain)}}
		if f.note != "" {
			l = append(l, ink.S(ink.Warn, f.note+" "))
		}
		rows = append(rows, ink.Wrap(append(l, counts(f.added, f.removed)...), width)...)
		if a.wide && width >= 100 {
			rows = append(rows, sideBySide(f, width)...)
		} else {
			rows = append(rows, diffRows(f, width, 0)...)
		}
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

func (a *approval) view(m *Model, width, height int) view {
	if a.shown.IsZero() {
		a.shown = m.now()
	}
	a.small = width < leastWidth || height < leastHeight-2
	if a.rows == nil || a.width != width {
		a.rows, a.width, a.seen = a.body(m, width), width, false
	}
	options := a.optionRows(m, width)
	title := ink.Line{ink.Styled(ink.Strong(ink.Warn), "? "), ink.Styled(ink.Strong(ink.Plain), headline(a.a))}
	if n := len(m.asking); n > 1 {
		title = append(title, ink.S(ink.Dim, fmt.Sprintf("  1 of %d", n)))
	}
	whole := a.rows
	if len(options)+5 > height { // the answers scroll with what is asked, rules and all
		whole = append(whole[:len(whole):len(whole)], options...)
		options = shortOptions(a.options(m), width)
	}
	a.room = max(height-len(options)-2, 1)
	a.top = max(0, min(a.top, len(whole)-a.room))
	end := min(a.top+a.room, len(whole))
	if end == len(whole) && !a.small {
		a.seen = true
	}
	rows := append([]ink.Line{title.Cut(width)}, whole[a.top:end]...)
	switch {
	case a.small:
		rows = append(rows, ink.L(ink.Bad, "screen too small").Cut(width))
	case end < len(whole):
		rows = append(rows, ink.L(ink.Warn, fmt.Sprintf("%d more rows: pgdown reads on, then you can allow it", len(whole)-end)).Cut(width))
	case a.top > 0:
		rows = append(rows, ink.L(ink.Dim, "end; pgup goes back").Cut(width))
	}
	return view{rows: append(rows, options...), y: -1}
}

func (a *approval) optionRows(m *Model, width int) []ink.Line {
	var rows []ink.Line
	for i, o := range a.options(m) {
		role, mark := ink.Plain, "  "
		if i == a.at {
			role, mark = ink.Accent, "▸ "
		}
		head := ink.Line{ink.S(role, mark), ink.Styled(ink.Strong(role), fmt.Sprintf("%-4s", o.key))}
		body := ink.Wrap(ink.Line{{Text: ink.Exact(o.label), Style: ink.As(role)}}, width-6)
		for j, l := range body {
			if j == 0 {
				rows = append(rows, append(head, l...))
				continue
			}
			rows = append(rows, append(ink.Line{{Text: "      "}}, l...))
		}
	}
	return rows
}

// shortOptions names the keys only, for small screens.
func shortOptions(options []answerOption, width int) []ink.Line {
	var keys []string
	for _, o := range options {
		keys = append(keys, o.key)
	}
	return []ink.Line{ink.L(ink.Accent, "keys: "+strings.Join(keys, " ")).Cut(width)}
}
