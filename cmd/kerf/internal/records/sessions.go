package records

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/browser"
	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/sessions/export"
	"kerf/internal/text/order"
	"kerf/internal/text/visible"
)

const sessionsLong = `Lists, shows, searches and manages sessions.

Name a session by its id, by the beginning of its id, or by its title.`

func sessionsCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Aliases: []string{"session"}, Short: "List, show, search and manage sessions",
		Long: sessionsLong, Args: program.AtMost(0),
		Example: "  kerf sessions list --cwd .\n  kerf sessions search parser bug\n" +
			"  kerf sessions export --format html -o session.html 0199\n  kerf sessions script 0199 > run.json",
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	cmd.AddCommand(sessionsList(p), sessionsShow(p), sessionsSearch(p), sessionsRename(p), sessionsArchive(p, true),
		sessionsArchive(p, false),
		sessionsDelete(p), sessionsExport(p), sessionsImport(p), sessionsScript(p))
	return cmd
}

func sessionsList(p *program.Program) *cobra.Command {
	var asJSON, here bool
	var dir string
	var f protocol.Filter
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List sessions, newest first",
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Limit < 0 {
				return program.Misuse("--limit %d: give 0 for all, or more", f.Limit)
			}
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			switch {
			case here:
				f.Cwd = h.Config.Cwd
			case dir != "":
				if f.Cwd, err = canonical(dir); err != nil {
					return err
				}
			}
			infos, err := h.Sessions().List(cmd.Context(), f)
			if err != nil {
				return err
			}
			if err := printSessions(p, infos, asJSON); err != nil {
				return err
			}
			if f.Limit > 0 && len(infos) == f.Limit {
				fmt.Fprintf(p.Stderr, "more with: --cursor %s\n", infos[len(infos)-1].ID)
			}
			return nil
		}}
	fl := cmd.Flags()
	fl.BoolVar(&asJSON, "json", false, "print one JSON array")
	fl.BoolVar(&here, "here", false, "only sessions of this directory")
	fl.StringVar(&dir, "cwd", "", "only sessions of this `directory`")
	fl.StringVar(&f.Search, "search", "", "only sessions whose title has this `text`")
	fl.BoolVar(&f.Archived, "archived", false, "list the archived sessions instead")
	fl.IntVarP(&f.Limit, "limit", "n", 0, "list at most `n` sessions")
	fl.StringVar(&f.Cursor, "cursor", "", "continue after the session with this `id`")
	return cmd
}

// canonical is a directory as sessions name it.
func canonical(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", program.Misuse("--cwd %s: %v", dir, err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	return abs, nil // gone by now, perhaps; sessions may still name it
}

func printSessions(p *program.Program, infos []protocol.SessionInfo, asJSON bool) error {
	if asJSON {
		if infos == nil {
			infos = []protocol.SessionInfo{}
		}
		return print.JSON(p.Stdout, infos)
	}
	if len(infos) == 0 {
		fmt.Fprintln(p.Stderr, "no sessions")
		return nil
	}
	list := make([][4]string, len(infos))
	for i, info := range infos {
		title := info.Title
		if info.Damage != "" {
			title = "(damaged: " + info.Damage + ")"
		}
		turns := "1 turn"
		if info.Turns != 1 {
			turns = fmt.Sprintf("%d turns", info.Turns)
		}
		list[i] = [4]string{string(info.ID) + "  " + info.Updated.Local().Format(time.DateTime), turns,
			visible.Line(title), visible.Line(info.Cwd)}
	}
	return sessionsTable(p, list)
}

