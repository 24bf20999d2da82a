package trying

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/tries"
	"kerf/internal/work/workspace"
)

const keepLong = `Makes what a try changed real: all files of it in one step, or none. What you changed meanwhile
stays; changes of the same file are merged. Without a number it is the only try of this directory.

With PATHs it keeps only these files, or the files below these directories; the rest stays in the try.
New files that git ignores, such as what a build leaves, are not kept unless they are named or
--ignored is given. Neither are commits and other changes of git's own files.

Where you changed the same place, that is a conflict: it names the file, writes nothing, and the
exit code is 1. --merge writes both into the file, with markers; --ours leaves those lines as they are
now; --theirs takes those of the try; --skip leaves such files alone.

With --hunks it shows each change, and asks for it, as git add -p does: y keeps it, n does not, a and d
decide for the rest of the file, q for all that follows. The answers may also come from a pipe, a line each.

Checks with when = "keep" run in the try first; one that blocks and newly fails keeps nothing.

When all is kept, the try is gone. kerf undo takes back what was kept.`

// keepOptions are the flags of `kerf keep`.
type keepOptions struct {
	tries.Options
	dryRun, asJSON, hunks bool
	unchecked             bool
	settling              program.Settling
}

// Commands are `kerf tries`, `kerf keep` and `kerf discard`.
func Commands() program.Commands {
	return program.Commands{
		"tries": triesCommand, "keep": keepCommand, "discard": discardCommand,
	}
}

func keepCommand(p *program.Program) *cobra.Command {
	var o keepOptions
	cmd := &cobra.Command{Use: "keep [TRY] [--] [PATH ...]", Short: "Make what a try changed real", Long: keepLong,
		Example: "  kerf exec --try \"make the tests faster\"\n  kerf keep --dry-run\n  kerf keep 3 -- src",
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(p, cmd, args) }}
	f := cmd.Flags()
	f.BoolVar(&o.Ignored, "ignored", false, "also new files that git ignores")
	o.settling.AddFlags(cmd, "in conflicts, take the lines of the try")
	f.BoolVar(&o.unchecked, "no-checks", false, "do not run the checks of the moment keep")
	f.BoolVar(&o.hunks, "hunks", false, "choose what is kept, change by change")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be done; write nothing")
	f.BoolVar(&o.asJSON, "json", false, "print the report as one JSON object")
	cmd.MarkFlagsMutuallyExclusive("hunks", "json")
	return cmd
}

func (o *keepOptions) run(p *program.Program, cmd *cobra.Command, args []string) error {
	h, err := p.Host(nil)
	if err != nil {
		return err
	}
	t, rest, err := choose(h, cmd, args)
	if err != nil {
		return err
	}
	for _, path := range rest {
		o.Paths = append(o.Paths, t.Name(h.Config.Cwd, path))
	}
	if err := t.Lock(); err != nil {
		return &program.Error{Code: 1, Err: err}
	}
	defer t.Unlock()
	o.Conflicts = o.settling.Way()
	var verdicts tries.Verdicts
	switch {
	case o.dryRun:
	case o.unchecked:
		verdicts = standing(p, t)
	default:
		if verdicts, err = checked(cmd.Context(), p, h, t); err != nil {
			return err
		}
	}
	var working *program.Working
	if o.hunks {
		o.Pick = newPicker(p, t).pick
	} else {
		working = p.Working("comparing files")
	}
	plan, ws, err := planOf(cmd.Context(), h, t, o.Options)
	working.Stop()
	if err != nil {
		return err
	}
	defer ws.Close()
	if len(plan.Rows) == 0 && plan.Empty() && len(rest) > 0 {
		return fmt.Errorf("try %d changed nothing of %s; see kerf tries diff %d", t.ID,
			visible.Plain(strings.Join(rest, ", ")), t.ID)
	}
	stuck := plan.Count(tries.Conflict) > 0 && o.settling.Way() != settle.Skip
	if !o.dryRun && !stuck {
		working = p.Working("writing files")
		err = carryOut(cmd.Context(), p, ws, plan, verdicts)
		working.Stop()
		if err != nil {
			return err
		}
	}
	if err := o.tell(p, t, plan, stuck); err != nil {
		return err
	}
	if stuck {
		return &program.Error{Code: 1, Err: errors.New("nothing was written: files are in conflict"),
			Hint: "settle it with " + o.settling.Others() + ", or name the paths that fit"}
	}
	left := len(rest) > 0 || plan.Parted || plan.Count(tries.Conflict, tries.Git, tries.Closed) > 0
	switch {
	case o.dryRun:
	case !left:
		return t.Remove()
	default:
		if err := t.Remember(plan); err != nil {
			return err
		}
	}
	if !o.dryRun && len(rest) == 0 && !plan.Parted {
		tellStays(p, t, plan)
	}
	if plan.Count(tries.Conflict) > 0 {
		return program.Exit(1)
	}
	return nil
}

// carryOut keeps what is planned, then enters what checks found in the try.
func carryOut(ctx context.Context, p *program.Program, ws *workspace.Workspace, plan *tries.Plan,
	verdicts tries.Verdicts) error {
	if plan.Empty() {
		return nil
	}
	if why := ws.Unrecordable(); why != "" {
		return fmt.Errorf("nothing was written, because it could not be recorded: %s", why)
	}
	if err := plan.Commit(ctx, ws.Txn); err != nil {
		return err
	}
	enter(p, ws, plan, verdicts)
	return nil
}

