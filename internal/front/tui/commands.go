package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/input"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/status"
	"kerf/internal/protocol"
)

// command is a command behind a slash.
type command struct {
	name, args, help string
	run              func(m *Model, words string) tea.Cmd
	// agents says that it means something while a sub-agent is looked at.
	agents bool
}

// commandTable lists the commands in the order of the help.
func commandTable() []command {
	return []command{
		{name: "new", help: "start a new session", run: newSession},
		{name: "resume", args: "[ID]", help: "go on with an earlier session", run: resume},
		{name: "fork", args: "[ID]", help: "start a new session with the history of this one", run: fork},
		{name: "sessions", help: "find, read, fork and rename sessions", run: resume},
		{name: "rename", args: "TITLE", help: "give the session a title", run: rename},
		{name: "rewind", help: "go back to an earlier message: conversation, files or both", run: rewind},
		{name: "undo", args: "[dry]", help: "take back the files of the last turn", run: undo},
		{name: "redo", args: "[dry]", help: "bring back what the last undo took", run: redo},
		{name: "changes", help: "what changed in this session, by whom; undo calls, files, hunks", run: pick("changes"), agents: true},
		{name: "diff", args: "[turn]", help: "the changes of this session, or of the last turn", run: showDiff, agents: true},
		{name: "apply", args: "[DIRECTORY]", help: "carry these changes to another checkout", run: apply},
		{name: "plan", args: "[REQUEST]", help: "plan mode on or off: nothing is changed", run: plan},
		{name: "compact", help: "replace the history by a summary", run: func(m *Model, _ string) tea.Cmd { return m.submit(protocol.Compact{}) }},
		{name: "review", args: "[WORDS | base BRANCH | commit ID]", help: "review changes", run: review},
		{name: "init", help: "write an AGENTS.md for this project", run: initProject},
		{name: "model", args: "[NAME [EFFORT]]", help: "choose model and effort", run: chooseModel},
		{name: "approvals", help: "choose what is asked", run: pick("approvals")},
		{name: "permissions", help: "choose what commands may reach", run: pick("approvals")},
		{name: "mcp", help: "MCP servers and their tools", run: pick("servers")},
		{name: "agents", help: "sub-agents: what they do; look at one and talk to it", run: pick("agents"), agents: true},
		{name: "back", help: "from the view of a sub-agent back to the session", run: func(m *Model, _ string) tea.Cmd { m.look(""); return nil }, agents: true},
		{name: "ps", help: "background processes; end them", run: pick("processes"), agents: true},
		{name: "status", help: "session, settings, tokens, limits", run: page("Status", func(m *Model, width int) []ink.Line {
			return m.session.Rows(m.shown, m.o.Version, width)
		}), agents: true},
		{name: "usage", help: "tokens and cost of this session", run: page("Usage", func(m *Model, width int) []ink.Line {
			return m.session.UsageRows(m.shown, width)
		}), agents: true},
		{name: "context", help: "what fills the context window", run: page("Context", func(m *Model, width int) []ink.Line {
			return status.ContextRows(m.shown, width)
		})},
		{name: "skills", help: "the skills there are", run: pick("skills")},
		{name: "hooks", help: "the hooks that hold here", run: showHooks},
		{name: "theme", args: "[NAME]", help: "colours", run: chooseTheme, agents: true},
		{name: "keymap", help: "the keys while writing, and where they are set", run: page("Keys", func(m *Model, width int) []ink.Line {
			return m.o.Keymap.Rows(width)
		}), agents: true},
		{name: "copy", args: "[all]", help: "copy the last answer to the clipboard", run: copyAnswer, agents: true},
		{name: "export", args: "[FILE]", help: "write the conversation to a Markdown file", run: export},
		{name: "transcript", help: "read and search everything, whole", run: func(m *Model, _ string) tea.Cmd { m.push(m.transcriptPage()); return nil }, agents: true},
		{name: "doctor", help: "check what Kerf needs on this machine", run: doctor},
		{name: "clear", help: "clear the screen; the session goes on", run: func(m *Model, _ string) tea.Cmd { m.shown.Blank(m.height); return nil }, agents: true},
		{name: "quit", help: "leave", run: func(m *Model, _ string) tea.Cmd { return m.quit() }, agents: true},
		{name: "exit", help: "leave", run: func(m *Model, _ string) tea.Cmd { return m.quit() }, agents: true},
		{name: "help", help: "commands and keys", run: func(m *Model, _ string) tea.Cmd { m.push(helpPage(m.input.Prompts)); return nil }, agents: true},
	}
}

// commandChoices are the commands as completions.
func commandChoices() []input.Choice {
	var out []input.Choice
	for _, c := range commandTable() {
		out = append(out, input.Choice{Text: c.name, Detail: c.help})
	}
	return out
}

// slash runs a command line; ok is false when the text is no command but a
// message, a path for example.
func (m *Model) slash(text string) (c tea.Cmd, ok bool) {
	name, words, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	name, more, cut := strings.Cut(name, "\n")
	if cut {
		words = more + " " + words
	}
	words = strings.TrimSpace(words)
	if strings.ContainsAny(name, "/.") {
		return nil, false
	}
	table := commandTable()
	if m.viewing != "" && !slices.ContainsFunc(table, func(c command) bool { return c.name == name && c.agents }) {
		m.notice(ink.Warn, "/"+name+" is about the session; /back returns to it from agent "+m.session.AgentName(m.viewing))
		return nil, true
	}
	for _, c := range table {
		if c.name == name {
			return c.run(m, words), true
		}
	}
	for _, p := range m.input.Prompts {
		if p.Name == name && !p.Skill {
			return m.say(expand(p.Body, words), nil, false), true
		}
	}
	hint := "/help lists them"
	if c := m.input.Commands(name[:min(2, len(name))]); len(c) > 0 {
		hint = "did you mean /" + c[0].Text + "? " + hint
	}
	m.notice(ink.Warn, "there is no command /"+name+"; "+hint)
	return nil, true
}

