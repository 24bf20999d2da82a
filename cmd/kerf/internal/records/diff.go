package records

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/pathname"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/named"
	"kerf/internal/work/changes/reviewed"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/changes/span"
)

const diffLong = `Prints the net change of the last turn in this workspace as a git diff, or that of a TURN, an entry
(#4 or 4), a call or a session as kerf log names them, or of what Kerf did after A up to B (A..B; one of
them may be empty). With PATHs it prints only these. What was undone since is left out of the last turn;
a turn that is named is printed as it was.

The diff leaves out changes that neither Kerf's tools nor its commands made, and those that came while
Kerf watched a command and that it did not see the command make. Where Kerf could not watch, changes that
came while a command ran are in the diff; --proven leaves them out. Standard error names the files of both.
--unreviewed prints only what you have not marked by --mark-reviewed. What was marked stays so, by its
lines, wherever it moves in its file; lines that change again are open again.
An entry of others that is named is printed, too. Files whose earlier or later content is not known cannot be shown;
standard error names them, too.`

// diffOptions are the flags of `kerf diff`.
type diffOptions struct {
	proven, stat, names, words bool
	unreviewed, mark, asJSON   bool
	turn, call                 string
}

func diffCommand(p *program.Program) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{Use: "diff [TURN | A..B] [--] [PATH ...]", Short: "Print what the last turn, or another, changed",
		Long: diffLong, Example: "  kerf diff --stat\n  kerf diff '#4'\n  kerf diff 4..9 -- src\n  kerf diff --unreviewed --mark-reviewed",
		RunE: func(cmd *cobra.Command, args []string) error {
			b, _, err := openBook(p, "")
			if err != nil {
				return err
			}
			defer b.ws.Close()
			n, err := o.net(cmd, b, args)
			if err != nil {
				return err
			}
			if o.asJSON {
				return b.netJSON(n)
			}
			if len(n.Diff) == 0 && len(n.Left)+len(n.Lost) == 0 && program.IsTerminal(p.Stdout) {
				fmt.Fprintln(p.Stderr, "no difference")
			}
			if len(args) == 0 && o.turn+o.call == "" {
				b.tellNewer("diff")
			}
			if err := p.Paged(func() error { return o.print(p, string(n.Diff)) }); err != nil {
				return err
			}
			tellFiles(p, "unproven: the diff has changes of these files of which nobody saw who made them (--proven leaves them out)",
				n.Unproven)
			tellFiles(p, "unproven: the diff leaves out changes of these files of which nobody saw who made them", n.Left,
				n.Set.Paths()...)
			tellFiles(p, "mixed: others changed these files, too (no text, or not kept); the diff has both", n.Mixed)
			if len(n.Lost) > 0 {
				fmt.Fprintln(p.Stderr, "not whole: the diff leaves out changes of these files")
			}
			for _, file := range n.Lost {
				fmt.Fprintf(p.Stderr, "  %s\n", visible.Plain(file))
			}
			return nil
		}}
	f := cmd.Flags()
	f.BoolVar(&o.proven, "proven", false, "leave out changes of which nobody saw who made them")
	f.BoolVar(&o.stat, "stat", false, "print a count for each file")
	f.BoolVar(&o.names, "name-only", false, "print the names of the files")
	f.BoolVar(&o.words, "word-diff", false, "mark the changed words within lines: [-old-] and {+new+}, or colours")
	f.StringVar(&o.turn, "turn", "", "the `turn` with this id, as the argument TURN")
	f.StringVar(&o.call, "call", "", "the `call` with this id, as the argument TURN")
	f.BoolVar(&o.unreviewed, "unreviewed", false,
		"only what you have not marked as reviewed; of all that Kerf did, if nothing is named")
	f.BoolVar(&o.mark, "mark-reviewed", false, "mark what is printed as reviewed")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object: files, what is left out, and the diff")
	cmd.MarkFlagsMutuallyExclusive("stat", "name-only", "word-diff", "json")
	cmd.MarkFlagsMutuallyExclusive("turn", "call")
	return cmd
}

