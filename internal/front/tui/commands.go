package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

// slashCommand is one command behind a slash.
type slashCommand struct {
	name, args, help string
	run              func(m *Model, words string) cmd
}

// slashTable lists the commands in the order of the help.
func slashTable() []slashCommand {
	return []slashCommand{
		{"new", "", "start a new session", func(m *Model, _ string) cmd { return m.newSession() }},
		{"resume", "[ID]", "go on with an earlier session", (*Model).resume},
		{"fork", "[ID]", "start a new session with the history of this one", (*Model).fork},
		{"sessions", "", "find, read, fork and rename sessions", (*Model).resume},
		{"rename", "TITLE", "give the session a title", (*Model).rename},
		{"rewind", "", "go back to an earlier message: conversation, files or both", func(m *Model, _ string) cmd { return m.rewindPanel() }},
		{"undo", "[dry]", "take back the files of the last turn", (*Model).undo},
		{"redo", "[dry]", "bring back what the last undo took", (*Model).redo},
		{"changes", "", "what changed in this session, by whom; undo calls, files, hunks", func(m *Model, _ string) cmd { return m.changesPanel() }},
		{"diff", "[turn]", "the changes of this session, or of the last turn", (*Model).showDiff},
		{"apply", "[DIRECTORY]", "carry these changes to another checkout", (*Model).apply},
		{"plan", "[REQUEST]", "plan mode on or off: nothing is changed", (*Model).plan},
		{"compact", "", "replace the history by a summary", func(m *Model, _ string) cmd { return m.submit(protocol.Compact{}) }},
		{"review", "[WORDS | base BRANCH | commit ID]", "review changes", (*Model).review},
		{"init", "", "write an AGENTS.md for this project", (*Model).initProject},
		{"model", "[NAME [EFFORT]]", "choose model and effort", (*Model).modelPanel},
		{"approvals", "", "choose what is asked", func(m *Model, _ string) cmd { return m.policyPanel() }},
		{"permissions", "", "choose what commands may reach", func(m *Model, _ string) cmd { return m.policyPanel() }},
		{"mcp", "", "MCP servers and their tools", func(m *Model, _ string) cmd { return m.serversPanel() }},
		{"agents", "", "sub-agents: what they do; look at one and talk to it", func(m *Model, _ string) cmd { return m.agentsPanel() }},
		{"back", "", "from the view of a sub-agent back to the session", func(m *Model, _ string) cmd { m.look(""); return nil }},
		{"ps", "", "background processes; end them", func(m *Model, _ string) cmd { return m.processPanel() }},
		{"status", "", "session, settings, tokens, limits", func(m *Model, _ string) cmd { return m.show("Status", m.statusRows) }},
		{"usage", "", "tokens and cost of this session", func(m *Model, _ string) cmd { return m.show("Usage", m.usageRows) }},
		{"context", "", "what fills the context window", func(m *Model, _ string) cmd { return m.show("Context", m.contextRows) }},
		{"skills", "", "the skills there are", func(m *Model, _ string) cmd { return m.skillsPanel() }},
		{"hooks", "", "the hooks that hold here", func(m *Model, _ string) cmd { return m.hooksPanel() }},
		{"theme", "[NAME]", "colours", (*Model).themePanel},
		{"keymap", "", "the keys while writing, and where they are set", func(m *Model, _ string) cmd { return m.show("Keys", m.keymapRows) }},
		{"copy", "[all]", "copy the last answer to the clipboard", (*Model).copyAnswer},
		{"export", "[FILE]", "write the conversation to a Markdown file", (*Model).export},
		{"transcript", "", "read and search everything, whole", func(m *Model, _ string) cmd { m.push(m.transcriptPager()); return nil }},
		{"doctor", "", "check what Kerf needs on this machine", func(m *Model, _ string) cmd { return m.doctor() }},
		{"clear", "", "clear the screen; the session goes on", func(m *Model, _ string) cmd { return m.clearScreen() }},
		{"quit", "", "leave", func(m *Model, _ string) cmd { return m.quit() }},
		{"exit", "", "leave", func(m *Model, _ string) cmd { return m.quit() }},
		{"help", "", "commands and keys", func(m *Model, _ string) cmd { m.push(m.helpPager()); return nil }},
	}
}

// needsWords reports whether a command makes no sense without words.
func needsWords(name string) bool { return name == "rename" }

