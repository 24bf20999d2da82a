package records

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
)

const replayLong = `Runs the tools of a session again (of the newest of this directory without an id), without a
model: on the files as they were when the session began, in a scratch copy, under the same
policies and never with more than workspace-write. Compares every result and every change.

Calls that were cut off, that a user was asked about, or that reach outside (MCP servers,
sub-agents) are not made again; what they changed is put in place. Times that something took
do not count as results. Exit code 1 at the first call that goes otherwise.`

func replayCommand(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "replay [ID]", Short: "Run a session's tools again and compare", Long: replayLong, Args: program.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			report, err := h.Replay(ctx, name)
			switch {
			case ctx.Err() != nil:
				return program.Exit(130)
			case err != nil:
				return err
			case asJSON:
				err = print.JSON(p.Stdout, report)
			default:
				host.PrintReplay(p.Stdout, report)
			}
			if err == nil && report.Divergence != nil {
				return program.Exit(1)
			}
			return err
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
