package records

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/workspace"
)

const undoLong = `Takes back the last turn in this workspace that is not undone yet: the changes of its tools and
of its commands. It does not need git. It keeps later changes by merging. If a merge is
impossible, it names the files, writes nothing, and the exit code is 1.
With PATHs it takes back only these files, or the files below these directories. With #N it
takes back the entry of that number in kerf log; a file of such a name is ./#N.

What nobody saw being changed may be the work of others. Kerf leaves it alone, names it, and the
exit code is 1. To take it back, too, name its PATH, or its --entry, or give --unproven.
The exit code is also 1 when something could not be brought back, which is named.

On a terminal it shows the changes and asks first. Without a terminal it does not ask.
An undo is recorded like any change: kerf redo brings back what the last undo took back.`

func takeBack(p *program.Program, redo bool) *cobra.Command {
	c := changes.Choice{Redo: redo}
	var o changes.UndoOptions
	var asJSON, yes bool
	cmd := &cobra.Command{Use: "undo [PATH ...]", Short: "Take back what the last turn changed", Long: undoLong,
		Example: "  kerf undo --dry-run\n  kerf undo --turn 01a1 src/main.go\n  kerf redo"}
	if redo {
		cmd = &cobra.Command{Use: "redo [PATH ...]", Short: "Bring back what the last undo took back",
			Long: "Brings back what the last undo in this workspace took back. It keeps later changes by merging,\n" +
				"as kerf undo does."}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := p.Tolerant()
		if err != nil {
			return err
		}
		if n, ok := entryNumber(args); ok && !redo && c.Entry == 0 && c.Turn+c.Call+c.Session == "" {
			c.Entry, args = n, nil
		}
		if !asJSON && !yes && program.IsTerminal(p.Stdin) && program.IsTerminal(p.Stdout) {
			o.Confirm = func(r changes.Report) (bool, error) { return confirmUndo(p, r) }
		}
		report, err := undo(cmd.Context(), h, c, args, o)
		if errors.Is(err, changes.ErrNothing) && len(args) > 0 {
			return fmt.Errorf("%w of %s; kerf log tells what was changed", err, visible.Plain(strings.Join(args, ", ")))
		}
		return tellUndo(p, report, err, asJSON, o.Confirm != nil, withUnproven(c, args))
	}
	f := cmd.Flags()
	f.StringVar(&c.Turn, "turn", "", "the turn with this `id`, or the beginning of it; see kerf log")
	f.StringVar(&c.Call, "call", "", "only the call with this `id`")
	f.StringVar(&c.Session, "session", "", "a turn of the session with this `id`, in its workspace")
	if !redo {
		f.Int64Var(&c.Entry, "entry", 0, "only the `entry` of kerf log with this number, whoever made it")
		f.BoolVar(&c.Unproven, "unproven", false, "also what nobody saw being changed")
		cmd.MarkFlagsMutuallyExclusive("entry", "turn")
		cmd.MarkFlagsMutuallyExclusive("entry", "call")
		cmd.MarkFlagsMutuallyExclusive("entry", "session")
	}
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would be done; write nothing")
	f.BoolVar(&asJSON, "json", false, "print the report as JSON and ask nothing")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask on a terminal")
	return cmd
}

// entryNumber reads #4, as kerf log numbers its entries. A file of that name is meant
// by ./#4.
func entryNumber(args []string) (int64, bool) {
	if len(args) != 1 {
		return 0, false
	}
	digits, ok := strings.CutPrefix(args[0], "#")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n > 0
}

