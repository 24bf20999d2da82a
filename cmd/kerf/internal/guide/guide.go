// Package guide has the commands that tell about Kerf itself: help, its pages, manual
// pages, the version and the completion of words.
package guide

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"kerf/cmd/kerf/internal/program"
	"kerf/doc"
	"kerf/internal/front/tui/markdown"
	"kerf/internal/front/tui/style"
	"kerf/internal/text/spelling"
)

// Commands returns those of them that know no others.
func Commands() program.Commands { return program.Commands{"version": versionCommand} }

// Add gives root the commands that tell about all commands below it. It comes last.
func Add(p *program.Program, root *cobra.Command) {
	root.SetHelpCommand(helpCommand(p, root))
	root.InitDefaultHelpCmd()
	root.AddCommand(manCommand(p, root))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = program.AtMost(0)
			c.RunE = func(cmd *cobra.Command, args []string) error { return cmd.Help() }
			withoutPackage(p, c)
		}
	}
}

const helpLong = `Shows what a command does and which flags it takes, or a page about one part of Kerf. On a
terminal it uses your pager, as git does. "kerf help topics" lists the pages.`

func helpCommand(p *program.Program, root *cobra.Command) *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND ... | TOPIC]", Short: "Show the help of a command, or a page about a topic",
		Long: helpLong, Example: "  kerf help undo\n  kerf help sessions export\n  kerf help topics",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest := find(root, args)
			name := strings.Join(args, "-")
			page, known := doc.Page(name)
			switch {
			case len(args) == 1 && args[0] == "topics":
				return p.Paged(func() error { return topics(p) })
			case len(args) == 1 && known:
				return p.Paged(func() error {
					if len(rest) == 0 {
						help(p, about)
						fmt.Fprintf(p.Stdout, "\n")
					}
					return show(p, page)
				})
			case len(rest) > 0 && about == root:
				return unknownTopic(root, rest[0])
			case len(rest) > 0:
				return program.Unknown(about, rest[0])
			}
			return p.Paged(func() error {
				help(p, about)
				if about == root {
					fmt.Fprintf(p.Stdout, "\nPages (kerf help TOPIC): %s\n", strings.Join(doc.Names(), ", "))
				}
				return nil
			})
		}}
}

// help prints the help of a command to standard output.
func help(p *program.Program, cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.SetOut(p.Stdout)
	_ = cmd.Help() // its own write
}

// find follows words down the commands, and returns those that lead nowhere.
func find(root *cobra.Command, words []string) (*cobra.Command, []string) {
	at := root
	for i, word := range words {
		list := at.Commands()
		n := slices.IndexFunc(list, func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
		if n < 0 {
			return at, words[i:]
		}
		at = list[n]
	}
	return at, nil
}

// unknownTopic is the error for a word that is neither a command nor a page.
func unknownTopic(root *cobra.Command, word string) error {
	names := append(append(program.Subcommands(root), doc.Names()...), "topics")
	if near := spelling.Nearest(word, names); near != "" {
		return program.Misuse("there is no command and no page %q; did you mean kerf help %s?", word, near)
	}
	return program.Misuse("there is no command and no page %q; see kerf help and kerf help topics", word)
}

func topics(p *program.Program) error {
	for _, name := range doc.Names() {
		if _, err := fmt.Fprintf(p.Stdout, "%-14s%s\n", name, strings.ReplaceAll(doc.Title(name), "`", "")); err != nil {
			return err
		}
	}
	return nil
}

// show prints a page: as it is drawn on a terminal, as it is written elsewhere.
func show(p *program.Program, page string) error {
	if !program.IsTerminal(p.Stdout) {
		_, err := fmt.Fprint(p.Stdout, page)
		return err
	}
	depth := style.NoColor
	if p.Colored() {
		depth = style.Color16
	}
	palette := style.New("dark", depth)
	for _, line := range markdown.Render(page, width()) {
		if _, err := fmt.Fprintln(p.Stdout, palette.Render(line)); err != nil {
			return err
		}
	}
	return nil
}

// width is how wide pages are drawn: as the terminal, within what reads well.
func width() int {
	w, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 80
	}
	return max(20, min(w, 100))
}

// bashAlone takes the place of the functions of bash-completion, where it is not loaded.
const bashAlone = `
if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
_get_comp_words_by_ref()
{
    words=("${COMP_WORDS[@]}")
    cword=$COMP_CWORD
    cur="${words[cword]}"
    prev="${words[cword-1]}"
}
fi
if ! declare -F _filedir >/dev/null 2>&1; then
_filedir()
{
    local kind=-f word
    [[ $1 == -d ]] && kind=-d
    while IFS='' read -r word; do
        COMPREPLY+=("$word")
    done < <(compgen $kind -- "$cur")
}
fi
`

// withoutPackage has the completion for bash work without the package bash-completion.
func withoutPackage(p *program.Program, completion *cobra.Command) {
	for _, c := range completion.Commands() {
		run := c.RunE
		if c.Name() == "bash" && run != nil {
			c.RunE = func(cmd *cobra.Command, args []string) error {
				err := run(cmd, args)
				if err == nil {
					_, err = fmt.Fprint(p.Stdout, bashAlone)
				}
				return err
			}
		}
	}
}
