package changes

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/ledger"
)

var update = flag.Bool("update", false, "write what is found into testdata")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); d != "" {
		t.Errorf("(-%s +got):\n%s", name, d)
	}
}

const plainText = "one\ntwo\nthree\nfour\nfive\n"

// states are what a path may be, in an order that tables are written in.
var states = []struct {
	name string
	is   *delta.Image
}{
	{"nothing", nil}, {"text", delta.NewFile([]byte(plainText), 0o644)},
	{"edited", delta.NewFile([]byte("one\nTWO\nthree\nfour\nfive\n"), 0o644)},
	{"program", delta.NewFile([]byte(plainText), 0o755)}, {"link", delta.NewSymlink("1")},
	{"directory", present.Dir(0o755)}, {"closed", present.Dir(0o700)},
	// Only others make these.
	{"longer", delta.NewFile([]byte(plainText+"six\n"), 0o644)}, {"other", delta.NewFile([]byte("other\n"), 0o600)},
	{"elsewhere", delta.NewSymlink("2")}, {"entered", present.Dir(0o711)},
}

const ours = 7 // of states

func stateName(i *delta.Image) string {
	for _, s := range states {
		if s.is.Same(i) {
			return s.name
		}
	}
	if i.Kind == delta.File {
		return fmt.Sprintf("%o %q", i.Mode, i.Data)
	}
	return fmt.Sprintf("%s %o", i.Kind, i.Mode)
}

// planned is all that a plan says, on one line.
func planned(p *Plan, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var parts []string
	for _, f := range p.Files {
		text := filepath.Base(f.Path) + " " + f.Outcome
		if f.Removed {
			text += " (goes)"
		}
		if f.Note != "" {
			text += ": " + f.Note
		}
		parts = append(parts, text)
	}
	for _, c := range p.Set {
		text := fmt.Sprintf("%s from %s to %s", filepath.Base(c.Path), stateName(c.Pre), stateName(c.Post))
		if c.From != "" || c.To != "" {
			text += fmt.Sprintf(" (moved %s%s)", filepath.Base(c.From), filepath.Base(c.To))
		}
		parts = append(parts, text)
	}
	for _, d := range p.make {
		parts = append(parts, fmt.Sprintf("make %s %o", filepath.Base(string(d.Path)), d.Mode))
	}
	for _, m := range p.chmod {
		parts = append(parts, fmt.Sprintf("chmod %s %o to %o", filepath.Base(string(m.Path)), m.Pre, m.Post))
	}
	for _, d := range p.prune {
		parts = append(parts, "prune "+filepath.Base(d))
	}
	for _, l := range p.Left {
		parts = append(parts, fmt.Sprintf("left %s of %d", filepath.Base(l.Path), l.Entry))
	}
	if p.Problem != "" {
		parts = append(parts, "PROBLEM "+p.Problem)
	}
	return strings.Join(parts, "; ")
}

// entryOf is the entry of a command that made a path go from one state to another.
func entryOf(w *world, seq int64, path string, pre, post *delta.Image) ledger.Entry {
	e := ledger.Entry{Seq: seq, Session: "s", Turn: "t", Call: fmt.Sprintf("c%d", seq), Cause: ledger.CauseCommand, Certainty: ledger.Proven,
		Exact: true}
	file := func(i *delta.Image) *delta.Image {
		if present.IsDir(i) {
			return nil
		}
		return w.keep(i)
	}
	switch {
	case present.IsDir(pre) && present.IsDir(post):
		e.Modes = []ledger.DirMode{{Path: ledger.Path(path), Pre: pre.Mode, Post: post.Mode}}
		return e
	case present.IsDir(pre):
		e.Gone = []ledger.Dir{{Path: ledger.Path(path), Mode: pre.Mode}}
	case present.IsDir(post):
		e.Dirs = []ledger.Path{ledger.Path(path)}
	}
	if file(pre) != nil || file(post) != nil {
		e.Changes = ledger.ChangesOf(delta.Set{{Path: path, Pre: file(pre), Post: file(post)}})
	}
	return e
}

