package changes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
)

// TestWhatGoesTogether: of one session and turn, or call. What has neither goes alone, and what others
// did is taken back only if its entry is named.
func TestWhatGoesTogether(t *testing.T) {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	text := states[1].is
	w.files = map[string]*delta.Image{"/w": present.Dir(0o755)}
	for i, e := range []ledger.Entry{{Session: "s", Turn: "t1", Call: "c1"}, {Session: "o", Turn: "t1", Call: "c1"},
		{Session: "s", Turn: "t1", Call: "c2"}, {}, {}, {Session: "s", Turn: "t1", Call: "c3", Certainty: ledger.Outside}} {
		path := fmt.Sprintf("/w/%d", i+1)
		if e.Certainty == "" {
			e.Certainty = ledger.Proven
		}
		e.Cause = ledger.CauseCommand
		if err := w.commit(e, delta.Set{{Path: path, Post: text}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		choice Choice
		want   string // the entries, or the error
	}{
		{Choice{}, "[5]"}, {Choice{Last: 2}, "[4 5]"}, {Choice{Last: 3}, "[1 3 4 5]"}, {Choice{Last: 4}, "[1 2 3 4 5]"},
		{Choice{Last: 9}, "[1 2 3 4 5]"}, {Choice{ByCall: true, Last: 3}, "[3 4 5]"},
		{Choice{Session: "s"}, "[1 3]"}, {Choice{Session: "o"}, "[2]"}, {Choice{Session: "s", ByCall: true}, "[3]"},
		{Choice{Session: "s", Turn: "t1"}, "[1 3]"}, {Choice{Session: "s", Turn: "t1", Later: true}, "[1 3]"},
		{Choice{Session: "o", Turn: "t1", Later: true}, "[2]"}, {Choice{Session: "s", Later: true}, "[1 3]"},
		{Choice{Session: "s", Call: "c3"}, `no call "c3" changed anything in this workspace; see kerf log`},
		{Choice{Session: "s", Paths: []string{"/w/1"}}, "[1]"}, {Choice{Paths: []string{"/w/2"}}, "[2]"},
		{Choice{Paths: []string{"/w/6"}}, "nothing to undo"}, {Choice{Entry: 6}, "[6]"}, {Choice{Entry: 1}, "[1]"},
		{Choice{Entry: 1, Paths: []string{"/w/2"}}, "nothing to undo"},
	} {
		got := ""
		if p, err := w.reader().plan(newBook(w.entries), c.choice, w.look()); err != nil {
			got = err.Error()
		} else {
			var seqs []int64
			for _, e := range p.Entries {
				seqs = append(seqs, e.Seq)
			}
			got = fmt.Sprint(seqs)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", asked(c.choice), got, c.want)
		}
	}
}

// TestALedgerThatGoesInACircle is damaged, and read to an end.
func TestALedgerThatGoesInACircle(t *testing.T) {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	w.entries = []ledger.Entry{entryOf(w, 1, "/w/x", nil, states[1].is), {Seq: 2, Cause: ledger.CauseUndo, Undoes: []int64{3, 2, 9}},
		{Seq: 3, Cause: ledger.CauseUndo, Undoes: []int64{2, 1}}}
	w.files = map[string]*delta.Image{"/w": present.Dir(0o755)}
	b := newBook(w.entries)
	if !b.undone(&b.entries[0]) {
		t.Error("the first entry stands, which the last one took back")
	}
	if _, err := w.reader().plan(b, Choice{}, w.look()); !errors.Is(err, ErrNothing) {
		t.Errorf("undo: %v", err)
	}
	if roots := b.roots(&b.entries[2]); len(roots) != 1 || roots[0].Seq != 1 {
		t.Errorf("the last one is about %+v", roots)
	}
}

// TestOneNameOfAMove: a diff has what was moved by both its names, and a log, too.
func TestOneNameOfAMove(t *testing.T) {
	text := delta.NewFile([]byte("moved\n"), 0o644)
	move, other := made("s", "t", ledger.CauseCommand, ""), made("s", "t", ledger.CauseCommand, "other")
	move.Changes = ledger.ChangesOf(delta.Set{{Path: "/w/new", Post: text, From: "/w/old"}, {Path: "/w/old", Pre: text, To: "/w/new"}})
	r := Reader{Ledger: written(t, move, other), Images: unkept{}, Base: "/w"}
	for _, c := range []struct {
		path string
		net  string
		log  int
	}{{"/w/old", "/w/new /w/old", 1}, {"/w/new", "/w/new", 1}, {"/w/other", "/w/other", 1}, {"/w", "/w/new /w/old /w/other", 2},
		{"/w/none", "", 0}} {
		n, err := r.Net(NetOptions{Paths: []string{c.path}, Pick: func(*ledger.Entry) (use, stop bool) { return true, false }})
		if err != nil || strings.Join(n.Set.Paths(), " ") != c.net {
			t.Errorf("the net of %s: %v, %v", c.path, n.Set.Paths(), err)
		}
		if list, err := r.Log(Filter{Paths: []string{c.path}}); err != nil || len(list) != c.log {
			t.Errorf("the log of %s: %d, %v", c.path, len(list), err)
		}
	}
	half := made("s", "t", ledger.CauseCommand, "")
	half.Changes = ledger.ChangesOf(delta.Set{{Path: "/w/old", Pre: text, To: "/w/new"}}) // the other half is another entry's
	for path, want := range map[string]int{"/w/old": 1, "/w/new": 1, "/w/none": 0} {
		if list, err := (Reader{Ledger: written(t, half)}).Log(Filter{Paths: []string{path}}); err != nil || len(list) != want {
			t.Errorf("the log of %s: %d, %v", path, len(list), err)
		}
	}
}

// TestSingleEditsOfWhatIsNotKept, or of a file that others changed while the call ran, are not taken back.
func TestSingleEditsOfWhatIsNotKept(t *testing.T) {
	plain, edited := states[1].is, states[2].is
	for what, c := range map[string]struct {
		spoil func(w *world)
		want  string
	}{
		"all is kept": {func(*world) {}, ""},
		"before":      {func(w *world) { delete(w.images, plain.Sum) }, "x: its earlier content was not kept"},
		"after":       {func(w *world) { delete(w.images, edited.Sum) }, "x: its earlier content was not kept"},
		"others' lines": {func(w *world) {
			w.entries = append(w.entries, entryOf(w, 2, "/w/x", states[7].is, edited))
			w.entries[1].Call = "c1"
		}, "x: others changed it while the call ran; undo the whole file"},
		"a link before": {func(w *world) { w.entries[0] = entryOf(w, 1, "/w/x", states[4].is, edited) },
			"x: the call created or deleted it; undo the whole file"},
		"a link after": {func(w *world) { w.entries[0] = entryOf(w, 1, "/w/x", plain, states[4].is) },
			"x: the call created or deleted it; undo the whole file"},
	} {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		w.entries = []ledger.Entry{entryOf(w, 1, "/w/x", plain, edited)}
		w.files = map[string]*delta.Image{"/w": present.Dir(0o755), "/w/x": edited}
		c.spoil(w)
		r := w.reader()
		r.Ledger = written(t, w.entries...)
		p, err := r.PlanEdits(Choice{Call: "c1"}, map[string]diff.Part{"/w/x": {Edits: []int{0}}}, w.look())
		got := ""
		if err != nil {
			got = err.Error()
		} else if p.Problem != "" || len(p.Set) != 1 || !p.Set[0].Post.Same(plain) {
			got = planned(p, nil)
		}
		if got != c.want {
			t.Errorf("%s: %s", what, got)
		}
	}
}
