package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/stays"
)

const undoLong = `Takes back the last turn in this workspace that is not undone yet: the changes of its tools and
of its commands; with -n the last few turns. It does not need git. It keeps later changes by merging.

With a TURN it takes back that turn, entry (4 or #4), call or session, as kerf log names them. With PATHs
it takes back only these files, or the files below these directories. (A shell takes a bare # for the
beginning of a comment: quote it, or leave it out.)

Where a file was changed since in the same place, that is a conflict: it names the file, writes nothing,
and the exit code is 1. --merge writes both into the file, with markers; --ours leaves those lines as they
are now; --theirs takes them back, too; --skip leaves such files alone. Older turns can always be named.
Where a file was moved since, --follow takes the change back in the file that the conflict names.

What nobody saw being changed may be the work of others. Kerf leaves it alone, names it, and the
exit code is 1. To take it back, too, name its PATH, or its --entry, or give --unproven.
The exit code is also 1 when something could not be brought back, which is named.

On a terminal it shows what it would do and asks first. Without a terminal it does not ask.
An undo is recorded like any change: kerf redo brings back what the last undo took back.`

// takeBackOptions are the flags of `kerf undo` and `kerf redo`.
type takeBackOptions struct {
	changes.Choice
	dryRun, asJSON, yes bool
	settling            program.Settling
}

func undoCommand(p *program.Program) *cobra.Command { return takeBack(p, false) }

func redoCommand(p *program.Program) *cobra.Command { return takeBack(p, true) }

func takeBack(p *program.Program, redo bool) *cobra.Command {
	o := takeBackOptions{Choice: changes.Choice{Redo: redo}}
	cmd := &cobra.Command{Use: "undo [TURN] [--] [PATH ...]", Short: "Take back what the last turn changed", Long: undoLong,
		Example: "  kerf undo --dry-run\n  kerf undo 4\n  kerf undo -n 2 -- src/\n  kerf redo"}
	if redo {
		cmd = &cobra.Command{Use: "redo [TURN] [--] [PATH ...]", Short: "Bring back what the last undo took back",
			Long: "Brings back what the last undo here took back; with a TURN, the last one of that turn, entry (4 or\n" +
				"#4), call or session. It keeps later changes by merging, as kerf undo does."}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(p, cmd, args) }
	f := cmd.Flags()
	f.StringVar(&o.Turn, "turn", "", "the turn with this `id`, or the beginning of it; see kerf log")
	f.StringVar(&o.Call, "call", "", "only the call with this `id`")
	f.StringVar(&o.Session, "session", "", "a turn of the session with this `id`, in its workspace")
	if !redo {
		f.IntVarP(&o.Last, "number", "n", 0, "the last `n` turns that are not undone yet")
		f.Int64Var(&o.Entry, "entry", 0, "only the `entry` of kerf log with this number, whoever made it")
		f.BoolVar(&o.Unproven, "unproven", false, "also what nobody saw being changed")
		for _, other := range []string{"turn", "call", "session", "number"} {
			cmd.MarkFlagsMutuallyExclusive("entry", other)
		}
	}
	o.settling.AddFlags(cmd, "in conflicts, take those lines back, too")
	f.BoolVar(&o.Follow, "follow", false, "go on in the file that a conflict names as much like one that is gone")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be done; write nothing")
	f.BoolVar(&o.asJSON, "json", false, "print the report as JSON and ask nothing")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask on a terminal")
	return cmd
}

func (o *takeBackOptions) run(p *program.Program, cmd *cobra.Command, args []string) error {
	if f := cmd.Flags().Lookup("number"); f != nil && f.Changed && o.Last < 1 {
		return program.Misuse("-n %d: give a number from 1 up", o.Last)
	}
	b, session, err := openBook(p, o.Session)
	if err != nil {
		return err
	}
	defer b.ws.Close()
	c := o.Choice
	c.Session, c.Conflicts = session, o.settling.Way()
	if c, err = b.choice(cmd, c, args); err != nil {
		return err
	}
	if len(args) == 0 && c.Session+c.Turn+c.Call == "" && c.Entry == 0 {
		if b.tellNewer(cmd.Name()); !c.Redo && !o.asJSON {
			b.tellLeftThere()
		}
	}
	to := changes.UndoOptions{DryRun: o.dryRun}
	working := p.Working("comparing files")
	defer func() { working.Stop() }()
	if !o.asJSON && !o.yes && program.IsTerminal(p.Stdin) && program.IsTerminal(p.Stdout) {
		to.Confirm = func(r changes.Report) (bool, error) {
			working.Stop()
			yes, err := confirmUndo(p, r)
			working = p.Working("writing files")
			return yes, err
		}
	}
	report, err := b.undo(cmd.Context(), c, to)
	working.Stop()
	runs := func(f changes.FilePlan) bool { return f.Outcome == changes.Conflict && stays.Running(b.rows, f.Path) }
	if slices.ContainsFunc(report.Files, runs) {
		report.Warnings = append(report.Warnings,
			"the command that changed this still runs, and may change it again: take it back when the command has ended")
	}
	warn(p.Stderr, report.Warnings)
	named := cmp.Or(strings.Join(args, ", "), o.Turn, o.Call, o.Session)
	if c.Entry != 0 {
		named = cmp.Or(named, fmt.Sprint(c.Entry))
	}
	if errors.Is(err, changes.ErrNothing) && named != "" {
		if report.Problem = err.Error(); o.asJSON {
			err = cmp.Or(print.Line(p.Stdout, report), err)
		}
		return fmt.Errorf("%w of %s; kerf log tells what was changed", err, visible.Plain(named))
	}
	unproven := b.withUnproven(o.Choice, args, report.Left)
	if err := o.tell(p, report, err, to.Confirm != nil, unproven); err != nil {
		return err
	}
	if !c.Redo && !o.asJSON && !o.dryRun && err == nil {
		b.tellWhatStays()
	}
	return nil
}

