// Command kerf is a local coding agent that always knows what changed, who
// changed it, and how to take it back.
//
// Exit codes: 0 done; 1 the task or turn failed; 2 usage or configuration; 125
// a sandbox could not be set up, so nothing ran; 130 interrupted.
package main

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

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
	"kerf/cmd/kerf/internal/upkeep"
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
	p := &program.Program{Name: argv[0], Stdin: stdin, Stdout: program.NewOutput(stdout), Stderr: stderr,
		Env: env, Layers: layers}
	args := argv[1:]
	if filepath.Base(argv[0]) == "apply_patch" {
		args = append([]string{"apply-patch"}, args...)
	}
	root := command(p, args)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(p.Stdout)
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

// commands are those right below kerf, but for those that tell about the others.
func commands() program.Commands {
	all := program.Commands{"worktree": worktrees.Command, "web": browser.Command}
	for _, some := range []program.Commands{records.Commands(), upkeep.Commands(), settings.Commands(), habits.Commands(),
		telling.Commands(), trying.Commands(), start.Commands(), guide.Commands()} {
		maps.Copy(all, some)
	}
	return all
}

// command is kerf with the commands that args may mean: all of them, unless args name one.
func command(p *program.Program, args []string) *cobra.Command {
	root := &cobra.Command{Use: "kerf", Short: "A local coding agent that knows exactly what it changed", Long: about,
		SilenceUsage: true, SilenceErrors: true}
	root.SetFlagErrorFunc(program.FlagError)
	p.AddFlags(root)
	start.TUI(p, root)
	guide.AddVersionFlag(p, root)
	all := commands()
	all.Named(args).AddTo(p, root)
	if at, _, err := root.Find(args); err == nil && at != root || slices.Equal(args, []string{"--version"}) {
		root.CompletionOptions.DisableDefaultCmd = true
		return root
	}
	all.AddTo(p, root)
	guide.Add(p, root)
	guide.Complete(p, root, args)
	return root
}
