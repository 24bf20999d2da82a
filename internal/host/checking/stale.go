package checking

import (
	"context"
	"slices"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/check/treehash"
	"kerf/internal/work/search"
	"kerf/internal/work/workspace"
)

// looking bounds how long a log waits to know whether its verdicts still hold.
const looking = 5 * time.Second

// step is how far apart the times of two changes can be that a file system calls the same.
const step = 20 * time.Millisecond

// Stale marks the verdicts of a log that hold no more, since files were changed that no entry
// tells of. Contents are read only where the time of a file is later than a verdict. The file
// tools of the workspace are in the sandbox mode workspace-write afterwards: what they may see
// is what a verdict is about, and that depends on the mode of the session.
func Stale(ctx context.Context, ws *workspace.Workspace, list []row.Entry) {
	var open []*row.Check
	var at []time.Time
	for _, e := range list {
		if e.Check != nil && !e.Check.Stale && e.Check.Tree != "" {
			open, at = append(open, e.Check), append(at, e.Time)
		}
	}
	if len(open) == 0 {
		return
	}
	ctx, stop := context.WithTimeout(ctx, looking)
	defer stop()
	files := search.New(search.Options{Roots: ws.Tree.Roots(), Boundary: ws.Boundary})
	h := treehash.Hasher{Roots: ws.Roots[:1], List: func(ctx context.Context, root string) ([]string, bool, error) {
		return files.Glob(ctx, root, "**", most)
	}}
	newest, err := h.Newest(ctx)
	if err != nil {
		return
	}
	later := slices.ContainsFunc(at, func(t time.Time) bool { return !newest.Add(step).Before(t) })
	if !later {
		return
	}
	trees := map[string]bool{}
	for _, mode := range []protocol.SandboxMode{protocol.SandboxFull, protocol.SandboxWorkspace} {
		ws.Boundary.Use(string(mode))
		tree, err := h.Tree(ctx)
		if err != nil {
			return
		}
		trees[tree] = true
	}
	for i, c := range open {
		c.Stale = !newest.Add(step).Before(at[i]) && !trees[c.Tree]
	}
}
