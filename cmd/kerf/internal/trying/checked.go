package trying

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/host/checking"
	"kerf/internal/text/visible"
	"kerf/internal/work/tries"
	"kerf/internal/work/workspace"
)

// checked runs the checks of the moment keep in a try, and returns the verdicts that hold for it.
// Where one fails, they run on the directory itself, too: what fails there as well does not count.
// The error says that nothing may be kept.
func checked(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try) (tries.Verdicts, error) {
	if h.Trusted() && checking.Any(h.Config, "keep") {
		ctx, end := untilStopped(ctx)
		defer end()
		err := gated(ctx, p, h, t)
		if ctx.Err() != nil {
			return nil, &program.Error{Code: stopped, Err: errors.New("nothing was kept: the checks were interrupted")}
		}
		if told := (*program.Error)(nil); err != nil && !errors.As(err, &told) {
			err = &program.Error{Code: 1, Err: fmt.Errorf("nothing was kept, because checks could not run: %w", err),
				Hint: "--no-checks keeps it all the same"}
		}
		if err != nil {
			return nil, err
		}
	}
	return standing(p, t), nil
}

// stopped is the exit code of a command that a signal ended.
const stopped = 130

// untilStopped ends when Kerf is told to end. What runs in tries is told by itself.
func untilStopped(ctx context.Context) (context.Context, func()) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// standing are the verdicts that are on record in the try about what it has now. Where that record
// is not as Kerf wrote it, there are none.
func standing(p *program.Program, t *tries.Try) tries.Verdicts {
	verdicts, err := t.Verdicts()
	if err != nil {
		fmt.Fprintf(p.Stderr, "kerf: no verdict of a check is entered: %s\n", visible.OneLine(err.Error(), 300))
	}
	return verdicts
}

// gated runs the checks, a second time where one fails.
func gated(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try) error {
	log, err := os.OpenFile(filepath.Join(t.Dir, "checks.log"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	code, err := checksIn(ctx, p, h, t, log)
	if err != nil || code == 0 {
		return err
	}
	at, _ := checking.At("keep")
	reports, err := host.Check(ctx, h, at)
	if err != nil {
		return err
	}
	text, err := json.Marshal(checking.Pasts(reports))
	if err != nil {
		return err
	}
	before := filepath.Join(t.Dir, "before.json")
	if err := os.WriteFile(before, text, 0o600); err != nil {
		return err
	}
	shown, ok := p.Stderr.(*os.File)
	if !ok {
		shown = log
	}
	if code, err = checksIn(ctx, p, h, t, shown, "--before", before, "--blocking"); err != nil || code == 0 {
		return err
	}
	return &program.Error{Code: 1, Err: errors.New("nothing was kept: checks newly fail"),
		Hint: "--no-checks keeps it all the same"}
}

// enter enters the verdicts of what was kept, and tells what the checks had that was not kept. What
// is kept stays so where that is not possible.
func enter(p *program.Program, ws *workspace.Workspace, plan *tries.Plan, verdicts tries.Verdicts) {
	n := plan.Count(tries.Ignored)
	verdicts.Beside(n)
	if len(verdicts) > 0 && n > 0 {
		how := ""
		switch c := verdicts[len(verdicts)-1].Check; c.When {
		case "keep":
			how = " --when keep"
		case "attempt", "goal":
			how = " --run '" + strings.ReplaceAll(c.Command, "'", `'\''`) + "'"
		}
		fmt.Fprintf(p.Stderr, "kerf: checks ran in the try beside files that git ignores and that are not kept: %d\n"+
			"kerf: kerf verify --checks%s tells what they say without these\n", n, visible.Plain(how))
	}
	if err := verdicts.Enter(ws.Ledger); err != nil {
		fmt.Fprintf(p.Stderr, "kerf: warning: it is kept, and what checks found is not on record: %s\n",
			visible.OneLine(err.Error(), 300))
	}
}

// checksIn runs the checks in the try, and returns the exit code.
func checksIn(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try, out *os.File, more ...string) (int,
	error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	argv := append([]string{self, "verify", "--checks", "--when", "keep"}, more...)
	return overOrCopied(ctx, p, h, t, tries.Command{Dir: t.Meta.Roots[0], Argv: argv, Env: p.Env, Stdin: null, Stdout: out,
		Stderr: out})
}