// TestAnUndoOfEachKindOnEachPresent: what a command did to a path is taken back on whatever is there
// now. Where that is what the command left, the path is as it was before.
func TestAnUndoOfEachKindOnEachPresent(t *testing.T) {
	var b strings.Builder
	for _, pre := range states[:ours] {
		for _, post := range states[:ours] {
			if pre.is.Same(post.is) {
				continue
			}
			fmt.Fprintf(&b, "%s, then %s\n", pre.name, post.name)
			for _, now := range states {
				w := newWorld(func(int) int { return 0 }, NoFault, true)
				w.entries = []ledger.Entry{entryOf(w, 1, "/w/x", pre.is, post.is)}
				w.files = map[string]*delta.Image{"/w/x": now.is, "/w": present.Dir(0o755)}
				p, err := w.reader().plan(newBook(w.entries), Choice{}, w.look())
				fmt.Fprintf(&b, "  now %s: %s\n", now.name, planned(p, err))
				if err != nil || !now.is.Same(post.is) {
					continue
				}
				if got := foretold(picture{"/w/x": now.is}, p)["/w/x"]; p.Problem != "" || !got.Same(pre.is) {
					t.Errorf("%s, then %s: the undo gives %s, %q", pre.name, post.name, stateName(got), p.Problem)
				}
			}
		}
	}
	golden(t, "kinds.txt", b.String())
}

// TestAnUndoOfAMoveOnEachPresent of both its ends, with the directory above them gone or not.
func TestAnUndoOfAMoveOnEachPresent(t *testing.T) {
	var b strings.Builder
	text := states[1].is
	for _, names := range [][2]string{{"/w/a", "/w/b"}, {"/w/b", "/w/a"}} {
		from, to := names[0], names[1]
		for _, src := range states {
			for _, dst := range states {
				if from > to && src.is != nil {
					continue
				}
				w := newWorld(func(int) int { return 0 }, NoFault, true)
				w.keep(text)
				set := delta.Set{{Path: from, Pre: text, To: to}, {Path: to, Post: text, From: from}}
				if from > to {
					slices.Reverse(set)
				}
				w.entries = []ledger.Entry{{Seq: 1, Session: "s", Turn: "t", Cause: ledger.CauseCommand, Certainty: ledger.Proven, Exact: true,
					Changes: ledger.ChangesOf(set)}}
				w.files = map[string]*delta.Image{from: src.is, to: dst.is, "/w": present.Dir(0o755)}
				p, err := w.reader().plan(newBook(w.entries), Choice{}, w.look())
				fmt.Fprintf(&b, "%s is %s, %s is %s: %s\n", filepath.Base(from), src.name, filepath.Base(to), dst.name, planned(p, err))
			}
		}
	}
	golden(t, "moves.txt", b.String())
}

