// Command kerf is a local coding agent that always knows what changed, who
// changed it, and how to take it back.
//
// Exit codes: 0 done; 1 the task or turn failed; 2 usage or configuration; 125
// a sandbox could not be set up, so nothing ran; 130 interrupted.
package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/browser"
	"kerf/cmd/kerf/internal/guide"
	"kerf/cmd/kerf/internal/habits"
	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records"
	"kerf/cmd/kerf/internal/settings"
	"kerf/cmd/kerf/internal/start"
	"kerf/cmd/kerf/internal/telling"
	"kerf/cmd/kerf/internal/trying"
	"kerf/cmd/kerf/internal/worktrees"
	"kerf/internal/work/tries"
)

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

// run is the whole program, so that tests can be it.
func run(argv []string, stdin *os.File, stdout, stderr io.Writer) int {
	if len(argv) == 2 && argv[1] == tries.HoldFlag {
		return tries.Hold()
	}
	layers, env := tries.Layers(os.Environ())
	p := &program.Program{Name: argv[0], Stdin: stdin, Stdout: stdout, Stderr: stderr, Env: env, Layers: layers}
	root := command(p)
	root.SetArgs(argv[1:])
	if filepath.Base(argv[0]) == "apply_patch" {
		root.SetArgs(append([]string{"apply-patch"}, argv[1:]...))
	}
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return p.Exit(root.ExecuteContext(context.Background()))
}

const about = `Kerf is a local coding agent. It always knows exactly what changed, who changed it,
and how to take it back.

  kerf                                 the terminal UI
  kerf exec "fix the failing test"     one request, headless
  kerf diff                            what the last turn changed
  kerf apply --dry-run                 what the last session would change here
  kerf demo                            see it work, without network or key`

func command(p *program.Program) *cobra.Command {
	root := &cobra.Command{Use: "kerf", Short: "A local coding agent that knows exactly what it changed", Long: about,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	root.SetFlagErrorFunc(program.FlagError)
	p.AddFlags(root)
	root.AddCommand(records.Commands(p)...)
	root.AddCommand(settings.Commands(p)...)
	root.AddCommand(habits.Commands(p)...)
	root.AddCommand(telling.Commands(p)...)
	root.AddCommand(trying.Commands(p)...)
	root.AddCommand(worktrees.Command(p))
	root.AddCommand(browser.Command(p))
	start.Add(p, root)
	guide.Add(p, root)
	return root
}
