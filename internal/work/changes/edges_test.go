package changes_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// ran enters what a command of a turn did since the last look, as a scan finds it.
func (d *disk) ran(t *testing.T, turn, certainty string) {
	t.Helper()
	now, err := d.scan.Snapshot(t.Context())
	must(t, err)
	set, _, err := d.scan.Diff(t.Context(), d.snap, now)
	must(t, err)
	o := txn.CommitOptions{Origin: txn.Origin{Session: "s", Turn: turn, Call: "c" + turn}, Cause: ledger.CauseCommand,
		Certainty: certainty}
	o.Dirs, o.Gone, o.Modes = d.scan.Dirs(d.snap, now)
	d.snap = now
	_, err = d.work.Record(t.Context(), set, o)
	must(t, err)
}

// told is what a plan says of each path, relative to the root.
func (d *disk) told(p *changes.Plan) map[string]string {
	got := map[string]string{}
	for _, f := range p.Files {
		got[strings.TrimPrefix(f.Path, d.root+"/")] = strings.TrimSuffix(f.Outcome+": "+f.Note, ": ")
	}
	return got
}

func (d *disk) plan(t *testing.T, r changes.Reader, c changes.Choice) *changes.Plan {
	t.Helper()
	p, err := r.Plan(c, present.In(d.work.Tree, d.root))
	must(t, err)
	return p
}

// TestAMoveThatIsTakenBackTakesLaterEditsAlong: what was written at the new name comes to the old
// one. Where something else is there, or the file is gone, nothing is written.
func TestAMoveThatIsTakenBackTakesLaterEditsAlong(t *testing.T) {
	for name, c := range map[string]struct {
		since func(d *disk)
		told  map[string]string
		want  map[string]string // "" for nothing
	}{
		"edited": {func(d *disk) { d.write(t, "d/z", "one\ntwo\nthree\nfour\n") },
			map[string]string{"a": "merged: later changes of it are kept", "d/z": "merged: later changes of it are kept"},
			map[string]string{"a": "one\ntwo\nthree\nfour\n", "d/z": ""}},
		"as it was": {func(*disk) {}, map[string]string{"a": "restored", "d/z": "restored"},
			map[string]string{"a": "one\ntwo\nthree\n", "d/z": ""}},
		"back already": {func(d *disk) { must(t, os.Rename(d.path("d/z"), d.path("a"))) },
			map[string]string{"a": "unchanged"}, map[string]string{"a": "one\ntwo\nthree\n", "d/z": ""}},
		"another at the old name": {func(d *disk) { d.write(t, "a", "theirs\n") },
			map[string]string{"a": "conflict: something else is there now"},
			map[string]string{"a": "theirs\n", "d/z": "one\ntwo\nthree\n"}},
		"gone": {func(d *disk) { must(t, os.Remove(d.path("d/z"))) },
			map[string]string{"d/z": "conflict: it is gone"}, map[string]string{"a": "", "d/z": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, 1)
			must(t, os.Rename(d.path("a"), d.path("d/z")))
			d.ran(t, "t1", ledger.Proven)
			c.since(d)
			choice := changes.Choice{Session: "s", Turn: "t1"}
			plan := d.plan(t, d.reader(), choice)
			if diff := cmp.Diff(c.told, d.told(plan)); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			for _, c := range plan.Set { // it is a move, too
				if c.Post != nil && c.From != d.path("d/z") || c.Post == nil && c.To != d.path("a") {
					t.Errorf("%s is from %q, to %q", c.Path, c.From, c.To)
				}
			}
			_, err := d.reader().Undo(t.Context(), d.work, choice, changes.UndoOptions{})
			must(t, err)
			for file, text := range c.want {
				got, _ := os.ReadFile(d.path(file))
				if string(got) != text {
					t.Errorf("%s holds %q, want %q", file, got, text)
				}
			}
		})
	}
}

