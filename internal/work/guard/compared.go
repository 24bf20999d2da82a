package guard

import (
	"context"
	"os"

	"kerf/internal/work/ledger"
	"kerf/internal/work/scan"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness/enter"
	"kerf/internal/work/workspace"
)

// compared follows a program by comparing the roots before and after.
type compared struct {
	ws     *workspace.Workspace
	origin txn.Origin
	sum    *summary
	before *scan.Snap
	dir    string       // the program's working directory
	head   *ledger.Head // there, at the start
}

func (c *compared) socket() *os.File { return nil }

func (c *compared) end(ctx context.Context) error {
	after, err := c.ws.Scanner.Snapshot(ctx)
	if err != nil {
		return err
	}
	set, gaps, err := c.ws.Scanner.Diff(ctx, c.before, after)
	if err != nil {
		return err
	}
	o := txn.CommitOptions{Origin: c.origin, Cause: ledger.CauseCommand, Certainty: ledger.Unproven, Inexact: true}
	o.Dirs, o.Gone, o.Modes = c.ws.Scanner.Dirs(c.before, after)
	for _, g := range gaps {
		if g.Kind != scan.Directory { // the ledger has those among the directories
			gap := ledger.Gap{Path: ledger.Path(g.Path), Why: g.Reason}
			o.Origin.Gaps, c.sum.notes = append(o.Origin.Gaps, gap), append(c.sum.notes, gap.String())
		}
	}
	if len(set)+len(o.Dirs)+len(o.Gone)+len(o.Modes)+len(c.sum.notes) == 0 {
		return nil
	}
	o.Origin.Head = enter.Moved(c.head, c.dir)
	o.Origin.Note = ledger.NoteOf(c.sum.notes, nil)
	_, err = c.ws.Txn.Record(ctx, set, o)
	if err == nil {
		c.sum.add(ledger.Unproven, set)
		c.sum.addDirs(o.Dirs, o.Gone, o.Modes)
	}
	return err
}
