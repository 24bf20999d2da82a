package changes_test

import (
	"fmt"
	"os"
	"slices"
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
	look := present.In(d.work.Tree, d.root)
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
		if len(paths) > 0 {
			continue
		}
		for _, c := range []changes.Choice{{Turn: "t"}, {Redo: true, Paths: []string{d.path("new1")}}} { // a part of what was undone
			report, err := d.reader().Undo(t.Context(), d.work, c, changes.UndoOptions{})
			must(t, err)
			if report.Whole() != c.Redo {
				t.Errorf("%+v: whole is %v: %+v", c, report.Whole(), report.Files)
			}
		}
	}
}

// TestWhatCannotComeBackIsTold: an undo of a turn of which nothing is known but files whose
// contents went away does nothing and names them, rather than the turn before; the diff
// names them; and an undo that took back the rest of its turn is not in the way of the next.
func TestWhatCannotComeBackIsTold(t *testing.T) {
	d := newDisk(t, 1)
	record := func(turn, name string, gaps ...ledger.Gap) {
		var set delta.Set
		if name != "" {
			d.write(t, name, name)
			set = delta.Set{{Path: d.path(name), Post: delta.NewFile([]byte(name), 0o644)}}
		}
		_, err := d.work.Record(t.Context(), set, txn.CommitOptions{Cause: ledger.CauseCommand, Inexact: len(gaps) > 0,
			Certainty: ledger.Proven, Origin: txn.Origin{Session: "s", Turn: turn, Call: "c", Gaps: gaps}})
		must(t, err)
	}
	undo := func(c changes.Choice) changes.Report {
		report, err := d.reader().Undo(t.Context(), d.work, c, changes.UndoOptions{})
		must(t, err)
		return report
	}
	lost := ledger.Gap{Path: ledger.Path(d.path("a (1).txt; b")), Why: "what it held went away"}
	pipe := ledger.Gap{Path: ledger.Path(d.path("pipe")), Why: ledger.LeftThere + ": it is a pipe"}
	record("t1", "one")
	record("t2", "", pipe, lost)
	net, err := d.reader().LastTurnNet(true, nil)
	must(t, err)
	if len(net.Lost) != 1 || net.Lost[0] != lost.String() {
		t.Errorf("the diff leaves out %v, want %v", net.Lost, lost)
	}
	if net, err = d.reader().LastTurnNet(true, []string{d.path("one")}); err != nil || len(net.Lost) > 0 {
		t.Errorf("the diff of another path leaves out %v %v", net.Lost, err)
	}
	for range 2 {
		if r := undo(changes.Choice{}); !strings.Contains(r.Problem, lost.String()) || strings.Contains(r.Problem, "pipe") {
			t.Errorf("undo: %+v", r)
		}
	}
	if r := undo(changes.Choice{Turn: "t1"}); !r.Whole() {
		t.Errorf("undo of t1: %+v", r)
	}
	record("t3", "three")
	record("t4", "four")
	record("t4", "", lost)
	if r := undo(changes.Choice{}); r.Problem != "" || r.Whole() {
		t.Errorf("undo of t4: %+v", r)
	}
	if r := undo(changes.Choice{}); !r.Whole() || !strings.Contains(r.What, "t3") {
		t.Errorf("undo of t3: %+v", r)
	}
	if r := undo(changes.Choice{}); !strings.Contains(r.Problem, lost.String()) {
		t.Errorf("undo of t2: %+v", r)
	}
}

// TestARedoOfAPartOfAnUndo brings back what is named in the files that the undo took it from. What it took back where
// a file is now, under another name, cannot be told apart.
func TestARedoOfAPartOfAnUndo(t *testing.T) {
	for _, moved := range []bool{false, true} {
		d := newDisk(t, 2)
		d.record(t, "t1", "x", ledger.Proven)
		d.record(t, "t2", "y", ledger.Proven)
		if moved {
			must(t, os.Rename(d.path("x"), d.path("z")))
		}
		d.take(t, changes.Choice{Last: 2, Follow: true})
		redo := func(c changes.Choice) string {
			c.Redo = true
			report, err := d.reader().Undo(t.Context(), d.work, c, changes.UndoOptions{})
			told := fmt.Sprint(err)
			for _, f := range report.Files {
				told = f.Outcome + " " + strings.TrimPrefix(f.Path, d.root+"/")
			}
			return fmt.Sprint(told, len(report.Files))
		}
		if moved {
			if got := redo(changes.Choice{Turn: "t2"}); !strings.Contains(got, "entry 3 took back more in the same files; kerf redo 3 ") {
				t.Errorf("what is now under another name: %s", got)
			}
			if got := redo(changes.Choice{Entry: 3}); !strings.HasSuffix(got, "2") {
				t.Errorf("the undo itself: %s", got)
			}
			continue
		}
		got := []string{redo(changes.Choice{Turn: "t2"}), redo(changes.Choice{Turn: "t2"}), redo(changes.Choice{Entry: 1})}
		if want := []string{"restored y1", "nothing to redo0", "restored x1"}; !slices.Equal(got, want) {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
