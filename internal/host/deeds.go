package host

import (
	"context"
	"fmt"
	"io"

	"kerf/internal/protocol"
	"kerf/internal/work/repo"
)

// InGit reports whether the working directory is inside a git repository.
func (h *Host) InGit() bool {
	_, _, ok := repo.Find(h.Config.Cwd)
	return ok
}

// Visible makes control and direction characters harmless for one line of
// output.
func Visible(s string) string { return visible(s) }

// Recover finishes or takes back what a crash cut off in the workspace of the
// working directory.
func (h *Host) Recover(ctx context.Context, w io.Writer) error {
	set := protocol.Settings{Cwd: h.Config.Cwd, Sandbox: protocol.SandboxFull}
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: set.Cwd, Sandbox: set.Sandbox})
	if err != nil {
		return err
	}
	defer ws.Close()
	report, err := ws.Txn.Recover(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "finished: %d, taken back: %d, kept: %d\n", report.Finished, report.TakenBack, report.Kept)
	for _, c := range report.Conflicts {
		fmt.Fprintf(w, "left as it is: %s: %v\n", visible(c.Path), c.Err)
	}
	return nil
}
