package records

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/workspace"
)

func logCommand(p *program.Program) *cobra.Command {
	var o changes.Filter
	var session string
	var asJSON bool
	cmd := &cobra.Command{Use: "log [PATH ...]", Short: "Show what was changed in this workspace, when and by whom",
		Long: `Lists the changes in this workspace, newest first. Each entry shows what changed, when, which session,
turn, call and tool changed it, and the prompt. The cause is tool, command, outside (neither), undo or
redo. "unproven" after the cause means that nobody saw who made the change: it came while the command
ran. A command that still runs is listed as such. With PATHs it lists only changes of these files and of files below these directories.`,
		Example: "  kerf log -p src/main.go\n  kerf log --limit 5 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			if o.Limit < 0 {
				return program.Misuse("--limit %d: give a number from 0 up", o.Limit)
			}
			entries, err := ReadLog(h, o, session, args)
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
	f.StringVar(&session, "session", "", "only changes of the session with this `id`, in its workspace")
	f.IntVarP(&o.Limit, "limit", "n", 0, "show at most `n` entries; 0 shows all")
	f.StringVar(&p.Profile, "profile", "", "use a `profile` of the configuration") // -p is the patch here, as in git log
	f.BoolVarP(&o.Diffs, "patch", "p", false, "show the diff of each entry")
	f.BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// ReadLog lists what was changed in the workspace of the working directory, or of a
// session, newest first.
func ReadLog(h *host.Host, f changes.Filter, session string, paths []string) ([]row.Entry, error) {
	root := workspace.Find(h.Config.Home, h.Config.Cwd)
	if session != "" {
		info, err := h.FindSession(session)
		if err != nil {
			return nil, err
		}
		f.Session, root = string(info.ID), cmp.Or(info.Cwd, root)
	}
	for _, path := range paths {
		f.Paths = append(f.Paths, workspace.Real(h.Config.Cwd, path))
	}
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{Root: root})
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	list, err := ws.Changes().Log(f)
	asked := h.Sessions().Prompts()
	for i := range list {
		list[i].Prompt = asked.Of(list[i].Session, list[i].Turn)
	}
	return list, err
}