// tellLeftThere says that the newest entries have nothing, or nothing yet, that an undo takes back.
func (b *book) tellLeftThere() {
	for i := range b.rows {
		e := &b.rows[i]
		what := "made what no undo takes back: " + visible.Line(e.Note)
		if e.Running && len(e.Changes) == 0 {
			what = "still runs, and what it changed is known when it has ended"
		} else if !e.OnlyLeft() {
			return
		}
		fmt.Fprintf(b.p.Stderr, "kerf: entry %d %s; this is about the change before it\n", e.Seq, what)
	}
}

// choice adds what the words of the command name.
func (b *book) choice(cmd *cobra.Command, c changes.Choice, args []string) (changes.Choice, error) {
	s, err := b.scope(cmd.Name(), cmd.ArgsLenAtDash(), args)
	if err != nil {
		return c, err
	}
	c.Paths = s.paths
	if len(s.targets) == 0 {
		return c, nil
	}
	if len(s.targets) > 1 || c.Entry != 0 || c.Turn+c.Call+c.Session != "" || c.Last > 0 {
		return c, program.Misuse("name one turn, entry, call or session; for the last few turns: -n")
	}
	t := s.targets[0]
	if t.Entry != 0 {
		c.Entry = t.Entry
		return c, nil
	}
	c.Session, c.Turn, c.Call = t.Session, t.Turn, t.Call
	return c, nil
}

// undo takes changes back, or brings them back. Where nothing can be recorded it says so and
// does it without a record, of what is kept already.
func (b *book) undo(ctx context.Context, c changes.Choice, o changes.UndoOptions) (changes.Report, error) {
	r := b.ws.Changes()
	why := b.ws.Unrecordable()
	if why == "" || o.DryRun {
		return r.Undo(ctx, b.ws.Txn, c, o)
	}
	ws, err := b.h.OpenWorkspace(host.WorkspaceOptions{Root: b.ws.Roots[0], Sandbox: protocol.SandboxFull, Unrecorded: true})
	if err != nil {
		return changes.Report{}, err
	}
	defer ws.Close()
	report, err := r.Undo(ctx, ws.Txn, c, changes.UndoOptions{Confirm: b.ws.OnlyKept(why, c.Conflicts, o.Confirm)})
	if err == nil && report.Problem == "" {
		fmt.Fprintf(b.p.Stderr, "kerf: this is not recorded, so kerf log does not show it and it cannot be taken back: %s\n",
			visible.Plain(why))
	}
	return report, err
}

