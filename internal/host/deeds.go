package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/work/repo"
	"kerf/internal/work/sandbox"
)

// InGit reports whether the working directory is inside a git repository.
func (h *Host) InGit() bool {
	_, _, ok := repo.Find(h.Config.Cwd)
	return ok
}

// Visible makes control and direction characters harmless for one line of
// output.
func Visible(s string) string { return visible(s) }

// Verify checks the records of a session and prints what it found.
func (h *Host) Verify(w io.Writer, name string) error {
	info, err := h.find(name, false, true)
	if err != nil {
		return err
	}
	if err := rollout.Verify(filepath.Join(h.SessionsDir(), string(info.ID))); err != nil {
		return fmt.Errorf("session %s does not verify: %w", info.ID, err)
	}
	fmt.Fprintf(w, "session %s verifies: order, hash chain and diffs are whole\n", info.ID)
	return nil
}

// Recover finishes or takes back what a crash cut off in the workspace of the
// working directory.
func (h *Host) Recover(ctx context.Context, w io.Writer) error {
	set := protocol.Settings{Cwd: h.Config.Cwd, Sandbox: protocol.SandboxFull}
	ws, err := h.openWorkspace(set, nil)
	if err != nil {
		return err
	}
	defer ws.close()
	report, err := ws.work.Recover(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "finished: %d, taken back: %d, kept: %d\n", report.Finished, report.TakenBack, report.Kept)
	for _, c := range report.Conflicts {
		fmt.Fprintf(w, "left as it is: %s: %v\n", visible(c.Path), c.Err)
	}
	return nil
}

// Sandboxed runs one command in the sandbox and returns its exit code. A sandbox
// that cannot be set up is an error with code 125, and the command does not run.
func (h *Host) Sandboxed(ctx context.Context, mode string, addDirs, argv []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	roots, err := h.roots(h.Config.Cwd, addDirs)
	if err != nil {
		return 2, err
	}
	switch protocol.SandboxMode(mode) {
	case protocol.SandboxReadOnly, protocol.SandboxWorkspace, protocol.SandboxFull:
	default:
		return 2, fmt.Errorf("--sandbox %q: use read-only, workspace-write or danger-full-access", mode)
	}
	private, err := privateTmp("sandbox")
	if err != nil {
		return 125, err
	}
	defer os.RemoveAll(private)
	pol := h.policy(roots, private)(protocol.SandboxMode(mode))
	pol.Cwd = h.Config.Cwd
	plan, err := sandbox.Resolve(pol, sandbox.Disk{})
	if err != nil {
		return 125, err
	}
	env := h.childEnv("")(isTTY(stdin))
	wrapped, files, cleanup, err := sandbox.Wrap(ctx, plan, argv, env)
	if err != nil {
		return 125, fmt.Errorf("the sandbox cannot be set up, so the command was not run: %w", err)
	}
	defer sandbox.Sweep(plan)
	defer cleanup()
	cmd := exec.CommandContext(ctx, wrapped[0], wrapped[1:]...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = h.Config.Cwd, env, files
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	return exitOf(cmd.Run(), argv[0])
}

func isTTY(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

func exitOf(err error, name string) (int, error) {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &ended) && ended.ExitCode() >= 0:
		return ended.ExitCode(), nil
	case errors.As(err, &ended):
		return 128, nil
	case errors.Is(err, exec.ErrNotFound):
		return 127, fmt.Errorf("%s: command not found", strings.TrimSpace(name))
	}
	return 126, err
}
