package records

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/sessions/replay"
	"kerf/internal/text/visible"
)

const replayLong = `Runs the tools of a session again, without a model, and compares every result and every change.
Without an id it takes the newest session of this directory. It works in a scratch copy, on the
files as they were when the session began. The policies are the same, and the sandbox never
allows more than workspace-write.

Some calls do not run again: interrupted calls, calls that the user was asked about, and calls
of MCP servers and sub-agents. Their changes are copied from the record. Times are not compared.
The exit code is 1 at the first call whose result or change differs.`

func replayCommand(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "replay [ID]", Short: "Run a session's tools again and compare", Long: replayLong,
		Args: program.AtMost(1),
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
			report, err := h.Sessions().Replay(ctx, name)
			switch {
			case ctx.Err() != nil:
				return program.Exit(130)
			case err != nil:
				return err
			case asJSON:
				err = print.JSON(p.Stdout, report)
			default:
				printReplay(p, report)
			}
			if err == nil && report.Divergence != nil {
				return program.Exit(1)
			}
			return err
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printReplay(p *program.Program, r replay.Report) {
	w := p.Stdout
	fmt.Fprintf(w, "session %s: %d calls replayed, %d not run again\n", r.Session, r.Calls, r.TakenOver)
	d := r.Divergence
	if d == nil {
		if r.Calls == 0 {
			fmt.Fprintln(w, "nothing was compared")
		} else {
			fmt.Fprintln(w, "every replayed call gave the same result and changed the same files")
		}
		return
	}
	fmt.Fprintf(w, "first divergence: turn %s, round %d, call %s (%s): %s\n", d.Turn, d.Round, visible.Plain(d.Call),
		visible.Plain(d.Tool), d.What)
	was, now := strings.Split(d.Recorded, "\n"), strings.Split(d.Replayed, "\n")
	for i := range max(len(was), len(now)) {
		a, b := lineAt(was, i), lineAt(now, i)
		if a != b {
			fmt.Fprintf(w, "  line %d\n  - %s\n  + %s\n", i+1, cutLine(visible.Plain(a)), cutLine(visible.Plain(b)))
			return
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(no such line)"
}