// TestContentsThatWereNotKept are had from elsewhere where somebody has them, and only then; what
// nobody has is told of.
func TestContentsThatWereNotKept(t *testing.T) {
	d := newDisk(t, 1)
	must(t, os.Remove(d.path("a")))
	must(t, os.Remove(d.path("d/e")))
	d.write(t, "b", "other\n")
	d.ran(t, "t1", ledger.Proven)
	before := d.picture(t)
	text := []byte("one\ntwo\nthree\n")
	must(t, os.WriteFile(filepath.Join(t.TempDir(), "x"), text, 0o600))
	r := d.reader()
	choice := changes.Choice{Session: "s", Turn: "t1"}
	all := map[string]string{"a": "restored", "b": "restored", "d/e": "restored"}

	r.Elsewhere = func(string, delta.Version) ([]byte, bool) {
		t.Error("somebody was asked for what the store has")
		return nil, false
	}
	if diff := cmp.Diff(all, d.told(d.plan(t, r, choice))); diff != "" {
		t.Errorf("all is kept (-want +got):\n%s", diff)
	}

	must(t, d.work.Store.Remove(delta.SumOf(text)))
	none := map[string]string{}
	for file := range all {
		none[file] = "missing: its earlier content was not kept"
	}
	for what, elsewhere := range map[string]func(string, delta.Version) ([]byte, bool){
		"nobody is there to ask": nil, "nobody has it": func(string, delta.Version) ([]byte, bool) { return nil, false },
	} {
		r.Elsewhere = elsewhere
		p := d.plan(t, r, choice)
		if diff := cmp.Diff(none, d.told(p)); diff != "" || !strings.Contains(p.Problem, "none of it can be brought back") {
			t.Errorf("%s: %q (-want +got):\n%s", what, p.Problem, diff)
		}
	}

	r.Elsewhere = func(path string, v delta.Version) ([]byte, bool) {
		return text, strings.HasSuffix(path, "/a") && v.Sum == delta.SumOf(text)
	}
	some := map[string]string{"a": "restored", "b": none["b"], "d/e": none["d/e"]}
	p := d.plan(t, r, choice)
	if diff := cmp.Diff(some, d.told(p)); diff != "" || p.Problem != "" {
		t.Errorf("one of them: %q (-want +got):\n%s", p.Problem, diff)
	}
	_, err := p.Commit(t.Context(), d.work, txn.Origin{})
	must(t, err)
	after := d.picture(t)
	if got, _ := os.ReadFile(d.path("a")); string(got) != string(text) {
		t.Errorf("a holds %q", got)
	}
	delete(after, d.path("a"))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the others (-before +after):\n%s", diff)
	}
}

