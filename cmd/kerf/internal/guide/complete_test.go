package guide

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kerf/cmd/kerf/internal/habits"
	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records"
	"kerf/cmd/kerf/internal/settings"
	"kerf/cmd/kerf/internal/start"
	"kerf/cmd/kerf/internal/telling"
	"kerf/cmd/kerf/internal/trying"
	"kerf/cmd/kerf/internal/upkeep"
	"kerf/cmd/kerf/internal/worktrees"
	"kerf/doc"
)

func commands() *cobra.Command {
	p := &program.Program{Name: "kerf", Env: os.Environ()}
	root := &cobra.Command{Use: "kerf"}
	p.AddFlags(root)
	start.TUI(p, root)
	for _, some := range []program.Commands{records.Commands(), upkeep.Commands(), settings.Commands(), habits.Commands(),
		telling.Commands(), trying.Commands(), start.Commands(), Commands(), {"worktree": worktrees.Command}} {
		some.AddTo(p, root)
	}
	Add(p, root)
	Complete(p, root, []string{cobra.ShellCompRequestCmd})
	return root
}

// TestEveryValueHasACompletion: each flag that takes a value has words, files or
// directories, or its value is of a kind for which nothing can be proposed.
func TestEveryValueHasACompletion(t *testing.T) {
	flags, seen := 0, map[string]bool{}
	each(commands(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" {
				return
			}
			flags++
			value, _ := pflag.UnquoteUsage(f)
			seen[value] = true
			if flagKinds[f.Name] == nil && valueKinds[value] == nil && !slices.Contains(free, value) {
				t.Errorf("%s --%s %s has no completion: add it to flagKinds or valueKinds, or the value to free",
					cmd.CommandPath(), f.Name, value)
			}
		})
	})
	for _, value := range free {
		if !seen[value] {
			t.Errorf("no flag takes a %s", value)
		}
	}
	if flags < 50 {
		t.Errorf("only %d flags were seen", flags)
	}
}

// TestListedValuesAreCompleted: the words that the help of a flag lists are those that are
// proposed.
func TestListedValuesAreCompleted(t *testing.T) {
	list := regexp.MustCompile(`^([a-z0-9-]+(?:, [a-z0-9-]+)*(?: or |, )[a-z0-9-]+)(?: \(|;|$)`)
	checked := 0
	each(commands(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(f)
			m := list.FindStringSubmatch(usage)
			if m == nil || f.NoOptDefVal != "" {
				return
			}
			checked++
			want := strings.FieldsFunc(strings.ReplaceAll(m[1], " or ", ","), func(r rune) bool { return r == ',' || r == ' ' })
			got, _ := kindOf(f)(&completer{})
			slices.Sort(want)
			if got = slices.Sorted(slices.Values(got)); !slices.Equal(got, want) {
				t.Errorf("%s --%s: %q lists %q, proposed are %q", cmd.CommandPath(), f.Name, usage, want, got)
			}
		})
	})
	if checked < 8 {
		t.Errorf("only %d flags list their words", checked)
	}
}

// TestEveryArgumentHasACompletion: each command whose usage names a session, a file or the
// like completes it.
func TestEveryArgumentHasACompletion(t *testing.T) {
	known := map[string]bool{"kerf help": true}
	each(commands(), func(cmd *cobra.Command) {
		known[cmd.CommandPath()] = true
		for _, word := range []string{"ID", "FILE", "PATH", "SESSION", "DIRECTORY", "PROVIDER", "TURN"} {
			named := slices.ContainsFunc(strings.FieldsFunc(cmd.Use, func(r rune) bool { return !('A' <= r && r <= 'Z') }),
				func(w string) bool { return w == word })
			if named && argumentsOf(cmd.CommandPath()) == nil && !strings.Contains(cmd.Use, "--record FILE") {
				t.Errorf("%s: %s has no completion", cmd.CommandPath(), word)
			}
		}
	})
	for _, a := range argumentKinds {
		if !known[a.path] {
			t.Errorf("there is no command %s", a.path)
		}
	}
}

// TestPagesNameNoFiles: pages refer to each other by the command that shows them.
func TestPagesNameNoFiles(t *testing.T) {
	for _, name := range doc.Names() {
		page, ok := doc.Page(name)
		if !ok || doc.Title(name) == "" {
			t.Errorf("%s: no page, or no title", name)
		}
		for _, other := range doc.Names() {
			if strings.Contains(page, "("+other+".md") {
				t.Errorf("%s refers to the file %s.md", name, other)
			}
		}
	}
}

// TestManPages: every command has a page that formats without a complaint, as far as its
// lines go: none begins with a request that is not one.
func TestManPages(t *testing.T) {
	requests := []string{".TH ", ".SH ", ".TP", ".BR ", ".nf", ".fi", `.\" `}
	each(commands(), func(cmd *cobra.Command) {
		page := string(manPage(cmd))
		for line := range strings.Lines(page) {
			if !strings.HasPrefix(line, ".") && !strings.HasPrefix(line, "'") {
				continue
			}
			if !slices.ContainsFunc(requests, func(r string) bool { return strings.HasPrefix(line, r) }) {
				t.Errorf("%s: %q", cmd.CommandPath(), line)
			}
		}
		if !strings.Contains(page, ".SH SYNOPSIS") || !strings.Contains(page, ".SH DESCRIPTION") {
			t.Errorf("%s: a section is missing", cmd.CommandPath())
		}
	})
	if got, want := roff(".a\n'b\\n-c"), "\\&.a\n\\(aqb\\en\\-c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
