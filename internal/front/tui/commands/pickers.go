package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// list is a row of the table of pickers: what is listed and what choosing does.
type list struct {
	title, empty, foot string
	filter             bool
	items              source
	choose             act
	keys               map[string]act
	preview            func(c *Commands, it panels.Item, width int) []style.Line
	at                 func(c *Commands, items []panels.Item) int // the item that is marked first
	asks               bool                                       // it asks something: typing must not choose
	lasting            string                                     // the label of what wants enter behind its key
	left               func(c *Commands)                          // it was closed without a choice
	leave              string                                     // what esc does then, in a word; empty for back
}

// act does something to an item and says whether the picker stays.
type act func(c *Commands, it panels.Item) (cmd tea.Cmd, stay bool)

// source hands the items of a picker to then, now or when they are loaded.
type source func(c *Commands, then func([]panels.Item) tea.Cmd) tea.Cmd

// known is a source of what the model knows already.
func known[T any](get func(c *Commands) []T, item func(c *Commands, x T) panels.Item) source {
	return func(c *Commands, then func([]panels.Item) tea.Cmd) tea.Cmd {
		var items []panels.Item
		for _, x := range get(c) {
			items = append(items, item(c, x))
		}
		return then(items)
	}
}

// these is a source of given items.
func these(items []panels.Item) source {
	return func(_ *Commands, then func([]panels.Item) tea.Cmd) tea.Cmd { return then(items) }
}

// choose shows a list.
func (c *Commands) choose(l list) tea.Cmd {
	return l.items(c, func(items []panels.Item) tea.Cmd { return c.choice(l, items) })
}

func (c *Commands) choice(l list, items []panels.Item) tea.Cmd {
	for i := range items {
		items[i].Lasting = l.lasting != "" && items[i].Label == l.lasting
	}
	p := &panels.Picker{Title: l.title, Empty: l.empty, Foot: l.foot, Leave: l.leave, Filter: l.filter, Items: items,
		Held: l.asks, Since: c.ui.Now()}
	if l.choose != nil {
		p.Choose = func(it panels.Item) (tea.Cmd, bool) { return l.choose(c, it) }
	}
	for key, do := range l.keys {
		if p.Keys == nil {
			p.Keys = map[string]func(panels.Item) (tea.Cmd, bool){}
		}
		p.Keys[key] = func(it panels.Item) (tea.Cmd, bool) { return do(c, it) }
	}
	if l.preview != nil {
		p.Preview = func(it panels.Item, width int) []style.Line { return l.preview(c, it, width) }
	}
	if l.left != nil {
		p.Left = func() { l.left(c) }
	}
	if l.at != nil {
		p.At = l.at(c, items)
	}
	c.ui.Push(p)
	return c.Preview(p)
}

// pick is the command that shows a picker of the table.
func pick(name string) func(*Commands, string) tea.Cmd {
	return func(c *Commands, _ string) tea.Cmd { return c.choose(pickers()[name]) }
}

