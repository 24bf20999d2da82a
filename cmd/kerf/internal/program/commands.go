package program

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Commands makes commands, by their names: "exec e" is a command with an alias. A command is
// made when the words may mean it: making all with their flags takes longer than many of them
// run.
type Commands map[string]func(*Program) *cobra.Command

// Named takes out of c those of which one of the words is a name.
func (c Commands) Named(words []string) Commands {
	named := Commands{}
	for names, command := range c {
		if slices.ContainsFunc(strings.Fields(names), func(name string) bool { return slices.Contains(words, name) }) {
			named[names] = command
			delete(c, names)
		}
	}
	return named
}

// AddTo makes the commands, below root.
func (c Commands) AddTo(p *Program, root *cobra.Command) {
	for _, command := range c {
		root.AddCommand(command(p))
	}
}
