package records

import (
	"context"
	"fmt"

	"kerf/internal/work/changes"
	"kerf/internal/work/changes/stays"
)

// tellWhatStays notes what the last undo left: HEAD of the repository, and commands that run on.
func (b *book) tellWhatStays() {
	list, err := b.ws.Changes().Log(changes.Filter{Limit: 1})
	if err != nil || len(list) == 0 || list[0].Cause != "undo" {
		return
	}
	lines, err := stays.Lines(context.Background(), b.ws.Ledger, b.ws.Base(), list[0].Undoes)
	if err != nil {
		return // the undo is done; what the ledger's damage is, verify tells
	}
	for _, line := range lines {
		fmt.Fprintln(b.p.Stderr, line)
	}
}