// pickers are the lists to choose from, by name.
func pickers() map[string]list {
	return map[string]list{
		"agents": {title: "Agents", empty: "no sub-agents in this session",
			foot:  "enter look at it · t transcript · i interrupt",
			items: known(agents, agentItem), at: nextAgentItem,
			choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) {
				c.ui.Look(it.Value.(protocol.Agent).ID)
				return nil, false
			},
			keys: map[string]act{"t": openTranscript, "i": interruptAgent}},
		"approvals": {title: "What may Kerf do?", items: known(permissions, permissionItem), at: current, choose: setPermissions},
		"changes": {title: "Changes", empty: "nothing was changed yet",
			foot:  "enter diff · o open · undo: u call, t turn, f file, h hunks · r redo",
			items: listChanges, preview: previewChange,
			choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) {
				c.ui.Push(panels.DiffPager("Change", it.Value.(protocol.ChangeEntry).Diff))
				return nil, true
			},
			keys: map[string]act{
				"o": openChanged,
				"u": takeBack(func(d protocol.ChangeEntry) protocol.Undo { return protocol.Undo{Turn: d.Turn, Call: d.Call} }),
				"t": takeBack(func(d protocol.ChangeEntry) protocol.Undo { return protocol.Undo{Turn: d.Turn} }),
				"r": takeBack(func(protocol.ChangeEntry) protocol.Undo { return protocol.Undo{Redo: true} }),
				"h": func(c *Commands, it panels.Item) (tea.Cmd, bool) {
					return after(c, chooseEdits(it.Value.(protocol.ChangeEntry))), false
				},
				"f": func(c *Commands, it panels.Item) (tea.Cmd, bool) {
					return c.choose(filesOf(it.Value.(protocol.ChangeEntry))), true
				}}},
		"models": {title: "Model", filter: true, items: models, choose: setModel},
		"processes": {title: "Commands in the background", empty: "none runs, and none did in this session",
			foot:  "enter output · k end it",
			items: listProcesses,
			choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) {
				c.ui.Push(c.processPage(it.Value.(protocol.Process).ID))
				return nil, true
			},
			keys: map[string]act{"k": func(c *Commands, it panels.Item) (tea.Cmd, bool) {
				if it.Value.(protocol.Process).Outcome != "" {
					return nil, true
				}
				return c.ui.Submit(protocol.Kill{Process: it.Value.(protocol.Process).ID}), false
			}}},
		"rewind": {title: "Go back to before", empty: "nothing was said yet", filter: true, items: known(marks, markItem),
			choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) {
				return c.choose(goBack(it.Value.(conversation.Mark))), false
			}},
		"servers": {title: "MCP servers", empty: "none is configured; kerf mcp add NAME -- COMMAND adds one",
			foot:  "enter tools",
			items: known(func(c *Commands) []protocol.Server { return c.ui.Session.Servers }, serverItem),
			choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) {
				c.ui.Push(serverPage(it.Value.(protocol.Server)))
				return nil, true
			}},
		"sessions": {title: "Sessions", filter: true, empty: "no session of this directory; ctrl+a shows all",
			foot:  sessionsFoot,
			items: sessionsHere, choose: openSession, keys: sessionKeys("all sessions"), preview: previewSession,
			left: leaveUnopened},
		"all sessions": {title: "Sessions", filter: true, empty: "no session yet", foot: sessionsFoot,
			items: allSessions, choose: openSession, keys: sessionKeys("sessions"), preview: previewSession,
			left: leaveUnopened},
		"skills": {title: "Skills", filter: true, empty: "none; put them below skills/ in KERF_HOME",
			items: known(skills, promptItem),
			choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) {
				c.ui.Shown().Composer.Insert("$" + it.Value.(string) + " ")
				return nil, false
			}},
	}
}

// entry is a line of a fixed menu.
type entry struct {
	label, detail string
	run           func(c *Commands) tea.Cmd
}

// menu is a list that runs what is chosen.
func menu(title string, entries []entry) list {
	var items []panels.Item
	for _, e := range entries {
		items = append(items, panels.Item{Label: e.label, Detail: e.detail, Value: e.run})
	}
	return list{title: title, empty: "nothing to choose", items: these(items),
		choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) {
			return after(c, it.Value.(func(*Commands) tea.Cmd)), false
		}}
}

func nothing(*Commands) tea.Cmd { return nil }

// current is the place of the item that is set now.
func current(_ *Commands, items []panels.Item) int {
	return max(0, slices.IndexFunc(items, func(it panels.Item) bool { return it.Current }))
}

// agents are the session itself and its sub-agents; none when there are no sub-agents.
func agents(c *Commands) []protocol.Agent {
	if len(c.ui.Session.Agents) == 0 {
		return nil
	}
	return append([]protocol.Agent{{}}, c.ui.Session.Agents...)
}

func agentItem(c *Commands, a protocol.Agent) panels.Item {
	it := panels.Item{Label: "this session", Detail: "what you talk to", Value: a, Current: a.ID == c.ui.Agent()}
	if a.ID != "" {
		it.Label, it.Role = conversation.AgentName(a)+"  "+a.State, conversation.StateRole(a.State)
		it.Detail = fmt.Sprintf("%s  %s tokens  %s", a.Role, humanize.Tokens(a.Tokens), a.Message)
	}
	return it
}

// nextAgentItem marks the agent that is looked at, or the first one.
func nextAgentItem(c *Commands, items []panels.Item) int {
	if c.ui.Agent() == "" {
		return min(1, max(len(items)-1, 0))
	}
	return current(c, items)
}

func openTranscript(c *Commands, it panels.Item) (tea.Cmd, bool) {
	a := it.Value.(protocol.Agent)
	if a.ID == c.ui.Agent() {
		c.ui.Push(c.TranscriptPage())
		return nil, true
	}
	items := c.ui.Conversation(a.ID).Transcript
	c.ui.Push(&panels.Pager{Title: "Agent " + conversation.AgentName(a), Bottom: true,
		Draw: func(width int, _ bool) []style.Line {
			return items.Rows(c.whole(width))
		}})
	return nil, true
}

