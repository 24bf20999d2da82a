package changes_test

import (
	"strings"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// TestLastTurnAfterARewindOfSeveralTurns: one undo takes back two turns. The diff of
// the last one has nothing of the first, neither then nor when they are brought back.
func TestLastTurnAfterARewindOfSeveralTurns(t *testing.T) {
	d := newDisk(t, 1)
	look := present.In(d.work.Tree)
	turn := func(id string, files ...string) {
		t.Helper()
		var set delta.Set
		for i := 0; i < len(files); i += 2 {
			pre, err := look.At(d.path(files[i]))
			must(t, err)
			set = append(set, delta.Change{Path: d.path(files[i]), Pre: pre, Post: delta.NewFile([]byte(files[i+1]), 0o644)})
		}
		_, err := d.work.Commit(t.Context(), set,
			txn.CommitOptions{Origin: txn.Origin{Session: "s", Turn: id, Call: "c" + id}, Cause: ledger.CauseTool})
		must(t, err)
	}
	last := func() string {
		t.Helper()
		text, err := d.reader().LastTurn()
		must(t, err)
		return string(text)
	}
	turn("t0", "a", "zero\ntwo\nthree\n")
	turn("t1", "a", "zero\ntwo\nthird\n", "b", "first\n")
	turn("t2", "a", "zero\nsecond\nthird\n", "n", "new\n")
	want := last()
	for _, words := range []string{"+second", "-two", "+new"} {
		if !strings.Contains(want, words) {
			t.Fatalf("%s lacks %q", want, words)
		}
	}
	before := d.picture(t)
	if !d.take(t, changes.Choice{Session: "s", Turn: "t1", Later: true}) {
		t.Fatal("nothing was undone")
	}
	if got := last(); got != "" {
		t.Errorf("after the rewind:\n%s", got)
	}
	if !d.take(t, changes.Choice{Redo: true}) {
		t.Fatal("nothing was brought back")
	}
	if len(d.picture(t)) != len(before) {
		t.Error("not all came back")
	}
	if got := last(); got != want {
		t.Errorf("after the redo:\n%s\nwant\n%s", got, want)
	}
}

// TestARedoTellsOnlyOfWhatTheUndoWasAbout: an undo of one file is whole, although the
// content of another file of the call was lost, and so is the redo of that undo.
func TestARedoTellsOnlyOfWhatTheUndoWasAbout(t *testing.T) {
	for _, paths := range [][]string{nil, {"new1"}, {"new1", "new2"}} {
		d := newDisk(t, 1)
		var set delta.Set
		for _, name := range []string{"new1", "new2"} {
			d.write(t, name, name)
			set = append(set, delta.Change{Path: d.path(name), Post: delta.NewFile([]byte(name), 0o644)})
		}
		_, err := d.work.Record(t.Context(), set, txn.CommitOptions{Cause: ledger.CauseCommand, Inexact: true,
			Certainty: ledger.Proven,
			Origin:    txn.Origin{Session: "s", Turn: "t", Call: "c", Note: d.path("lost") + " (what it held went away)"}})
		must(t, err)
		choice := changes.Choice{Session: "s", Turn: "t"}
		for _, name := range paths {
			choice.Paths = append(choice.Paths, d.path(name))
		}
		for _, c := range []changes.Choice{choice, {Redo: true}} {
			report, err := d.reader().Undo(t.Context(), d.work, c, changes.UndoOptions{})
			must(t, err)
			if whole := len(paths) > 0; report.Whole() != whole {
				t.Errorf("%+v: whole is %v: %+v", c, !whole, report.Files)
			}
		}
	}
}
