package records

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/host/checking"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/named"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/workspace"
)

func logCommand(p *program.Program) *cobra.Command {
	var o changes.Filter
	var session string
	var asJSON, stat bool
	var l logged
	cmd := &cobra.Command{Use: "log [TURN ...] [--] [PATH ...]", Short: "Show what was changed in this workspace, when and by whom",
		Long: `Lists the changes in this workspace, newest first. Each entry shows what changed, when, which session,
turn, call and tool changed it, and the prompt. The cause is tool, command, outside (neither), undo or
redo. "unproven" after the cause means that nobody saw who made the change: it came while the command
ran. A command that still runs is listed as such. On a terminal the session, the call and the client are
left out, unless --long asks for them.

Entries, turns, calls and sessions are named as the list shows them: by #4 or 4, by an id or by its
beginning. With PATHs it lists only changes of these files and of files below these directories.`,
		Example: "  kerf log -p src/main.go\n  kerf log '#4'\n  kerf log --limit 5 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Limit < 0 {
				return program.Misuse("--limit %d: give a number from 0 up", o.Limit)
			}
			o.Diffs = l.diffs || stat
			entries, err := readLog(p, cmd, o, session, args)
			if err != nil {
				return err
			}
			if asJSON {
				return print.Array(p.Stdout, entries)
			}
			if len(entries) == 0 && program.IsTerminal(p.Stdout) {
				fmt.Fprintln(p.Stderr, "nothing was changed here yet")
			}
			l.long = l.long || !program.IsTerminal(p.Stdout)
			l.stat = stat && !l.diffs
			return p.Paged(func() error { return logList(p, entries, l) })
		}}
	f := cmd.Flags()
	f.StringVar(&session, "session", "", "only changes of the session with this `id`, in its workspace")
	f.IntVarP(&o.Limit, "limit", "n", 0, "show at most `n` entries; 0 shows all")
	f.StringVar(&p.Profile, "profile", "", "use a `profile` of the configuration") // -p is the patch here, as in git log
	f.BoolVarP(&l.diffs, "patch", "p", false, "show the diff of each entry")
	f.BoolVar(&stat, "stat", false, "show a count for each file of each entry")
	f.BoolVarP(&l.long, "long", "l", false, "on a terminal, too, show session, call and client")
	f.BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// logged says how entries are printed.
type logged struct{ diffs, stat, long bool }

// readLog lists what the words of the command name.
func readLog(p *program.Program, cmd *cobra.Command, f changes.Filter, session string,
	args []string) ([]row.Entry, error) {
	if session != "" {
		h, err := p.Tolerant()
		if err != nil {
			return nil, err
		}
		if _, err := h.FindSession(session); err != nil {
			return nil, err
		}
	}
	b, session, err := openBook(p, session)
	if err != nil {
		return nil, err
	}
	defer b.ws.Close()
	s, err := b.scope("log", cmd.ArgsLenAtDash(), args)
	if err != nil {
		return nil, err
	}
	if _, err := b.ws.Ledger.Verify(); err != nil {
		fmt.Fprintf(p.Stderr, "kerf: warning: the record of this workspace is not as Kerf wrote it: %s\n",
			visible.OneLine(err.Error(), 300))
	}
	f.Session, f.Paths, f.Checks = session, s.paths, true
	if len(s.targets) > 0 {
		f.Fits = func(e row.Entry) bool {
			return slices.ContainsFunc(s.targets, func(t named.Target) bool { return t.Fits(e) })
		}
	}
	if len(args) == 0 && session == "" {
		b.tellBeside()
	}
	return listed(b.h, b.ws, f)
}

// listed is the log with what the user asked for.
func listed(h *host.Host, ws *workspace.Workspace, f changes.Filter) ([]row.Entry, error) {
	list, err := ws.Changes().Log(f)
	asked := h.Sessions().Prompts()
	checking.Stale(context.Background(), ws, list)
	for i := range list {
		list[i].Prompt = asked.Of(list[i].Session, list[i].Turn)
	}
	return list, err
}

// ReadLog lists what was changed in the workspace of the working directory, newest first.
func ReadLog(h *host.Host, f changes.Filter) ([]row.Entry, error) {
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{Root: workspace.Find(h.Config.Home, h.Config.Cwd)})
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	return listed(h, ws, f)
}

// letters stand for what was done to a file.
var letters = map[string]string{"created": "A", "modified": "M", "deleted": "D"}

var letterColors = map[string]string{"created": green, "modified": cyan, "deleted": red}

// logList prints entries for people.
func logList(p *program.Program, entries []row.Entry, l logged) error {
	for i, e := range entries {
		if i > 0 && (l.diffs || l.stat) {
			fmt.Fprintln(p.Stdout)
		}
		if err := logText(p, e, l); err != nil {
			return err
		}
	}
	return nil
}

func logText(p *program.Program, e row.Entry, l logged) error {
	head := paint(p, yellow, fmt.Sprintf("#%d", e.Seq))
	fmt.Fprintf(p.Stdout, "%s  %s  %s\n", head, e.Time.Local().Format(time.DateTime), visible.Plain(e.Who(l.long)))
	if e.Check != nil {
		fmt.Fprintf(p.Stdout, "    checked: %s\n", visible.Plain(e.Check.String()))
	}
	if e.Prompt != "" {
		fmt.Fprintf(p.Stdout, "    %q\n", e.Prompt)
	}
	if len(e.Undoes) > 0 {
		fmt.Fprintf(p.Stdout, "    takes back %s\n", numbers(e.Undoes))
	}
	if l.stat && e.Diff != "" {
		_, err := fmt.Fprint(p.Stdout, shown.Stats(e.Diff, columns(), p.Colored(), p.Quoting()))
		return err
	}
	for _, c := range e.Changes {
		line := "    " + paint(p, letterColors[c.Operation], letters[c.Operation]) + " " + shortPath(p, string(c.Path))
		if c.From != "" {
			line += " (from " + shortPath(p, string(c.From)) + ")"
		}
		if c.ModeFrom != "" {
			line += " (mode " + c.ModeFrom + " to " + c.ModeTo + ")"
		}
		fmt.Fprintln(p.Stdout, line)
	}
	for _, d := range e.Dirs {
		fmt.Fprintf(p.Stdout, "    %s %s/\n", paint(p, green, "A"), shortPath(p, string(d)))
	}
	for _, d := range e.Gone {
		fmt.Fprintf(p.Stdout, "    %s %s/\n", paint(p, red, "D"), shortPath(p, string(d)))
	}
	for _, d := range e.Modes {
		fmt.Fprintf(p.Stdout, "    M %s/ (mode %s to %s)\n", shortPath(p, string(d.Path)), d.From, d.To)
	}
	if e.Note != "" {
		fmt.Fprintf(p.Stdout, "    not certain: %s\n", visible.Plain(e.Note))
	}
	return printDiff(p, e.Diff)
}

func numbers(list []int64) string {
	return "#" + strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", #")
}