func interruptAgent(c *Commands, it panels.Item) (tea.Cmd, bool) {
	if a := it.Value.(protocol.Agent); a.ID != "" {
		return c.ui.Submit(protocol.Address{Agent: a.ID, Op: protocol.Interrupt{}}), false
	}
	return c.ui.Submit(protocol.Interrupt{}), false
}

// permission is a choice of what commands may reach and what is asked.
type permission struct {
	name, about string
	s           protocol.Settings
}

func permissions(*Commands) []permission {
	return []permission{
		{"Read only", "reads and answers; asks for every change", protocol.Settings{Sandbox: protocol.SandboxReadOnly, Approval: protocol.PolicyOnRequest}},
		{"Ask", "works in the workspace; asks before it changes files or leaves the sandbox", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyUntrusted}},
		{"Default", "works in the workspace; asks before a command leaves the sandbox", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyOnRequest}},
		{"Auto edit", "edits in the workspace without asking; asks for commands", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyAutoEdit}},
		{"Plan", "changes nothing; makes a plan", protocol.Settings{Approval: protocol.PolicyPlan}},
		{"Never ask", "works in the workspace; refuses what needs approval", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyNever}},
		{"Full access", "no sandbox, no questions: it can do all that you can", protocol.Settings{Sandbox: protocol.SandboxFull, Approval: protocol.PolicyNever}},
	}
}

func permissionItem(c *Commands, x permission) panels.Item {
	now := c.ui.Session.Settings
	it := panels.Item{Label: x.name, Detail: x.about, Value: x.s, Current: x.s.Approval == now.Approval &&
		(x.s.Sandbox == "" || x.s.Sandbox == now.Sandbox)}
	if x.s.Sandbox == protocol.SandboxFull {
		it.Role = style.Bad
	}
	return it
}

func setPermissions(c *Commands, it panels.Item) (tea.Cmd, bool) {
	s := it.Value.(protocol.Settings)
	if s.Sandbox != protocol.SandboxFull {
		return configure(c, s), false
	}
	question := menu("Full access: commands run without a sandbox and without questions.", []entry{
		{"No, keep what is set", "", nothing},
		{"Yes, full access in this session", "", func(c *Commands) tea.Cmd { return configure(c, s) }},
	})
	question.asks, question.lasting = true, "Yes, full access in this session"
	return c.choose(question), false
}

// listChanges lists the changes of the session, newest first.
func listChanges(c *Commands, then func([]panels.Item) tea.Cmd) tea.Cmd {
	if c.ui.Workspace == nil {
		return c.missing("the list of changes")
	}
	return fetch(c, c.changes(), func(list []protocol.ChangeEntry) tea.Cmd {
		var items []panels.Item
		for _, d := range slices.Backward(list) {
			items = append(items, changeItem(c, d))
		}
		return then(items)
	})
}

// changes reads the changes of the session.
func (c *Commands) changes() func(context.Context) ([]protocol.ChangeEntry, error) {
	query, id := c.ui.Workspace, c.ui.Session.ID
	return func(ctx context.Context) ([]protocol.ChangeEntry, error) { return query.Changes(ctx, id) }
}

func changeItem(c *Commands, d protocol.ChangeEntry) panels.Item {
	added, removed := diffview.Total(diffview.Parse(d.Diff))
	it := panels.Item{Label: fmt.Sprintf("%-12s %s", cmp.Or(d.Tool, d.Cause), c.ui.Format().Paths(d.Changes)), Value: d,
		Detail: fmt.Sprintf("+%d -%d  %s", added, removed, humanize.Ago(c.ui.Now().Sub(d.Time)))}
	switch {
	case d.Foreign():
		it.Role = style.Warn
	case d.Running:
		it.Detail += "  still running"
	case d.Certainty == protocol.Unproven:
		it.Detail += "  unproven"
	}
	if d.Undone {
		it.Role, it.Detail = style.Dim, it.Detail+"  undone"
	}
	return it
}

func previewChange(c *Commands, it panels.Item, width int) []style.Line {
	return diffview.Summary(diffview.Parse(it.Value.(protocol.ChangeEntry).Diff), width)
}

// takeBack submits what undoes a change.
func takeBack(op func(d protocol.ChangeEntry) protocol.Undo) act {
	return func(c *Commands, it panels.Item) (tea.Cmd, bool) {
		d := it.Value.(protocol.ChangeEntry)
		if d.Foreign() {
			c.ui.Notice(style.Warn, "this change was made by neither tool nor command; Kerf does not undo it")
			return nil, false
		}
		return c.askUndo(op(d)), false
	}
}

