package guide

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
)

const manLong = `Shows the manual page of a command, or, with --dir, writes those of all commands into a
directory: kerf.1, kerf-exec.1 and so on. In a pipe it prints the page for man(1) to format.`

func manCommand(p *program.Program, root *cobra.Command) *cobra.Command {
	var dir string
	cmd := &cobra.Command{Use: "man [COMMAND ...]", Short: "Show or write manual pages", Long: manLong,
		Example: "  kerf man undo\n  kerf man --dir ~/.local/share/man/man1",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest := find(root, args)
			switch {
			case len(rest) > 0:
				return program.Unknown(about, rest[0])
			case dir != "" && len(args) > 0:
				return program.Misuse("--dir writes the pages of all commands; name none")
			case dir != "":
				return writeMan(root, dir)
			}
			return p.Paged(func() error { return showMan(p, manPage(about)) })
		}}
	cmd.Flags().StringVar(&dir, "dir", "", "write the pages of all commands into this `directory`")
	return cmd
}

// showMan prints a page: formatted where it is seen, if there is man.
func showMan(p *program.Program, page []byte) error {
	if program.IsTerminal(p.Stdout) {
		man := osexec.Command("man", "-l", "-")
		man.Env = append(p.Env, "MANPAGER=cat", "PAGER=cat", fmt.Sprintf("MANWIDTH=%d", width()))
		man.Stdin = bytes.NewReader(page)
		if out, err := man.Output(); err == nil {
			page = out
		}
	}
	_, err := p.Stdout.Write(page)
	return err
}

// writeMan writes the pages of a command and of all below it.
func writeMan(cmd *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return program.Misuse("--dir: %v", err)
	}
	var all []error
	each(cmd, func(c *cobra.Command) {
		all = append(all, os.WriteFile(filepath.Join(dir, manName(c)+".1"), manPage(c), 0o644))
	})
	return errors.Join(all...)
}

// each calls do for a command and for all below it that help shows.
func each(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			each(c, do)
		}
	}
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the page of a command, in the macros of man(7).
func manPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"kerf %s\" \"Kerf\"\n", roff(strings.ToUpper(name)), host.Version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fR\n", roff(cmd.UseLine()))
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + literal(about))
	cmd.InitDefaultHelpFlag()
	manFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + literal(cmd.Example))
	}
	manCommands(&b, cmd)
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(cmd.Parent())))
	}
	return b.Bytes()
}

// manFlags writes a section with flags, unless there are none.
func manFlags(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH " + title + "\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		head := "\\fB" + roff("--"+f.Name) + "\\fR"
		if f.Shorthand != "" {
			head = "\\fB" + roff("-"+f.Shorthand) + "\\fR, " + head
		}
		if value != "" {
			head += " \\fI" + roff(value) + "\\fR"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", head, roff(usage))
	})
}

// manCommands writes the list of the commands below cmd.
func manCommands(b *bytes.Buffer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(b, ".TP\n.BR %s (1)\n%s\n", roff(manName(c)), roff(c.Short))
		}
	}
}

// literal is text whose lines stay as they are.
func literal(text string) string {
	return ".nf\n" + roff(strings.Trim(text, "\n")) + "\n.fi\n"
}

// roff writes text so that nothing in it is a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