// The colours of a log on a terminal.
const (
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// letters stand for what was done to a file.
var letters = map[string]string{"created": "A", "modified": "M", "deleted": "D"}

func logText(p *program.Program, e row.Entry) {
	head := fmt.Sprintf("#%d", e.Seq)
	if p.Colored() {
		head = yellow + head + plain
	}
	fmt.Fprintf(p.Stdout, "%s  %s  %s\n", head, e.Time.Local().Format(time.DateTime), visible.Plain(who(e)))
	if e.Prompt != "" {
		fmt.Fprintf(p.Stdout, "    %q\n", e.Prompt)
	}
	if len(e.Undoes) > 0 {
		fmt.Fprintf(p.Stdout, "    takes back %s\n", numbers(e.Undoes))
	}
	for _, c := range e.Changes {
		line := "    " + letters[c.Operation] + " " + visible.Plain(shortPath(p, string(c.Path)))
		if c.From != "" {
			line += " (from " + visible.Plain(shortPath(p, string(c.From))) + ")"
		}
		if c.ModeFrom != "" {
			line += " (mode " + c.ModeFrom + " to " + c.ModeTo + ")"
		}
		fmt.Fprintln(p.Stdout, line)
	}
	for _, d := range e.Dirs {
		fmt.Fprintf(p.Stdout, "    A %s/\n", visible.Plain(shortPath(p, string(d))))
	}
	for _, d := range e.Gone {
		fmt.Fprintf(p.Stdout, "    D %s/\n", visible.Plain(shortPath(p, string(d))))
	}
	for _, d := range e.Modes {
		fmt.Fprintf(p.Stdout, "    M %s/ (mode %s to %s)\n", visible.Plain(shortPath(p, string(d.Path))), d.From, d.To)
	}
	if e.Note != "" {
		fmt.Fprintf(p.Stdout, "    not certain: %s\n", visible.Plain(e.Note))
	}
	if p.Colored() || program.IsTerminal(p.Stdout) {
		fmt.Fprint(p.Stdout, print.Lines(e.Diff))
	} else {
		fmt.Fprint(p.Stdout, e.Diff)
	}
}

// who tells cause, certainty, tool, client, session, turn and call.
func who(e row.Entry) string {
	parts := []string{e.Cause}
	switch {
	case e.Running:
		parts = append(parts, "still running")
	case e.Certainty != string(protocol.Proven) && e.Certainty != e.Cause:
		parts = append(parts, e.Certainty)
	}
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
	cmd := &cobra.Command{Use: "blame FILE", Short: "Show for each line of a file which turn wrote it",
		Args: program.Between(1, 1),
		Long: `Shows for each line the turn and call that wrote it, the time, the tool and the prompt. "not Kerf"
means that something other than Kerf wrote the line. "unproven" means that the line came while the
command named ran, and nobody saw who wrote it. "unknown" means that this part of the history is no
longer kept. Kerf never claims a line that others changed.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			list, err := readBlame(h, args[0])
			if err != nil {
				return fmt.Errorf("blame %s: %w", args[0], err)
			}
			if asJSON {
				return print.Array(p.Stdout, list)
			}
			blameText(p, list)
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array with one object per line of the file")
	return cmd
}

// readBlame tells of each line of a file where it comes from.
func readBlame(h *host.Host, file string) ([]changes.BlameLine, error) {
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{Root: workspace.Find(h.Config.Home, h.Config.Cwd)})
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	list, err := ws.Changes().BlameFile(workspace.Real(h.Config.Cwd, file))
	asked := h.Sessions().Prompts()
	for i := range list {
		list[i].Prompt = asked.Of(list[i].Session, list[i].Turn)
	}
	return list, err
}

func blameText(p *program.Program, list []changes.BlameLine) {
	width := 0
	for _, l := range list {
		width = max(width, len([]rune(blamed(l))))
	}
	digits := len(fmt.Sprint(len(list)))
	for _, l := range list {
		who := blamed(l)
		text := strings.TrimRight(l.Text, "\r\n")
		if program.IsTerminal(p.Stdout) {
			text = visible.Plain(text)
		}
		fmt.Fprintf(p.Stdout, "%s%s %*d) %s\n", who, strings.Repeat(" ", width-len([]rune(who))), digits, l.Line, text)
	}
}

// blamed is what stands before a line.
func blamed(l changes.BlameLine) string {
	switch l.Origin {
	case "other":
		return "not Kerf"
	case "unknown":
		return "unknown"
	}
	parts := []string{}
	if l.Origin == "unproven" {
		parts = append(parts, l.Origin)
	}
	parts = append(parts, fmt.Sprintf("#%d", l.Seq), l.Time.Local().Format(time.DateTime))
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
	return visible.Plain(strings.Join(parts, " "))
}

func diffCommand(p *program.Program) *cobra.Command {
	var proven bool
	cmd := &cobra.Command{Use: "diff", Short: "Print what the last turn in this workspace changed",
		Args: program.AtMost(0),
		Long: `Prints the net change of the last turn in this workspace as a git diff. It leaves out changes that
neither Kerf's tools nor its commands made, and those that came while Kerf watched a command and that
it did not see the command make. Where Kerf could not watch, changes that came while a command ran are
in the diff; --proven leaves them out. Standard error names the files of both.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			n, err := TurnDiff(h, !proven)
			if err != nil {
				return err
			}
			if _, err := p.Stdout.Write(n.Diff); err != nil {
				return err
			}
			tellUnproven(p, "the diff has changes of these files of which nobody saw who made them (--proven leaves them out)",
				n.Unproven)
			tellUnproven(p, "the diff leaves out changes of these files of which nobody saw who made them", n.Left)
			return nil
		}}
	cmd.Flags().BoolVar(&proven, "proven", false, "leave out changes of which nobody saw who made them")
	return cmd
}

// tellUnproven names the files of which nobody saw who changed them.
func tellUnproven(p *program.Program, what string, paths []string) {
	if len(paths) == 0 {
		return
	}
	fmt.Fprintf(p.Stderr, "unproven: %s\n", what)
	for _, path := range paths {
		fmt.Fprintf(p.Stderr, "  %s\n", visible.Plain(shortPath(p, path)))
	}
}

// TurnDiff is what the last turn in the workspace of the working directory changed,
// with what is unproven or without it.
func TurnDiff(h *host.Host, unproven bool) (changes.Net, error) {
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{})
	if err != nil {
		return changes.Net{}, err
	}
	defer ws.Close()
	return ws.Changes().LastTurnNet(unproven)
}
