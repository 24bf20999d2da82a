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
