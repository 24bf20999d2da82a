package telling

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/sessions"
	"kerf/internal/text/visible"
)

const usageLong = `Counts the tokens of all sessions by day, by model and by session. It includes archived sessions
and sub-agents. It shows how much of the input came from the provider's cache, and the cost.
Prices come from [models.NAME] in the configuration, from the provider, or are built in. If a
price is unknown, the tokens are counted and a plus marks the cost.`

func usageCommand(p *program.Program) *cobra.Command {
	var o sessions.UsageOptions
	var asJSON bool
	cmd := &cobra.Command{Use: "usage", Short: "Count tokens and what they cost", Long: usageLong, Args: program.AtMost(0),
		Example: "  kerf usage --days 7\n  kerf usage --session 0199 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Days < 0 {
				return program.Misuse("--days %d: give 0 for all, or more", o.Days)
			}
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			o.Now = time.Now()
			r, err := h.Sessions().Usage(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return print.JSON(p.Stdout, r)
			}
			return printUsage(p, r)
		}}
	cmd.Flags().IntVar(&o.Days, "days", 30, "only the last `n` days; 0 for all")
	cmd.Flags().StringVar(&o.Session, "session", "", "only this session (`id`)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// maxUsed is how many sessions are printed.
const maxUsed = 10

func printUsage(p *program.Program, r sessions.UsageReport) error {
	if r.Total.Requests == 0 {
		fmt.Fprintln(p.Stderr, "there was no model request in this time")
		return nil
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	most := 0
	for _, l := range r.Days {
		most = max(most, l.Usage.Total())
	}
	chart := program.IsTerminal(p.Stdout)
	usageHead(w, "day")
	for _, l := range r.Days {
		bar := ""
		if chart {
			bar = "  " + strings.Repeat("█", max(1, l.Usage.Total()*30/max(most, 1)))
		}
		usageRow(w, l.Name, l, bar)
	}
	usageRow(w, "all", r.Total, "")
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout)
	usageHead(w, "model")
	for _, l := range r.Models {
		usageRow(w, visible.Plain(l.Name), l, "")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout)
	usageHead(w, "session")
	for _, l := range r.Sessions[:min(maxUsed, len(r.Sessions))] {
		title := visible.Plain(l.Title)
		if chart { // the row fits in a terminal
			title = visible.ClipRunes(title, 24)
		}
		usageRow(w, l.Name, l, "  "+title)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if n := len(r.Sessions) - maxUsed; n > 0 {
		fmt.Fprintf(p.Stdout, "and %d older sessions (--json has all)\n", n)
	}
	return nil
}

func usageHead(w io.Writer, what string) {
	fmt.Fprintf(w, "%s\trequests\tinput\tcached\toutput\tcost\t\n", what)
}

func usageRow(w io.Writer, name string, l sessions.UsageLine, more string) {
	cost := fmt.Sprintf("$%.2f", l.Cost)
	switch {
	case l.Unpriced > 0 && l.Cost == 0:
		cost = "price unknown"
	case l.Unpriced > 0:
		cost = fmt.Sprintf("$%.2f and unknown", l.Cost)
	}
	fmt.Fprintf(w, "%s\t%d\t%s\t%.0f%%\t%s\t%s\t%s\n", name, l.Requests, print.Grouped(l.Usage.Input),
		100*l.CachedShare(), print.Grouped(l.Usage.Output), cost, more)
}
