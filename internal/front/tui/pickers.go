package tui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/panels"
	"kerf/internal/protocol"
)

// list is a row of the table of pickers: what is listed and what choosing does.
type list struct {
	title, empty, foot string
	filter             bool
	items              source
	choose             act
	keys               map[string]act
	preview            func(m *Model, it panels.Item, width int) []ink.Line
	at                 func(m *Model, items []panels.Item) int // the item that is marked first
	calm               time.Duration                           // how long no choice counts
	left               func(m *Model)                          // it was closed without a choice
}

// act does something to an item and says whether the picker stays.
type act func(m *Model, it panels.Item) (c tea.Cmd, stay bool)

// source hands the items of a picker to then, now or when they are loaded.
type source func(m *Model, then func([]panels.Item) tea.Cmd) tea.Cmd

// known is a source of what the model knows already.
func known[T any](get func(m *Model) []T, item func(m *Model, x T) panels.Item) source {
	return func(m *Model, then func([]panels.Item) tea.Cmd) tea.Cmd {
		var items []panels.Item
		for _, x := range get(m) {
			items = append(items, item(m, x))
		}
		return then(items)
	}
}

// these is a source of given items.
func these(items []panels.Item) source {
	return func(_ *Model, then func([]panels.Item) tea.Cmd) tea.Cmd { return then(items) }
}

// choose shows a list.
func (m *Model) choose(l list) tea.Cmd {
	return l.items(m, func(items []panels.Item) tea.Cmd {
		p := &panels.Picker{Title: l.title, Empty: l.empty, Foot: l.foot, Filter: l.filter, Items: items, Calm: m.now().Add(l.calm)}
		if l.choose != nil {
			p.Choose = func(it panels.Item) (tea.Cmd, bool) { return l.choose(m, it) }
		}
		for key, do := range l.keys {
			if p.Keys == nil {
				p.Keys = map[string]func(panels.Item) (tea.Cmd, bool){}
			}
			p.Keys[key] = func(it panels.Item) (tea.Cmd, bool) { return do(m, it) }
		}
		if l.preview != nil {
			p.Preview = func(it panels.Item, width int) []ink.Line { return l.preview(m, it, width) }
		}
		if l.left != nil {
			p.Left = func() { l.left(m) }
		}
		if l.at != nil {
			p.At = l.at(m, items)
		}
		m.push(p)
		return m.preview()
	})
}

// pick is the command that shows a picker of the table.
func pick(name string) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd { return m.choose(pickers()[name]) }
}

