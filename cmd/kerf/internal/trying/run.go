// Package trying runs sessions over an overlay of their directories, and has the commands
// that keep what they did, or throw it away.
package trying

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/text/visible"
	"kerf/internal/work/tries"
	"kerf/internal/work/workspace"
)

// The values of --try that are no number.
const (
	newTry = "new" // --try alone
	noTry  = "off" // also where the configuration says otherwise
)

// Flag adds --try to a command that opens sessions.
func Flag(f *pflag.FlagSet, try *string) {
	f.StringVar(try, "try", "", "change nothing here: work in a try, which kerf keep or kerf discard ends; a "+
		"session in one may write unless you chose otherwise; "+
		"--try=`number` goes on in one, --try=off works without one")
	f.Lookup("try").NoOptDefVal = newTry
}

// Session is what is run in a try.
type Session struct {
	Try     string // the value of the flag
	AddDirs []string
	Request string // the user's words, for kerf tries
	// Args are Kerf's own arguments in the try; nil are those of this process.
	Args []string
	// Default has a try also where no flag asks for one. A session that is resumed then goes
	// on in the try in which it changed something last.
	Default bool
	Resume  string // its id
}

// Run runs Kerf anew, with its own arguments, in a try, when that is asked for and this is
// not that run already. It reports whether it did.
func Run(ctx context.Context, p *program.Program, h *host.Host, s Session) (ran bool, err error) {
	t, err := s.start(p, h)
	if t == nil {
		return err != nil, err
	}
	defer t.Unlock()
	code, err := s.hold(ctx, p, h, t)
	if err != nil {
		return true, err
	}
	return true, errors.Join(program.Exit(code), tell(ctx, p, h, t))
}

// start opens the try in which the session is to run, locked: nil when it runs without one.
func (s *Session) start(p *program.Program, h *host.Host) (*tries.Try, error) {
	if s.Try == noTry || s.Try == "" && !s.Default {
		return nil, nil
	}
	if inside := p.Getenv(tries.Env); inside != "" {
		if tries.Inside(h.Config.Cwd) {
			return nil, nil
		}
		return nil, program.Misuse("%s=%s is set, and this is no try; unset it", tries.Env, inside)
	}
	if s.Try == "" {
		s.Try = newTry
		here, err := tries.Here(h.Config.Home, h.Config.Cwd)
		if err != nil {
			return nil, err
		}
		for _, t := range here {
			if s.Resume != "" && t.Is(h.Config.Cwd) && t.Session() == s.Resume {
				s.Try = fmt.Sprint(t.ID)
			}
		}
	}
	return open(h, *s)
}

// open is the try that is asked for, locked.
func open(h *host.Host, s Session) (*tries.Try, error) {
	if err := tries.Room(h.Config.Home, h.Config.Tries.MaxBytes); err != nil {
		return nil, &program.Error{Code: 1, Err: err, Hint: "kerf tries lists them; kerf keep or kerf discard ends one"}
	}
	if s.Try == newTry {
		roots, err := workspace.Roots(h.Config.Cwd, append(slices.Clone(s.AddDirs), h.Config.WorkspaceWrite.WritableRoots...))
		if err != nil {
			return nil, program.Misuse("%v", err)
		}
		t, err := tries.New(h.Config.Home, roots, visible.OneLine(h.Redact(s.Request), 200))
		if err != nil {
			return nil, program.Misuse("%v", err)
		}
		return t, nil
	}
	t, err := tries.Get(h.Config.Home, s.Try)
	if err != nil {
		return nil, program.Misuse("--try=%s: %v", visible.Plain(s.Try), err)
	}
	if !t.Is(h.Config.Cwd) {
		return nil, program.Misuse("try %d is of another directory: cd %s", t.ID, visible.Plain(t.Meta.Roots[0]))
	}
	return t, t.Lock()
}

// hold runs Kerf over the overlay. A new try in which nothing could run is removed.
func (s *Session) hold(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try) (int, error) {
	code, err := s.over(ctx, p, h, t)
	if err != nil {
		if s.Try == newTry {
			err = errors.Join(err, t.Remove())
		}
		err = &program.Error{Code: 125, Err: err, Hint: "nothing ran; a git worktree is another way: kerf help agents"}
	}
	return code, err
}

