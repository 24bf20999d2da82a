package changes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/ledger"
)

// TestALineThatWasThereBeforeIsNobodys, also where a change that was undone had written it again.
func TestALineThatWasThereBeforeIsNobodys(t *testing.T) {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	before := string(w.files["/w/a"].Data)
	without := strings.Replace(before, "two\n", "", 1)
	for i, text := range []string{without, before, without} {
		now := w.files["/w/a"]
		if err := w.commit(ledger.Entry{Session: "s", Turn: "t", Call: fmt.Sprint(i), Cause: ledger.CauseTool},
			delta.Set{{Path: "/w/a", Pre: now, Post: delta.NewFile([]byte(text), now.Mode)}}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.reader().plan(newBook(w.entries), Choice{Turn: "t"}, w.look())
	if err == nil {
		err = w.do(p)
	}
	if got := string(w.files["/w/a"].Data); err != nil || got != before {
		t.Fatalf("%v, it holds %q", err, got)
	}
	for i, o := range w.reader().blame(newBook(w.entries), "/w/a", []byte(before)) {
		if o.Entry != nil || o.Unknown {
			t.Errorf("line %d is laid to %+v", i+1, o)
		}
	}
}

// TestOnlyAFileThatLeftHasMoved: where the undo brings something else back to its old place, the file
// that came from there is told as a new one, whichever of the names comes first.
func TestOnlyAFileThatLeftHasMoved(t *testing.T) {
	for _, names := range [][2]string{{"/w/a", "/w/b"}, {"/w/b", "/w/a"}} {
		from, to := names[0], names[1]
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		moved, before := w.keep(delta.NewFile([]byte("moved\n"), 0o644)), w.files[to]
		w.files[from] = moved
		commit := func(cause string, set delta.Set) {
			t.Helper()
			slices.SortFunc(set, func(a, b delta.Change) int { return strings.Compare(a.Path, b.Path) })
			if err := w.commit(ledger.Entry{Session: "s", Turn: "t", Cause: cause, Certainty: ledger.Proven}, set); err != nil {
				t.Fatal(err)
			}
		}
		commit(ledger.CauseTool, delta.Set{{Path: to, Pre: before, Post: delta.NewFile([]byte("ours\n"), 0o644)}})
		delete(w.files, to) // somebody took it away
		commit(ledger.CauseCommand, delta.Set{{Path: from, Pre: moved, To: to}, {Path: to, Post: moved, From: from}})
		p, err := w.reader().plan(newBook(w.entries), Choice{Turn: "t", Conflicts: settle.Theirs}, w.look())
		if err != nil || p.Problem != "" || len(p.Set) != 2 {
			t.Fatal(planned(p, err))
		}
		for _, c := range p.Set {
			pre, post := moved, before
			if c.Path == from {
				pre, post = nil, moved
			}
			if !c.Pre.Same(pre) || !c.Post.Same(post) || c.From+c.To != "" {
				t.Errorf("%s to %s: %s", from, to, planned(p, nil))
			}
		}
	}
}

// TestADirectoryIsToldOfOnce: with what is in it, unless it is a change of its own.
func TestADirectoryIsToldOfOnce(t *testing.T) {
	text := states[1].is
	for name, c := range map[string]struct {
		entry func(e *ledger.Entry)
		mode  uint32 // of the directory now, 0 if it is not there
		want  string
	}{
		"its mode comes back": {func(e *ledger.Entry) { e.Modes = []ledger.DirMode{{Path: "/w/d", Pre: 0o755, Post: 0o700}} }, 0o700,
			"d restored: directory; x restored (goes); x from text to nothing; chmod d 700 to 755"},
		"its mode is back": {func(e *ledger.Entry) { e.Modes = []ledger.DirMode{{Path: "/w/d", Pre: 0o755, Post: 0o700}} }, 0o755,
			"x restored (goes); x from text to nothing"},
		"it goes": {func(e *ledger.Entry) { e.Dirs = []ledger.Path{"/w/d"} }, 0o755,
			"x restored (goes); x from text to nothing; prune d"},
	} {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		e := entryOf(w, 1, "/w/d/x", nil, text)
		c.entry(&e)
		w.entries = []ledger.Entry{e}
		w.files = map[string]*delta.Image{"/w": present.Dir(0o755), "/w/d": present.Dir(c.mode), "/w/d/x": text}
		look := w.look()
		look.Names = func(string) ([]string, error) { return []string{"x"}, nil }
		p, err := w.reader().plan(newBook(w.entries), Choice{}, look)
		if got := planned(p, err); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestWhatIsLeftIsNamedOnce, in the order of names, and no more of them than one reads.
func TestWhatIsLeftIsNamedOnce(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"c a b", "/w/a, /w/b, /w/c"}, {"a a", "/w/a"}, {"e d c b a", "/w/a, /w/b, /w/c, /w/d, /w/e"},
		{"f e d c b a", "/w/a, /w/b, /w/c, /w/d, /w/e, 1 more"},
	} {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		for i, name := range strings.Fields(c.names) {
			e := entryOf(w, int64(i+1), "/w/"+name, nil, states[1].is)
			e.Certainty = ledger.Unproven
			w.entries = append(w.entries, e)
		}
		p, err := w.reader().plan(newBook(w.entries), Choice{}, w.look())
		if err != nil || p.Problem != "nobody saw who changed "+c.want {
			t.Errorf("%s: %v, %q", c.names, err, p.Problem)
		}
	}
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	e := ledger.Entry{Seq: 1, Session: "s", Turn: "t", Cause: ledger.CauseCommand, Certainty: ledger.Unproven, Exact: true,
		Dirs: []ledger.Path{"/w/d"}, Gone: []ledger.Dir{{Path: "/w/d", Mode: 0o755}}} // made anew
	w.entries = []ledger.Entry{e}
	if p, err := w.reader().plan(newBook(w.entries), Choice{}, w.look()); err != nil || len(p.Left) != 1 {
		t.Errorf("%v, %+v", err, p.Left)
	}
}

// TestADoubtIsToldOnce of each file that is written, with what else is told of it, and of no other.
func TestADoubtIsToldOnce(t *testing.T) {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	plain, edited := states[1].is, states[2].is
	w.entries = []ledger.Entry{entryOf(w, 1, "/w/x", nil, plain), entryOf(w, 2, "/w/x", plain, edited), entryOf(w, 3, "/w/y", nil, plain),
		entryOf(w, 4, "/w/z", plain, edited), entryOf(w, 5, "/w/gone", nil, plain)}
	for i := range w.entries {
		if i != 2 {
			w.entries[i].Certainty = ledger.Unproven
		}
	}
	longer := w.keep(delta.NewFile(append([]byte("zero\n"), edited.Data...), 0o644))
	w.files = map[string]*delta.Image{"/w": present.Dir(0o755), "/w/x": edited, "/w/y": plain, "/w/z": longer}
	p, err := w.reader().plan(newBook(w.entries), Choice{Unproven: true}, w.look())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range p.Files {
		got[f.Path] = f.Outcome + ": " + f.Note
	}
	want := map[string]string{"/w/x": "restored: " + Unseen, "/w/y": "restored: ", "/w/z": "merged: " + laterKept + "; " + Unseen,
		"/w/gone": "unchanged: "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAFileThatWasLostTwiceIsToldOnce, and one that comes back is not told as lost.
func TestAFileThatWasLostTwiceIsToldOnce(t *testing.T) {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	plain := states[1].is
	w.entries = []ledger.Entry{entryOf(w, 1, "/w/x", nil, plain), entryOf(w, 2, "/w/y", nil, plain)}
	for i := range w.entries {
		w.entries[i].Exact = false
		w.entries[i].Gaps = []ledger.Gap{{Path: "/w/lost", Why: "it went away"}, {Path: "/w/x", Why: "it went away"}}
	}
	w.files = map[string]*delta.Image{"/w": present.Dir(0o755), "/w/x": plain, "/w/y": plain}
	p, err := w.reader().plan(newBook(w.entries), Choice{}, w.look())
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.reader().Report(p)
	if err != nil {
		t.Fatal(err)
	}
	want := []FilePlan{{Path: "/w/x", Outcome: Restored, Removed: true}, {Path: "/w/y", Outcome: Restored, Removed: true},
		{Path: "/w/lost", Outcome: Missing, Note: "it went away"}}
	if diff := cmp.Diff(want, r.Files); diff != "" || r.Problem != "" || r.Whole() {
		t.Errorf("%q, whole %v (-want +got):\n%s", r.Problem, r.Whole(), diff)
	}
}

// TestTheOtherHalfOfAMove is of the same call and names the first. What another session, turn or call
// did, or this one to another file, is nothing to it.
func TestTheOtherHalfOfAMove(t *testing.T) {
	text := states[1].is
	gone := func(path, to string) delta.Change { return delta.Change{Path: "/w/" + path, Pre: text, To: "/w/" + to} }
	came := func(path, from string) delta.Change {
		return delta.Change{Path: "/w/" + path, Post: text, From: "/w/" + from}
	}
	for _, c := range []struct {
		mine, other         delta.Change
		session, turn, call string // of the other
		left                bool
	}{
		{came("z", "a"), gone("a", "z"), "s", "t", "c", true}, {gone("a", "z"), came("z", "a"), "s", "t", "c", true},
		{came("z", "a"), gone("a", "z"), "o", "t", "c", false}, {gone("a", "z"), came("z", "a"), "s", "u", "c", false},
		{came("z", "a"), gone("a", "z"), "s", "t", "d", false},
		{came("z", "a"), gone("a", "y"), "s", "t", "c", false}, {came("z", "a"), gone("b", "z"), "s", "t", "c", false},
		{gone("a", "z"), came("z", "b"), "s", "t", "c", false}, {gone("a", "z"), came("y", "a"), "s", "t", "c", false},
		{came("z", "a"), delta.Change{Path: "/w/a", Pre: text}, "s", "t", "c", false},
		{delta.Change{Path: "/w/a", Pre: text}, came("z", "a"), "s", "t", "c", false},
		{came("z", "a"), came("a", "z"), "s", "t", "c", false}, {gone("a", "z"), gone("z", "a"), "s", "t", "c", false},
	} {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		w.keep(text)
		entry := func(seq int64, certainty string, change delta.Change) ledger.Entry {
			return ledger.Entry{Seq: seq, Session: "s", Turn: "t", Call: "c", Cause: ledger.CauseCommand, Certainty: certainty, Exact: true,
				Changes: ledger.ChangesOf(delta.Set{change})}
		}
		other, mine := entry(1, ledger.Unproven, c.other), entry(2, ledger.Proven, c.mine)
		other.Session, other.Turn, other.Call = c.session, c.turn, c.call
		w.entries = []ledger.Entry{other, mine}
		w.files = map[string]*delta.Image{"/w": present.Dir(0o755), c.mine.Path: c.mine.Post}
		p, err := w.reader().plan(newBook(w.entries), Choice{Session: "s", Turn: "t", Call: "c"}, w.look())
		if err != nil {
			t.Fatal(err)
		}
		if left := strings.HasPrefix(p.Problem, "nobody saw"); left != c.left {
			t.Errorf("%+v beside %s/%s/%s %+v: %s", c.mine, c.session, c.turn, c.call, c.other, planned(p, nil))
		}
	}
}

// TestHowConflictsWereSettledIsTold of every step of a file that is taken back, not only of the last one.
func TestHowConflictsWereSettledIsTold(t *testing.T) {
	numbers := func(lines ...string) *delta.Image {
		return delta.NewFile([]byte(strings.Join(lines, "\n")+"\n"), 0o644)
	}
	begin := numbers("1", "2", "3", "4", "5", "6", "7", "8", "9")
	first := numbers("one", "2", "3", "4", "5", "6", "7", "8", "9")
	between := numbers("one", "2", "3", "4", "five", "6", "7", "8", "9")
	second := numbers("one", "2", "3", "4", "five", "6", "7", "8", "nine")
	settled := "1 place that was changed since is as it was before the change"
	for _, c := range []struct {
		now  *delta.Image
		want string
	}{
		{numbers("one", "2", "3", "4", "five", "6", "7", "8", "neuf"), settled}, {numbers("un", "2", "3", "4", "five", "6", "7", "8", "nine"), settled},
		{numbers("un", "2", "3", "4", "five", "6", "7", "8", "neuf"), settled + "; " + settled}, {second, laterKept},
	} {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		w.entries = []ledger.Entry{entryOf(w, 1, "/w/x", begin, first), entryOf(w, 2, "/w/x", first, between), entryOf(w, 3, "/w/x", between, second)}
		w.entries[1].Cause, w.entries[1].Certainty = ledger.CauseOutside, ""
		w.files = map[string]*delta.Image{"/w": present.Dir(0o755), "/w/x": c.now}
		p, err := w.reader().plan(newBook(w.entries), Choice{Conflicts: settle.Theirs}, w.look())
		if err != nil || len(p.Files) != 1 || p.Files[0].Outcome != Merged || p.Files[0].Note != c.want {
			t.Errorf("now %q: %s, %v", c.now.Data, planned(p, err), err)
			continue
		}
		if got, want := p.Set[0].Post, numbers("1", "2", "3", "4", "five", "6", "7", "8", "9"); !got.Same(want) {
			t.Errorf("now %q: it becomes %q", c.now.Data, got.Data)
		}
	}
}

// TestAFileComesBackFromAShutDirectory with what it held, although nobody can look at it.
func TestAFileComesBackFromAShutDirectory(t *testing.T) {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	text := w.keep(states[1].is)
	w.entries = []ledger.Entry{{Seq: 1, Session: "s", Turn: "t", Cause: ledger.CauseCommand, Certainty: ledger.Proven, Exact: true,
		Changes: ledger.ChangesOf(delta.Set{{Path: "/w/a", Pre: text, To: "/w/d/z"}, {Path: "/w/d/z", Post: text, From: "/w/a"}})}}
	w.files = map[string]*delta.Image{"/w": present.Dir(0o755), "/w/d": present.Dir(0)}
	look := w.look()
	look.At = func(path string) (*delta.Image, error) {
		if strings.HasPrefix(path, "/w/d/") {
			return nil, present.ErrShut
		}
		return w.files[path], nil
	}
	p, err := w.reader().plan(newBook(w.entries), Choice{}, look)
	if got, want := planned(p, err), "a restored; z restored (goes); a from nothing to text (moved z.); z from text to nothing (moved .a)"; got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
	if post := p.Set[0].Post; !post.Loaded || string(post.Data) != plainText {
		t.Errorf("it would hold %q, loaded %v", post.Data, post.Loaded)
	}
}

// TestTheSameIsToldEachTime of directories in each other that stay, since somebody put something there.
func TestTheSameIsToldEachTime(t *testing.T) {
	dir := present.Dir(0o755)
	for range 20 {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		e := entryOf(w, 1, "/w/d", states[1].is, dir)
		e.Dirs = append(e.Dirs, "/w/d/x", "/w/d/x/y")
		w.entries = []ledger.Entry{e}
		w.files = map[string]*delta.Image{"/w": dir, "/w/d": dir, "/w/d/x": dir, "/w/d/x/y": dir}
		look := w.look()
		look.Names = func(dir string) ([]string, error) {
			return map[string][]string{"/w/d": {"x"}, "/w/d/x": {"y"}, "/w/d/x/y": {"theirs"}}[dir], nil
		}
		p, err := w.reader().plan(newBook(w.entries), Choice{}, look)
		if got, want := planned(p, err), "d conflict: a directory is there now, with x in it; y unchanged: theirs is in it; "+
			"PROBLEM conflict in /w/d (a directory is there now, with x in it)"; got != want {
			t.Fatalf("%s\nwant %s", got, want)
		}
	}
}

// TestTheLastOfTwoThatCameToOneName takes what was written there later along.
func TestTheLastOfTwoThatCameToOneName(t *testing.T) {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	a, b := w.files["/w/a"], w.keep(delta.NewFile([]byte("one\ntwo\n"), 0o644))
	w.files["/w/b"] = b
	for _, set := range []delta.Set{{{Path: "/w/a", Pre: a, To: "/w/x"}, {Path: "/w/x", Post: a, From: "/w/a"}},
		{{Path: "/w/b", Pre: b, To: "/w/x"}, {Path: "/w/x", Pre: a, Post: b, From: "/w/b"}}} {
		if err := w.commit(ledger.Entry{Session: "s", Turn: "t", Cause: ledger.CauseCommand, Certainty: ledger.Proven}, set); err != nil {
			t.Fatal(err)
		}
	}
	later := delta.NewFile([]byte("one\ntwo\nlater\n"), 0o644)
	w.files["/w/x"] = w.keep(later)
	p, err := w.reader().plan(newBook(w.entries), Choice{}, w.look())
	if err == nil && p.Problem == "" {
		err = w.do(p)
	}
	if err != nil || !w.files["/w/a"].Same(a) || !w.files["/w/b"].Same(later) || w.files["/w/x"] != nil {
		t.Errorf("%v, %s", err, planned(p, nil))
	}
}

// TestAFileInThePlaceOfADirectory that no entry tells of goes, so that what was in the directory comes back.
func TestAFileInThePlaceOfADirectory(t *testing.T) {
	text := states[1].is
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	e := entryOf(w, 1, "/w/d", nil, text)
	e.Changes = append(e.Changes, entryOf(w, 1, "/w/d/x", text, nil).Changes...)
	w.entries = []ledger.Entry{e}
	w.files = map[string]*delta.Image{"/w": present.Dir(0o755), "/w/d": text}
	p, err := w.reader().plan(newBook(w.entries), Choice{}, w.look())
	if got, want := planned(p, err), "d restored (goes); x restored; d from text to nothing; x from nothing to text"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestOnlyWhatIsNamed is taken back of an entry, of each kind that it has.
func TestOnlyWhatIsNamed(t *testing.T) {
	text, dir := states[1].is, present.Dir(0o755)
	want := map[string]string{"/w/file": "file restored (goes); file from text to nothing",
		"/w/made": "made restored (goes): directory; prune made", "/w/gone": "gone restored: directory; make gone 750",
		"/w/mode": "mode restored: directory; chmod mode 700 to 755"}
	for path, told := range want {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		e := entryOf(w, 1, "/w/file", nil, text)
		e.Dirs, e.Gone = []ledger.Path{"/w/made"}, []ledger.Dir{{Path: "/w/gone", Mode: 0o750}}
		e.Modes = []ledger.DirMode{{Path: "/w/mode", Pre: 0o755, Post: 0o700}}
		w.entries = []ledger.Entry{e}
		w.files = map[string]*delta.Image{"/w": dir, "/w/file": text, "/w/made": dir, "/w/mode": present.Dir(0o700)}
		p, err := w.reader().plan(newBook(w.entries), Choice{Paths: []string{path}}, w.look())
		if got := planned(p, err); got != told {
			t.Errorf("%s: %s\nwant %s", path, got, told)
		}
	}
}