// pickers are the lists to choose from, by name.
func pickers() map[string]list {
	return map[string]list{
		"agents": {title: "Agents", empty: "no sub-agents in this session", foot: "enter look at it · t transcript · i interrupt",
			items: known(agents, agentItem), at: nextAgentItem,
			choose: func(m *Model, it panels.Item) (tea.Cmd, bool) {
				m.look(it.Value.(protocol.Agent).ID)
				return nil, false
			},
			keys: map[string]act{"t": openTranscript, "i": interruptAgent}},
		"approvals": {title: "What may Kerf do?", items: known(permissions, permissionItem), at: current, choose: setPermissions},
		"changes": {title: "Changes", empty: "nothing was changed yet", foot: "enter diff · undo: u call, t turn, f file, h hunks · r redo",
			items: changes, preview: previewChange,
			choose: func(m *Model, it panels.Item) (tea.Cmd, bool) {
				m.push(panels.DiffPager("Change", it.Value.(protocol.Deed).Diff))
				return nil, true
			},
			keys: map[string]act{
				"u": takeBack(func(d protocol.Deed) protocol.Op { return protocol.Undo{Turn: d.Turn, Call: d.Call} }),
				"t": takeBack(func(d protocol.Deed) protocol.Op { return protocol.Undo{Turn: d.Turn} }),
				"r": takeBack(func(protocol.Deed) protocol.Op { return protocol.Undo{Redo: true} }),
				"h": func(m *Model, it panels.Item) (tea.Cmd, bool) {
					return after(m, chooseEdits(it.Value.(protocol.Deed))), false
				},
				"f": func(m *Model, it panels.Item) (tea.Cmd, bool) {
					return m.choose(filesOf(it.Value.(protocol.Deed))), true
				}}},
		"models": {title: "Model", filter: true, items: models, choose: setModel},
		"processes": {title: "Background processes", empty: "none is running", foot: "enter output · k end it",
			items: known(func(m *Model) []protocol.Process { return m.session.Processes }, processItem),
			choose: func(m *Model, it panels.Item) (tea.Cmd, bool) {
				m.push(m.processPage(it.Value.(protocol.Process)))
				return nil, true
			},
			keys: map[string]act{"k": func(m *Model, it panels.Item) (tea.Cmd, bool) {
				return m.submit(protocol.Kill{Process: it.Value.(protocol.Process).ID}), false
			}}},
		"rewind": {title: "Go back to before", empty: "nothing was said yet", filter: true, items: known(marks, markItem),
			choose: func(m *Model, it panels.Item) (tea.Cmd, bool) {
				return m.choose(goBack(it.Value.(conversation.Mark))), false
			}},
		"servers": {title: "MCP servers", empty: "none is configured; kerf mcp add NAME -- COMMAND adds one", foot: "enter tools",
			items: known(func(m *Model) []protocol.Server { return m.session.Servers }, serverItem),
			choose: func(m *Model, it panels.Item) (tea.Cmd, bool) {
				m.push(serverPage(it.Value.(protocol.Server)))
				return nil, true
			}},
		"sessions": {title: "Sessions", filter: true, empty: "no session of this directory; ctrl+a shows all", foot: sessionsFoot,
			items: sessionsHere, choose: openSession, keys: sessionKeys("all sessions"), preview: previewSession, left: leaveUnopened},
		"all sessions": {title: "Sessions", filter: true, empty: "no session yet", foot: sessionsFoot,
			items: allSessions, choose: openSession, keys: sessionKeys("sessions"), preview: previewSession, left: leaveUnopened},
		"skills": {title: "Skills", filter: true, empty: "none; put them below skills/ in KERF_HOME", items: known(skills, promptItem),
			choose: func(m *Model, it panels.Item) (tea.Cmd, bool) {
				m.shown.Composer.Insert("$" + it.Value.(string) + " ")
				return nil, false
			}},
	}
}

// entry is a line of a fixed menu.
type entry struct {
	label, detail string
	run           func(m *Model) tea.Cmd
}

// menu is a list that runs what is chosen.
func menu(title string, entries []entry) list {
	var items []panels.Item
	for _, e := range entries {
		items = append(items, panels.Item{Label: e.label, Detail: e.detail, Value: e.run})
	}
	return list{title: title, empty: "nothing to choose", items: these(items),
		choose: func(m *Model, it panels.Item) (tea.Cmd, bool) {
			return after(m, it.Value.(func(*Model) tea.Cmd)), false
		}}
}

// after runs fn once the panel that asked for it is closed.
func after(m *Model, fn func(m *Model) tea.Cmd) tea.Cmd {
	return func() tea.Msg { return runMsg{func() tea.Cmd { return fn(m) }} }
}

func nothing(*Model) tea.Cmd { return nil }

// current is the place of the item that is set now.
func current(_ *Model, items []panels.Item) int {
	return max(0, slices.IndexFunc(items, func(it panels.Item) bool { return it.Current }))
}

func (m *Model) missing(what string) tea.Cmd {
	m.notice(ink.Warn, what+" is not available here")
	return nil
}

// agents are the session itself and its sub-agents; none when there are no sub-agents.
func agents(m *Model) []protocol.Agent {
	if len(m.session.Agents) == 0 {
		return nil
	}
	return append([]protocol.Agent{{}}, m.session.Agents...)
}

func agentItem(m *Model, a protocol.Agent) panels.Item {
	it := panels.Item{Label: "this session", Detail: "what you talk to", Value: a, Current: a.ID == m.viewing}
	if a.ID != "" {
		it.Label, it.Role = conversation.AgentName(a)+"  "+a.State, conversation.StateRole(a.State)
		it.Detail = fmt.Sprintf("%s  %s tokens  %s", a.Role, humanize.Tokens(a.Tokens), a.Message)
	}
	return it
}