// expand puts words into a prompt's body.
func expand(body, words string) string {
	args := strings.Fields(words)
	var pairs []string
	for i := 9; i >= 1; i-- {
		v := ""
		if i <= len(args) {
			v = args[i-1]
		}
		pairs = append(pairs, fmt.Sprintf("$%d", i), v)
	}
	pairs = append(pairs, "$ARGUMENTS", words)
	out := strings.NewReplacer(pairs...).Replace(body)
	if out == body && words != "" {
		out += "\n\n" + words
	}
	return out
}

// ask asks for words and submits what they stand for; no words submit nothing.
func ask(title string, op func(words string) protocol.Op) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		m.push(&panels.Input{Title: title, Done: func(text string) tea.Cmd {
			if text == "" {
				return nil
			}
			return m.submit(op(text))
		}})
		return nil
	}
}

func rename(m *Model, words string) tea.Cmd {
	if words == "" {
		return ask("New title", func(s string) protocol.Op { return protocol.Rename{Title: s} })(m)
	}
	return m.submit(protocol.Rename{Title: words})
}

func undo(m *Model, words string) tea.Cmd { return m.submit(protocol.Undo{DryRun: dry(words)}) }

func redo(m *Model, words string) tea.Cmd {
	return m.submit(protocol.Undo{Redo: true, DryRun: dry(words)})
}

func dry(words string) bool { return strings.HasPrefix(words, "dry") || words == "--dry-run" }

// plan turns plan mode on with a request, or toggles it without one.
func plan(m *Model, words string) tea.Cmd {
	if words == "" {
		return togglePlan(m)
	}
	if m.session.Settings.Approval == protocol.PolicyPlan {
		return m.say(words, nil, false)
	}
	c := togglePlan(m)
	return tea.Batch(c, m.say(words, nil, false))
}

// togglePlan turns plan mode on, or back to the policy before it.
func togglePlan(m *Model) tea.Cmd {
	to := protocol.PolicyPlan
	if m.session.Settings.Approval == protocol.PolicyPlan {
		to = m.beforePlan
		if to == "" || to == protocol.PolicyPlan {
			to = protocol.PolicyOnRequest
		}
	} else {
		m.beforePlan = m.session.Settings.Approval
	}
	return configure(m, protocol.Settings{Approval: to})
}

// configure changes settings of the session.
func configure(m *Model, s protocol.Settings) tea.Cmd {
	now := &m.session.Settings
	now.Model, now.Effort = cmp.Or(s.Model, now.Model), cmp.Or(s.Effort, now.Effort)
	now.Approval, now.Sandbox = cmp.Or(s.Approval, now.Approval), cmp.Or(s.Sandbox, now.Sandbox)
	return m.submit(protocol.Configure{Settings: s})
}

func review(m *Model, words string) tea.Cmd {
	kind, rest, _ := strings.Cut(words, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case kind == "base" && rest != "":
		return m.submit(protocol.Review{Base: rest})
	case kind == "commit" && rest != "":
		return m.submit(protocol.Review{Commit: rest})
	case words != "":
		return m.submit(protocol.Review{Words: words})
	}
	return m.choose(menu("Review what?", []entry{
		{"What is not committed", "", func(m *Model) tea.Cmd { return m.submit(protocol.Review{}) }},
		{"Changes since a branch", "", ask("Which branch?", func(s string) protocol.Op { return protocol.Review{Base: s} })},
		{"A commit", "", ask("Which commit?", func(s string) protocol.Op { return protocol.Review{Commit: s} })},
		{"Something else, in words", "", ask("Review what?", func(s string) protocol.Op { return protocol.Review{Words: s} })},
	}))
}

const initPrompt = `Write a file AGENTS.md in the root of this repository for coding agents that will work here. Read the code first. Keep it under
two screens: what the project is, how to build and test it (commands that you tried), how the code is laid out, the conventions it follows and what to
beware of. If there is an AGENTS.md already, improve it instead of replacing it.`

func initProject(m *Model, _ string) tea.Cmd { return m.say(initPrompt, nil, false) }

// newSession closes this session and opens a new one with its settings.
func newSession(m *Model, _ string) tea.Cmd {
	return m.swap(protocol.OpenOptions{Settings: m.session.Settings, AddDirs: m.o.Open.AddDirs, Source: m.o.Open.Source})
}

func resume(m *Model, words string) tea.Cmd {
	if words != "" {
		return m.swap(protocol.OpenOptions{Resume: words, Source: m.o.Open.Source})
	}
	return listSessions(m, "")
}

func fork(m *Model, words string) tea.Cmd {
	return m.swap(protocol.OpenOptions{Fork: cmp.Or(words, string(m.session.ID)), Source: m.o.Open.Source})
}

// forkBefore starts a session with the history up to the turn before t.
func forkBefore(m *Model, t conversation.Mark) tea.Cmd {
	m.shown.Composer.Set(t.Text)
	before, ok := m.shown.Before(t.ID)
	if !ok {
		return newSession(m, "")
	}
	return m.swap(protocol.OpenOptions{Fork: string(m.session.ID), ForkTurn: before, Source: m.o.Open.Source})
}
