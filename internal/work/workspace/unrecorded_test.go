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

// An undo that cannot be recorded takes back what loses nothing: the mode of a directory, a directory that was made,
// a file that was moved.
func TestWhatLosesNothingIsTakenBackWithoutARecord(t *testing.T) {
	for what, change := range map[string]func(root string) (delta.Set, txn.CommitOptions){
		"mode of a directory": func(root string) (delta.Set, txn.CommitOptions) {
			d := filepath.Join(root, "d")
			_ = os.Mkdir(d, 0o700)
			_ = os.Chmod(d, 0o700)
			return nil, txn.CommitOptions{Modes: []ledger.DirMode{{Path: ledger.Path(d), Pre: 0o755, Post: 0o700}}}
		},
		"a directory that was made": func(root string) (delta.Set, txn.CommitOptions) {
			d := filepath.Join(root, "d")
			_ = os.Mkdir(d, 0o755)
			return nil, txn.CommitOptions{Dirs: []ledger.Path{ledger.Path(d)}}
		},
		"a move": func(root string) (delta.Set, txn.CommitOptions) {
			a, b := filepath.Join(root, "a"), filepath.Join(root, "b")
			_ = os.WriteFile(b, []byte("text"), 0o644)
			_ = os.Chmod(b, 0o644)
			img := delta.NewFile([]byte("text"), 0o644)
			img.Data, img.Loaded = nil, false
			return delta.Set{{Path: a, Pre: img, To: b}, {Path: b, Post: img, From: a}}, txn.CommitOptions{}
		},
	} {
		for _, recorded := range []bool{true, false} {
			home, root := dirs(t)
			w := openAt(t, home, root)
			set, o := change(root)
			o.Cause, o.Certainty, o.Origin = ledger.CauseCommand, ledger.Proven, txn.Origin{Session: "s", Turn: "t"}
			if _, err := w.Txn.Record(t.Context(), set, o); err != nil {
				t.Fatal(err)
			}
			uo, to := changes.UndoOptions{}, w
			if !recorded {
				second := filepath.Join(filepath.Dir(home), "second")
				if err := os.Mkdir(second, 0o700); err != nil {
					t.Fatal(err)
				}
				to = openAt(t, second, root)
				uo.Confirm = w.OnlyKept("the disk is full", settle.Way(""), nil)
			}
			r, err := w.Changes().Undo(t.Context(), to.Txn, changes.Choice{Last: 1}, uo)
			if err != nil || r.Problem != "" {
				t.Errorf("%s, recorded %t: %v %s", what, recorded, err, r.Problem)
			}
			_ = w.Close()
			if to != w {
				_ = to.Close()
			}
		}
	}
}