// TestDirectoriesAreToldOfAlone: one that comes or goes with files in it is not told of.
func TestDirectoriesAreToldOfAlone(t *testing.T) {
	d := newDisk(t, 1)
	must(t, os.MkdirAll(d.path("alone/below"), 0o755))
	d.write(t, "with/file", "made\n")
	must(t, os.Chmod(d.path("d"), 0o700))
	d.ran(t, "t1", ledger.Proven)
	p := d.plan(t, d.reader(), changes.Choice{Session: "s", Turn: "t1"})
	want := map[string]string{"alone/below": "restored: directory", "with/file": "restored", "d": "restored: directory"}
	if diff := cmp.Diff(want, d.told(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, f := range p.Files {
		if f.Removed != (f.Path != d.path("d")) {
			t.Errorf("%s: removed %v", f.Path, f.Removed)
		}
	}
}

// TestWhatNobodySawIsLeft: an undo that would take back nothing else says so and writes nothing.
func TestWhatNobodySawIsLeft(t *testing.T) {
	d := newDisk(t, 1)
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7"} {
		d.write(t, name, "made\n")
	}
	d.ran(t, "t1", ledger.Unproven)
	before := d.picture(t)
	report, err := d.reader().Undo(t.Context(), d.work, changes.Choice{Session: "s", Turn: "t1"}, changes.UndoOptions{})
	must(t, err)
	if !strings.HasPrefix(report.Problem, "nobody saw who changed "+d.path("n1")) ||
		!strings.HasSuffix(report.Problem, d.path("n5")+", 2 more") || len(report.Left) != 7 {
		t.Errorf("%q, left %v", report.Problem, report.Left)
	}
	if diff := cmp.Diff(before, d.picture(t)); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}

// TestAMoveInThePlaceOfADirectory: taken back, the directory is there again.
func TestAMoveInThePlaceOfADirectory(t *testing.T) {
	d := newDisk(t, 1)
	must(t, os.Mkdir(d.path("place"), 0o750))
	d.ran(t, "t0", ledger.Proven)
	before := d.picture(t)
	must(t, os.Remove(d.path("place")))
	must(t, os.Rename(d.path("a"), d.path("place")))
	d.ran(t, "t1", ledger.Proven)
	report, err := d.reader().Undo(t.Context(), d.work, changes.Choice{Session: "s", Turn: "t1"}, changes.UndoOptions{})
	must(t, err)
	if diff := cmp.Diff(before, d.picture(t)); diff != "" || report.Problem != "" {
		t.Errorf("%q (-want +got):\n%s", report.Problem, diff)
	}
}

// TestADirectoryComesBackWhereItWas: a file took its place, and was moved on since, by a turn or by somebody else.
func TestADirectoryComesBackWhereItWas(t *testing.T) {
	for _, moved := range []bool{false, true} {
		for _, by := range []string{"turn", "somebody"} {
			d := newDisk(t, 1)
			must(t, os.Mkdir(d.path("place"), 0o700))
			text := strings.Repeat("a line of its own\n", 9)
			if moved {
				d.write(t, "a", text)
			}
			d.ran(t, "t0", ledger.Proven)
			before := d.picture(t)
			must(t, os.Remove(d.path("place")))
			if moved {
				must(t, os.Rename(d.path("a"), d.path("place")))
			} else {
				d.write(t, "place", text)
			}
			d.ran(t, "t1", ledger.Proven)
			must(t, os.Rename(d.path("place"), d.path("further")))
			if by == "turn" {
				d.ran(t, "t2", ledger.Proven)
			}
			for range 2 {
				report, err := d.reader().Undo(t.Context(), d.work, changes.Choice{Session: "s", Turn: "t1", Follow: true}, changes.UndoOptions{})
				must(t, err)
				if diff := cmp.Diff(before, d.picture(t)); diff != "" || !report.Whole() {
					t.Errorf("moved %v by %s: %+v (-want +got):\n%s", moved, by, report.Files, diff)
				}
				_, err = d.reader().Undo(t.Context(), d.work, changes.Choice{Redo: true}, changes.UndoOptions{})
				must(t, err)
			}
		}
	}
}

// TestOneUndoOfSeveralSessions: what a session changed and what was undone since is nothing, also
// where one undo took back what another session did, too.
func TestOneUndoOfSeveralSessions(t *testing.T) {
	d := newDisk(t, 1)
	made := func(session, turn, name string) {
		t.Helper()
		text := "made by " + turn + "\n"
		d.write(t, name, text)
		_, err := d.work.Record(t.Context(), delta.Set{{Path: d.path(name), Post: delta.NewFile([]byte(text), 0o644)}},
			txn.CommitOptions{Cause: ledger.CauseCommand, Certainty: ledger.Proven,
				Origin: txn.Origin{Session: session, Turn: turn, Call: "c" + turn}})
		must(t, err)
	}
	undo := func(last int) {
		t.Helper()
		report, err := d.reader().Undo(t.Context(), d.work, changes.Choice{Last: last}, changes.UndoOptions{})
		must(t, err)
		if report.Problem != "" || len(report.Files) != last {
			t.Fatalf("%q %+v", report.Problem, report.Files)
		}
	}
	made("s", "t1", "x")
	undo(1)
	made("s", "t2", "stays")
	made("s", "t3", "y")
	made("other", "t4", "z")
	undo(2)
	diff, err := d.reader().Session("s")
	must(t, err)
	want := "diff --git a/stays b/stays\nnew file mode 100644\n"
	if strings.Count(string(diff), "diff --git") != 1 || !strings.HasPrefix(string(diff), want) {
		t.Errorf("the session's changes are\n%s", diff)
	}
}

// TestOnePathOfSeveral: what becomes of the others is not asked for, also where directories and
// files took each other's places.
func TestOnePathOfSeveral(t *testing.T) {
	d := newDisk(t, 1)
	must(t, os.Remove(d.path("a")))
	d.write(t, "a/f", "below\n")
	must(t, os.RemoveAll(d.path("d")))
	d.write(t, "d", "a file\n")
	d.write(t, "b", "changed\n")
	d.ran(t, "t1", ledger.Proven)
	for _, c := range []struct {
		path string
		want map[string]string
	}{
		{"b", map[string]string{"b": "restored"}},
		{"a", map[string]string{"a": "restored", "a/f": "restored"}},
		{"d/e", map[string]string{"d": "restored", "d/e": "restored", "d/f": "restored"}},
	} {
		p := d.plan(t, d.reader(), changes.Choice{Session: "s", Turn: "t1", Paths: []string{d.path(c.path)}})
		if diff := cmp.Diff(c.want, d.told(p)); diff != "" || p.Problem != "" {
			t.Errorf("%s: %q (-want +got):\n%s", c.path, p.Problem, diff)
		}
	}
}

// TestATurnThatIsNotThere takes nothing back, also with all that came later: what has no session is
// not meant.
func TestATurnThatIsNotThere(t *testing.T) {
	d := newDisk(t, 1)
	d.write(t, "n", "made\n")
	now, err := d.scan.Snapshot(t.Context())
	must(t, err)
	set, _, err := d.scan.Diff(t.Context(), d.snap, now)
	must(t, err)
	_, err = d.work.Record(t.Context(), set, txn.CommitOptions{Cause: ledger.CauseCommand, Certainty: ledger.Proven})
	must(t, err)
	for _, c := range []struct {
		choice  changes.Choice
		says    string
		nothing bool // rather than a mistake
	}{{changes.Choice{Session: "s", Turn: "none"}, `no turn "none" changed anything`, false},
		{changes.Choice{Call: "none"}, `no call "none" changed anything`, false},
		{changes.Choice{Session: "s", Turn: "none", Later: true}, "nothing to undo", true},
		{changes.Choice{Session: "s", Redo: true}, "nothing to redo", true}, {changes.Choice{Entry: 7}, "no entry 7", false}} {
		p, err := d.reader().Plan(c.choice, present.In(d.work.Tree, d.root))
		if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, changes.ErrNothing) != c.nothing {
			t.Errorf("%+v: %v, it would take back %+v", c.choice, err, p)
		}
	}
}