// TestWhatStandsInTheWayOfAnUndo: above the path and below it, and what cannot be looked at.
func TestWhatStandsInTheWayOfAnUndo(t *testing.T) {
	var b strings.Builder
	dir, text, link := present.Dir(0o755), states[1].is, states[4].is
	for _, c := range []struct {
		name      string
		pre, post *delta.Image // of /w/d/x
		files     map[string]*delta.Image
		names     map[string][]string
		at        map[string]error
		listing   error
	}{
		{"its directory is gone", text, nil, map[string]*delta.Image{}, nil, nil, nil},
		{"its directory is a file", text, nil, map[string]*delta.Image{"/w/d": text}, nil, nil, nil},
		{"its directory is a link", text, nil, map[string]*delta.Image{"/w/d": link}, nil, nil, nil},
		{"what is above cannot be seen", text, nil, map[string]*delta.Image{}, nil, map[string]error{"/w/d": os.ErrPermission}, nil},
		{"it cannot be seen", text, nil, map[string]*delta.Image{"/w/d": dir}, nil, map[string]error{"/w/d/x": os.ErrPermission}, nil},
		{"it is shut in", text, states[2].is, map[string]*delta.Image{"/w/d": dir}, nil, map[string]error{"/w/d/x": present.ErrShut}, nil},
		{"it is not there", text, nil, map[string]*delta.Image{"/w/d": dir}, nil, map[string]error{"/w/d/x": os.ErrNotExist}, nil},
		{"a made directory is empty", nil, dir, map[string]*delta.Image{"/w/d": dir, "/w/d/x": dir}, nil, nil, nil},
		{"a made directory has a file", nil, dir, map[string]*delta.Image{"/w/d": dir, "/w/d/x": dir},
			map[string][]string{"/w/d/x": {"theirs"}}, nil, nil},
		{"a made directory cannot be listed", nil, dir, map[string]*delta.Image{"/w/d": dir, "/w/d/x": dir}, nil, nil, os.ErrPermission},
		{"a made directory is shut", nil, dir, map[string]*delta.Image{"/w/d": dir, "/w/d/x": dir}, nil, nil, present.ErrShut},
		{"a directory for a file has a file", text, dir, map[string]*delta.Image{"/w/d": dir, "/w/d/x": dir},
			map[string][]string{"/w/d/x": {"theirs"}}, nil, nil},
	} {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		w.entries = []ledger.Entry{entryOf(w, 1, "/w/d/x", c.pre, c.post)}
		look := present.Look{At: func(p string) (*delta.Image, error) { return c.files[p], c.at[p] },
			Names: func(dir string) ([]string, error) { return c.names[dir], c.listing }}
		p, err := w.reader().plan(newBook(w.entries), Choice{}, look)
		fmt.Fprintf(&b, "%s: %s\n", c.name, planned(p, err))
	}
	golden(t, "way.txt", b.String())
}

// TestConflictsAreSettledAsIsAsked in each way.
func TestConflictsAreSettledAsIsAsked(t *testing.T) {
	var b strings.Builder
	now := delta.NewFile([]byte("one\nother\nthree\nfour\nfive\nsix\n"), 0o644)
	for _, way := range []settle.Way{"", settle.Skip, settle.Ours, settle.Theirs, settle.Merge} {
		for _, there := range []*delta.Image{now, states[4].is, nil} {
			for _, lose := range []bool{false, true} {
				w := newWorld(func(int) int { return 0 }, NoFault, true)
				w.entries = []ledger.Entry{entryOf(w, 1, "/w/x", states[1].is, states[2].is), entryOf(w, 2, "/w/y", nil, states[1].is)}
				w.files = map[string]*delta.Image{"/w/x": there, "/w/y": states[1].is, "/w": present.Dir(0o755)}
				if lose {
					w.images = nil
				}
				p, err := w.reader().plan(newBook(w.entries), Choice{Conflicts: way}, w.look())
				name := "nothing"
				if there != nil {
					name = string(there.Kind)
				}
				fmt.Fprintf(&b, "%q, now a %s, lost %v: %s\n", way, name, lose, planned(p, err))
			}
		}
	}
	golden(t, "settled.txt", b.String())
}

