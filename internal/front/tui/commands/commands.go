package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/status"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
	"kerf/internal/text/spelling"
)

// command is a command behind a slash.
type command struct {
	name, args, help string
	run              func(c *Commands, words string) tea.Cmd
	// agents says that it means something while a sub-agent is looked at.
	agents bool
}

// table lists the commands in the order of the help.
func table() []command {
	return []command{
		{name: "new", help: "start a new session", run: newSession},
		{name: "resume", args: "[ID]", help: "go on with an earlier session", run: resume},
		{name: "fork", args: "[ID]", help: "start a new session with the history of this one", run: fork},
		{name: "sessions", help: "find, read, fork and rename sessions", run: resume},
		{name: "rename", args: "TITLE", help: "give the session a title", run: rename},
		{name: "rewind", help: "go back to an earlier message: conversation, files or both", run: func(c *Commands, _ string) tea.Cmd { return c.Rewind() }},
		{name: "undo", args: "[dry | WAY]", help: "take back the last turn; shows what, and asks", run: undo},
		{name: "redo", args: "[dry]", help: "bring back what the last undo took", run: redo},
		{name: "changes", help: "what changed and by whom; undo files, edits, lines",
			run: func(c *Commands, _ string) tea.Cmd { return c.Changes() }, agents: true},
		{name: "diff", args: "[turn]", help: "the changes of this session, or of the last turn", run: showDiff, agents: true},
		{name: "apply", args: "[DIRECTORY]", help: "apply these changes to another checkout", run: apply},
		{name: "try", args: "[keep | leave | discard]", help: "go on where nothing is touched until it is kept; there: keep it or not", run: try},
		{name: "tries", help: "tries that wait: compare two, keep one", run: listTries},
		{name: "plan", args: "[REQUEST]", help: "plan mode on or off: Kerf changes nothing", run: plan},
		{name: "goal", args: "TEXT [--check COMMAND] [--max-checks N]", help: "a turn that goes on until the check passes", run: setGoal},
		{name: "loop", args: "[TIME REQUEST | stop]", help: "repeat a request while this window is open: /loop 10m look at CI", run: loop},
		{name: "compact", help: "replace the history by a summary", run: func(c *Commands, _ string) tea.Cmd { return c.ui.Submit(protocol.Compact{}) }},
		{name: "review", args: "[WORDS | base BRANCH | commit ID]", help: "review changes", run: review},
		{name: "init", help: "write an AGENTS.md for this project", run: initProject},
		{name: "model", args: "[NAME [EFFORT]]", help: "choose model and effort", run: chooseModel},
		{name: "approvals", help: "choose what Kerf asks about", run: pick("approvals")},
		{name: "permissions", help: "choose what commands may reach", run: pick("approvals")},
		{name: "mcp", help: "MCP servers and their tools", run: pick("servers")},
		{name: "agents", help: "sub-agents: what they do; look at one and talk to it", run: pick("agents"), agents: true},
		{name: "back", help: "go back from a sub-agent to the session", run: func(c *Commands, _ string) tea.Cmd { c.ui.Look(""); return nil }, agents: true},
		{name: "ps", help: "commands in the background: output, how they ended; end them", run: processes, agents: true},
		{name: "status", help: "session, settings, tokens, limits",
			run: page("Status", func(c *Commands, width int) []style.Line {
				return c.ui.Session.Rows(c.ui.Shown(), c.ui.Version, width)
			}), agents: true},
		{name: "usage", help: "tokens and cost of this session",
			run: page("Usage", func(c *Commands, width int) []style.Line {
				return c.ui.Session.UsageRows(c.ui.Shown(), width)
			}), agents: true},
		{name: "context", help: "what fills the context window",
			run: page("Context", func(c *Commands, width int) []style.Line {
				return status.ContextRows(c.ui.Shown(), width)
			})},
		{name: "skills", help: "the available skills", run: pick("skills")},
		{name: "hooks", help: "the hooks that apply here", run: showHooks},
		{name: "theme", args: "[NAME]", help: "colours", run: chooseTheme, agents: true},
		{name: "keymap", help: "the keys while writing, and where they are set",
			run: page("Keys", func(c *Commands, width int) []style.Line {
				return c.ui.Keymap.Rows(width)
			}), agents: true},
		{name: "copy", args: "[all]", help: "copy the last answer to the clipboard", run: copyAnswer, agents: true},
		{name: "export", args: "[FILE]", help: "write the conversation to a Markdown file", run: export},
		{name: "transcript", help: "read and search the whole transcript", run: func(c *Commands, _ string) tea.Cmd { c.ui.Push(c.TranscriptPage()); return nil }, agents: true},
		{name: "doctor", help: "check what Kerf needs on this machine", run: doctor},
		{name: "clear", help: "clear the screen; the session goes on", run: func(c *Commands, _ string) tea.Cmd { c.ui.Shown().Blank(c.ui.Height()); return nil }, agents: true},
		{name: "quit", help: "leave", run: func(c *Commands, _ string) tea.Cmd { return c.ui.Quit() }, agents: true},
		{name: "exit", help: "leave", run: func(c *Commands, _ string) tea.Cmd { return c.ui.Quit() }, agents: true},
		{name: "help", help: "commands and keys", run: func(c *Commands, _ string) tea.Cmd { c.ui.Push(HelpPage(c.ui.Input.Prompts)); return nil }, agents: true},
	}
}