// sessionsTable prints rows in columns that stay in line whatever the characters. On a
// terminal long titles and directories are cut; one that is too narrow has each session on
// lines of its own.
func sessionsTable(p *program.Program, list [][4]string) error {
	var wide [4]int
	for _, row := range list {
		for i, cell := range row {
			wide[i] = max(wide[i], style.Width(cell))
		}
	}
	room := 0
	if program.IsTerminal(p.Stdout) {
		room = columns() - wide[0] - wide[1] - 6
	}
	if room < 0 || room > 0 && room < 24 {
		for _, row := range list {
			cut := func(s string) string { return cutTo(s, columns()-4) }
			_, err := fmt.Fprintf(p.Stdout, "%s  %s\n    %s\n    %s\n", row[0], row[1], cut(row[2]), cut(row[3]))
			if err != nil {
				return err
			}
		}
		return nil
	}
	if room > 0 && wide[2]+wide[3] > room {
		wide[3] = min(wide[3], max(room/3, room-wide[2]))
		wide[2] = min(wide[2], room-wide[3])
	}
	for _, row := range list {
		line := ""
		for i, cell := range row {
			if room > 0 {
				cell = cutTo(cell, wide[i])
			}
			line += cell + strings.Repeat(" ", wide[i]-style.Width(cell)+2)
		}
		if _, err := fmt.Fprintln(p.Stdout, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// cutTo cuts a text to so many columns.
func cutTo(s string, wide int) string {
	if style.Width(s) <= wide {
		return s
	}
	out := ""
	for s != "" {
		cluster, w, rest := style.Next(s)
		if w > wide-1 {
			break
		}
		out, s, wide = out+cluster, rest, wide-w
	}
	return out + "…"
}

func sessionsShow(p *program.Program) *cobra.Command {
	var timeline, asJSON bool
	cmd := &cobra.Command{Use: "show ID|FILE", Short: "Print what a session recorded", Args: program.Between(1, 1),
		Long: "Prints what a session recorded, one record per line. If the file is damaged, it says so and prints the\n" +
			"rest. --timeline prints a log: each turn with its rounds, calls, changes and tokens.",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			if asJSON {
				return h.Sessions().Export(cmd.Context(), p.Stdout, args[0], "json")
			}
			r, err := h.Sessions().Read(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case timeline:
				return printTimeline(p, r)
			}
			return printRecorded(p, r)
		}}
	cmd.Flags().BoolVar(&timeline, "timeline", false, "print a log of what happened and when")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the turns and their items as JSON")
	cmd.MarkFlagsMutuallyExclusive("timeline", "json")
	return cmd
}

func printTimeline(p *program.Program, r sessions.Recorded) error {
	w := bufio.NewWriter(p.Stdout)
	if r.Damage != nil {
		fmt.Fprintf(w, "damage: %s\n", r.Damage)
	}
	for _, l := range r.Timeline() {
		d := l.After
		fmt.Fprintf(w, "[%02d:%02d.%03d] %s\n", int(d.Minutes()), int(d.Seconds())%60, d.Milliseconds()%1000,
			visible.Plain(l.Text))
	}
	return w.Flush()
}

func printRecorded(p *program.Program, r sessions.Recorded) error {
	w := bufio.NewWriter(p.Stdout)
	if i := r.Info; i != nil {
		fmt.Fprintf(w, "session: %s\ntitle: %s\ndirectory: %s\nmodel: %s\nturns: %d\ntokens: %d\n", i.ID,
			visible.Plain(i.Title), visible.Plain(i.Cwd),
			visible.Plain(i.Model), i.Turns, i.Tokens)
		if i.Branch != "" {
			fmt.Fprintf(w, "branch: %s\n", visible.Plain(i.Branch))
		}
	}
	lines := r.Lines()
	fmt.Fprintf(w, "records: %d\n", len(lines))
	if r.Damage != nil {
		fmt.Fprintf(w, "damage: %s\n", r.Damage)
	}
	for _, l := range lines {
		fmt.Fprintf(w, "%5d %-17s %s\n", l.Seq, l.Type, cutLine(visible.Plain(l.Text)))
	}
	return w.Flush()
}

func cutLine(s string) string {
	r := []rune(s)
	if len(r) > 160 {
		return string(r[:159]) + "…"
	}
	return s
}

// match is one place that a search found, as it is printed.
type match struct {
	Session protocol.SessionInfo `json:"session"`
	Turn    protocol.TurnID      `json:"turn"`
	Excerpt string               `json:"excerpt"`
}

func sessionsSearch(p *program.Program) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{Use: "search WORD ...", Short: "Find sessions by what was said in them",
		Args: program.AtLeastOne,
		Long: "Finds the sessions that have all the words in one message, newest first. Upper and lower case\n" +
			"are the same. A phrase in quotes counts as one word.",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			found, err := h.Sessions().Search(cmd.Context(), quoteWords(args), limit)
			if err != nil {
				return err
			}
			if asJSON {
				list := []match{}
				for _, m := range found {
					list = append(list, match(m))
				}
				return print.JSON(p.Stdout, list)
			}
			for _, m := range found {
				fmt.Fprintf(p.Stdout, "%s  %s  %s\n    %s\n", m.Session.ID, m.Session.Updated.Local().Format(time.DateTime),
					visible.Plain(m.Session.Title), visible.Plain(m.Excerpt))
			}
			if len(found) == 0 {
				fmt.Fprintln(p.Stderr, "nothing found")
			}
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "list at most `n` sessions; 0 lists all")
	return cmd
}

// quoteWords puts arguments that were quoted on the command line in quotes.
func quoteWords(args []string) string {
	var list []string
	for _, a := range args {
		if strings.ContainsAny(a, " \t") && len(args) > 1 {
			a = `"` + strings.ReplaceAll(a, `"`, "") + `"`
		}
		list = append(list, a)
	}
	return strings.Join(list, " ")
}

func sessionsRename(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "rename ID TITLE", Short: "Give a session another title", Args: program.Between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			return h.Sessions().Rename(cmd.Context(), args[0], args[1])
		}}
}