// history is a ledger of every cause and certainty: three turns of two sessions, other hands, an undo,
// a redo and an undo between turns.
func history(t *testing.T) (Reader, *world) {
	t.Helper()
	l, err := ledger.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	text := func(s string) *delta.Image { return w.keep(delta.NewFile([]byte(s), 0o644)) }
	begin := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	add := func(e ledger.Entry, set ...delta.Change) {
		t.Helper()
		e.Exact = e.Exact || len(e.Gaps) == 0
		e.Changes, e.Time = ledger.ChangesOf(set), begin.Add(time.Duration(len(w.entries))*time.Minute)
		if err := l.Append(&e); err != nil {
			t.Fatal(err)
		}
		w.entries = append(w.entries, e)
	}
	as := func(session, turn, call, cause, certainty string) ledger.Entry {
		return ledger.Entry{Session: session, Turn: turn, Call: call, Cause: cause, Certainty: certainty, Client: "kerf exec"}
	}
	tool, command := ledger.CauseTool, ledger.CauseCommand
	add(as("s1", "t1", "c1", tool, ""), delta.Change{Path: "/w/a", Post: text("a1\n")}, delta.Change{Path: "/w/b", Post: text("b1\n")})
	add(as("", "", "", ledger.CauseOutside, ""), delta.Change{Path: "/w/a", Pre: text("a1\n"), Post: text("a1\ntheirs\n")})
	add(as("s1", "t1", "c2", command, ledger.Proven), delta.Change{Path: "/w/b", Pre: text("b1\n"), To: "/w/c"},
		delta.Change{Path: "/w/c", Post: text("b1\n"), From: "/w/b"})
	add(as("s12", "t11", "c3", tool, ""), delta.Change{Path: "/w/a", Pre: text("a1\ntheirs\n"), Post: text("a1\ntheirs\na2\n")})
	began := as("s1", "t2", "c4", ledger.CauseBegan, "")
	began.Journal = "j"
	add(began)
	part := as("s1", "t2", "c4", command, ledger.Unproven)
	part.Of = 5
	add(part, delta.Change{Path: "/w/d/e", Post: text("e1\n")})
	part.Certainty, part.Ended, part.Dirs = ledger.Proven, true, []ledger.Path{"/w/d", "/w/empty"}
	part.Gaps = []ledger.Gap{{Path: "/w/gap", Why: "it is too large"}}
	add(part, delta.Change{Path: "/w/d/f", Post: text("f1\n")})
	add(as("s1", "t2", "c5", command, ledger.Unproven), delta.Change{Path: "/w/g", Post: text("g1\n")})
	undo := as("", "", "", ledger.CauseUndo, "")
	undo.Undoes = []int64{4}
	add(undo, delta.Change{Path: "/w/a", Pre: text("a1\ntheirs\na2\n"), Post: text("a1\ntheirs\n")})
	undo.Undoes, undo.Only = []int64{1}, []ledger.Path{"/w/a"}
	undo.Session, undo.Turn = "s12", "t3"
	add(undo, delta.Change{Path: "/w/a", Pre: text("a1\ntheirs\n"), Post: text("theirs\n")})
	redo := as("", "", "", ledger.CauseRedo, "")
	redo.Undoes = []int64{10}
	add(redo, delta.Change{Path: "/w/a", Pre: text("theirs\n"), Post: text("a1\ntheirs\n")})
	lost := as("s12", "t4", "c6", command, ledger.Proven)
	lost.Gaps = []ledger.Gap{{Path: "/w/large", Why: "it was not kept"}}
	add(lost)
	add(as("s12", "t4", "c7", ledger.CauseNone, ""))
	w.entries = nil
	w.files = map[string]*delta.Image{"/w": present.Dir(0o755), "/w/a": text("a1\ntheirs\n"), "/w/c": text("b1\n"), "/w/d": present.Dir(0o755),
		"/w/d/e": text("e1\n"), "/w/d/f": text("f1\n"), "/w/g": text("g1\n"), "/w/empty": present.Dir(0o755)}
	return Reader{Ledger: l, Images: w, Base: "/w"}, w
}

// asked is what the fields of c that are not zero name.
func asked(c any) string {
	all := reflect.ValueOf(c)
	parts := []string{all.Type().Name()}
	for i := range all.NumField() {
		if !all.Field(i).IsZero() {
			parts = append(parts, fmt.Sprintf("%s=%v", all.Type().Field(i).Name, all.Field(i)))
		}
	}
	return strings.Join(parts, " ")
}

