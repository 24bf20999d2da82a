package enter_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/ledger/known"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/enter"
)

func workspace(t *testing.T) *txn.Workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := tree.Open(tree.Options{Roots: []string{dir}, Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := txn.Open(txn.Options{Tree: tr, Store: s, Ledger: l, Dir: filepath.Join(dir, "ledger"), Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, close := range []func() error{w.Close, l.Close, s.Close} {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

// told is the ledger in a line for each entry.
func told(t *testing.T, w *txn.Workspace) string {
	t.Helper()
	entries, err := w.Ledger.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		line := []string{e.Cause, e.Certainty, "of", string(rune('0' + e.Of)), e.ID, e.Turn}
		if e.Exact {
			line = append(line, "exact")
		}
		if e.Ended {
			line = append(line, "ended")
		}
		for _, c := range e.Changes {
			line = append(line, c.Path)
		}
		for _, d := range e.Dirs {
			line = append(line, "+"+string(d))
		}
		for _, d := range e.Gone {
			line = append(line, "-"+string(d.Path))
		}
		if e.Note != "" {
			line = append(line, "("+e.Note+")")
		}
		b.WriteString(strings.Join(line, " ") + "\n")
	}
	return b.String()
}

func file(text string) *delta.Image { return delta.NewFile([]byte(text), 0o644) }

func TestPartsBecomeEntriesInTheirOrder(t *testing.T) {
	w := workspace(t)
	r := witness.Report{Began: 3, ID: "id", Ended: true, Parts: []witness.Part{
		{Certainty: ledger.Unproven, Set: delta.Set{{Path: "/w/a", Pre: file("0"), Post: file("1")}}},
		{Certainty: ledger.Proven, Set: delta.Set{{Path: "/w/a", Pre: file("1"), Post: file("2")}}, Dirs: []ledger.Path{"/w/d"},
			Gone: []ledger.Dir{{Path: "/w/g", Mode: 0o700}}},
		{Certainty: ledger.Outside, Set: delta.Set{{Path: "/w/b", Post: file("3")}}}}}
	entries, err := enter.Report(t.Context(), w, txn.Origin{Turn: "t"}, r)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	want := `command unproven of 3 id.more t /w/a
command proven of 3 id.more t exact /w/a +/w/d -/w/g
outside outside of 3 id t ended /w/b
`
	if d := cmp.Diff(want, told(t, w)); d != "" {
		t.Error(d)
	}
	for _, text := range []string{"0", "1", "2", "3"} {
		if got, err := w.Store.Get(delta.SumOf([]byte(text))); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// Kerf was killed between two entries of a report. Recovery tells the rest, once.
func TestTheRestOfAReportIsNotLost(t *testing.T) {
	w := workspace(t)
	parts := []witness.Part{
		{Certainty: ledger.Unproven, Set: delta.Set{{Path: "/w/a", Pre: file("0"), Post: file("1")}}},
		{Certainty: ledger.Proven, Set: delta.Set{{Path: "/w/a", Pre: file("1"), Post: file("2")}, {Path: "/w/c", Post: file("4")}}}}
	co := txn.CommitOptions{Origin: txn.Origin{Turn: "t"}, Cause: ledger.CauseCommand, Certainty: ledger.Unproven,
		ID: "s/1/1" + known.More, Of: 1, Inexact: true}
	if err := w.Ledger.Append(&ledger.Entry{Cause: ledger.CauseBegan, Changes: []ledger.Change{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Record(t.Context(), parts[0].Set, co); err != nil {
		t.Fatal(err)
	}
	entries, err := w.Ledger.Read(1)
	if err != nil {
		t.Fatal(err)
	}
	if known.Whole(entries, 1)(&entries[0]) {
		t.Error("the report counts as entered")
	}
	r := witness.Report{Began: 1, ID: "s/1/recovered", Ended: true, Parts: parts}
	if _, err := enter.Report(t.Context(), w, txn.Origin{Turn: "t"}, r); err != nil {
		t.Fatal(err)
	}
	want := `began  of 0  
command unproven of 1 s/1/1.more t /w/a
command proven of 1 s/1/recovered t exact ended /w/a /w/c
`
	if d := cmp.Diff(want, told(t, w)); d != "" {
		t.Error(d)
	}
}

func TestWhatIsNotKnownIsTold(t *testing.T) {
	gap := []ledger.Gap{{Path: "/g", Why: "lost"}}
	sure := []witness.Part{{Certainty: ledger.Proven, Set: delta.Set{{Path: "/a", Post: file("1")}}}}
	unsure := []witness.Part{{Certainty: ledger.Unproven, Set: delta.Set{{Path: "/a", Post: file("1")}}}}
	for _, c := range []struct {
		name string
		r    witness.Report
		want string
	}{
		{"nothing was touched", witness.Report{Ended: true}, ""},
		{"nothing is new", witness.Report{Began: 1, ID: "i"}, ""},
		{"an end without changes", witness.Report{Began: 1, ID: "i", Ended: true}, "began proven of 1 i  exact ended\n"},
		{"a note without changes", witness.Report{Began: 1, ID: "i", Notes: []string{"why"}}, "command proven of 1 i  (why)\n"},
		{"a note with changes", witness.Report{Began: 1, ID: "i", Notes: []string{"why"},
			Parts: []witness.Part{{Certainty: ledger.Proven, Set: delta.Set{{Path: "/a", Post: file("1")}}}}},
			"command proven of 1 i  /a (why)\n"},
		{"a note and a gap", witness.Report{Began: 1, ID: "i", Notes: []string{"why"}, Gaps: gap},
			"command proven of 1 i  (why; /g (lost))\n"},
		{"a note and a gap with changes", witness.Report{Began: 1, ID: "i", Notes: []string{"why"}, Gaps: gap, Parts: sure},
			"command proven of 1 i  /a (why; /g (lost))\n"},
		{"a note and a gap with changes that are not certain", witness.Report{Began: 1, ID: "i", Ended: true,
			Notes: []string{"why"}, Gaps: gap, Parts: unsure}, "command unproven of 1 i.more  /a\ncommand proven of 1 i  ended (why; /g (lost))\n"},
		{"changes that are not certain", witness.Report{Began: 1, ID: "i", Ended: true, Parts: unsure},
			"command unproven of 1 i  ended /a\n"},
		{"a note with certain changes behind others", witness.Report{Began: 1, ID: "i", Notes: []string{"why"},
			Parts: append(slices.Clone(unsure), witness.Part{Certainty: ledger.Proven,
				Set: delta.Set{{Path: "/b", Post: file("1")}}})},
			"command unproven of 1 i.more  /a\ncommand proven of 1 i  /b (why)\n"},
		{"a note with certain changes before others", witness.Report{Began: 1, ID: "i", Notes: []string{"why"},
			Parts: append(slices.Clone(sure), unsure...)},
			"command proven of 1 i.more  /a (why)\ncommand unproven of 1 i  /a\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := workspace(t)
			entries, err := enter.Report(t.Context(), w, txn.Origin{}, c.r)
			if err != nil || len(entries) != strings.Count(c.want, "\n") {
				t.Fatalf("%d entries, %v", len(entries), err)
			}
			if d := cmp.Diff(c.want, told(t, w)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOtherKerfsAreKnown has another tool of Kerf commit to a file that the command wrote
// before and after.
func TestOtherKerfsAreKnown(t *testing.T) {
	for _, c := range []struct {
		name, certainty string
		pre, post       string // of the other's entry
		want            string
	}{
		{"the last content is theirs", ledger.Unproven, "2", "3", "command unproven of 1 i  ended /w/a\n"},
		{"all is theirs", ledger.Unproven, "1", "3", "began proven of 1 i  exact ended\n"},
		{"their content was changed again", ledger.Unproven, "1", "2", "command unproven of 1 i  ended /w/a\n"},
		{"the command started them", ledger.Proven, "1", "3", "began proven of 1 i  exact ended\n"},
		{"the command changed it before", ledger.Proven, "2", "3", "command proven of 1 i  exact ended /w/a\n"},
		{"the command took theirs back", ledger.Proven, "3", "1", "command proven of 1 i  exact ended /w/a\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := workspace(t)
			if err := w.Ledger.Append(&ledger.Entry{Cause: ledger.CauseBegan, Changes: []ledger.Change{}}); err != nil {
				t.Fatal(err)
			}
			set := delta.Set{{Path: "/w/a", Pre: file(c.pre), Post: file(c.post)}}
			if _, err := w.Record(t.Context(), set, txn.CommitOptions{Certainty: ledger.Proven}); err != nil {
				t.Fatal(err)
			}
			_, err := enter.Report(t.Context(), w, txn.Origin{}, witness.Report{Began: 1, ID: "i", Ended: true,
				Parts: []witness.Part{{Certainty: c.certainty,
					Set: delta.Set{{Path: "/w/a", Pre: file("1"), Post: file("3")}}}}})
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfterN(told(t, w), "\n", 3)
			if d := cmp.Diff(c.want, lines[2]); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestWhatACommandMadeOfTheirs: another tool entered what the command then changed again, and it is
// certain: its entry begins with what the other left.
func TestWhatACommandMadeOfTheirs(t *testing.T) {
	for certainty, want := range map[string]string{ledger.Proven: "2", ledger.Unproven: "1"} {
		w := workspace(t)
		if err := w.Ledger.Append(&ledger.Entry{Cause: ledger.CauseBegan, Changes: []ledger.Change{}}); err != nil {
			t.Fatal(err)
		}
		theirs := delta.Set{{Path: "/w/a", Pre: file("1"), Post: file("2")}}
		if _, err := w.Record(t.Context(), theirs, txn.CommitOptions{Certainty: ledger.Proven}); err != nil {
			t.Fatal(err)
		}
		entries, err := enter.Report(t.Context(), w, txn.Origin{}, witness.Report{Began: 1, ID: "i", Ended: true,
			Parts: []witness.Part{{Certainty: certainty, Set: delta.Set{{Path: "/w/a", Pre: file("1"), Post: file("3")}}}}})
		if err != nil || len(entries) != 1 || !entries[0].Set[0].Pre.Same(file(want)) {
			t.Errorf("%s: %+v, %v", certainty, entries, err)
		}
	}
}

// TestWhatWasNotKeptIsInDoubt: of files that a command took away from their names it is not known
// what they held then. The ledger has what they held before that.
func TestWhatWasNotKeptIsInDoubt(t *testing.T) {
	w := workspace(t)
	append := func(of int64, changes ...ledger.Change) {
		t.Helper()
		if err := w.Ledger.Append(&ledger.Entry{Cause: ledger.CauseTool, Of: of, Changes: changes}); err != nil {
			t.Fatal(err)
		}
	}
	version := func(text string) *ledger.Version { return ledger.VersionOf(file(text)) }
	append(0, ledger.Change{Path: "/w/a", Post: version("0")}, ledger.Change{Path: "/w/later", Post: version("0")},
		ledger.Change{Path: "/w/same", Post: version("0")}, ledger.Change{Path: "/w/part", Post: version("0")},
		ledger.Change{Path: "/w/own", Post: version("0")})
	append(0, ledger.Change{Path: "/w/a", Pre: version("0"), Post: version("1")})
	append(0) // the command begins
	append(0, ledger.Change{Path: "/w/later", Pre: version("0")})
	append(3, ledger.Change{Path: "/w/own", Pre: version("0"), Post: version("1")})
	r := witness.Report{Began: 3, ID: "i", Ended: true, Gaps: []ledger.Gap{{Path: "/w/a", Why: "lost"}},
		Unknown: delta.Set{{Path: "/w/a"}, {Path: "/w/later"}, {Path: "/w/same", Post: file("0")}, {Path: "/w/nobody"}, {Path: "/w/part"},
			{Path: "/w/own"}},
		Parts: []witness.Part{{Certainty: ledger.Unproven, Set: delta.Set{{Path: "/w/part", Pre: file("0"), Post: file("2")}}}}}
	done, err := enter.Report(t.Context(), w, txn.Origin{Turn: "t"}, r)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, e := range done {
		got += e.Entry.Known()
		for _, c := range e.Set {
			got += " " + strings.TrimPrefix(c.Path, "/w/") + ":" + text(c.Pre) + ">" + text(c.Post)
		}
		got += "\n"
	}
	if want := "unproven part:0>2\nunproven part:2>- own:1>- a:1>-\nproven\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// text is which of the contents 0 to 9 an image has.
func text(i *delta.Image) string {
	for n := '0'; n <= '9'; n++ {
		if i != nil && i.Sum == delta.SumOf([]byte{byte(n)}) {
			return string(n)
		}
	}
	return "-"
}