// netFile is a file of a diff.
type netFile struct {
	Path    pathname.Path `json:"path"`
	From    pathname.Path `json:"moved_from,omitempty"`
	Added   int           `json:"added"`
	Removed int           `json:"removed"`
	Binary  bool          `json:"binary,omitempty"`
}

// netJSON prints what kerf diff prints, with what it says on standard error.
func (b *book) netJSON(n changes.Net) error {
	paths := func(list []string) []pathname.Path {
		all := make([]pathname.Path, len(list))
		for i, path := range list {
			all[i] = pathname.Path(path)
		}
		return all
	}
	files := []netFile{}
	for _, s := range shown.Files(string(n.Diff)) {
		files = append(files, netFile{pathname.Path(filepath.Join(b.ws.Base(), s.Name)), "", s.Added, s.Removed, s.Binary})
		if s.From != "" {
			files[len(files)-1].From = pathname.Path(filepath.Join(b.ws.Base(), s.From))
		}
	}
	return print.JSON(b.p.Stdout, struct {
		Files    []netFile       `json:"files"`
		Unproven []pathname.Path `json:"unproven"`
		Left     []pathname.Path `json:"left"`
		Mixed    []pathname.Path `json:"mixed"`
		Lost     []string        `json:"lost"`
		Diff     string          `json:"diff"`
	}{files, paths(n.Unproven), paths(n.Left), paths(n.Mixed), append([]string{}, n.Lost...), string(n.Diff)})
}

// net is what is to be printed, marked as reviewed if that is asked for.
func (o diffOptions) net(cmd *cobra.Command, b *book, args []string) (changes.Net, error) {
	if name := o.turn + o.call; name != "" {
		if cmd.ArgsLenAtDash() > 0 {
			return changes.Net{}, program.Misuse("name one turn")
		}
		if _, ok, err := named.Find(b.rows, name); err != nil || !ok {
			return changes.Net{}, cmp.Or(err, fmt.Errorf("diff: %q is no turn or call of kerf log", name))
		}
		args = append([]string{name}, args...)
	}
	if o.unreviewed && len(args) == 0 {
		args = []string{".."}
	}
	n, err := b.net(cmd, args, !o.proven)
	if err != nil {
		return n, err
	}
	marks := reviewed.In(b.ws.Dir)
	if o.unreviewed {
		left, err := marks.Left(string(n.Diff))
		if err != nil {
			return n, err
		}
		n.Diff = []byte(left)
	}
	if o.mark {
		if _, err := marks.Add(string(n.Diff)); err != nil {
			return n, fmt.Errorf("mark as reviewed: %w", err)
		}
	}
	return n, nil
}

func (o diffOptions) print(p *program.Program, text string) error {
	switch {
	case o.stat:
		text = shown.Stats(text, columns(), p.Colored(), p.Quoting())
	case o.names:
		text = shown.Names(text, p.Quoting())
	case o.words:
		text = shown.Words(text, p.Colored())
	default:
		return printDiff(p, text)
	}
	_, err := fmt.Fprint(p.Stdout, text)
	return err
}