// nextAgentItem marks the agent that is looked at, or the first one.
func nextAgentItem(m *Model, items []panels.Item) int {
	if m.viewing == "" {
		return min(1, max(len(items)-1, 0))
	}
	return current(m, items)
}

func openTranscript(m *Model, it panels.Item) (tea.Cmd, bool) {
	a := it.Value.(protocol.Agent)
	if a.ID == m.viewing {
		m.push(m.transcriptPage())
		return nil, true
	}
	items := m.conversation(a.ID).Transcript
	m.push(&panels.Pager{Title: "Agent " + conversation.AgentName(a), Bottom: true, Draw: func(width int, _ bool) []ink.Line {
		return items.Rows(m.whole(width))
	}})
	return nil, true
}

func interruptAgent(m *Model, it panels.Item) (tea.Cmd, bool) {
	if a := it.Value.(protocol.Agent); a.ID != "" {
		return m.submit(protocol.Address{Agent: a.ID, Op: protocol.Interrupt{}}), false
	}
	return m.submit(protocol.Interrupt{}), false
}

// permission is a choice of what commands may reach and what is asked.
type permission struct {
	name, about string
	s           protocol.Settings
}

func permissions(*Model) []permission {
	return []permission{
		{"Read only", "reads and answers; asks for every change", protocol.Settings{Sandbox: protocol.SandboxReadOnly, Approval: protocol.PolicyOnRequest}},
		{"Ask", "works in the workspace; asks before it changes files or leaves the sandbox", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyUntrusted}},
		{"Default", "works in the workspace; asks before a command leaves the sandbox", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyOnRequest}},
		{"Auto edit", "edits in the workspace unasked; asks for commands", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyAutoEdit}},
		{"Plan", "changes nothing; makes a plan", protocol.Settings{Approval: protocol.PolicyPlan}},
		{"Never ask", "works in the workspace; what would be asked is refused", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyNever}},
		{"Full access", "no sandbox, no questions: it can do all that you can", protocol.Settings{Sandbox: protocol.SandboxFull, Approval: protocol.PolicyNever}},
	}
}

func permissionItem(m *Model, x permission) panels.Item {
	now := m.session.Settings
	it := panels.Item{Label: x.name, Detail: x.about, Value: x.s, Current: x.s.Approval == now.Approval && (x.s.Sandbox == "" || x.s.Sandbox == now.Sandbox)}
	if x.s.Sandbox == protocol.SandboxFull {
		it.Role = ink.Bad
	}
	return it
}

func setPermissions(m *Model, it panels.Item) (tea.Cmd, bool) {
	s := it.Value.(protocol.Settings)
	if s.Sandbox != protocol.SandboxFull {
		return configure(m, s), false
	}
	return m.choose(menu("Full access: commands run without a sandbox and without questions.", []entry{
		{"No, keep what is set", "", nothing},
		{"Yes, full access in this session", "", func(m *Model) tea.Cmd { return configure(m, s) }},
	})), false
}

// changes lists the changes of the session, newest first.
func changes(m *Model, then func([]panels.Item) tea.Cmd) tea.Cmd {
	if m.o.Desk == nil {
		return m.missing("the list of changes")
	}
	return fetch(m, m.changes(), func(list []protocol.Deed) tea.Cmd {
		var items []panels.Item
		for _, d := range slices.Backward(list) {
			items = append(items, changeItem(m, d))
		}
		return then(items)
	})
}

// changes reads the changes of the session.
func (m *Model) changes() func(context.Context) ([]protocol.Deed, error) {
	desk, id := m.o.Desk, m.session.ID
	return func(ctx context.Context) ([]protocol.Deed, error) { return desk.Changes(ctx, id) }
}

func changeItem(m *Model, d protocol.Deed) panels.Item {
	added, removed := diffview.Total(diffview.Parse(d.Diff))
	it := panels.Item{Label: fmt.Sprintf("%-12s %s", cmp.Or(d.Tool, d.Cause), m.format().Paths(d.Changes)), Value: d,
		Detail: fmt.Sprintf("+%d -%d  %s", added, removed, humanize.Ago(m.now().Sub(d.Time)))}
	if d.Cause == "outside" {
		it.Role = ink.Warn
	}
	if d.Undone {
		it.Role, it.Detail = ink.Dim, it.Detail+"  undone"
	}
	return it
}

