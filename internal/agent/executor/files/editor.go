package files

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
func (f *Files) buffered(path string, disk *delta.Image) *delta.Image {
	if f.o.Editor == nil || disk == nil || disk.Kind != delta.File || !plainText(disk.Data) {
		return disk
	}
	ctx, cancel := context.WithTimeout(context.Background(), patienceWithEditor)
	defer cancel()
	text, err := f.o.Editor.ReadText(ctx, path)
	if err != nil || text == string(disk.Data) || !plainText([]byte(text)) {
		return disk
	}
	return delta.NewFile([]byte(text), disk.Mode)
}

func plainText(b []byte) bool {
	f := lines.Facts(b)
	return f.Encoding == "utf-8" && utf8.Valid(b)
}

// InEditor reports whether a change can be written through the client's editor:
// whole texts of files, nothing removed, moved or linked.
func (f *Files) InEditor(set delta.Set) bool {
	if f.o.Editor == nil || len(set) == 0 {
		return false
	}
	for _, c := range set {
		if c.Post == nil || c.Post.Kind != delta.File || !c.Post.Loaded || !plainText(c.Post.Data) || c.From != "" ||
			c.To != "" {
			return false
		}
		if c.Pre != nil && (c.Pre.Kind != delta.File || c.Pre.Mode != c.Post.Mode) {
			return false
		}
	}
	return true
}

// CommitInEditor writes a change through the client's editor and enters it into
// the ledger. Files are looked at once more right before they are written, and
// after; what does not stand on disk then makes the entry inexact.
func (f *Files) CommitInEditor(ctx context.Context, set delta.Set, o txn.CommitOptions) (txn.Outcome, error) {
	out := txn.Outcome{Exact: true}
	var failure error
	for _, c := range set {
		if failure = f.still(c.Path); failure != nil {
			break
		}
		disk, err := f.o.Tree.Read(c.Path, ReadLimit)
		if err != nil {
			failure = err
			break
		}
		if now := f.buffered(c.Path, disk); !same(now, c.Pre) {
			failure = &txn.MismatchError{Path: c.Path, Want: c.Pre.At(), Have: now.At()}
			break
		}
		if err := f.o.Editor.WriteText(ctx, c.Path, string(c.Post.Data)); err != nil {
			failure = fmt.Errorf("the editor did not write %s: %w", c.Path, err)
			out.Exact = false
			break
		}
		if after, err := f.o.Tree.Read(c.Path, ReadLimit); err != nil || after == nil ||
			!bytes.Equal(after.Data, c.Post.Data) {
			out.Exact = false
		} else {
			c.Post.Mode = after.Mode
		}
		out.Committed = append(out.Committed, c)
	}
	if len(out.Committed) > 0 {
		o.Cause, o.Inexact = ledger.CauseTool, !out.Exact
		entry, err := f.o.Txn.Record(context.WithoutCancel(ctx), out.Committed, o)
		out.Entry, failure = entry, errors.Join(failure, err)
	}
	return out, failure
}

// still says why a path may not be written through the editor, which follows links and
// asks no boundary: the boundary closes it, or a link leads to another place by now.
func (f *Files) still(path string) error {
	if real, err := f.o.Tree.Target(path); err != nil || real != path {
		return errors.Join(err, &txn.MismatchError{Path: path})
	}
	return f.o.Tree.MayWrite(path, false)
}

func same(a, b *delta.Image) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Sum == b.Sum
}
