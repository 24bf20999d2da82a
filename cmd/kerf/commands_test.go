package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
)

func commandOf(args ...string) *cobra.Command {
	return command(&program.Program{Name: "kerf", Env: os.Environ()}, args)
}

// TestOneCommandIsMade: who names a command gets it alone, under each of its names; who names
// none, or asks about others, gets all.
func TestOneCommandIsMade(t *testing.T) {
	all := len(commandOf().Commands())
	for names, makes := range commands() {
		made := makes(&program.Program{Name: "kerf"})
		if got := strings.Join(append([]string{made.Name()}, made.Aliases...), " "); got != names {
			t.Errorf("the command %q is listed as %q", got, names)
		}
		for _, name := range strings.Fields(names) {
			for _, args := range [][]string{{name}, {"-C", "exec", name, "--help"}} {
				root := commandOf(args...)
				if at, _, err := root.Find(args); err != nil || at.Name() != made.Name() {
					t.Errorf("%q finds %v, %v", args, at, err)
				}
				if made, most := len(root.Commands()), slices.Index(args, name)/2+1; made > most {
					t.Errorf("%q makes %d commands", args, made)
				}
			}
		}
	}
	for _, args := range [][]string{{"exce"}, {"exce", "exec"}, {"help", "exec"}, {"man"}, {"--help"}, {"-C", "exec"},
		{"completion", "bash"}, {"__complete", "exec"}, {"fix", "the", "log"}} {
		if got := len(commandOf(args...).Commands()); got != all {
			t.Errorf("%q makes %d commands of %d", args, got, all)
		}
	}
	if got := commandOf("--version").Commands(); len(got) != 0 {
		t.Errorf("--version makes %d commands", len(got))
	}
}