func previewChange(m *Model, it panels.Item, width int) []ink.Line {
	return diffview.Summary(diffview.Parse(it.Value.(protocol.Deed).Diff), width)
}

// takeBack submits what undoes a change.
func takeBack(op func(d protocol.Deed) protocol.Op) act {
	return func(m *Model, it panels.Item) (tea.Cmd, bool) {
		d := it.Value.(protocol.Deed)
		if d.Cause == "outside" {
			m.notice(ink.Warn, "this change was made by neither tool nor command; Kerf does not undo it")
			return nil, false
		}
		return m.submit(op(d)), false
	}
}

// filesOf lists the files of a change, to undo one.
func filesOf(d protocol.Deed) list {
	return list{title: "Undo which file?", filter: true, empty: "no files",
		items: known(func(*Model) []protocol.PathChange { return d.Changes }, func(m *Model, c protocol.PathChange) panels.Item {
			return panels.Item{Label: m.format().Path(c.Path), Detail: string(c.Kind), Value: c.Path}
		}),
		choose: func(m *Model, it panels.Item) (tea.Cmd, bool) {
			return m.submit(protocol.Undo{Turn: d.Turn, Call: d.Call, Paths: []string{it.Value.(string)}}), false
		}}
}

// models lists the models of the provider; without a list a name is asked for.
func models(m *Model, then func([]panels.Item) tea.Cmd) tea.Cmd {
	byName := func() tea.Cmd {
		m.push(&panels.Input{Title: "Model", Text: m.session.Settings.Model, Done: func(text string) tea.Cmd {
			if text == "" {
				return nil
			}
			return chooseModel(m, text)
		}})
		return nil
	}
	if m.o.Desk == nil {
		return byName()
	}
	return fetch(m, m.o.Desk.Models, func(list []protocol.ModelInfo) tea.Cmd {
		if len(list) == 0 {
			return byName()
		}
		return known(func(*Model) []protocol.ModelInfo { return list }, modelItem)(m, then)
	})
}

func modelItem(m *Model, x protocol.ModelInfo) panels.Item {
	detail := x.Description
	if x.Window > 0 {
		detail = strings.TrimSpace(humanize.Tokens(x.Window) + " window  " + detail)
	}
	return panels.Item{Label: x.Name, Detail: detail, Value: x, Current: x.Name == m.session.Settings.Model}
}

// chooseModel sets the model that words name, with its effort, or lists the models.
func chooseModel(m *Model, words string) tea.Cmd {
	f := append(strings.Fields(words), "", "")
	if f[0] == "" {
		return pick("models")(m, "")
	}
	return configure(m, protocol.Settings{Model: f[0], Effort: f[1]})
}

func setModel(m *Model, it panels.Item) (tea.Cmd, bool) {
	x := it.Value.(protocol.ModelInfo)
	if len(x.Efforts) == 0 {
		return configure(m, protocol.Settings{Model: x.Name}), false
	}
	return m.choose(list{title: "Effort of " + ink.OneLine(x.Name), at: current,
		items: known(func(*Model) []string { return x.Efforts }, func(m *Model, e string) panels.Item {
			return panels.Item{Label: e, Value: e, Current: e == m.session.Settings.Effort}
		}),
		choose: func(m *Model, it panels.Item) (tea.Cmd, bool) {
			return configure(m, protocol.Settings{Model: x.Name, Effort: it.Value.(string)}), false
		}}), false
}

func processItem(m *Model, x protocol.Process) panels.Item {
	return panels.Item{Label: fmt.Sprintf("#%d  %s", x.ID, ink.OneLine(x.Command)), Detail: humanize.Duration(m.now().Sub(x.Since)), Value: x}
}

func serverItem(_ *Model, s protocol.Server) panels.Item {
	return panels.Item{Label: s.Name + "  " + s.State, Role: conversation.StateRole(s.State),
		Detail: cmp.Or(s.Error, humanize.Count(len(s.Tools), "tool")), Value: s}
}

func skills(m *Model) []protocol.Prompt {
	return slices.DeleteFunc(slices.Clone(m.input.Prompts), func(p protocol.Prompt) bool { return !p.Skill })
}