func (s *Session) over(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	args := s.Args
	if args == nil {
		args = os.Args[1:]
	}
	c := tries.Command{Dir: t.Meta.Roots[0], Argv: append([]string{self}, args...), Env: p.Env, Stdin: p.Stdin}
	if p.Dir != "" { // -C may be relative to where this process is
		if c.Dir, err = os.Getwd(); err != nil {
			return 0, err
		}
	}
	var also, ok bool
	c.Stdout, ok = program.Stream(p.Stdout).(*os.File)
	if c.Stderr, also = p.Stderr.(*os.File); !ok || !also {
		return 0, errors.New("a try needs files as its streams")
	}
	return within(ctx, h, func(ctx context.Context) (int, error) { return overOrCopied(ctx, p, h, t, c) })
}

// overOrCopied runs Kerf over an overlay. In a new try for which none can be mounted, it runs
// over a copy.
func overOrCopied(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try, c tries.Command) (int, error) {
	c.Kerf = true
	way, fresh := h.Config.Tries.Way, t.Fresh()
	if way == "copy" && fresh {
		if err := copied(p, h, t, "as tries.way says"); err != nil {
			return 0, err
		}
	}
	code, err := t.Run(ctx, h.Config.Home, c)
	if err == nil || way == "overlay" || t.Meta.Copied || !fresh || !tries.Refused(err) {
		return code, err
	}
	if err := copied(p, h, t, err.Error()); err != nil {
		return 0, err
	}
	return t.Run(ctx, h.Config.Home, c)
}

// copied copies the directories of a new try. It says so before, and asks where that takes
// more than it may.
func copied(p *program.Program, h *host.Host, t *tries.Try, why string) error {
	w, err := t.Weigh()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "kerf: try %d works on a copy (%d files, about %s): %s\n", t.ID, w.Files, print.Bytes(w.Bytes),
		visible.OneLine(why, 300))
	if err := tries.Fits(h.Config.Home, w.Bytes, h.Config.Tries.MaxBytes); err != nil {
		return fmt.Errorf("a copy has no room: %v", err) // no run was ended by it
	}
	most := h.Config.Tries.MaxCopy
	if most > 0 && w.Bytes > most && !(p.OnTerminal() && p.Agrees(os.Stderr, "copy %s?", print.Bytes(w.Bytes))) {
		return fmt.Errorf("the copy would take about %s, and may take %s (tries.max_copy)", print.Bytes(w.Bytes),
			print.Bytes(most))
	}
	did, err := t.Copy()
	if err != nil {
		return err
	}
	if did.Shared > 0 {
		fmt.Fprintf(os.Stderr, "kerf: %d files of the copy share their blocks\n", did.Shared)
	}
	if did.Left > 0 {
		fmt.Fprintf(os.Stderr, "kerf: %d pipes, sockets and devices are missing in the copy\n", did.Left)
	}
	return nil
}

// within runs something in a try, as long as the tries take no more room than they may.
func within(ctx context.Context, h *host.Host, run func(context.Context) (int, error)) (int, error) {
	code, err := tries.Within(ctx, h.Config.Home, h.Config.Tries.MaxBytes, run)
	var full *tries.FullError
	if errors.As(err, &full) {
		fmt.Fprintf(os.Stderr, "kerf: the run was ended: %v\n", full)
		err = nil
	}
	return code, err
}

// tell says what the try changed and what can be done with it. A try without a change is
// removed.
func tell(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try) error {
	plan, ws, err := planOf(ctx, h, t, tries.Options{})
	if err != nil {
		return fmt.Errorf("%w; it is kept as try %d", err, t.ID)
	}
	defer ws.Close()
	if len(plan.Rows) == 0 && plan.Empty() {
		fmt.Fprintf(p.Stderr, "kerf: the try changed nothing, and is gone\n")
		return t.Remove()
	}
	fmt.Fprintf(p.Stderr, "kerf: try %d: %s; %s is as it was\n", t.ID, sum(plan), visible.Plain(t.Meta.Roots[0]))
	fmt.Fprintf(p.Stderr, "kerf: next: kerf tries diff %d, then kerf keep %d or kerf discard %d\n", t.ID, t.ID, t.ID)
	return nil
}

// sum counts what a plan changes.
func sum(plan *tries.Plan) string {
	var parts []string
	for _, c := range []struct {
		word string
		of   []tries.Outcome
	}{
		{"%d changed", []tries.Outcome{tries.Kept, tries.Merged, tries.Settled}},
		{"%d in conflict", []tries.Outcome{tries.Conflict}},
		{"%d ignored by git", []tries.Outcome{tries.Ignored}},
		{"%d left (kerf keep --dry-run tells why)", []tries.Outcome{tries.Special, tries.Git, tries.Closed}},
	} {
		if n := plan.Count(c.of...); n > 0 {
			parts = append(parts, fmt.Sprintf(c.word, n))
		}
	}
	if len(parts) == 0 {
		return "no file changed"
	}
	return "files: " + strings.Join(parts, ", ")
}
