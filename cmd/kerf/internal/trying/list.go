package trying

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/pathname"
	"kerf/internal/text/visible"
	"kerf/internal/work/tries"
)

const triesLong = `Lists the tries: work that kerf exec --try or kerf --try did without changing anything in its
directory. kerf tries diff shows the changes of one, kerf tries compare how two differ, kerf keep makes them real, kerf discard throws
them away. kerf exec --try=NUMBER resume --last goes on in one.

Kerf never removes a try by itself.`

func triesCommand(p *program.Program) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{Use: "tries", Short: "List work that was tried out and is not kept yet", Long: triesLong,
		Args: program.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			list, err := tries.List(h.Config.Home)
			if err != nil {
				return err
			}
			return printTries(p, list, asJSON)
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	cmd.AddCommand(triesDiffCommand(p), triesCompareCommand(p))
	return cmd
}

// tryReport is a try in JSON.
type tryReport struct {
	Try         int             `json:"try"`
	Started     time.Time       `json:"started"`
	Directories []pathname.Path `json:"directories"`
	Running     bool            `json:"running"`
	Bytes       int64           `json:"bytes"` // on disk, about
	Request     string          `json:"request,omitempty"`
}

func printTries(p *program.Program, list []*tries.Try, asJSON bool) error {
	reports := make([]tryReport, len(list))
	for i, t := range list {
		r := tryReport{Try: t.ID, Started: t.Meta.Started, Running: t.Running(), Bytes: t.Size(), Request: t.Meta.Request}
		for _, root := range t.Meta.Roots {
			r.Directories = append(r.Directories, pathname.Path(root))
		}
		reports[i] = r
	}
	if asJSON {
		return print.Array(p.Stdout, reports)
	}
	if len(list) == 0 {
		fmt.Fprintln(p.Stdout, "no tries; kerf exec --try PROMPT makes one")
		return nil
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TRY\tSTARTED\tSTATE\tSIZE\tDIRECTORY\tREQUEST")
	for _, r := range reports {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", r.Try, r.Started.Local().Format("2006-01-02 15:04"),
			map[bool]string{true: "running", false: "waiting"}[r.Running], print.Bytes(r.Bytes),
			visible.Plain(string(r.Directories[0])), visible.OneLine(r.Request, 60))
	}
	return w.Flush()
}

func triesDiffCommand(p *program.Program) *cobra.Command {
	var stat, names bool
	cmd := &cobra.Command{Use: "diff [TRY] [--] [PATH ...]", Short: "Print what a try changed",
		Long: "Prints what a try changed as a git diff, without what keep leaves out unless it is named. Without a\n" +
			"number it is the only try of this directory.",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			t, rest, err := choose(h, cmd, args)
			if err != nil {
				return err
			}
			var o tries.Options
			for _, path := range rest {
				o.Paths = append(o.Paths, t.Name(h.Config.Cwd, path))
			}
			plan, ws, err := planOf(cmd.Context(), h, t, o)
			if err != nil {
				return err
			}
			defer ws.Close()
			text := plan.Diff(t.Meta.Roots[0])
			return p.Paged(func() error { return p.ShowDiff(text, stat, names) })
		}}
	cmd.Flags().BoolVar(&stat, "stat", false, "print a count for each file")
	cmd.Flags().BoolVar(&names, "name-only", false, "print the names of the files")
	cmd.MarkFlagsMutuallyExclusive("stat", "name-only")
	return cmd
}

func discardCommand(p *program.Program) *cobra.Command {
	yes := false
	cmd := &cobra.Command{Use: "discard [TRY]", Short: "Throw a try away",
		Long: "Throws away what a try changed. Nothing of it was in the directory, so nothing changes there. Without a\n" +
			"number it is the only try of this directory. On a terminal it asks first.",
		Args: program.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			t, rest, err := choose(h, cmd, args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return program.Misuse("%s is no number of a try; see kerf tries", visible.Plain(rest[0]))
			}
			if err := t.Lock(); err != nil {
				return &program.Error{Code: 1, Err: err}
			}
			defer t.Unlock()
			if !yes && p.OnTerminal() && !confirm(p, t) {
				fmt.Fprintln(p.Stdout, "nothing was done")
				return program.Exit(1)
			}
			if err := t.Remove(); err != nil {
				return errors.Join(fmt.Errorf("try %d could not be removed whole: %w", t.ID, err))
			}
			fmt.Fprintf(p.Stdout, "try %d is gone\n", t.ID)
			return nil
		}}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask on a terminal")
	return cmd
}

// confirm asks whether a try may go.
func confirm(p *program.Program, t *tries.Try) bool {
	return p.Agrees(p.Stdout, "throw try %d away, %s of %s?", t.ID, print.Bytes(t.Size()), visible.Plain(t.Meta.Roots[0]))
}
