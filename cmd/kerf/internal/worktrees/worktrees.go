package worktrees

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records"
	"kerf/internal/host"
	"kerf/internal/pathname"
	"kerf/internal/text/visible"
	"kerf/internal/work/apply"
	"kerf/internal/work/worktrees"
)

const long = `Shows the git work trees that sessions work in, merges what they hold, or takes them away.

kerf --worktree NAME and kerf exec --worktree NAME work in one: files and a branch of its own, kerf/NAME,
while the files here stay as they are. It begins at the commit that is checked out, or at --from COMMIT;
--carry takes along what is not committed. Ignored files do not come along.

At the end a tree in which nothing would be lost is removed; any other stays, and is named.`

// Command is `kerf worktree`.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "worktree", Short: "Work trees of sessions: list, diff, merge, remove", Long: long,
		Example: "  kerf exec --worktree parser --carry \"make the parser faster\"\n  kerf worktree diff parser\n" +
			"  kerf worktree merge parser\n  cd \"$(kerf worktree path parser)\"",
		Args: program.AtMost(0), RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(listCommand(p), diffCommand(p), mergeCommand(p), pathCommand(p), removeCommand(p))
	return cmd
}

// find opens the tree that a command names.
func find(p *program.Program, name string) (*host.Host, *worktrees.Tree, error) {
	h, err := p.Tolerant()
	if err != nil {
		return nil, nil, err
	}
	t, err := worktrees.Get(h.Config.Home, h.Config.Cwd, name)
	if err != nil {
		return nil, nil, program.Misuse("%s: %v", visible.Plain(name), err)
	}
	return h, t, nil
}

// present is find for what needs the files of the tree.
func present(p *program.Program, name string) (*host.Host, *worktrees.Tree, error) {
	h, t, err := find(p, name)
	if err == nil && !t.There() {
		err = fmt.Errorf("the directory of the work tree %s is gone: kerf worktree remove %s forgets it", name, name)
	}
	return h, t, err
}

// report is a work tree in JSON.
type report struct {
	_         [0]func()     // reports are never compared
	Name      string        `json:"name"`
	Directory pathname.Path `json:"directory"`
	Branch    string        `json:"branch"`
	Start     string        `json:"start"`
	Carried   int           `json:"carried"`
	Made      time.Time     `json:"made"`
	Merged    time.Time     `json:"merged,omitzero"`
	Running   bool          `json:"running"`
	There     bool          `json:"there"`
	Holds     string        `json:"holds"`
	Request   string        `json:"request,omitempty"`
}

func listCommand(p *program.Program) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{Use: "list", Short: "List the work trees of this repository", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			list, err := worktrees.List(h.Config.Home, h.Config.Cwd)
			if err != nil {
				return program.Misuse("%v", err)
			}
			reports := make([]report, len(list))
			for i, t := range list {
				reports[i] = reportOf(cmd.Context(), t)
			}
			if asJSON {
				return print.Array(p.Stdout, reports)
			}
			return printList(p, reports)
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func reportOf(ctx context.Context, t *worktrees.Tree) report {
	r := report{Name: t.Name, Directory: pathname.Path(t.Dir), Branch: t.Branch(), Start: t.Meta.Start,
		Carried: t.Meta.Carried, Made: t.Meta.Made, Merged: t.Meta.Merged, Running: t.Used(), There: t.There(),
		Request: t.Meta.Request}
	switch h, err := t.Holds(ctx); {
	case !r.There:
		r.Holds = "its directory is gone"
	case err != nil:
		r.Holds = "unknown: " + err.Error()
	default:
		r.Holds = told(h)
	}
	return r
}

func printList(p *program.Program, list []report) error {
	if len(list) == 0 {
		fmt.Fprintln(p.Stdout, "no work trees; kerf exec --worktree NAME PROMPT makes one")
		return nil
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tMADE\tSTATE\tHOLDS\tREQUEST")
	for _, r := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Name, r.Made.Local().Format("2006-01-02 15:04"),
			map[bool]string{true: "running", false: "waiting"}[r.Running], visible.Plain(r.Holds), visible.OneLine(r.Request, 60))
	}
	return w.Flush()
}

func diffCommand(p *program.Program) *cobra.Command {
	var stat, names bool
	cmd := &cobra.Command{Use: "diff NAME", Short: "Print what a work tree changed",
		Long: "Prints what changed in a work tree since it was made or merged, as a git diff: commits and what is not\n" +
			"committed, without ignored files.",
		Args: program.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, t, err := present(p, args[0])
			if err != nil {
				return err
			}
			diff, _, err := t.Diff(cmd.Context())
			if err != nil {
				return err
			}
			return p.Paged(func() error { return p.ShowDiff(string(diff), stat, names) })
		}}
	cmd.Flags().BoolVar(&stat, "stat", false, "print a count for each file")
	cmd.Flags().BoolVar(&names, "name-only", false, "print the names of the files")
	cmd.MarkFlagsMutuallyExclusive("stat", "name-only")
	return cmd
}