// NeedsWords is the command that makes no sense without words.
const NeedsWords = "rename"

// Run runs a command line; ok is false when the text is no command but a message, a
// path for example.
func (c *Commands) Run(text string) (cmd tea.Cmd, ok bool) {
	name, words, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	name, more, cut := strings.Cut(name, "\n")
	if cut {
		words = more + " " + words
	}
	words = strings.TrimSpace(words)
	if strings.ContainsAny(name, "/.") {
		return nil, false
	}
	all := table()
	if c.ui.Agent() != "" && !slices.ContainsFunc(all, func(x command) bool { return x.name == name && x.agents }) {
		agent := c.ui.Session.AgentName(c.ui.Agent())
		c.ui.Notice(style.Warn, "/"+name+" is about the session; /back returns to it from agent "+agent)
		return nil, true
	}
	for _, x := range all {
		if x.name == name {
			return x.run(c, words), true
		}
	}
	for _, p := range c.ui.Input.Prompts {
		if p.Name == name && !p.Skill {
			return c.ui.Say(p.Expand(words)), true
		}
	}
	if c.ui.Session.ServerPrompt(name) {
		return nil, false // the session asks the server
	}
	hint := "/help lists them"
	var names []string
	for _, x := range c.ui.Input.Commands("") {
		names = append(names, x.Text)
	}
	if near := spelling.Nearest(name, names); near != "" {
		hint = "did you mean /" + near + "? " + hint
	} else if near := c.ui.Input.Commands(name[:min(2, len(name))]); len(near) > 0 {
		hint = "did you mean /" + near[0].Text + "? " + hint
	}
	c.ui.Notice(style.Warn, "there is no command /"+name+"; "+hint)
	return nil, true
}

// ask asks for words and submits what they stand for; no words submit nothing.
func ask(title string, op func(words string) protocol.Op) func(*Commands) tea.Cmd {
	return func(c *Commands) tea.Cmd {
		c.ui.Push(&panels.Input{Title: title, Done: func(text string) tea.Cmd {
			if text == "" {
				return nil
			}
			return c.ui.Submit(op(text))
		}})
		return nil
	}
}

func rename(c *Commands, words string) tea.Cmd {
	if words == "" {
		return ask("New title", func(s string) protocol.Op { return protocol.Rename{Title: s} })(c)
	}
	return c.ui.Submit(protocol.Rename{Title: words})
}

func undo(c *Commands, words string) tea.Cmd {
	if dry(words) {
		return c.ui.Submit(protocol.Undo{DryRun: true})
	}
	return c.askUndo(protocol.Undo{Conflicts: words})
}

func redo(c *Commands, words string) tea.Cmd {
	if dry(words) {
		return c.ui.Submit(protocol.Undo{Redo: true, DryRun: true})
	}
	return c.askUndo(protocol.Undo{Redo: true, Conflicts: words})
}

// askUndo finds out what an undo would do; Undone then asks whether it shall.
func (c *Commands) askUndo(op protocol.Undo) tea.Cmd {
	if c.ui.Lines {
		return c.ui.Submit(op)
	}
	asked := op
	c.undoing = &asked
	op.DryRun = true
	return c.ui.Submit(op)
}

// Undone takes the report of an undo. When the user was to be asked first, it asks, and
// returns true.
func (c *Commands) Undone(r protocol.UndoReport) (cmd tea.Cmd, asks bool) {
	op := c.undoing
	if op == nil || !r.DryRun || r.Redo != op.Redo {
		return c.Changed(), false
	}
	c.undoing = nil
	if conflicts := inConflict(r); conflicts > 0 {
		return c.choose(c.settle(*op, r, conflicts)), true
	}
	if r.Problem != "" || len(r.Files) == 0 {
		if c.view != nil {
			c.view.Tell(cmp.Or(r.Problem, "there is nothing to take back"))
		}
		return nil, false
	}
	what := "Take back"
	if r.Redo {
		what = "Bring back"
	}
	question := menu(fmt.Sprintf("%s %s? (%s)", what, r.What, humanize.Count(len(r.Files), "file")), []entry{
		{"Yes", map[bool]string{false: "/redo brings it back", true: "/undo takes it back"}[r.Redo],
			func(c *Commands) tea.Cmd { return c.ui.Submit(*op) }},
		{"No", "nothing is touched", nothing},
	})
	question.asks = true
	question.preview = func(c *Commands, _ panels.Item, width int) []style.Line {
		f := c.ui.Format()
		f.Width = width
		return f.Undone(r)
	}
	return c.choose(question), true
}