func sessionsArchive(p *program.Program, archived bool) *cobra.Command {
	name, about := "archive", "Take a session out of the lists; it can still be resumed by id"
	if !archived {
		name, about = "unarchive", "Put an archived session back into the lists"
	}
	return &cobra.Command{Use: name + " ID ...", Short: about, Args: program.AtLeastOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			return each(args, func(id string) error { return h.Sessions().Archive(cmd.Context(), id, archived) })
		}}
}

// each does something for all names; one that fails does not keep it from the
// others.
func each(names []string, do func(string) error) error {
	var all []error
	for _, n := range names {
		all = append(all, do(n))
	}
	return errors.Join(all...)
}

func sessionsDelete(p *program.Program) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{Use: "delete ID ...", Aliases: []string{"rm"},
		Short: "Delete sessions for good; the files they changed stay as they are", Args: program.AtLeastOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			if !yes && p.OnTerminal() {
				if !p.Agrees(p.Stderr, "delete %s for good?", strings.Join(args, ", ")) {
					return &program.Error{Code: 1, Err: errors.New("nothing was deleted")}
				}
			}
			return each(args, func(id string) error { return h.Sessions().Delete(cmd.Context(), id) })
		}}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func sessionsExport(p *program.Program) *cobra.Command {
	var format, out string
	var page bool
	cmd := &cobra.Command{Use: "export ID", Short: "Write a session as markdown, HTML or JSON",
		Args: program.Between(1, 1),
		Long: "Writes the conversation of a session with the diffs of all changes. The HTML is one page without\n" +
			"scripts and without other files. Secrets are redacted, as in the session's own files.",
		RunE: func(cmd *cobra.Command, args []string) error {
			format = cmp.Or(map[bool]string{true: "html"}[page], format, formatOf(out))
			if !slices.Contains(append(formats(), "md"), format) {
				return program.Misuse("format %q: use %s", format, strings.Join(formats(), ", "))
			}
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			var b bytes.Buffer
			working := p.Working("reading the session")
			if name := strings.Join(args, ""); format == "html" {
				err = browser.Document(cmd.Context(), h, &b, name)
			} else {
				err = h.Sessions().Export(cmd.Context(), &b, name, format)
			}
			working.Stop()
			if err != nil {
				return err
			}
			return p.Deliver(out, b.Bytes())
		}}
	cmd.Flags().StringVarP(&format, "format", "f", "",
		strings.Join(formats(), ", ")+" (`name`); the default follows the name of the output file, or is markdown")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to this `file` instead of standard output")
	cmd.Flags().BoolVar(&page, "html", false, "the same as --format html")
	cmd.MarkFlagsMutuallyExclusive("html", "format")
	return cmd
}

// formats are those of an export; the page of HTML is drawn by the browser's pages.
func formats() []string { return order.Insert(export.Formats(), 1, "html") }

// formatOf is the format that the name of a file says.
func formatOf(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".html", ".htm":
		return "html"
	case ".json":
		return "json"
	}
	return "markdown"
}

func sessionsImport(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "import FILE ...", Short: "Import sessions that Codex, Claude Code or Gemini CLI recorded",
		Args: program.AtLeastOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			return each(args, func(path string) error {
				made, err := h.Sessions().Import(path)
				if err != nil {
					return err
				}
				if asJSON {
					return print.JSON(p.Stdout, made)
				}
				fmt.Fprintf(p.Stdout, "%s  %d turns  %s\n", made.ID, made.Turns, visible.Plain(made.Title))
				if made.Skipped > 0 {
					fmt.Fprintf(p.Stderr, "%s: %d lines could not be read and were skipped\n", path, made.Skipped)
				}
				return nil
			})
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func sessionsScript(p *program.Program) *cobra.Command {
	var out string
	cmd := &cobra.Command{Use: "script ID", Short: "Write what the model said in a session as a scenario",
		Args: program.Between(1, 1),
		Long: "Writes a scenario (see kerf help scenario). The script provider plays it: it answers as the model did in\n" +
			"the session. The user's prompts go to standard error; send them again to play the session.",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			scenario, prompts, err := h.Sessions().Scenario(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := scenario.Save(&b); err != nil {
				return fmt.Errorf("scenario: %w", err)
			}
			for n, text := range prompts {
				fmt.Fprintf(p.Stderr, "prompt %d: %s\n", n+1, visible.Plain(text))
			}
			return p.Deliver(out, b.Bytes())
		}}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to this `file` instead of standard output")
	return cmd
}
