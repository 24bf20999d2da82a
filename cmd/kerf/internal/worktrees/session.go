// Package worktrees runs sessions in git work trees that the user names, and has the commands
// that show what they hold, merge it, or take them away.
package worktrees

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/worktrees"
)

// Choice is the work tree that the flags of a command ask for.
type Choice struct {
	Name    string
	Carry   bool
	From    string
	Request string // the user's words, for kerf worktree list
}

// Flags adds the flags to a command that opens sessions.
func Flags(f *pflag.FlagSet, c *Choice) {
	f.StringVar(&c.Name, "worktree", "", "work in the git work tree of this `name`, on the branch kerf/NAME; it is made "+
		"where it is not there.\nSee kerf worktree")
	f.BoolVar(&c.Carry, "carry", false, "with a new --worktree: take along what is not committed here")
	f.StringVar(&c.From, "from", "", "with a new --worktree: begin at this `commit`, not at the one that is checked out")
}

// Go returns the program as it is in the work tree that is asked for, and what is to be done when the
// session is over. Without a name it is the same program. Args are those of the session, tried says
// that it is to run in a try, too.
func (c Choice) Go(ctx context.Context, p *program.Program, args []string, tried bool) (there *program.Program,
	leave func(), err error) {
	switch {
	case c.Name == "" && (c.Carry || c.From != ""):
		return p, nil, program.Misuse("--carry and --from are about a new work tree: add --worktree NAME")
	case c.Name == "":
		return p, func() {}, nil
	case tried:
		return p, nil, program.Misuse("--worktree works in files of its own already; leave out --try and --attempts")
	}
	h, err := p.Host(nil)
	if err != nil {
		return p, nil, err
	}
	if len(args) > 0 {
		c.Request = args[0]
	}
	t, made, err := c.open(ctx, h)
	if err != nil {
		return p, nil, err
	}
	if err := t.Enter(); err != nil {
		return p, nil, fmt.Errorf("work tree %s: %w", t.Name, err)
	}
	c.begin(ctx, p, t, made)
	return p.In(t.At(h.Config.Cwd)), func() { leaveTree(context.WithoutCancel(ctx), p, t) }, nil
}

func (c Choice) open(ctx context.Context, h *host.Host) (t *worktrees.Tree, made bool, err error) {
	if c.Carry && c.From != "" {
		return nil, false, program.Misuse("--carry takes along what is not committed, which belongs to the commit that is "+
			"checked out; leave out --from %s", visible.Plain(c.From))
	}
	home, cwd := h.Config.Home, h.Config.Cwd
	t, err = worktrees.Get(home, cwd, c.Name)
	switch {
	case err == nil && !t.There():
		return nil, false, fmt.Errorf("the directory of the work tree %s is gone: kerf worktree remove %s forgets it", t.Name,
			t.Name)
	case err == nil && (c.Carry || c.From != ""):
		return nil, false, program.Misuse("the work tree %s is there already; --carry and --from are for a new one", t.Name)
	case err == nil:
		return t, false, nil
	case !errors.Is(err, worktrees.ErrNone):
		return nil, false, program.Misuse("--worktree: %v", err)
	}
	t, err = worktrees.New(ctx, home, cwd, c.Name, worktrees.Options{From: c.From, Carry: c.Carry, Hidden: host.Hidden(h, nil),
		Request: visible.OneLine(h.Redact(c.Request), 200)})
	if err != nil {
		return nil, false, &program.Error{Code: 2, Err: fmt.Errorf("--worktree: %w", err)}
	}
	return t, true, nil
}

// begin tells where the session works.
func (c Choice) begin(ctx context.Context, p *program.Program, t *worktrees.Tree, made bool) {
	say := func(format string, args ...any) { fmt.Fprintf(p.Stderr, "kerf: "+format+"\n", args...) }
	if !made {
		say("work tree %s: %s", t.Name, visible.Plain(t.Dir))
		return
	}
	say("work tree %s: the branch %s at %.9s, in %s", t.Name, t.Branch(), t.Meta.Start, visible.Plain(t.Dir))
	if t.Meta.Carried > 0 {
		say("%s along; here nothing changes", print.Count(t.Meta.Carried, "file that is not committed came",
			"files that are not committed came"))
	} else if n := t.Left(ctx); c.From == "" && n > 0 {
		say("%s here; --carry takes such files along", print.Count(n, "file that is not committed stays",
			"files that are not committed stay"))
	}
	if n := t.Filtered(ctx); n > 0 {
		say("%s as git stores them, because no filter such as git lfs was run: git lfs pull, or git checkout, there",
			print.Count(n, "file is", "files are"))
	}
}

// leaveTree takes away a tree in which nothing would be lost, and tells of any other.
func leaveTree(ctx context.Context, p *program.Program, t *worktrees.Tree) {
	t.Exit()
	name := t.Name
	if err := t.Alone(); err != nil {
		fmt.Fprintf(p.Stderr, "kerf: work tree %s: another session works in it\n", name)
		return
	}
	defer t.Exit()
	h, err := t.Holds(ctx)
	if err != nil {
		fmt.Fprintf(p.Stderr, "kerf: work tree %s: %v; it stays in %s\n", name, visible.Plain(err.Error()),
			visible.Plain(t.Dir))
		return
	}
	if h.None() {
		if _, err := t.Remove(ctx); err != nil {
			fmt.Fprintf(p.Stderr, "kerf: work tree %s changed nothing, and could not be removed: %v\n", name,
				visible.Plain(err.Error()))
			return
		}
		fmt.Fprintf(p.Stderr, "kerf: work tree %s changed nothing, and is gone\n", name)
		return
	}
	fmt.Fprintf(p.Stderr, "kerf: work tree %s: %s; %s\n", name, told(h), visible.Plain(t.Dir))
	fmt.Fprintf(p.Stderr, "kerf: next: kerf worktree diff %s, then kerf worktree merge %s or kerf worktree remove %s\n",
		name, name, name)
}

// told says what a tree holds.
func told(h worktrees.Holds) string {
	var parts []string
	if n := len(shown.Files(string(h.Diff))); n > 0 {
		parts = append(parts, print.Count(n, "file changed", "files changed"))
	}
	if h.Commits > 0 {
		parts = append(parts, print.Count(h.Commits, "commit", "commits"))
	}
	if h.Staged > 0 {
		parts = append(parts, print.Count(h.Staged, "file staged", "files staged"))
	}
	if h.Ignored > 0 {
		parts = append(parts, print.Count(h.Ignored, "file or directory that git ignores",
			"files or directories that git ignores"))
	}
	if h.Stray {
		parts = append(parts, "commits on no branch")
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