// slash runs a command line; ok is false when the text is no command but a
// message, a path for example.
func (m *Model) slash(text string) (c cmd, ok bool) {
	name, words, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	name, more, cut := strings.Cut(name, "\n")
	if cut {
		words = more + " " + words
	}
	words = strings.TrimSpace(words)
	if strings.ContainsAny(name, "/.") {
		return nil, false
	}
	if m.viewing != "" && !inAgentView(name) {
		m.notice(ink.Warn, "/"+name+" is about the session; /back returns to it from agent "+m.agentLabel(m.viewing))
		return nil, true
	}
	for _, s := range slashTable() {
		if s.name == name {
			return s.run(m, words), true
		}
	}
	for _, p := range m.prompts() {
		if p.Name == name && !p.Skill {
			return m.say(expand(p.Body, words), nil, false), true
		}
	}
	hint := "/help lists them"
	if c := m.commandChoices(name[:min(2, len(name))]); len(c) > 0 {
		hint = "did you mean /" + c[0].text + "? " + hint
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

func (m *Model) rename(words string) cmd {
	if words == "" {
		m.push(&asker{title: "New title", done: func(m *Model, text string) cmd {
			if text == "" {
				return nil
			}
			return m.submit(protocol.Rename{Title: text})
		}})
		return nil
	}
	return m.submit(protocol.Rename{Title: words})
}

func (m *Model) undo(words string) cmd { return m.submit(protocol.Undo{DryRun: dry(words)}) }

func (m *Model) redo(words string) cmd {
	return m.submit(protocol.Undo{Redo: true, DryRun: dry(words)})
}

func dry(words string) bool { return strings.HasPrefix(words, "dry") || words == "--dry-run" }

func (m *Model) plan(words string) cmd {
	if words != "" && m.settings.Approval != protocol.PolicyPlan {
		c := m.togglePlan()
		return tea.Batch(c, m.say(words, nil, false))
	}
	if words != "" {
		return m.say(words, nil, false)
	}
	return m.togglePlan()
}

// togglePlan turns plan mode on, or back to the policy before it.
func (m *Model) togglePlan() cmd {
	to := protocol.PolicyPlan
	if m.settings.Approval == protocol.PolicyPlan {
		to = m.beforePlan
		if to == "" || to == protocol.PolicyPlan {
			to = protocol.PolicyOnRequest
		}
	} else {
		m.beforePlan = m.settings.Approval
	}
	m.settings.Approval = to
	return m.submit(protocol.Configure{Settings: protocol.Settings{Approval: to}})
}

func (m *Model) review(words string) cmd {
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
	ask := func(title string, op func(string) protocol.Op) func(m *Model) cmd {
		return func(m *Model) cmd {
			m.push(&asker{title: title, done: func(m *Model, text string) cmd {
				if text == "" {
					return nil
				}
				return m.submit(op(text))
			}})
			return nil
		}
	}
	m.push(menuOf("Review what?", []entry{
		{"What is not committed", "", func(m *Model) cmd { return m.submit(protocol.Review{}) }},
		{"Changes since a branch", "", ask("Which branch?", func(s string) protocol.Op { return protocol.Review{Base: s} })},
		{"A commit", "", ask("Which commit?", func(s string) protocol.Op { return protocol.Review{Commit: s} })},
		{"Something else, in words", "", ask("Review what?", func(s string) protocol.Op { return protocol.Review{Words: s} })},
	}))
	return nil
}

const initPrompt = `Write a file AGENTS.md in the root of this repository for coding agents that will work here. Read the code first. Keep it under
two screens: what the project is, how to build and test it (commands that you tried), how the code is laid out, the conventions it follows and what to
beware of. If there is an AGENTS.md already, improve it instead of replacing it.`

func (m *Model) initProject(string) cmd { return m.say(initPrompt, nil, false) }

// newSession closes this session and opens a new one in its directory.
func (m *Model) newSession() cmd {
	return m.swap(protocol.OpenOptions{Settings: m.carried(), AddDirs: m.o.Open.AddDirs, Source: m.o.Open.Source})
}

// carried are the settings that the next session inherits from this one.
func (m *Model) carried() protocol.Settings { return m.settings }

func (m *Model) resume(words string) cmd {
	if words != "" {
		return m.swap(protocol.OpenOptions{Resume: words, Source: m.o.Open.Source})
	}
	return m.sessionsPanel()
}

func (m *Model) fork(words string) cmd {
	if words == "" {
		words = string(m.id)
	}
	return m.swap(protocol.OpenOptions{Fork: words, Source: m.o.Open.Source})
}

// clearScreen empties the screen, not the scrollback.
func (m *Model) clearScreen() cmd {
	for range m.height {
		m.above = append(m.above, nil)
	}
	m.gap = false
	return nil
}