// TestWhatEachChoiceMeans of a history: entries, and the whole plan.
func TestWhatEachChoiceMeans(t *testing.T) {
	r, w := history(t)
	var b strings.Builder
	for _, c := range []Choice{
		{}, {Last: 1}, {Last: 2}, {Last: 9}, {ByCall: true}, {Unproven: true}, {Client: "none"}, {Client: "kerf exec"},
		{Session: "s1"}, {Session: "s12"}, {Session: "s"}, {Session: "x"}, {Session: "s1", ByCall: true}, {Session: "s1", Last: 2},
		{Turn: "t1"}, {Turn: "t1", Session: "s1"}, {Turn: "t11"}, {Turn: "t2"}, {Turn: "t2", Unproven: true}, {Turn: "t4"}, {Turn: "x"},
		{Turn: "t"}, {Turn: "t", Session: "s1"}, {Turn: "t1", Session: "s1", Later: true}, {Turn: "t2", Session: "s1", Later: true},
		{Turn: "t11", Session: "s12", Later: true}, {Turn: "x", Later: true}, {Call: "c1"}, {Call: "c2"}, {Call: "c3"}, {Call: "c4"}, {Call: "c5"},
		{Call: "c5", Unproven: true}, {Call: "c6"}, {Call: "c"}, {Call: "x"}, {Session: "s", Call: "c1"},
		{Paths: []string{"/w/a"}}, {Paths: []string{"/w/b"}}, {Paths: []string{"/w/c"}}, {Paths: []string{"/w/d"}}, {Paths: []string{"/w/d/"}},
		{Paths: []string{"/w/d/e"}}, {Paths: []string{"/w/g"}}, {Paths: []string{"/w/gap"}}, {Paths: []string{"/w/large"}}, {Paths: []string{"/w"}},
		{Paths: []string{"/"}}, {Paths: []string{"/w/empty"}}, {Paths: []string{"/w/none"}}, {Paths: []string{"/w/a", "/w/g"}, Last: 9},
		{Entry: 1}, {Entry: 2}, {Entry: 3}, {Entry: 4}, {Entry: 5}, {Entry: 6}, {Entry: 7}, {Entry: 8}, {Entry: 9}, {Entry: 12}, {Entry: 99},
		{Entry: 3, Paths: []string{"/w/b"}}, {Redo: true}, {Redo: true, Session: "s12"}, {Redo: true, Turn: "t11"},
		{Redo: true, Paths: []string{"/w/a"}}, {Redo: true, Paths: []string{"/w/b"}}, {Redo: true, Call: "c3"},
	} {
		p, err := r.Plan(c, w.look())
		fmt.Fprintf(&b, "%s:\n", asked(c))
		if err == nil {
			seqs := func(list []*ledger.Entry) (out []int64) {
				for _, e := range list {
					out = append(out, e.Seq)
				}
				return out
			}
			fmt.Fprintf(&b, "  %s: entries %d, roots %d, only %v, gaps %v\n", p.What, seqs(p.Entries), seqs(p.Roots), p.only, p.Gaps)
		}
		fmt.Fprintf(&b, "  %s\n", planned(p, err))
		if err == nil {
			report, err := r.Report(p)
			fmt.Fprintf(&b, "  whole %v, %d files, %v\n", report.Whole(), len(report.Files), err)
			for _, line := range strings.Split(strings.TrimSpace(report.Diff), "\n") {
				fmt.Fprintf(&b, "  | %s\n", line)
			}
		}
	}
	golden(t, "choices.txt", b.String())
}