// report is a plan in JSON.
type report struct {
	Try    int          `json:"try"`
	DryRun bool         `json:"dry_run"`
	Kept   bool         `json:"kept"`
	Files  []fileReport `json:"files"`
}

type fileReport struct {
	Path      pathname.Path `json:"path"`
	Operation string        `json:"operation"`
	Outcome   tries.Outcome `json:"outcome"`
	Note      string        `json:"note,omitempty"`
}

// maxIgnored is how many ignored files are named one by one.
const maxIgnored = 10

// tell prints the plan, or what was done of it.
func (o *keepOptions) tell(p *program.Program, t *tries.Try, plan *tries.Plan, stuck bool) error {
	if o.asJSON {
		r := report{Try: t.ID, DryRun: o.dryRun, Kept: !o.dryRun && !stuck, Files: []fileReport{}}
		for _, row := range plan.Rows {
			r.Files = append(r.Files, fileReport{pathname.Path(row.Path), row.Change.Op(), row.Outcome, row.Note})
		}
		return print.Line(p.Stdout, r)
	}
	w := bufio.NewWriter(p.Stdout)
	ignored := plan.Count(tries.Ignored)
	for _, row := range plan.Rows {
		if row.Outcome == tries.Ignored && ignored > maxIgnored {
			continue
		}
		name := p.Named(changes.Relative(t.Meta.Roots[0], row.Path))
		fmt.Fprintf(w, "%-12s %s%s\n", o.word(row, stuck), name, note(row))
	}
	if ignored > maxIgnored {
		fmt.Fprintf(w, "%-12s %d files that git ignores; --ignored, or their paths, keep them\n", "left", ignored)
	}
	if len(plan.Rows) == 0 {
		fmt.Fprintln(w, map[bool]string{true: "no file to keep", false: "only directories"}[plan.Empty()])
	}
	return w.Flush()
}

// word is an outcome for people: what was done, or would be.
func (o *keepOptions) word(r tries.Row, stuck bool) string {
	switch r.Outcome {
	case tries.Kept, tries.Merged, tries.Settled:
		if o.dryRun || stuck {
			return map[tries.Outcome]string{tries.Kept: "would keep", tries.Merged: "would merge",
				tries.Settled: "would settle"}[r.Outcome]
		}
	case tries.There:
		return "there"
	case tries.Ignored, tries.Special, tries.Git, tries.Closed, tries.Unpicked:
		return "left"
	}
	return string(r.Outcome)
}

// tellStays says that the try is not gone, and why, if that is so for more than conflicts.
func tellStays(p *program.Program, t *tries.Try, plan *tries.Plan) {
	what := ""
	switch {
	case plan.Count(tries.Git) > 0:
		what = "commits and other changes of git"
	case plan.Count(tries.Closed) > 0:
		what = "files that may not be written here"
	default:
		return
	}
	fmt.Fprintf(p.Stderr, "kerf: try %d stays, with the %s in it; kerf discard %d throws it away\n", t.ID, what, t.ID)
}

// note says why.
func note(r tries.Row) string {
	text := r.Note
	switch r.Outcome {
	case tries.Ignored:
		text = "git ignores it; --ignored, or its path, keeps it"
	case tries.Special:
		text = "not a file; make it yourself"
	case tries.Git:
		text = "commits and other changes of git itself stay in the try"
	case tries.Unpicked:
		text = "not chosen; it stays in the try"
	case tries.There:
		text = "it is like that already"
	case tries.Kept:
		if r.Change.Post == nil {
			text = "removed"
		}
	}
	if text == "" {
		return ""
	}
	return " (" + visible.Plain(text) + ")"
}

// planOf compares a try with the real tree, whose workspace it opens.
func planOf(ctx context.Context, h *host.Host, t *tries.Try, o tries.Options) (*tries.Plan, *workspace.Workspace,
	error) {
	for _, root := range t.Meta.Roots {
		if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, &program.Error{Code: 1, Err: fmt.Errorf("try %d is of %s, which is not there", t.ID,
				visible.Plain(root)), Hint: "move the directory back to where it was, or see kerf discard"}
		}
	}
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{Root: t.Meta.Roots[0], AddDirs: t.Meta.Roots[1:],
		Sandbox: protocol.SandboxWorkspace})
	if err != nil {
		return nil, nil, err
	}
	plan, err := t.Plan(ctx, ws, o)
	if err != nil {
		return nil, nil, errors.Join(err, ws.Close())
	}
	return plan, ws, nil
}

// choose is the try that the words of a command name, and the words that follow.
func choose(h *host.Host, cmd *cobra.Command, args []string) (*tries.Try, []string, error) {
	if len(args) > 0 && cmd.ArgsLenAtDash() != 0 && strings.Trim(args[0], "0123456789") == "" {
		t, err := tries.Get(h.Config.Home, args[0])
		if err != nil {
			return nil, nil, program.Misuse("%s: %v", args[0], err)
		}
		return t, args[1:], nil
	}
	here, err := tries.Here(h.Config.Home, h.Config.Cwd)
	if err != nil {
		return nil, nil, err
	}
	switch len(here) {
	case 0:
		return nil, nil, program.Misuse("there is no try of this directory; kerf tries lists those of others")
	case 1:
		return here[0], args, nil
	}
	var numbers []string
	for _, t := range here {
		numbers = append(numbers, fmt.Sprint(t.ID))
	}
	return nil, nil, program.Misuse("which try? this directory has %s; see kerf tries", strings.Join(numbers, ", "))
}
