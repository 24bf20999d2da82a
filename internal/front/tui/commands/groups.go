package commands

import (
	"slices"

	"kerf/internal/front/tui/input"
)

// group is a heading of the list of commands, and what stands below it.
type group struct {
	name     string
	commands []string
}

func groups() []group {
	return []group{
		{"Changes", []string{"changes", "diff", "undo", "redo", "rewind", "apply", "review"}},
		{"Session", []string{"new", "resume", "fork", "sessions", "rename", "compact", "copy", "export", "transcript",
			"clear", "quit", "exit"}},
		{"Work", []string{"plan", "try", "tries", "goal", "loop", "init", "agents", "back", "ps"}},
		{"Settings", []string{"model", "approvals", "permissions", "mcp", "skills", "hooks", "theme", "keymap"}},
		{"What is known", []string{"help", "status", "usage", "context", "doctor"}},
	}
}

// Choices are the commands as completions, by group.
func Choices() []input.Choice {
	all := table()
	var out []input.Choice
	for _, g := range groups() {
		for _, name := range g.commands {
			if i := slices.IndexFunc(all, func(x command) bool { return x.name == name }); i >= 0 {
				out = append(out, input.Choice{Text: name, Detail: all[i].help, Group: g.name})
			}
		}
	}
	return out
}