// TestWhatAHistoryComesTo: the net of each choice of entries, and the log with each filter.
func TestWhatAHistoryComesTo(t *testing.T) {
	r, _ := history(t)
	var b strings.Builder
	net := func(what string, n Net, err error) {
		fmt.Fprintf(&b, "%s: %v, unproven %v, left %v, mixed %v, lost %v\n", what, n.Set.Paths(), n.Unproven, n.Left, n.Mixed, n.Lost)
		if err != nil {
			fmt.Fprintln(&b, err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(n.Diff)), "\n") {
			fmt.Fprintf(&b, "  | %s\n", line)
		}
	}
	picks := []struct {
		what string
		pick func(e *ledger.Entry) (use, stop bool)
	}{
		{"all", func(*ledger.Entry) (bool, bool) { return true, false }},
		{"s1", func(e *ledger.Entry) (bool, bool) { return e.Session == "s1", false }},
		{"s12", func(e *ledger.Entry) (bool, bool) { return e.Session == "s12", false }},
		{"t1", func(e *ledger.Entry) (bool, bool) { return e.Turn == "t1", false }},
		{"t2 back to 6", func(e *ledger.Entry) (bool, bool) { return e.Turn == "t2", e.Seq < 6 }},
		{"4", func(e *ledger.Entry) (bool, bool) { return e.Seq == 4, false }},
		{"1", func(e *ledger.Entry) (bool, bool) { return e.Seq == 1, false }},
		{"none", func(*ledger.Entry) (bool, bool) { return false, false }},
		{"nothing read", func(*ledger.Entry) (bool, bool) { return true, true }},
	}
	for _, p := range picks {
		for _, unproven := range []bool{false, true} {
			for _, then := range []bool{false, true} {
				for _, paths := range [][]string{nil, {"/w/a", "/w/d"}, {"/w/c", "/w/large", "/w/gap"}} {
					if paths != nil && (then || !unproven) {
						continue
					}
					n, err := r.Net(NetOptions{Pick: p.pick, Unproven: unproven, Then: then, Paths: paths})
					net(fmt.Sprintf("%s, unproven %v, then %v, paths %v", p.what, unproven, then, paths), n, err)
				}
			}
		}
	}
	for _, unproven := range []bool{false, true} {
		n, err := r.LastTurnNet(unproven, nil)
		net(fmt.Sprintf("the last turn, unproven %v", unproven), n, err)
	}
	begin := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for _, since := range []time.Time{{}, begin, begin.Add(3 * time.Minute), begin.Add(time.Hour)} {
		d, err := r.Turn("s1", "t1", since)
		fmt.Fprintf(&b, "turn t1 since %s: %d lines, %v\n", since.Format("15:04"), strings.Count(string(d), "\n"), err)
		list, err := r.Log(Filter{Since: since})
		fmt.Fprintf(&b, "log since %s: %d, %v\n", since.Format("15:04"), len(list), err)
	}
	d, err := r.Session("s12")
	fmt.Fprintf(&b, "session s12: %v\n%s", err, d)
	for _, f := range []Filter{{}, {Limit: 1}, {Limit: 3}, {Limit: 99}, {Session: "s1"}, {Session: "s"}, {Session: "x"}, {Paths: []string{"/w/a"}},
		{Paths: []string{"/w/b"}}, {Paths: []string{"/w/d"}}, {Paths: []string{"/w/empty"}}, {Paths: []string{"/w/none"}}, {Diffs: true, Limit: 5}} {
		list, err := r.Log(f)
		fmt.Fprintf(&b, "%s: %v\n", asked(f), err)
		for _, e := range list {
			fmt.Fprintf(&b, "  %d %s %s undone %v running %v exact %v undoes %v, %d changes, diff of %d lines\n", e.Seq, e.Cause, e.Certainty,
				e.Undone, e.Running, e.Exact, e.Undoes, len(e.Changes), strings.Count(e.Diff, "\n"))
		}
	}
	golden(t, "history.txt", b.String())
	for _, c := range []struct{ base, path, want string }{{"/w", "/w/a", "a"}, {"/w", "/w/d/e", "d/e"}, {"/w", "/v/a", "v/a"}, {"/w", "/", ""},
		{"/w", "/w", "."}, {"/w/d", "/w/a", "w/a"}, {"/w", "/w/..a", "..a"}, {"rel", "/w/a", "w/a"}} {
		if got := Relative(c.base, c.path); got != c.want {
			t.Errorf("%s below %s is %q, want %q", c.path, c.base, got, c.want)
		}
	}
}

