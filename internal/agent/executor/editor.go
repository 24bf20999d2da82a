package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"kerf/internal/text/delta"
	"kerf/internal/text/lines"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// patienceWithEditor is how long an editor may take to hand out a file.
const patienceWithEditor = 5 * time.Second

// buffered is what the client's editor holds of a file, where it offers that and
// the file is plain text; what is on disk otherwise. An unsaved buffer is what the
// user means by the file.
func (h *Executor) buffered(path string, disk *delta.Image) *delta.Image {
	if h.o.Client == nil || h.o.Client.Files == nil || disk == nil || disk.Kind != delta.File || !plainText(disk.Data) {
		return disk
	}
	ctx, cancel := context.WithTimeout(context.Background(), patienceWithEditor)
	defer cancel()
	text, err := h.o.Client.Files.ReadText(ctx, path)
	if err != nil || text == string(disk.Data) || !plainText([]byte(text)) {
		return disk
	}
	return delta.NewFile([]byte(text), disk.Mode)
}

func plainText(b []byte) bool {
	f := lines.Facts(b)
	return f.Encoding == "utf-8" && utf8.Valid(b)
}

// viaEditor reports whether a change can be written through the client's editor:
// whole texts of files, nothing removed, moved or linked.
func (h *Executor) viaEditor(set delta.Set) bool {
	if h.o.Client == nil || h.o.Client.Files == nil || len(set) == 0 {
		return false
	}
	for _, c := range set {
		if c.Post == nil || c.Post.Kind != delta.File || !c.Post.Loaded || !plainText(c.Post.Data) || c.From != "" || c.To != "" {
			return false
		}
		if c.Pre != nil && (c.Pre.Kind != delta.File || c.Pre.Mode != c.Post.Mode) {
			return false
		}
	}
	return true
}

// commitViaEditor writes a change through the client's editor and enters it into
// the ledger. Files are looked at once more right before they are written, and
// after; what does not stand on disk then makes the entry inexact.
func (h *Executor) commitViaEditor(ctx context.Context, set delta.Set, o txn.CommitOptions) (txn.Outcome, error) {
	out := txn.Outcome{Exact: true}
	var failure error
	for _, c := range set {
		disk, err := h.o.Tree.Read(c.Path, readLimit)
		if err != nil {
			failure = err
			break
		}
		if now := h.buffered(c.Path, disk); !same(now, c.Pre) {
			failure = &txn.MismatchError{Path: c.Path, Want: c.Pre.At(), Have: now.At()}
			break
		}
		if err := h.o.Client.Files.WriteText(ctx, c.Path, string(c.Post.Data)); err != nil {
			failure = fmt.Errorf("the editor did not write %s: %w", c.Path, err)
			out.Exact = false
			break
		}
		if after, err := h.o.Tree.Read(c.Path, readLimit); err != nil || after == nil || !bytes.Equal(after.Data, c.Post.Data) {
			out.Exact = false
		} else {
			c.Post.Mode = after.Mode
		}
		out.Committed = append(out.Committed, c)
	}
	if len(out.Committed) > 0 {
		o.Cause, o.Inexact = ledger.CauseTool, !out.Exact
		entry, err := h.o.Work.Record(context.WithoutCancel(ctx), out.Committed, o)
		out.Entry, failure = entry, errors.Join(failure, err)
	}
	return out, failure
}

func same(a, b *delta.Image) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Sum == b.Sum
}
