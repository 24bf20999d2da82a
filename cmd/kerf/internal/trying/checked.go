package trying

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/host/checking"
	"kerf/internal/work/tries"
)

// checked runs the checks of the moment keep in a try, and returns their verdicts. Where one
// fails, they run on the directory itself, too: what fails there as well does not count. The
// error says that nothing may be kept.
func checked(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try) (tries.Verdicts, error) {
	if !h.Trusted() || !checking.Any(h.Config, "keep") {
		return nil, nil
	}
	before := t.Newest()
	again, err := gated(ctx, p, h, t)
	if err != nil {
		return nil, err
	}
	return t.Verdicts(max(before, again))
}

// gated runs the checks, a second time where one fails. It returns the number of the last entry
// before the second time.
func gated(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try) (again int64, err error) {
	log, err := os.OpenFile(filepath.Join(t.Dir, "checks.log"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	code, err := checksIn(ctx, p, h, t, log)
	if err != nil || code == 0 {
		return 0, err
	}
	at, _ := checking.At("keep")
	reports, err := host.Check(ctx, h, at)
	if err != nil {
		return 0, err
	}
	text, err := json.Marshal(checking.Pasts(reports))
	if err != nil {
		return 0, err
	}
	before := filepath.Join(t.Dir, "before.json")
	if err := os.WriteFile(before, text, 0o600); err != nil {
		return 0, err
	}
	again = t.Newest()
	shown, ok := p.Stderr.(*os.File)
	if !ok {
		shown = log
	}
	if code, err = checksIn(ctx, p, h, t, shown, "--before", before, "--blocking"); err != nil || code == 0 {
		return again, err
	}
	return again, &program.Error{Code: 1, Err: errors.New("nothing was kept: checks newly fail"),
		Hint: "--no-checks keeps it all the same"}
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