func promptItem(_ *Model, p protocol.Prompt) panels.Item {
	return panels.Item{Label: p.Name, Detail: p.Description, Value: p.Name}
}

// rewind goes back to an earlier message.
func rewind(m *Model, _ string) tea.Cmd {
	if m.shown.Running {
		m.notice(ink.Warn, "a turn is running; esc interrupts it first")
		return nil
	}
	return pick("rewind")(m, "")
}

func marks(m *Model) []conversation.Mark {
	list := slices.Clone(m.shown.Turns)
	slices.Reverse(list)
	return list
}

func markItem(m *Model, t conversation.Mark) panels.Item {
	return panels.Item{Label: ink.OneLine(t.Text), Detail: humanize.Ago(m.now().Sub(t.At)), Value: t}
}

// goBack asks in what to go back to before a turn.
func goBack(t conversation.Mark) list {
	back := func(talk, files bool) func(*Model) tea.Cmd {
		return func(m *Model) tea.Cmd {
			if talk {
				m.shown.Composer.Set(t.Text)
				m.shown.ForgetFrom(t.ID)
			}
			return m.submit(protocol.Rewind{Turn: t.ID, Conversation: talk, Files: files})
		}
	}
	return menu("Go back in what?", []entry{
		{"Conversation and files", "what Kerf changed since is taken back", back(true, true)},
		{"Conversation only", "files stay as they are", back(true, false)},
		{"Files only", "the conversation stays", back(false, true)},
		{"Fork from here", "a new session; this one stays as it is", func(m *Model) tea.Cmd { return forkBefore(m, t) }},
	})
}

// carryOutPlan offers to carry out a plan that was just proposed.
func (m *Model) carryOutPlan() {
	carryOut := func(p protocol.ApprovalPolicy) func(*Model) tea.Cmd {
		return func(m *Model) tea.Cmd {
			return tea.Batch(configure(m, protocol.Settings{Approval: p}), m.say("Carry out the plan.", nil, false))
		}
	}
	m.choose(menu("Carry out this plan?", []entry{
		{"Yes, and edit files unasked", "auto-edit", carryOut(protocol.PolicyAutoEdit)},
		{"Yes, and ask as before", "", func(m *Model) tea.Cmd { return carryOut(cmp.Or(m.beforePlan, protocol.PolicyOnRequest))(m) }},
		{"No, go on planning", "say what to change", nothing},
	}))
}

// chooseTheme sets the colours that words name, or lists the themes; the list shows
// each at once.
func chooseTheme(m *Model, words string) tea.Cmd {
	names := append(ink.Themes(), slices.Sorted(maps.Keys(m.o.Themes))...)
	if words != "" {
		if !slices.Contains(names, words) {
			m.notice(ink.Warn, "there is no theme "+words+"; there are "+strings.Join(names, ", "))
			return nil
		}
		m.setTheme(words)
		return nil
	}
	before := m.theme
	return m.choose(list{title: "Theme", at: current,
		items: known(func(*Model) []string { return names }, func(_ *Model, name string) panels.Item {
			return panels.Item{Label: name, Value: name, Current: name == before}
		}),
		choose: func(m *Model, it panels.Item) (tea.Cmd, bool) { m.setTheme(it.Value.(string)); return nil, false },
		preview: func(m *Model, it panels.Item, width int) []ink.Line {
			m.setTheme(it.Value.(string))
			return themeSample(width)
		},
		left: func(m *Model) { m.setTheme(before) }})
}

func themeSample(width int) []ink.Line {
	files := diffview.Parse("--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n func half(n int) int {\n-\treturn n / 3 // wrong\n+\treturn n / 2\n")
	rows := []ink.Line{
		{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Plain), "Ran "), ink.S(ink.Code, "go test ./..."), ink.S(ink.Bad, "  exit 1")},
		{ink.S(ink.Good, "good "), ink.S(ink.Warn, "warning "), ink.S(ink.Bad, "bad "), ink.S(ink.Dim, "quiet "), ink.S(ink.Link, "link")},
	}
	return append(rows, diffview.Summary(files, width)...)
}