func dry(words string) bool { return strings.HasPrefix(words, "dry") || words == "--dry-run" }

// plan turns plan mode on with a request, or toggles it without one.
func plan(c *Commands, words string) tea.Cmd {
	if words == "" {
		return c.TogglePlan()
	}
	if c.ui.Session.Settings.Approval == protocol.PolicyPlan {
		return c.ui.Say(words)
	}
	toggle := c.TogglePlan()
	return tea.Batch(toggle, c.ui.Say(words))
}

// TogglePlan turns plan mode on, or back to the policy before it.
func (c *Commands) TogglePlan() tea.Cmd {
	to := protocol.PolicyPlan
	if c.ui.Session.Settings.Approval == protocol.PolicyPlan {
		to = c.beforePlan
		if to == "" || to == protocol.PolicyPlan {
			to = protocol.PolicyOnRequest
		}
	} else {
		c.beforePlan = c.ui.Session.Settings.Approval
	}
	return configure(c, protocol.Settings{Approval: to})
}

// configure changes settings of the session.
func configure(c *Commands, s protocol.Settings) tea.Cmd {
	now := &c.ui.Session.Settings
	now.Model, now.Effort = cmp.Or(s.Model, now.Model), cmp.Or(s.Effort, now.Effort)
	now.Approval, now.Sandbox = cmp.Or(s.Approval, now.Approval), cmp.Or(s.Sandbox, now.Sandbox)
	return c.ui.Submit(protocol.Configure{Settings: s})
}

func review(c *Commands, words string) tea.Cmd {
	kind, rest, _ := strings.Cut(words, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case kind == "base" && rest != "":
		return c.ui.Submit(protocol.Review{Base: rest})
	case kind == "commit" && rest != "":
		return c.ui.Submit(protocol.Review{Commit: rest})
	case words != "":
		return c.ui.Submit(protocol.Review{Words: words})
	}
	return c.choose(menu("Review what?", []entry{
		{"What is not committed", "", func(c *Commands) tea.Cmd { return c.ui.Submit(protocol.Review{}) }},
		{"Changes since a branch", "", ask("Which branch?", func(s string) protocol.Op { return protocol.Review{Base: s} })},
		{"A commit", "", ask("Which commit?", func(s string) protocol.Op { return protocol.Review{Commit: s} })},
		{"Something else, in words", "", ask("Review what?", func(s string) protocol.Op { return protocol.Review{Words: s} })},
	}))
}

const initPrompt = `Write a file AGENTS.md in the root of this repository for coding agents that will work here. Read the code first. Keep it under
two screens: what the project is, how to build and test it (commands that you tried), how the code is laid out, the conventions it follows and what to
beware of. If there is an AGENTS.md already, improve it instead of replacing it.`

func initProject(c *Commands, _ string) tea.Cmd { return c.ui.Say(initPrompt) }

// newSession closes this session and opens a new one with its settings.
func newSession(c *Commands, _ string) tea.Cmd {
	return c.ui.Open(protocol.OpenOptions{Settings: c.ui.Session.Settings, AddDirs: c.ui.First.AddDirs,
		Source: c.ui.First.Source})
}

func resume(c *Commands, words string) tea.Cmd {
	if words != "" {
		return c.ui.Open(protocol.OpenOptions{Resume: words, Source: c.ui.First.Source})
	}
	return c.ListSessions()
}

func fork(c *Commands, words string) tea.Cmd {
	return c.ui.Open(protocol.OpenOptions{Fork: cmp.Or(words, string(c.ui.Session.ID)), Source: c.ui.First.Source})
}

// forkBefore starts a session with the history up to the turn before t.
func forkBefore(c *Commands, t conversation.Mark) tea.Cmd {
	c.ui.Shown().Composer.Set(t.Text)
	before, ok := c.ui.Shown().Before(t.ID)
	if !ok {
		return newSession(c, "")
	}
	return c.ui.Open(protocol.OpenOptions{Fork: string(c.ui.Session.ID), ForkTurn: before, Source: c.ui.First.Source})
}
