package changes_test

import (
	"path/filepath"
	"testing"

	"kerf/internal/work/changes"
	"kerf/internal/work/ledger"
)

// TestCommandsThatRunAreListedUntilTheyEnd looks at a log while a command runs and
// after it.
func TestCommandsThatRunAreListedUntilTheyEnd(t *testing.T) {
	l, err := ledger.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	add := func(e ledger.Entry) int64 {
		t.Helper()
		e.Exact = true
		if err := l.Append(&e); err != nil {
			t.Fatal(err)
		}
		return e.Seq
	}
	began := add(ledger.Entry{Cause: ledger.CauseBegan, Tool: "exec_command", Changes: []ledger.Change{}})
	one := []ledger.Change{{Path: "/w/a", Post: &ledger.Version{}}}
	add(ledger.Entry{Cause: ledger.CauseCommand, Certainty: ledger.Proven, Of: began, Changes: one})
	add(ledger.Entry{Cause: ledger.CauseCommand, Certainty: ledger.Unproven, Of: began, Changes: one})
	r := changes.Reader{Ledger: l}
	check := func(want ...string) {
		t.Helper()
		list, err := r.Log(changes.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list {
			what := e.Certainty
			if e.Running {
				what = "running"
			} else if e.Exact != (e.Certainty == ledger.Proven) {
				t.Errorf("entry %d is %s and exact %t", e.Seq, e.Certainty, e.Exact)
			}
			got = append(got, e.Cause+" "+what)
		}
		if len(got) != len(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
	check("command unproven", "command proven", "command running")
	add(ledger.Entry{Cause: ledger.CauseCommand, Of: began, Ended: true, Changes: []ledger.Change{}})
	check("command unproven", "command proven")
}