// undo takes changes in the workspace of the working directory, or of a session,
// back, or brings them back.
func undo(ctx context.Context, h *host.Host, c changes.Choice, paths []string,
	o changes.UndoOptions) (changes.Report, error) {
	root := workspace.Find(h.Config.Home, h.Config.Cwd)
	if c.Session != "" {
		if info, err := h.FindSession(c.Session); err == nil { // the ledger may know it anyway
			c.Session, root = string(info.ID), cmp.Or(info.Cwd, root)
		}
	}
	for _, path := range paths {
		c.Paths = append(c.Paths, workspace.Real(h.Config.Cwd, path))
	}
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{Root: root, Sandbox: protocol.SandboxFull})
	if err != nil {
		return changes.Report{}, err
	}
	defer ws.Close()
	return ws.Changes().Undo(ctx, ws.Txn, c, o)
}

// withUnproven is the command that takes along what nobody saw being changed.
func withUnproven(c changes.Choice, args []string) string {
	words := []string{"kerf undo --unproven"}
	for _, flag := range [][2]string{{"--session", c.Session}, {"--turn", c.Turn}, {"--call", c.Call}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	for _, arg := range args {
		if strings.ContainsAny(arg, " \t'\"\\$&;|<>()*?[#~`!") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return visible.Plain(strings.Join(words, " "))
}

// tellUndo prints what was done and chooses the exit code. Unproven is the command that
// takes along what was left.
func tellUndo(p *program.Program, r changes.Report, err error, asJSON, shown bool, unproven string) error {
	switch {
	case errors.Is(err, changes.ErrNothing):
		r.Problem = err.Error()
		if asJSON {
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
	case asJSON:
		if err := print.Line(p.Stdout, r); err != nil {
			return err
		}
	case r.Problem == "":
		if r.DryRun && !shown {
			fmt.Fprint(p.Stdout, r.Diff)
		}
		undoText(p, r)
	}
	switch {
	case r.Whole():
		return nil
	case asJSON:
		return program.Exit(1)
	case r.Problem == "" && len(r.Left) > 0:
		fmt.Fprintf(p.Stderr, "hint: take back what was left with: %s\n", unproven)
		return program.Exit(1)
	case r.Problem == "":
		return program.Exit(1)
	}
	hint := "nothing was written; name the paths that fit, or undo the later change first"
	if len(r.Left) > 0 && len(r.Files) == 0 {
		tellLeft(p, p.Stderr, r)
		hint = "nothing was written; take it back with: " + unproven
	}
	return &program.Error{Code: 1, Err: errors.New(visible.Plain(r.Problem)), Hint: hint}
}

// undoText prints one line a file: results on standard output, what could not be
// brought back on standard error too.
func undoText(p *program.Program, r changes.Report) {
	verb := map[bool]string{false: "undone", true: "redone"}[r.Redo]
	if r.DryRun {
		verb = "would be " + verb
	}
	w := p.Stdout
	if r.DryRun {
		w = p.Stderr // the diff alone is the result
	}
	fmt.Fprintf(w, "%s: %s\n", verb, visible.Plain(r.What))
	for _, f := range r.Files {
		line := fmt.Sprintf("  %-9s %s", f.Outcome, visible.Plain(shortPath(p, f.Path)))
		if f.Note != "" {
			line += " (" + visible.Plain(f.Note) + ")"
		}
		fmt.Fprintln(w, line)
	}
	tellLeft(p, w, r)
}

// tellLeft prints one line for each change that was left alone.
func tellLeft(p *program.Program, w io.Writer, r changes.Report) {
	for _, l := range r.Left {
		fmt.Fprintf(w, "  %-9s %s (nobody saw who changed it; entry %d)\n", "left", visible.Plain(shortPath(p, l.Path)),
			l.Entry)
	}
}

// shortPath names a path below the working directory without it.
func shortPath(p *program.Program, path string) string {
	cwd, err := p.Cwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// confirmUndo shows what would be done and asks.
func confirmUndo(p *program.Program, r changes.Report) (bool, error) {
	fmt.Fprint(p.Stdout, print.Lines(r.Diff))
	undoText(p, r)
	fmt.Fprint(p.Stdout, "go on? [y/N] ")
	answer, err := bufio.NewReader(p.Stdin).ReadString('\n')
	if err != nil && answer == "" {
		return false, nil
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}
