package changes_test

import (
	"strings"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// record notes that a command of a turn made a file.
func (d *disk) record(t *testing.T, turn, name, certainty string) {
	t.Helper()
	d.write(t, name, "made\n")
	set := delta.Set{{Path: d.path(name), Post: delta.NewFile([]byte("made\n"), 0o644)}}
	_, err := d.work.Record(t.Context(), set, txn.CommitOptions{Cause: ledger.CauseCommand, Certainty: certainty,
		Origin: txn.Origin{Session: "s", Turn: turn, Call: "c" + turn}})
	must(t, err)
}

// TestATurnByTheBeginningOfItsName: one that fits is taken, several are named, and what the ledger
// says of an undo and of a redo tells them apart.
func TestATurnByTheBeginningOfItsName(t *testing.T) {
	d := newDisk(t, 1)
	d.record(t, "turn-ab1", "x", ledger.Proven)
	d.record(t, "turn-ac", "y", ledger.Proven)
	undo := func(c changes.Choice) (changes.Report, string) {
		t.Helper()
		report, err := d.reader().Undo(t.Context(), d.work, c, changes.UndoOptions{})
		if err != nil {
			return report, err.Error()
		}
		return report, ""
	}
	if _, err := undo(changes.Choice{Session: "s", Turn: "turn-a"}); !strings.Contains(err, "2 turns begin with") {
		t.Errorf("two fit: %q", err)
	}
	for i, c := range []struct {
		choice changes.Choice
		cause  string
		fails  bool
	}{
		{changes.Choice{Session: "s", Turn: "turn-ab"}, ledger.CauseUndo, false},
		{changes.Choice{Redo: true}, ledger.CauseRedo, false},
		{changes.Choice{Redo: true}, ledger.CauseRedo, true}, // it is done again already
	} {
		if r, err := undo(c.choice); (err != "" || r.Problem != "") != c.fails {
			t.Fatalf("step %d: %+v %s", i, r, err)
		}
		last, err := d.work.Ledger.Tail(1)
		must(t, err)
		if last[0].Cause != c.cause {
			t.Errorf("step %d is entered as %s, not %s", i, last[0].Cause, c.cause)
		}
	}
}

// TestWhatNobodySawIsSaid: the note is on the file that is taken back, and only if it is not certain.
func TestWhatNobodySawIsSaid(t *testing.T) {
	for certainty, want := range map[string]bool{ledger.Proven: false, ledger.Unproven: true} {
		d := newDisk(t, 1)
		d.record(t, "t", "x", certainty)
		plan, err := d.reader().Plan(changes.Choice{Session: "s", Turn: "t", Unproven: true}, present.In(d.work.Tree, d.root))
		must(t, err)
		if len(plan.Files) != 1 || strings.Contains(plan.Files[0].Note, changes.Unseen) != want {
			t.Errorf("%s: %+v", certainty, plan.Files)
		}
	}
}

// TestAConflictThatIsSkipped leaves the file as it is, and says so.
func TestAConflictThatIsSkipped(t *testing.T) {
	d := newDisk(t, 1)
	d.record(t, "t", "x", ledger.Proven)
	d.record(t, "t", "y", ledger.Proven)
	d.write(t, "x", "theirs\n")
	report, err := d.reader().Undo(t.Context(), d.work,
		changes.Choice{Session: "s", Turn: "t", Conflicts: settle.Skip}, changes.UndoOptions{})
	must(t, err)
	d.holds(t, "x", "theirs\n")
	found := false
	for _, f := range report.Files {
		if strings.HasSuffix(f.Path, "/x") {
			found = f.Outcome == changes.Unchanged && strings.HasPrefix(f.Note, "skipped: ")
		}
	}
	if !found || report.Problem != "" {
		t.Errorf("%q %+v", report.Problem, report.Files)
	}
}

func TestSingleEditsNeedACallAndEdits(t *testing.T) {
	d := newDisk(t, 1)
	d.record(t, "t", "x", ledger.Proven)
	edits := map[string]diff.Part{d.path("x"): {Edits: []int{0}}}
	for _, c := range []struct {
		choice changes.Choice
		edits  map[string]diff.Part
	}{
		{changes.Choice{Call: "ct"}, nil},
		{changes.Choice{Turn: "t"}, edits},
		{changes.Choice{Call: "ct", Redo: true}, edits},
	} {
		_, err := d.reader().PlanEdits(c.choice, c.edits, present.In(d.work.Tree, d.root))
		if err == nil || !strings.Contains(err.Error(), "name the call and the edits") {
			t.Errorf("%+v: %v", c.choice, err)
		}
	}
}

// TestAnIdThatIsWholeIsNoBeginning: once its turn is taken back, or brought again, another turn or
// session whose id only begins with it is not meant.
func TestAnIdThatIsWholeIsNoBeginning(t *testing.T) {
	d := newDisk(t, 1)
	d.record(t, "t1", "x", ledger.Proven)
	d.record(t, "t12", "y", ledger.Proven)
	names := func(want string, c changes.Choice) {
		t.Helper()
		report, err := d.reader().Undo(t.Context(), d.work, c, changes.UndoOptions{})
		got := ""
		for _, f := range report.Files {
			got += strings.TrimPrefix(f.Path, d.root+"/")
		}
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%+v takes %q (%v), not %q", c, got, err, want)
		}
	}
	names("x", changes.Choice{Turn: "t1"})
	names("", changes.Choice{Turn: "t1"})
	names("", changes.Choice{Call: "ct1"})
	names("", changes.Choice{Turn: "t1", Client: "none"})
	names("y", changes.Choice{Turn: "t12"})
	names("x", changes.Choice{Redo: true, Turn: "t1"})
	names("", changes.Choice{Redo: true, Turn: "t1"})
	names("x", changes.Choice{Turn: "t1", Later: true})
	names("x", changes.Choice{Redo: true, Call: "ct1"})
	names("y", changes.Choice{Redo: true, Turn: "t"}) // the one that is left
	names("", changes.Choice{Turn: "t"})              // two
	names("x", changes.Choice{Turn: "t1"})
	names("y", changes.Choice{Turn: "t12"})
	names("", changes.Choice{Redo: true, Turn: "t"}) // two
}
