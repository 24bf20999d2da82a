// Package guarding has the command that runs a program of the user's, and records what it changes.
package guarding

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/trying"
	"kerf/internal/text/visible"
	"kerf/internal/work/tries"
)

const about = `Run any program, and record what it changes. Afterwards kerf diff, log, blame, undo and redo know
its changes like those of Kerf's own agent. Other agents and build tools need no setup.

  kerf guard -- make install
  kerf guard -- codex
  kerf guard --sandbox workspace-write -- ./untrusted.sh

On Linux Kerf watches the program and all that it starts. What it changes below the working directory,
in the rest of its git repository and in each --add-dir is proven to be its work, is kept before it is
changed, and is in the ledger while the program still runs. Where programs cannot be watched, Kerf says so and compares the files before
and after: then nobody knows who changed them. sudo and other setuid programs do not work inside.

The program has Kerf's own standard streams, terminal and environment, and gets the signals that Kerf
gets. Kerf exits with its exit code, or with 128 plus the number of the signal that ended it. Exit code
125: the program was not run. 126: it could not be started. 127: it was not found. At the end Kerf
writes one line to standard error if something was changed.`

// Command is kerf guard.
func Command(p *program.Program) *cobra.Command {
	var mode, try string
	var dirs []string
	var quiet, asJSON, must bool
	cmd := &cobra.Command{Use: "guard [flags] -- PROGRAM [ARG ...]", Short: "Run any program, and record what it changes",
		Long: about,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return program.Misuse("which program? kerf guard -- PROGRAM")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			ran, err := trying.Run(cmd.Context(), p, h, trying.Session{Try: try, AddDirs: dirs, Request: strings.Join(args, " ")})
			if ran {
				return err
			}
			g, err := h.Guarded(mode, dirs, args)
			if err != nil {
				return program.Misuse("%w", err)
			}
			tell := func(line string) { fmt.Fprintln(p.Stderr, "kerf: "+visible.Plain(line)) }
			g.MustWatch, g.Warn = must, tell
			code, sum, err := g.Run(cmd.Context(), p.Stdin, program.Stream(p.Stdout), p.Stderr)
			kerf := "kerf"
			if p.Dir != "" {
				kerf += " -C " + program.Quoted(p.Dir)
			}
			if p.Getenv(tries.Env) != "" {
				kerf = "" // what the try says names the commands
			}
			switch line := sum.Text(kerf); {
			case sum.Turn == "":
			case asJSON:
				b, jerr := json.Marshal(sum)
				if jerr != nil {
					return jerr
				}
				fmt.Fprintln(p.Stderr, string(b))
			case line != "" && !quiet:
				tell(line)
			}
			if err != nil {
				return &program.Error{Code: code, Err: err}
			}
			return program.Exit(code)
		}}
	f := cmd.Flags()
	f.StringVarP(&mode, "sandbox", "s", "",
		"run the program in the sandbox: read-only or workspace-write (`mode`); without it nothing is held back")
	f.StringArrayVar(&dirs, "add-dir", nil, "a further `directory` in which changes are recorded")
	f.BoolVar(&must, "must-watch", false, "do not run the program where it cannot be watched")
	f.BoolVarP(&quiet, "quiet", "q", false, "no line about the changes at the end")
	f.BoolVar(&asJSON, "json", false, "that line as a JSON object: turn, watched, running, files, directories, notes")
	trying.Flag(f, &try)
	f.SetInterspersed(false)
	return cmd
}