// columns is the width of the terminal, or git's where there is none.
func columns() int {
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// net is the change that the words of the command name.
func (b *book) net(cmd *cobra.Command, args []string, unproven bool) (changes.Net, error) {
	between := span.Span{Unproven: unproven}
	dash := cmd.ArgsLenAtDash()
	if len(args) > 0 && dash != 0 {
		if from, to, ok := strings.Cut(args[0], ".."); ok && !strings.ContainsAny(args[0], `/\`) {
			if err := b.between(&between, from, to); err != nil {
				return changes.Net{}, err
			}
			args, dash = args[1:], dash-1
		}
	}
	s, err := b.scope("diff", dash, args)
	if err != nil {
		return changes.Net{}, err
	}
	between.Paths = s.paths
	r := b.ws.Changes()
	switch {
	case len(s.targets) > 1 || len(s.targets) == 1 && between.Ranged:
		return changes.Net{}, program.Misuse("name one turn, or A..B")
	case len(s.targets) == 1 && s.targets[0].Entry != 0:
		return b.entry(s.targets[0], s.paths)
	case len(s.targets) == 1:
		between.Target = s.targets[0]
	case !between.Ranged:
		return r.LastTurnNet(unproven, s.paths)
	}
	return span.Net(r, between)
}

// turnNet is the net of the turn, entry, call or session of that name, or of the last turn,
// and an entry of it with what was asked for.
func (b *book) turnNet(args []string) (changes.Net, row.Entry, error) {
	var t named.Target
	r := b.ws.Changes()
	fits := func(e row.Entry) bool { return e.Cause == "tool" || e.Cause == "command" }
	if len(args) > 0 {
		var err error
		if t, _, err = named.Find(b.rows, args[0]); err != nil {
			return changes.Net{}, row.Entry{}, err
		}
		fits = t.Fits
	}
	about, err := listed(b.h, b.ws, changes.Filter{Limit: 1, Fits: fits})
	if err != nil || len(about) == 0 {
		return changes.Net{}, row.Entry{}, err
	}
	if len(args) == 0 {
		n, err := r.LastTurnNet(true, nil)
		return n, about[0], err
	}
	one := span.Span{Target: t, Unproven: true}
	if t.Entry != 0 {
		one = span.Span{Ranged: true, After: t.Entry - 1, Upto: t.Entry, Unproven: true}
	}
	n, err := span.Net(r, one)
	return n, about[0], err
}

// between reads A..B.
func (b *book) between(s *span.Span, from, to string) error {
	s.Ranged = true
	for _, end := range []struct {
		word string
		set  func(named.Target)
	}{{from, func(t named.Target) { s.After = t.Last }}, {to, func(t named.Target) { s.Upto = t.Last }}} {
		if end.word == "" {
			continue
		}
		t, ok, err := named.Find(b.rows, end.word)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("diff %s..%s: %q is no entry, turn, call or session of kerf log", from, to, end.word)
		}
		end.set(t)
	}
	if s.Upto != 0 && s.Upto < s.After {
		return fmt.Errorf("diff %s..%s: %s is older than %s", from, to, to, from)
	}
	return nil
}

// entry is what one entry changed, whoever made it.
func (b *book) entry(t named.Target, paths []string) (changes.Net, error) {
	list, err := b.ws.Changes().Log(changes.Filter{Diffs: true, Fits: func(e row.Entry) bool { return e.Seq == t.Entry }})
	if err != nil || len(list) == 0 {
		return changes.Net{}, err
	}
	diff := list[0].Diff
	if len(paths) > 0 {
		diff = ""
		for _, f := range shown.Files(list[0].Diff) {
			if slices.ContainsFunc(paths, func(path string) bool {
				return pathname.Under(path, filepath.Join(b.ws.Base(), f.Name)) ||
					f.From != "" && pathname.Under(path, filepath.Join(b.ws.Base(), f.From))
			}) {
				diff += f.Section
			}
		}
	}
	return changes.Net{Diff: []byte(diff)}, nil
}

// tellFiles names the files that something is to be told of, on standard error, and those that are in
// the diff with other changes.
func tellFiles(p *program.Program, what string, paths []string, shown ...string) {
	if len(paths) == 0 {
		return
	}
	fmt.Fprintln(p.Stderr, what)
	for _, path := range paths {
		more := ""
		if slices.Contains(shown, path) {
			more = " (other changes of it are in the diff)"
		}
		fmt.Fprintf(p.Stderr, "  %s%s\n", shortPath(p, path), more)
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
	return ws.Changes().LastTurnNet(unproven, nil)
}
