package executor

import (
	"context"
	"fmt"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// missed records what others did to the files of set since the last scan, before
// the commit of set hides it.
func (h *Executor) missed(ctx context.Context, id protocol.CallID, m Manner, set delta.Set) []history.FileChange {
	if h.o.Scanner == nil {
		return nil
	}
	var found delta.Set
	seen := map[string]bool{}
	for _, c := range set {
		path := c.Path
		if c.Pre == nil || c.Pre.Kind == delta.File {
			path = h.real(path)
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		h.scanning.Lock()
		change, ok, err := h.o.Scanner.Missed(ctx, path, c.Pre)
		h.scanning.Unlock()
		switch {
		case err != nil:
			h.uncertain(fmt.Sprintf("%s (%v)", path, err))
		case ok:
			found = append(found, change)
			h.note(path, c.Pre)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return h.found(id, found, txn.CommitOptions{Origin: h.origin(m, id), Cause: ledger.CauseOutside})
}

// healed records what was found where a commit may have landed unseen.
func (h *Executor) healed(set delta.Set) {
	if len(set) == 0 {
		return
	}
	for _, c := range set {
		h.note(c.Path, c.Post)
	}
	if _, err := h.o.Work.Record(context.Background(), set, txn.CommitOptions{Origin: h.o.Origin, Cause: ledger.CauseTool}); err != nil {
		h.uncertain(fmt.Sprintf("the ledger could not be written: %v", err))
	}
}