const mergeLong = `Brings what changed in a work tree into the tree that it was made from: all files in one step, or none.
What changed there meanwhile stays; changes of the same file are merged. Nothing is committed, and kerf undo
takes it back. First it tells the base: what the work tree began with, and what happened since.

Where both changed the same place, nothing is written and the exit code is 1. Commits of the work tree stay on
its branch: git merge kerf/NAME takes them as commits instead.`

func mergeCommand(p *program.Program) *cobra.Command {
	dry := false
	cmd := &cobra.Command{Use: "merge NAME", Short: "Bring what a work tree changed here", Long: mergeLong,
		Args: program.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return merge(cmd.Context(), p, args[0], dry)
		}}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the diff and check that it fits; change nothing")
	return cmd
}

func merge(ctx context.Context, p *program.Program, name string, dry bool) error {
	_, t, err := present(p, name)
	if err != nil {
		return err
	}
	if err := t.Alone(); err != nil {
		return fmt.Errorf("work tree %s: %w", name, err)
	}
	defer t.Exit()
	diff, now, err := t.Diff(ctx)
	if err != nil {
		return err
	}
	if err := manifest(ctx, p, t); err != nil {
		return err
	}
	if len(diff) == 0 {
		fmt.Fprintf(p.Stdout, "nothing to merge: nothing changed in the work tree %s\n", name)
		return nil
	}
	there, err := p.In(t.Meta.Root).Host(nil)
	if err != nil {
		return err
	}
	o := records.ApplyOptions{Options: apply.Options{Tool: "worktree merge", ThreeWay: true, DryRun: dry}, Out: p.Stdout,
		Err: p.Stderr, Program: p, Patch: bytes.NewReader(diff)}
	if err := o.Apply(ctx, there); err != nil {
		return &program.Error{Code: 1, Err: err, Hint: "both sides keep what they have; merge by hand with git merge " +
			t.Branch() + ", once both are committed"}
	}
	if dry {
		return nil
	}
	return t.Took(ctx, now)
}

// manifest tells what a tree began with, and what happened since.
func manifest(ctx context.Context, p *program.Program, t *worktrees.Tree) error {
	m, err := t.Manifest(ctx)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(p.Stderr)
	base := fmt.Sprintf("%.9s, %s", t.Meta.Start, t.Meta.Made.Local().Format("2006-01-02 15:04"))
	if t.Meta.Carried > 0 {
		base += ", with " + print.Count(t.Meta.Carried, "file that was not committed", "files that were not committed")
	}
	if !t.Meta.Merged.IsZero() {
		base += "; merged until " + t.Meta.Merged.Local().Format("2006-01-02 15:04")
	}
	fmt.Fprintf(w, "kerf: base: %s\n", base)
	here := fmt.Sprintf("%.9s", m.Head)
	if m.Branch != "" {
		here = m.Branch + " at " + here
	}
	if m.Later > 0 {
		here += ", " + print.Count(m.Later, "commit later", "commits later")
	}
	if m.Changed > 0 {
		here += ", " + print.Count(m.Changed, "file not committed", "files not committed")
	}
	fmt.Fprintf(w, "kerf: into: %s, %s\n", visible.Plain(t.Meta.Root), visible.Plain(here))
	return w.Flush()
}

func pathCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "path NAME", Short: "Print the directory of a work tree", Args: program.Between(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			_, t, err := present(p, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(p.Stdout, visible.Plain(t.Dir))
			return nil
		}}
}

func removeCommand(p *program.Program) *cobra.Command {
	force := false
	cmd := &cobra.Command{Use: "remove NAME", Short: "Take a work tree away",
		Long: "Takes a work tree away with its branch. Where something would be lost it refuses, and tells what; --force\n" +
			"removes it all the same. Commits are not lost by that: a branch that alone has them stays.",
		Args: program.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return remove(cmd.Context(), p, args[0], force) }}
	cmd.Flags().BoolVar(&force, "force", false, "also with changes that were not merged")
	return cmd
}

func remove(ctx context.Context, p *program.Program, name string, force bool) error {
	_, t, err := find(p, name)
	if err != nil {
		return err
	}
	if err := t.Alone(); err != nil {
		return fmt.Errorf("work tree %s: %w", name, err)
	}
	defer t.Exit()
	var h worktrees.Holds
	if t.There() {
		if h, err = t.Holds(ctx); err != nil && !force {
			return fmt.Errorf("work tree %s: %w", name, err)
		}
		h.Commits = 0 // its branch keeps them
		if !h.None() && !force {
			return &program.Error{Code: 1, Err: errors.New("work tree " + name + " holds what is nowhere else: " + told(h)),
				Hint: "kerf worktree merge " + name + " brings changes here; --force throws them away"}
		}
	}
	kept, err := t.Remove(ctx)
	if err != nil {
		return err
	}
	lines := []string{"work tree " + name + " is gone"}
	if kept != "" {
		lines = append(lines, "its commits stay on the branch "+kept)
	}
	if len(h.Diff) > 0 || h.Stray {
		lines = append(lines, fmt.Sprintf("what it held is the commit %.12s for two weeks or so: git show %.12s", h.Now,
			h.Now))
	}
	fmt.Fprintln(p.Stdout, strings.Join(lines, "\n"))
	return nil
}