// withUnproven is the command that takes along what nobody saw being changed. Where nothing was named
// it names what left belongs to: when the rest is taken back, another turn may be the last one.
func (b *book) withUnproven(c changes.Choice, args []string, left []changes.Left) string {
	words := []string{"kerf undo --unproven"}
	if named := len(args) > 0 || c.Session+c.Turn+c.Call != "" || c.Last > 1; !named && len(left) > 0 {
		if !slices.ContainsFunc(left, func(l changes.Left) bool { return l.Entry != left[0].Entry }) {
			return fmt.Sprintf("kerf undo --entry %d", left[0].Entry)
		}
		for i := range b.rows {
			if e := &b.rows[i]; e.Seq == left[0].Entry {
				c.Session, c.Turn = e.Session, e.Turn
			}
		}
	}
	for _, flag := range [][2]string{{"--session", c.Session}, {"--turn", c.Turn}, {"--call", c.Call}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	for _, arg := range args {
		words = append(words, program.Quoted(arg))
	}
	return visible.Plain(strings.Join(words, " "))
}

// tell prints what was done and chooses the exit code. Unproven is the command that
// takes along what was left.
func (o *takeBackOptions) tell(p *program.Program, r changes.Report, err error, shown bool, unproven string) error {
	switch {
	case errors.Is(err, changes.ErrNothing):
		r.Problem = err.Error()
		if o.asJSON {
			return print.Line(p.Stdout, r)
		}
		fmt.Fprintln(p.Stdout, r.Problem)
		return nil
	case errors.Is(err, changes.ErrDeclined):
		fmt.Fprintln(p.Stdout, err)
		return program.Exit(1)
	case err != nil:
		return err
	}
	switch {
	case o.asJSON:
		if err := print.Line(p.Stdout, r); err != nil {
			return err
		}
	case r.Problem == "":
		if r.DryRun && !shown {
			if err := printDiff(p, r.Diff); err != nil {
				return err
			}
		}
		undoText(p, r)
	}
	switch {
	case r.Whole():
		return nil
	case o.asJSON || r.Problem == "":
		if !o.asJSON && len(r.Left) > 0 {
			fmt.Fprintf(p.Stderr, "hint: take back what was left with: %s\n", unproven)
		}
		return program.Exit(1)
	}
	hint := "nothing was written; settle it with " + o.settling.Others() + ", or name the paths that fit;" +
		"\n      an older turn can be named: kerf undo ENTRY, as kerf log numbers it"
	if slices.ContainsFunc(r.Files, func(f changes.FilePlan) bool { return f.Moved != "" }) {
		hint = "nothing was written; if it was moved: --follow takes the change back where it is now, --ours leaves it"
	}
	if !slices.ContainsFunc(r.Files, func(f changes.FilePlan) bool { return f.Outcome == changes.Conflict }) {
		hint = "nothing was written; an older turn can be named: kerf undo ENTRY, as kerf log numbers it"
	}
	if len(r.Left) > 0 && len(r.Files) == 0 {
		tellLeft(p, p.Stderr, r)
		hint = "nothing was written; take it back with: " + unproven +
			"\n      an older turn can be named: kerf undo ENTRY, as kerf log numbers it"
	}
	return &program.Error{Code: 1, Err: errors.New(visible.Plain(r.Problem)), Hint: hint}
}

// undoText prints one line a file: results on standard output, what could not be
// brought back on standard error too.
func undoText(p *program.Program, r changes.Report) {
	w, verb := p.Stdout, map[bool]string{false: "undone", true: "redone"}[r.Redo]
	if r.DryRun { // the diff alone is the result
		w, verb = p.Stderr, "would be "+verb
	}
	undoList(p, w, r, verb, r.DryRun)
}

// undoList prints a headline, and one line a file in the words for what is to be done, or
// was done.
func undoList(p *program.Program, w io.Writer, r changes.Report, headline string, before bool) {
	fmt.Fprintf(w, "%s: %s\n", headline, visible.Plain(r.What))
	for _, f := range r.Files {
		word := outcome(f, before)
		pad := strings.Repeat(" ", max(0, map[bool]int{true: 13, false: 9}[before]-len(word)))
		line := fmt.Sprintf("  %s%s %s", paint(p, outcomeColor(f), word), pad, shortPath(p, f.Path))
		if f.Note != "" {
			line += " (" + visible.Plain(f.Note) + ")"
		}
		fmt.Fprintln(w, line)
	}
	tellLeft(p, w, r)
}

// outcome is what is said of a file.
func outcome(f changes.FilePlan, before bool) string {
	word := f.Outcome
	if f.Removed && word == changes.Restored {
		word = "removed"
	}
	if !before {
		return word
	}
	switch word {
	case changes.Restored:
		return "would restore"
	case "removed":
		return "would remove"
	case changes.Merged:
		return "would merge"
	}
	return word
}

func outcomeColor(f changes.FilePlan) string {
	switch {
	case f.Outcome == changes.Restored && f.Removed:
		return red
	case f.Outcome == changes.Restored:
		return green
	case f.Outcome == changes.Merged:
		return cyan
	case f.Outcome == changes.Unchanged:
		return dim
	}
	return yellow
}

// tellLeft prints one line for each change that was left alone.
func tellLeft(p *program.Program, w io.Writer, r changes.Report) {
	for _, l := range r.Left {
		fmt.Fprintf(w, "  %s      %s (nobody saw who changed it; entry %d)\n", paint(p, yellow, "left"),
			shortPath(p, l.Path), l.Entry)
	}
}

// confirmUndo shows what would be done and asks.
func confirmUndo(p *program.Program, r changes.Report) (bool, error) {
	undoList(p, p.Stdout, r, map[bool]string{false: "to be undone", true: "to be redone"}[r.Redo], true)
	for {
		answer, err := p.Ask(p.Stdout, "go on? [y/N, d shows the diff] ")
		if err != nil && answer == "" {
			return false, nil
		}
		answer = strings.ToLower(answer)
		if !slices.Contains([]string{"d", "diff"}, answer) {
			return answer == "y" || answer == "yes", nil
		}
		if err := p.Paged(func() error { return printDiff(p, r.Diff) }); err != nil {
			return false, err
		}
	}
}
