package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// An undo that cannot be recorded removes no link whose target is kept nowhere, and one whose target is kept it does.
func TestOnlyLinksThatAreKeptGo(t *testing.T) {
	for _, kept := range []bool{false, true} {
		home, root := dirs(t)
		w := openAt(t, home, root)
		defer w.Close()
		at := filepath.ToSlash(filepath.Join(root, "link"))
		if err := os.Symlink("target", at); err != nil {
			t.Skip(err)
		}
		post := delta.NewSymlink("target")
		if !kept { // as on a full disk
			post.Data, post.Loaded = nil, false
		}
		if _, err := w.Txn.Record(t.Context(), delta.Set{{Path: at, Post: post}}, txn.CommitOptions{Cause: ledger.CauseCommand,
			Origin: txn.Origin{Session: "s", Turn: "t"}}); err != nil {
			t.Fatal(err)
		}
		second := filepath.Join(filepath.Dir(home), "second")
		if err := os.Mkdir(second, 0o700); err != nil {
			t.Fatal(err)
		}
		other := openAt(t, second, root) // the one without a record
		defer other.Close()
		_, err := w.Changes().Undo(t.Context(), other.Txn, changes.Choice{Last: 1, Unproven: true},
			changes.UndoOptions{Confirm: w.OnlyKept("the disk is full", settle.Way(""), nil)})
		_, look := os.Readlink(at)
		if kept != (look != nil) || kept != (err == nil) {
			t.Errorf("kept: %t; undo: %v; the link: %v", kept, err, look)
		}
	}
}