// TestWhatIsTakenBackIsNamed: a call, a turn, or how many turns.
func TestWhatIsTakenBackIsNamed(t *testing.T) {
	d := newDisk(t, 1)
	made := func(session, turn, call, name string) {
		t.Helper()
		d.write(t, name, "made\n")
		_, err := d.work.Record(t.Context(), delta.Set{{Path: d.path(name), Post: delta.NewFile([]byte("made\n"), 0o644)}},
			txn.CommitOptions{Cause: ledger.CauseCommand, Certainty: ledger.Proven,
				Origin: txn.Origin{Session: session, Turn: turn, Call: call, Tool: "exec_command"}})
		must(t, err)
	}
	made("s", "t1", "c1", "x")
	made("s", "t2", "c2", "y")
	made("s", "t2", "c3", "z")
	made("", "", "", "of nobody")
	for _, c := range []struct {
		choice changes.Choice
		want   string
	}{{changes.Choice{Session: "s", Turn: "t1"}, "turn t1, call c1 (exec_command)"}, {changes.Choice{Session: "s", Turn: "t2"}, "turn t2"},
		{changes.Choice{Call: "c3"}, "turn t2, call c3 (exec_command)"}, {changes.Choice{Session: "s", Last: 2}, "2 turns"},
		{changes.Choice{}, "exec_command"}} {
		if got := d.plan(t, d.reader(), c.choice).What; got != c.want {
			t.Errorf("%+v is %q, want %q", c.choice, got, c.want)
		}
	}
}

