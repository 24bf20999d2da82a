package telling

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/sessions/running"
	"kerf/internal/text/visible"
)

func psCommand(p *program.Program) *cobra.Command {
	var here, asJSON bool
	cmd := &cobra.Command{Use: "ps", Short: "Show the sessions that run, and what they wait for", Args: program.AtMost(0),
		Long: `Lists the sessions that some process has open, newest first: in a terminal UI, an editor, kerf exec or
kerf serve. A session is "waiting" for an answer of yours, "working" (it runs a command or another
tool), "asking" the model, or "idle". What it does and since when comes from its record; nothing is
disturbed. Sub-agents stand below the session they work for.`,
		Example: "  kerf ps\n  kerf ps --here --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			cwd := ""
			if here {
				cwd = h.Config.Cwd
			}
			list, err := running.List(cmd.Context(), h.Sessions(), cwd)
			if err != nil {
				return err
			}
			if asJSON {
				return print.Array(p.Stdout, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(p.Stderr, "no session is running")
				return nil
			}
			return printRunning(p, list)
		}}
	cmd.Flags().BoolVar(&here, "here", false, "only sessions of this directory")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func printRunning(p *program.Program, list []running.Session) error {
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range list {
		if s.Parent == "" || !has(list, string(s.Parent)) {
			printOne(w, s, "")
			for _, c := range list {
				if c.Parent == s.ID {
					printOne(w, c, "  ")
				}
			}
		}
	}
	return w.Flush()
}

func has(list []running.Session, id string) bool {
	for _, s := range list {
		if string(s.ID) == id {
			return true
		}
	}
	return false
}

func printOne(w *tabwriter.Writer, s running.Session, indent string) {
	what := visible.ClipRunes(visible.Line(s.What), 60)
	if what == "" {
		what = visible.ClipRunes(visible.Line(s.Title), 60)
	}
	fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\n", indent, string(s.ID)[:min(13, len(s.ID))], s.State,
		time.Since(s.Since).Round(time.Second), visible.Line(s.Cwd), what)
}
