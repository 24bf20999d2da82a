package changes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
)

// written is a ledger of entries, each a minute after the one before, with their numbers.
func written(t *testing.T, entries ...ledger.Entry) *ledger.Ledger {
	t.Helper()
	var text []byte
	for i := range entries {
		e := &entries[i]
		e.V, e.Seq, e.Time = ledger.Format, int64(i+1), minute(i+1)
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ledger.jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func minute(n int) time.Time { return time.Date(2026, 1, 2, 3, n, 0, 0, time.UTC) }

// made is an entry that made a file, if it names one.
func made(session, turn, cause, name string) ledger.Entry {
	e := ledger.Entry{Session: session, Turn: turn, Cause: cause, Exact: true, Certainty: ledger.Proven, Changes: []ledger.Change{}}
	if cause == ledger.CauseOutside {
		e.Certainty = ""
	}
	if name != "" {
		e.Changes = ledger.ChangesOf(delta.Set{{Path: "/w/" + name, Post: delta.NewFile([]byte(name+"\n"), 0o644)}})
	}
	return e
}

// TestAllOfTheLastTurnIsTold, and nothing else, whoever did something in between.
func TestAllOfTheLastTurnIsTold(t *testing.T) {
	const tool, command, began = ledger.CauseTool, ledger.CauseCommand, ledger.CauseBegan
	ranOn := made("s", "t1", command, "y")
	ranOn.Of, ranOn.Ended = 1, true
	for name, c := range map[string]struct {
		entries []ledger.Entry
		want    string
	}{
		"a turn before":          {[]ledger.Entry{made("s", "t1", tool, "x"), made("s", "t2", tool, "y")}, "y"},
		"another session":        {[]ledger.Entry{made("s", "t1", tool, "x"), made("o", "t1", tool, "y"), made("s", "t1", tool, "z")}, "x z"},
		"a command that ran on":  {[]ledger.Entry{made("s", "t1", began, ""), made("s", "t2", tool, "x"), ranOn, made("s", "t2", tool, "z")}, "x z"},
		"a check":                {[]ledger.Entry{made("s", "t1", tool, "x"), made("s", "t2", ledger.CauseChecked, "")}, "x"},
		"what others did":        {[]ledger.Entry{made("s", "t1", tool, "x"), made("s", "t2", ledger.CauseOutside, "y")}, "x"},
		"somebody without turn":  {[]ledger.Entry{made("", "g1", tool, "x"), made("", "", command, "y"), made("", "g1", tool, "z")}, "x z"},
		"a program of the user":  {[]ledger.Entry{made("", "g1", tool, "x"), made("", "g2", began, ""), made("", "g1", tool, "z")}, "x z"},
		"a turn without session": {[]ledger.Entry{made("", "g1", tool, "x"), made("", "g2", tool, "y")}, "y"},
	} {
		n, err := Reader{Ledger: written(t, c.entries...), Images: unkept{}, Base: "/w"}.LastTurnNet(true, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, path := range n.Set.Paths() {
			got = append(got, strings.TrimPrefix(path, "/w/"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: the last turn made %v, want %v", name, got, c.want)
		}
	}
}

// unkept is a store that has nothing.
type unkept struct{}

func (unkept) Get(delta.Sum) ([]byte, error) { return nil, store.ErrNotFound }
func (unkept) Verify(delta.Sum) error        { return store.ErrNotFound }

// TestTheLastTurnIsReadAlone: what it takes to tell of it does not grow with what was done before.
func TestTheLastTurnIsReadAlone(t *testing.T) {
	for _, session := range []string{"s", ""} {
		takes := func(before int) float64 {
			var entries []ledger.Entry
			for i := range before {
				entries = append(entries, made(session, fmt.Sprintf("t%d", i), ledger.CauseTool, "x"))
			}
			r := Reader{Ledger: written(t, append(entries, made(session, "last", ledger.CauseTool, "y"))...), Images: unkept{}, Base: "/w"}
			return testing.AllocsPerRun(3, func() {
				if n, err := r.LastTurnNet(true, nil); err != nil || len(n.Set) != 1 {
					t.Fatal(n.Set.Paths(), err)
				}
			})
		}
		if few, many := takes(5), takes(500); many > 2*few {
			t.Errorf("session %q: after 5 turns it takes %v allocations, after 500 %v", session, few, many)
		}
	}
}

// TestLinesAreShownUpToALimit: of a larger file, and of one that is not kept, there is only the name.
// What is damaged is an error where all of it was asked for.
func TestLinesAreShownUpToALimit(t *testing.T) {
	for name, c := range map[string]struct {
		size  int64
		err   error
		shown bool
	}{
		"small": {5, nil, true}, "at the limit": {ShownLimit, nil, true}, "larger": {ShownLimit + 1, nil, false},
		"not kept": {5, store.ErrNotFound, false}, "damaged": {5, store.ErrDamaged, false},
	} {
		comes, goes := delta.NewFile([]byte("text\n"), 0o644), delta.NewFile([]byte("words\n"), 0o644)
		comes.Size, goes.Size = c.size, c.size
		e := made("s", "t", ledger.CauseTool, "")
		e.Changes = ledger.ChangesOf(delta.Set{{Path: "/w/x", Post: comes}, {Path: "/w/y", Pre: goes}})
		r := Reader{Ledger: written(t, e), Images: gives{map[delta.Sum]*delta.Image{comes.Sum: comes, goes.Sum: goes}, c.err}, Base: "/w"}
		net, err := r.LastTurn()
		if (err != nil) != (errors.Is(c.err, store.ErrDamaged)) {
			t.Errorf("%s: %v", name, err)
		}
		for what, diff := range map[string]string{"the entry": string(r.EntryDiff(&e)), "the turn": string(net)} {
			if err != nil && what == "the turn" {
				continue
			}
			if shown := strings.Contains(diff, "+text") && strings.Contains(diff, "-words"); shown != c.shown {
				t.Errorf("%s: %s is shown as\n%s", name, what, diff)
			}
			if strings.Count(diff, "diff --git") != 2 {
				t.Errorf("%s: %s does not name both:\n%s", name, what, diff)
			}
		}
	}
}

// gives is a store that has some contents, or an error instead.
type gives struct {
	images map[delta.Sum]*delta.Image
	err    error
}

func (g gives) Get(sum delta.Sum) ([]byte, error) {
	if g.err != nil {
		return nil, g.err
	}
	return g.images[sum].Data, nil
}

func (g gives) Verify(delta.Sum) error { return g.err }

// TestTheLogLeavesOutWhatTellsNothing: the end of a command is told where something comes with it.
func TestTheLogLeavesOutWhatTellsNothing(t *testing.T) {
	one := made("s", "t", ledger.CauseCommand, "x").Changes
	parts := map[string]func(e *ledger.Entry){
		"a change":      func(e *ledger.Entry) { e.Changes = one },
		"a directory":   func(e *ledger.Entry) { e.Dirs = []ledger.Path{"/w/d"} },
		"one that went": func(e *ledger.Entry) { e.Gone = []ledger.Dir{{Path: "/w/g", Mode: 0o755}} },
		"a mode":        func(e *ledger.Entry) { e.Modes = []ledger.DirMode{{Path: "/w/m", Pre: 0o755, Post: 0o700}} },
		"a note":        func(e *ledger.Entry) { e.Note = "it is not known" },
		"nothing":       func(*ledger.Entry) {},
	}
	for a, first := range parts {
		for b, second := range parts {
			e := made("s", "t", ledger.CauseCommand, "")
			e.Ended = true
			first(&e)
			second(&e)
			list, err := Reader{Ledger: written(t, e)}.Log(Filter{})
			if err != nil {
				t.Fatal(err)
			}
			if told := len(list) == 1; told != (a != "nothing" || b != "nothing") {
				t.Errorf("%s and %s: told %v", a, b, told)
			}
		}
	}
}

// TestALogWithVerdicts has those that fit, between the changes.
func TestALogWithVerdicts(t *testing.T) {
	checked := func(session string) ledger.Entry {
		e := made(session, "t", ledger.CauseChecked, "")
		e.Check = &ledger.Verdict{Name: "tests", When: "turn", Outcome: "passed"}
		return e
	}
	// 1 change, 2 and 3 verdicts, 4 change, 5 and 6 verdicts, 7 change
	l := written(t, made("s", "t", ledger.CauseTool, "x"), checked("s"), checked("o"), made("s", "t", ledger.CauseTool, "y"),
		checked("s"), checked("o"), made("o", "t", ledger.CauseTool, "z"))
	odd := func(r row.Entry) bool { return r.Seq%2 == 1 }
	for _, c := range []struct {
		f    Filter
		want []int64
	}{
		{Filter{}, []int64{7, 4, 1}},
		{Filter{Checks: true}, []int64{7, 6, 5, 4, 3, 2, 1}},
		{Filter{Checks: true, Session: "s"}, []int64{5, 4, 2, 1}},
		{Filter{Checks: true, Paths: []string{"/w/y"}}, []int64{4}},
		{Filter{Checks: true, Fits: odd}, []int64{7, 5, 3, 1}},
		{Filter{Checks: true, Since: minute(3)}, []int64{7, 6, 5, 4, 3}},
		{Filter{Checks: true, Since: minute(6)}, []int64{7, 6}},
		{Filter{Since: minute(4)}, []int64{7, 4}},
		{Filter{Checks: true, Limit: 1}, []int64{7}},
		{Filter{Checks: true, Limit: 2}, []int64{7, 6}},
		{Filter{Checks: true, Limit: 4}, []int64{7, 6, 5, 4}},
		{Filter{Limit: 3}, []int64{7, 4, 1}},
	} {
		list, err := Reader{Ledger: l}.Log(c.f)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, r := range list {
			got = append(got, r.Seq)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", asked(c.f), got, c.want)
		}
	}
}