// TestACopyOfAMovedFile is taken back alone; only of a backup, in whose place the command put
// another file, does the first one come along.
func TestACopyOfAMovedFile(t *testing.T) {
	d := newDisk(t, 1)
	a := delta.NewFile([]byte("one\ntwo\nthree\n"), 0o644)
	must(t, os.Rename(d.path("a"), d.path("y")))
	d.write(t, "x", "one\ntwo\nthree\n")
	must(t, os.Rename(d.path("b"), d.path("b.bak")))
	d.write(t, "b", "another\n")
	_, err := d.work.Record(t.Context(), delta.Set{{Path: d.path("a"), Pre: a, To: d.path("y")},
		{Path: d.path("y"), Post: a, From: d.path("a")}, {Path: d.path("x"), Post: a, From: d.path("a")},
		{Path: d.path("b"), Pre: a, Post: delta.NewFile([]byte("another\n"), 0o644)},
		{Path: d.path("b.bak"), Post: a, From: d.path("b")}},
		txn.CommitOptions{Cause: ledger.CauseCommand, Certainty: ledger.Proven,
			Origin: txn.Origin{Session: "s", Turn: "t", Call: "c"}})
	must(t, err)
	for path, want := range map[string]map[string]string{"x": {"x": "restored"}, "y": {"a": "restored", "y": "restored"},
		"b.bak": {"b": "restored", "b.bak": "restored"}, "b": {"b": "restored"}} {
		p := d.plan(t, d.reader(), changes.Choice{Session: "s", Turn: "t", Paths: []string{d.path(path)}})
		if diff := cmp.Diff(want, d.told(p)); diff != "" || p.Problem != "" {
			t.Errorf("%s: %q (-want +got):\n%s", path, p.Problem, diff)
		}
	}
}

// TestDirectoriesThatStayAreToldOf: they were to go, could not be looked into, and something is in them.
func TestDirectoriesThatStayAreToldOf(t *testing.T) {
	d := newDisk(t, 1)
	for _, name := range []string{"empty/f", "used/f"} {
		d.write(t, name, "made\n")
	}
	must(t, os.Mkdir(d.path("alone"), 0o755))
	must(t, os.Mkdir(d.path("bare"), 0o755))
	d.ran(t, "t1", ledger.Proven)
	d.write(t, "used/theirs", "theirs\n")
	d.write(t, "alone/theirs", "theirs\n")
	look := present.In(d.work.Tree, d.root)
	look.Names = func(string) ([]string, error) { return nil, present.ErrShut }
	p, err := d.reader().Plan(changes.Choice{Session: "s", Turn: "t1"}, look)
	must(t, err)
	_, err = p.Commit(t.Context(), d.work, txn.Origin{})
	must(t, err)
	stays := "unchanged: directory: something is in it"
	want := map[string]string{"empty/f": "restored", "used/f": "restored", "used": stays, "alone": stays, "bare": "restored: directory"}
	if diff := cmp.Diff(want, d.told(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWhatChangesAfterThePlanIsAConflict, and stays as it is.
func TestWhatChangesAfterThePlanIsAConflict(t *testing.T) {
	d := newDisk(t, 1)
	d.write(t, "a", "one\nTWO\nthree\n")
	d.ran(t, "t1", ledger.Proven)
	whole := d.plan(t, d.reader(), changes.Choice{Session: "s", Turn: "t1"})
	single, err := d.reader().PlanEdits(changes.Choice{Call: "ct1"}, map[string]diff.Part{d.path("a"): {Edits: []int{0}}},
		present.In(d.work.Tree, d.root))
	must(t, err)
	d.write(t, "a", "theirs\n")
	for name, p := range map[string]*changes.Plan{"the whole": whole, "single edits": single} {
		if _, err := p.Commit(t.Context(), d.work, txn.Origin{}); !errors.Is(err, changes.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
		d.holds(t, "a", "theirs\n")
	}
}