// openChanged opens the first file of a change in the editor.
func openChanged(c *Commands, it panels.Item) (tea.Cmd, bool) {
	for _, x := range it.Value.(protocol.ChangeEntry).Changes {
		if x.Kind != protocol.Delete {
			return c.ui.Editor(x.Path, 0), true
		}
	}
	return nil, true
}

// filesOf lists the files of a change, to undo one.
func filesOf(d protocol.ChangeEntry) list {
	return list{title: "Undo which file?", filter: true, empty: "no files",
		items: known(func(*Commands) []protocol.PathChange { return d.Changes },
			func(c *Commands, x protocol.PathChange) panels.Item {
				return panels.Item{Label: c.ui.Format().Path(x.Path), Detail: string(x.Kind), Value: x.Path}
			}),
		choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) {
			return c.ui.Submit(protocol.Undo{Turn: d.Turn, Call: d.Call, Paths: []string{it.Value.(string)}}), false
		}}
}

// models lists the models of the provider; without a list a name is asked for.
func models(c *Commands, then func([]panels.Item) tea.Cmd) tea.Cmd {
	byName := func() tea.Cmd {
		c.ui.Push(&panels.Input{Title: "Model", Text: c.ui.Session.Settings.Model, Done: func(text string) tea.Cmd {
			if text == "" {
				return nil
			}
			return chooseModel(c, text)
		}})
		return nil
	}
	if c.ui.Workspace == nil {
		return byName()
	}
	return fetch(c, c.ui.Workspace.Models, func(list []protocol.ModelInfo) tea.Cmd {
		if len(list) == 0 {
			return byName()
		}
		return known(func(*Commands) []protocol.ModelInfo { return list }, modelItem)(c, then)
	})
}

func modelItem(c *Commands, x protocol.ModelInfo) panels.Item {
	detail := x.Description
	if x.Window > 0 {
		detail = strings.TrimSpace(humanize.Tokens(x.Window) + " window  " + detail)
	}
	return panels.Item{Label: x.Name, Detail: detail, Value: x, Current: x.Name == c.ui.Session.Settings.Model}
}

// chooseModel sets the model that words name, with its effort, or lists the models.
func chooseModel(c *Commands, words string) tea.Cmd {
	f := append(strings.Fields(words), "", "")
	if f[0] == "" {
		return pick("models")(c, "")
	}
	return configure(c, protocol.Settings{Model: f[0], Effort: f[1]})
}

func setModel(c *Commands, it panels.Item) (tea.Cmd, bool) {
	x := it.Value.(protocol.ModelInfo)
	if len(x.Efforts) == 0 {
		return configure(c, protocol.Settings{Model: x.Name}), false
	}
	return c.choose(list{title: "Effort of " + style.OneLine(x.Name), at: current,
		items: known(func(*Commands) []string { return x.Efforts }, func(c *Commands, e string) panels.Item {
			return panels.Item{Label: e, Value: e, Current: e == c.ui.Session.Settings.Effort}
		}),
		choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) {
			return configure(c, protocol.Settings{Model: x.Name, Effort: it.Value.(string)}), false
		}}), false
}

// processes asks what runs in the background and lists it.
func processes(c *Commands, words string) tea.Cmd {
	ask := c.ui.Submit(protocol.ListProcesses{})
	return tea.Batch(ask, pick("processes")(c, words))
}

// listProcesses are the commands in the background: those that run, then those that ran.
func listProcesses(c *Commands, then func([]panels.Item) tea.Cmd) tea.Cmd {
	all := slices.Concat(c.ui.Session.Processes, c.ui.Session.Over)
	return known(func(*Commands) []protocol.Process { return all }, processItem)(c, then)
}

func processItem(c *Commands, x protocol.Process) panels.Item {
	state := "running " + humanize.Duration(c.ui.Now().Sub(x.Since))
	if x.Outcome != "" {
		state = x.Outcome + " after " + humanize.Duration(x.Took)
	}
	return panels.Item{Label: fmt.Sprintf("#%d  %s", x.ID, style.OneLine(x.Command)), Detail: state, Value: x,
		Role: outcomeRole(x)}
}

func serverItem(_ *Commands, s protocol.Server) panels.Item {
	return panels.Item{Label: s.Name + "  " + s.State, Role: conversation.StateRole(s.State),
		Detail: cmp.Or(s.Error, humanize.Count(len(s.Tools), "tool")), Value: s}
}

