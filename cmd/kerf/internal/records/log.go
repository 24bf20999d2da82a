package records

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
)

func logCommand(p *program.Program) *cobra.Command {
	var o host.LogOptions
	var asJSON bool
	cmd := &cobra.Command{Use: "log [PATH ...]", Short: "Show what was changed in this workspace, when and by whom",
		Long: `Lists the ledger of this workspace, newest first: what changed, when, by which session, turn, call
and tool, and what was asked for. The cause is tool, command, outside (neither), undo or redo.
With PATHs only what touched these files, or files below these directories.`,
		Example: "  kerf log -p src/main.go\n  kerf log --limit 5 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			if o.Limit < 0 {
				return program.Misuse("--limit %d: give a number from 0 up", o.Limit)
			}
			o.Paths = args
			entries, err := h.Log(o)
			if err != nil {
				return err
			}
			if asJSON {
				return print.Array(p.Stdout, entries)
			}
			for i, e := range entries {
				if i > 0 && o.Diffs {
					fmt.Fprintln(p.Stdout)
				}
				logText(p, e)
			}
			return nil
		}}
	f := cmd.Flags()
	f.StringVar(&o.Session, "session", "", "only what the session with this `id` did; its workspace is used")
	f.IntVarP(&o.Limit, "limit", "n", 0, "at most so many entries; 0 shows all")
	f.StringVar(&p.Profile, "profile", "", "use a `profile` of the configuration") // -p is the patch here, as in git log
	f.BoolVarP(&o.Diffs, "patch", "p", false, "show the diff of each entry")
	f.BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// The colours of a log on a terminal.
const (
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

func logText(p *program.Program, e host.LogEntry) {
	head := fmt.Sprintf("#%d", e.Seq)
	if p.Colored() {
		head = yellow + head + plain
	}
	fmt.Fprintf(p.Stdout, "%s  %s  %s\n", head, e.Time.Local().Format(time.DateTime), host.Visible(who(e)))
	if e.Prompt != "" {
		fmt.Fprintf(p.Stdout, "    %q\n", e.Prompt)
	}
	if len(e.Undoes) > 0 {
		fmt.Fprintf(p.Stdout, "    takes back %s\n", numbers(e.Undoes))
	}
	letters := map[string]string{"created": "A", "modified": "M", "deleted": "D"}
	for _, c := range e.Changes {
		line := "    " + letters[c.Operation] + " " + host.Visible(shortPath(p, c.Path))
		if c.From != "" {
			line += " (from " + host.Visible(shortPath(p, c.From)) + ")"
		}
		fmt.Fprintln(p.Stdout, line)
	}
	for _, d := range e.Dirs {
		fmt.Fprintf(p.Stdout, "    A %s/\n", host.Visible(shortPath(p, d)))
	}
	for _, d := range e.Gone {
		fmt.Fprintf(p.Stdout, "    D %s/\n", host.Visible(shortPath(p, d)))
	}
	if e.Note != "" {
		fmt.Fprintf(p.Stdout, "    not certain: %s\n", host.Visible(e.Note))
	}
	if p.Colored() || program.IsTerminal(p.Stdout) {
		fmt.Fprint(p.Stdout, print.Lines(e.Diff))
	} else {
		fmt.Fprint(p.Stdout, e.Diff)
	}
}

// who tells cause, tool, client, session, turn and call.
func who(e host.LogEntry) string {
	parts := []string{e.Cause}
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+value)
		}
	}
	if e.Tool != e.Cause {
		add("", e.Tool)
	}
	if e.Client != "" {
		parts = append(parts, "by "+e.Client)
	}
	add("session ", e.Session)
	add("turn ", e.Turn)
	add("call ", e.Call)
	if e.Undone {
		parts = append(parts, "(undone)")
	}
	return strings.Join(parts, "  ")
}

func numbers(list []int64) string {
	var names []string
	for _, n := range list {
		names = append(names, fmt.Sprintf("#%d", n))
	}
	return strings.Join(names, ", ")
}

func blameCommand(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "blame FILE", Short: "Tell for each line of a file which turn wrote it", Args: program.Between(1, 1),
		Long: `Shows for each line the turn and call that wrote it, when, with which tool, and what was asked for;
or "not Kerf" where somebody else did, and "unknown" where the history is no longer kept. What others
changed in between is never laid to Kerf.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			list, err := h.Blame(args[0])
			if err != nil {
				return fmt.Errorf("blame %s: %w", args[0], err)
			}
			if asJSON {
				return print.Array(p.Stdout, list)
			}
			blameText(p, list)
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array, one object a line of the file")
	return cmd
}

func blameText(p *program.Program, list []host.BlameLine) {
	width := 0
	for _, l := range list {
		width = max(width, len([]rune(blamed(l))))
	}
	digits := len(fmt.Sprint(len(list)))
	for _, l := range list {
		who := blamed(l)
		text := strings.TrimRight(l.Text, "\r\n")
		if program.IsTerminal(p.Stdout) {
			text = host.Visible(text)
		}
		fmt.Fprintf(p.Stdout, "%s%s %*d) %s\n", who, strings.Repeat(" ", width-len([]rune(who))), digits, l.Line, text)
	}
}

// blamed is what stands before a line.
func blamed(l host.BlameLine) string {
	switch l.Origin {
	case "other":
		return "not Kerf"
	case "unknown":
		return "unknown"
	}
	parts := []string{fmt.Sprintf("#%d", l.Seq), l.Time.Local().Format(time.DateTime)}
	if l.Session != "" {
		parts = append(parts, l.Session[:min(8, len(l.Session))])
	}
	for _, s := range []string{l.Turn, l.Call, l.Tool, l.Client} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if l.Tool == "" {
		parts = append(parts, l.Cause)
	}
	if l.Prompt != "" {
		parts = append(parts, fmt.Sprintf("%q", l.Prompt))
	}
	return host.Visible(strings.Join(parts, " "))
}