// TestLinesBeforeWhatIsLostAreOfNobodyKnown, also where an older entry has made the same lines.
func TestLinesBeforeWhatIsLostAreOfNobodyKnown(t *testing.T) {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	image := func(text string) *delta.Image { return delta.NewFile([]byte(text), 0o644) }
	w.entries = []ledger.Entry{
		{Seq: 1, Cause: ledger.CauseTool, Changes: ledger.ChangesOf(delta.Set{{Path: "/w/x", Post: w.keep(image("one\n"))}})},
		{Seq: 2, Cause: ledger.CauseTool, Changes: ledger.ChangesOf(delta.Set{{Path: "/w/x", Pre: image("lost\n"),
			Post: w.keep(image("one\ntwo\n"))}})},
	}
	got := w.reader().blame(newBook(w.entries), "/w/x", []byte("one\ntwo\nthree\n"))
	if d := cmp.Diff([]Origin{{Unknown: true}, {Unknown: true}, {}}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestALedgerThatCannotBeReadIsAnError for all who ask what it tells.
func TestALedgerThatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	l, err := ledger.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Append(&ledger.Entry{Session: "s", Turn: "t", Call: "c", Cause: ledger.CauseTool}); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) // nobody reads a directory as a file
	})
	if err != nil {
		t.Fatal(err)
	}
	r := Reader{Ledger: l}
	_, plan := r.Plan(Choice{}, present.Nothing())
	_, edits := r.PlanEdits(Choice{Call: "c"}, map[string]diff.Part{"/w/x": {}}, present.Nothing())
	_, log := r.Log(Filter{})
	_, past := r.Past()
	_, session := r.Session("s")
	_, last := r.LastTurnNet(true, nil)
	for who, err := range map[string]error{"Plan": plan, "PlanEdits": edits, "Log": log, "Past": past, "Session": session, "LastTurnNet": last} {
		if err == nil || errors.Is(err, ErrNothing) {
			t.Errorf("%s: %v", who, err)
		}
	}
}

// TestAPathThatWasADirectoryComesWhole: one of the files that a directory held, or holds, in the place of a file is
// taken back with the others and the file.
func TestAPathThatWasADirectoryComesWhole(t *testing.T) {
	text := states[1].is
	for _, made := range []bool{false, true} {
		w := newWorld(func(int) int { return 0 }, NoFault, true)
		w.keep(text)
		e := ledger.Entry{Seq: 1, Session: "s", Turn: "t", Cause: ledger.CauseCommand, Certainty: ledger.Proven, Exact: true}
		set := delta.Set{{Path: "/w/d", Post: text}, {Path: "/w/d/f", Pre: text}, {Path: "/w/d/g", Pre: text}, {Path: "/w/other", Pre: text}}
		w.files = map[string]*delta.Image{"/w": present.Dir(0o755), "/w/d": text}
		if made {
			for i := range set {
				set[i].Pre, set[i].Post = set[i].Post, set[i].Pre
				w.files[set[i].Path] = set[i].Post
			}
			e.Dirs, w.files["/w/d"] = []ledger.Path{"/w/d"}, present.Dir(0o755)
		} else {
			e.Gone = []ledger.Dir{{Path: "/w/d", Mode: 0o755}}
		}
		e.Changes = ledger.ChangesOf(set)
		w.entries = []ledger.Entry{e}
		for _, path := range []string{"/w/d/f", "/w/d"} {
			p, err := w.reader().plan(newBook(w.entries), Choice{Paths: []string{path}}, w.look())
			if err != nil || p.Problem != "" {
				t.Fatal(err, p.Problem)
			}
			if d := cmp.Diff([]string{"/w/d", "/w/d/f", "/w/d/g"}, p.Set.Paths()); d != "" {
				t.Errorf("made %v, %s is asked for (-want +got):\n%s", made, path, d)
			}
		}
	}
}