func skills(c *Commands) []protocol.Prompt {
	return slices.DeleteFunc(slices.Clone(c.ui.Input.Prompts), func(p protocol.Prompt) bool { return !p.Skill })
}

func promptItem(_ *Commands, p protocol.Prompt) panels.Item {
	return panels.Item{Label: p.Name, Detail: p.Description, Value: p.Name}
}

// Rewind lists the earlier messages, to go back to one.
func (c *Commands) Rewind() tea.Cmd {
	if c.ui.Shown().Running {
		c.ui.Notice(style.Warn, "a turn is running; esc interrupts it first")
		return nil
	}
	return pick("rewind")(c, "")
}

func marks(c *Commands) []conversation.Mark {
	list := slices.Clone(c.ui.Shown().Turns)
	slices.Reverse(list)
	return list
}

func markItem(c *Commands, t conversation.Mark) panels.Item {
	return panels.Item{Label: style.OneLine(t.Text), Detail: humanize.Ago(c.ui.Now().Sub(t.At)), Value: t}
}

// goBack asks in what to go back to before a turn.
func goBack(t conversation.Mark) list {
	back := func(talk, files bool) func(*Commands) tea.Cmd {
		return func(c *Commands) tea.Cmd {
			if talk {
				c.ui.Shown().Composer.Set(t.Text)
				c.ui.Shown().ForgetFrom(t.ID)
			}
			return c.ui.Submit(protocol.Rewind{Turn: t.ID, Conversation: talk, Files: files})
		}
	}
	return menu("What should go back?", []entry{
		{"Conversation and files", "takes back what Kerf changed since then", back(true, true)},
		{"Conversation only", "files stay as they are", back(true, false)},
		{"Files only", "the conversation stays", back(false, true)},
		{"Fork from here", "a new session; this one stays as it is", func(c *Commands) tea.Cmd { return forkBefore(c, t) }},
	})
}

// CarryOutPlan offers to carry out a plan that was just proposed.
func (c *Commands) CarryOutPlan() {
	carryOut := func(p protocol.ApprovalPolicy) func(*Commands) tea.Cmd {
		return func(c *Commands) tea.Cmd {
			return tea.Batch(configure(c, protocol.Settings{Approval: p}), c.ui.Say("Carry out the plan."))
		}
	}
	question := menu("Carry out this plan?", []entry{
		{"Yes, and edit files unasked", "auto-edit", carryOut(protocol.PolicyAutoEdit)},
		{"Yes, and ask as before", "", func(c *Commands) tea.Cmd { return carryOut(cmp.Or(c.beforePlan, protocol.PolicyOnRequest))(c) }},
		{"No, go on planning", "say what to change", nothing},
	})
	question.asks = true
	c.choose(question)
}

// chooseTheme sets the colours that words name, or lists the themes; the list shows
// each at once.
func chooseTheme(c *Commands, words string) tea.Cmd {
	names := c.ui.Themes
	if words != "" {
		if !slices.Contains(names, words) {
			c.ui.Notice(style.Warn, "there is no theme "+words+"; there are "+strings.Join(names, ", "))
			return nil
		}
		c.ui.SetTheme(words)
		return nil
	}
	before := c.ui.Theme()
	return c.choose(list{title: "Theme", at: current,
		items: known(func(*Commands) []string { return names }, func(_ *Commands, name string) panels.Item {
			return panels.Item{Label: name, Value: name, Current: name == before}
		}),
		choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) { c.ui.SetTheme(it.Value.(string)); return nil, false },
		preview: func(c *Commands, it panels.Item, width int) []style.Line {
			c.ui.SetTheme(it.Value.(string))
			return themeSample(width)
		},
		left: func(c *Commands) { c.ui.SetTheme(before) }})
}

func themeSample(width int) []style.Line {
	files := diffview.Parse("--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n" +
		" func half(n int) int {\n-\treturn n / 3 // wrong\n+\treturn n / 2\n")
	rows := []style.Line{
		{style.S(style.Accent, "• "), style.Bold(style.Plain, "Ran "), style.S(style.Code, "go test ./..."), style.S(style.Bad, "  exit 1")},
		{style.S(style.Good, "good "), style.S(style.Warn, "warning "), style.S(style.Bad, "bad "), style.S(style.Dim, "quiet "), style.S(style.Link, "link")},
	}
	return append(rows, diffview.Summary(files, width)...)
}
