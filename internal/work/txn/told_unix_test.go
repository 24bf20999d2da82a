//go:build unix

package txn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/long"
	"kerf/internal/testkit/ordinary"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/room"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn/journal"
	"kerf/internal/work/txn/modes"
	"kerf/internal/work/txn/onefile"
	"kerf/internal/work/txn/turn"
)

// TestAWorkspaceHasAllItsParts, or is not opened.
func TestAWorkspaceHasAllItsParts(t *testing.T) {
	f := newFixture(t)
	all := f.w.Options
	for name, change := range map[string]func(o *Options){
		"no tree": func(o *Options) { o.Tree = nil }, "no store": func(o *Options) { o.Store = nil },
		"no ledger": func(o *Options) { o.Ledger = nil }, "no directory": func(o *Options) { o.Dir = "journal" },
	} {
		o := all
		change(&o)
		if _, err := Open(o); err == nil {
			t.Errorf("%s, and it is open", name)
		}
	}
	if _, err := Open(all); err != nil {
		t.Error(err)
	}
}

// TestWhatCannotBeRecovered keeps a workspace from being opened, but not for those who read, nor where
// there is no room. Nobody commits in it until it is recovered.
func TestWhatCannotBeRecovered(t *testing.T) {
	f, set := scene(t, 1)
	crashAt(f, set, callsOf(t, func() *fixture { f, _ := scene(t, 1); return f }(), nil, CommitOptions{})+25, CommitOptions{})
	if !f.w.journal.Pending() {
		t.Fatal("nothing is left by the crash")
	}
	broken := func(string, string) error { return syscall.EIO }
	o := f.w.Options
	open := func(change func(o *Options)) (*Workspace, error) {
		tr, err := tree.Open(tree.Options{Roots: []string{f.root}, Before: broken})
		if err != nil {
			t.Fatal(err)
		}
		o := o
		o.Tree = tr
		change(&o)
		return Open(o)
	}
	if w, err := open(func(*Options) {}); !errors.Is(err, syscall.EIO) || w != nil {
		t.Errorf("%v", err)
	}
	for name, change := range map[string]func(o *Options){
		"reading": func(o *Options) { o.Reading = true },
		"no room": func(o *Options) { o.Room = room.New(f.path("plain/none")) },
	} {
		w, err := open(change)
		if err != nil || !errors.Is(w.Unrecovered, syscall.EIO) {
			t.Fatalf("%s: %v", name, err)
		}
		w.Room = nil
		before := f.snapshot()
		out, err := w.Commit(context.Background(), delta.Set{{Path: f.path("other"), Post: delta.NewFile(nil, 0o644)}}, CommitOptions{})
		if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "crash") || !out.Exact || !same(before, f.snapshot()) {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	f.w = f.open(false, nil)
	f.commit(f.change("other", "x"))
	if f.w.Unrecovered != nil {
		t.Error(f.w.Unrecovered)
	}
}

// TestSettledTellsWhatWasDone: a crash leaves one transaction at most, which is finished if it has its
// entry, and taken back otherwise; one that nobody changed has no conflicts.
func TestSettledTellsWhatWasDone(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	atEachCrash(t, func() (*fixture, delta.Set) {
		f := newFixture(t)
		f.write("a", "old a", "b", "old b")
		return f, delta.Set{f.change("a", "new a"), f.change("b", "new b"), f.change("d/c", "new c")}
	}, func(c remains) {
		entered, pending := len(c.entries()), c.w.journal.Pending()
		if entered > 0 { // others go on meanwhile
			for range 3 {
				if _, err := c.w.Record(context.Background(), nil, CommitOptions{Cause: ledger.CauseOutside}); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := c.open(false, nil).Settled
		want, what := Report{}, "nothing"
		switch {
		case entered > 0 && pending:
			want, what = Report{Finished: 1}, "finished"
		case pending:
			want, what = Report{TakenBack: 1}, "taken back"
		}
		seen[what]++
		if d := cmp.Diff(want, r); d != "" {
			t.Errorf("%s: (-want +got)\n%s", c.call, d)
		}
	})
	if len(seen) != 3 {
		t.Errorf("seen are %v", seen)
	}
}

// TestWaitingForTheOthers ends with the context, in this process and among processes, and leaves the turn
// to who comes next.
func TestWaitingForTheOthers(t *testing.T) {
	f := newFixture(t)
	set := delta.Set{f.change("a", "x")}
	ended, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	<-ended.Done()
	release := f.w.turn.Here() // somebody commits
	if _, err := f.w.Commit(ended, set, CommitOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another one commits: %v", err)
	}
	release()
	if err := os.MkdirAll(f.w.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	other := flock.New(filepath.Join(f.w.Dir, "lock"))
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := f.w.Commit(ended, set, CommitOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while another process commits: %v", err)
		}
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	f.commit(set...)
	if ok, err := other.TryLock(); !ok || err != nil {
		t.Errorf("nobody commits, and it is locked: %v", err)
	}
	_ = other.Unlock()
	w := &Workspace{Options: f.w.Options, turn: turn.New(f.path("a/none/lock"))} // below a file
	for range 2 {
		if _, err := w.Commit(context.Background(), set, CommitOptions{}); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("without a place for the journal: %v", err)
		}
	}
	if err := f.w.Close(); err != nil {
		t.Error(err)
	}
	f.commit(f.change("a", "after it was closed"))
}

// TestRecordEntersWhatItIsTold, every word of it.
func TestRecordEntersWhatItIsTold(t *testing.T) {
	f := newFixture(t)
	at := func(name string) ledger.Path { return ledger.Path(f.path(name)) }
	o := CommitOptions{
		Origin: Origin{Session: "s", Turn: "t", Call: "c", Tool: "o", Client: "l", Edited: true, Note: "n",
			Gaps: []ledger.Gap{{Path: at("g")}}, Undoes: []int64{4}, Only: []ledger.Path{at("x")}},
		Cause: ledger.CauseCommand, Inexact: true, Certainty: ledger.Unproven, ID: "id", Of: 3, Ended: true,
		Dirs: []ledger.Path{at("d")}, Gone: []ledger.Dir{{Path: at("e"), Mode: 0o750}}, Modes: []ledger.DirMode{{Path: at("m"), Pre: 1, Post: 2}},
	}
	set := delta.Set{f.change("x", "text")}
	if _, err := f.w.Record(context.Background(), set, o); err != nil {
		t.Fatal(err)
	}
	got := f.entries()[0]
	want := ledger.Entry{V: got.V, Seq: 1, Prev: got.Prev, ID: "id", Time: got.Time, Session: "s", Turn: "t", Call: "c", Tool: "o", Client: "l",
		Edited: true, Cause: o.Cause, Certainty: o.Certainty, Of: 3, Ended: true, Note: "n", Undoes: []int64{4}, Only: o.Origin.Only,
		Changes: ledger.ChangesOf(set), Dirs: o.Dirs, Gone: o.Gone, Modes: o.Modes, Gaps: o.Origin.Gaps}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if e, err := f.w.Record(ended, set, o); !errors.Is(err, context.Canceled) || e != nil || len(f.entries()) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	out, err := f.w.Commit(context.Background(), delta.Set{f.change("y", "text")}, CommitOptions{Origin: o.Origin, Certainty: o.Certainty})
	if err != nil || out.Entry.Cause != ledger.CauseTool || !out.Entry.Exact || out.Entry.Session != "s" || out.Entry.Certainty != o.Certainty || out.Entry.ID == "" {
		t.Errorf("%+v, %v", out.Entry, err)
	}
}

// TestAFullDiskIsNoted: the reserve is spent for the entry, which says that contents may be missing beside
// what it says anyway.
func TestAFullDiskIsNoted(t *testing.T) {
	for note, want := range map[string]string{"": ledger.NoteFull, "a note": "a note; " + ledger.NoteFull} {
		f := newFixture(t)
		f.w.Room = room.New(filepath.Join(f.home, "reserved"))
		if err := f.w.Room.Check(); err != nil {
			t.Skip(err)
		}
		reserve := filepath.Join(f.home, "reserved", "reserve")
		if _, err := os.Stat(reserve); err != nil {
			t.Fatal(err)
		}
		f.w.Store.Hook = func(string, string) error { return syscall.ENOSPC }
		full := true
		f.w.Ledger.Hook = func(op, _ string) error {
			if op == "write" && full {
				full = false
				return syscall.ENOSPC
			}
			return nil
		}
		e, err := f.w.Record(context.Background(), delta.Set{f.change("x", strings.Repeat("text\n", 100))}, CommitOptions{Origin: Origin{Note: note}})
		list := f.entries()
		if !errors.Is(err, syscall.ENOSPC) || e == nil || e.Note != want || len(list) != 1 || list[0].Note != want {
			t.Errorf("%+v, %v", e, err)
		}
		if st, err := os.Stat(reserve); err == nil && st.Size() > 0 {
			t.Errorf("the reserve is not spent: %d bytes", st.Size())
		}
	}
}

// TestWordsOfStrays: each is told with what it is, where, why, and what to do.
func TestWordsOfStrays(t *testing.T) {
	o := Outcome{Left: []PathError{{"/w/.kerf-x.tmp", syscall.EPERM}, {"/w/d", fmt.Errorf("%w 0500: %w", modes.ErrMode, syscall.EPERM)}}}
	want := []string{
		"a temporary file of Kerf's own is left: /w/.kerf-x.tmp: operation not permitted; when that is mended run: kerf recover",
		"a directory is left without the mode that it is to have: /w/d: give the directory its mode 0500: operation not permitted; when that is mended run: kerf recover",
	}
	if d := cmp.Diff(want, o.Strays()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if got := (strays{o.Left[0]}).Error(); got != "clean up /w/.kerf-x.tmp: operation not permitted" {
		t.Error(got)
	}
	if got := strays(o.Left); got.Error() != "clean up 2 files and directories, such as /w/.kerf-x.tmp: operation not permitted" || !errors.Is(got, syscall.EPERM) {
		t.Error(got)
	}
	if e := error(o.Left[0]); e.Error() != "commit /w/.kerf-x.tmp: operation not permitted" || !errors.Is(e, syscall.EPERM) {
		t.Error(e)
	}
}

// TestJournalsAreReadAsFarAsTheyGo: what a torn write left is passed over, and so is a record of another
// type; a transaction that begins again is the later one.
func TestJournalsAreReadAsFarAsTheyGo(t *testing.T) {
	j := &journal.File{Path: filepath.Join(t.TempDir(), "journal.jsonl")}
	defer j.Close()
	staged := []onefile.Staged{{Dev: 1, Ino: 2, Mode: 0o640}, {}, {Ino: 9}}
	for _, r := range []any{
		record{Type: "begin", ID: "one", Ops: creations("a")}, record{Type: "x", ID: "one"},
		record{Type: "begin", ID: "one", Ops: creations("a", "b")}, record{Type: "intent", ID: "one", Staged: staged},
		record{Type: "begin", ID: "two", Ops: creations("c")},
	} {
		if err := j.Add(r, false); err != nil {
			t.Fatal(err)
		}
	}
	appendTo(t, j.Path, `{"v":1,"ty`+"\x00\x00\n\x00\x00\n"+`{"v":1,"type":"intent`)
	txs, err := readJournal(j)
	if err != nil || len(txs) != 2 || txs[0].ID != "one" || !txs[0].intent || len(txs[0].Ops) != 2 || txs[1].ID != "two" || txs[1].intent || len(txs[1].Ops) != 1 {
		text, _ := json.Marshal(txs)
		t.Fatalf("%v: %s", err, text)
	}
	if a, b := txs[0].Ops[0], txs[0].Ops[1]; a.staged != staged[0] || a.Post.Mode != 0o640 || b.staged != staged[1] || b.Post.Mode != 0o666 {
		t.Errorf("%+v has mode %o, %+v has %o", a.staged, a.Post.Mode, b.staged, b.Post.Mode)
	}
}

// creations are operations that make files.
func creations(names ...string) (list []*op) {
	file := ledger.VersionOf(delta.NewFile([]byte("x"), 0o666))
	for _, name := range names {
		list = append(list, &op{Kind: opCreate, Path: ledger.Path("/w/" + name), Post: file})
	}
	return list
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// TestJournalsThatNoCommitWrote: a journal that was damaged, that a newer Kerf wrote, or that names what no
// commit does, is kept, and is no reason to remove anything.
func TestJournalsThatNoCommitWrote(t *testing.T) {
	begin := func(change func(*record)) string {
		r := record{V: 1, Type: "begin", ID: "one", Ops: creations("a")}
		r.Ops[0].Tmp = "/w/.kerf-0123456789abcdef.tmp"
		change(&r)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	plain := begin(func(*record) {})
	intent := `{"v":1,"type":"intent","id":"one"}` + "\n"
	for name, text := range map[string]string{
		"a byte of the beginning":      strings.Replace(plain, "{", "[", 1) + intent,
		"a byte of it alone":           strings.Replace(plain, "{", "[", 1),
		"no beginning":                 intent,
		"the beginning of another one": strings.Replace(plain, "one", "two", 1) + intent,
		"another form":                 begin(func(r *record) { r.V = 2 }) + intent,
		"an unknown step":              begin(func(r *record) { r.Ops[0].Kind = "melt" }),
		"no step":                      begin(func(r *record) { r.Ops[0] = nil }),
		"a file of the user's":         begin(func(r *record) { r.Ops[0].Tmp = "/w/precious" }),
		"a temporary file elsewhere":   begin(func(r *record) { r.Ops[0].Tmp = "/w/../.kerf-0123456789abcdef.tmp" }),
		"a path with a way up":         begin(func(r *record) { r.Ops[0].Path = "/w/../a" }),
		"nothing to make":              begin(func(r *record) { r.Ops[0].Post = nil }),
		"nothing to go back to":        begin(func(r *record) { r.Ops[0].Kind = opReplace }),
	} {
		j := &journal.File{Path: filepath.Join(t.TempDir(), "journal.jsonl")}
		appendTo(t, j.Path, text)
		if txs, err := readJournal(j); err == nil || !strings.Contains(err.Error(), j.Path) {
			t.Errorf("%s: %d transactions, %v", name, len(txs), err)
		}
	}
}

// TestJournalsOfOthersAreLeft: a journal that was copied from another workspace changes nothing there.
func TestJournalsOfOthersAreLeft(t *testing.T) {
	begin := func() (*fixture, delta.Set) {
		f := newFixture(t)
		f.write("a", "old a", "b", "old b")
		return f, delta.Set{f.change("a", "new a"), f.change("b", "new b")}
	}
	whole, set := begin()
	calls := callsOf(t, whole, set, CommitOptions{})
	other, set := begin()
	crashAt(other, set, calls/2, CommitOptions{})
	was := other.snapshot()
	text, err := os.ReadFile(filepath.Join(other.home, "journal", "journal.jsonl"))
	if err != nil || len(text) == 0 {
		t.Fatal(err)
	}
	f := newFixture(t)
	if err := os.MkdirAll(f.w.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	appendTo(t, f.w.journal.Path, string(text))
	if done, err := f.w.Recover(context.Background()); err == nil || !f.w.journal.Pending() {
		t.Errorf("it is taken for its own: %+v", done)
	}
	if d := cmp.Diff(was, other.snapshot()); d != "" {
		t.Errorf("the other workspace is changed:\n%s", d)
	}
}

// TestRootsOfAnotherWorkspace: a crash left changes in two roots. Whoever has one of them recovers both. If the other
// one is not there, nothing that it may hold when it comes back lacks an entry.
func TestRootsOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	for _, is := range []string{"there", "gone", "away"} {
		last, unseen := 0, 0
		for k := 1; k <= last || last == 0; k++ {
			f := newFixture(t)
			second := f.root + "2"
			if err := os.Mkdir(second, 0o755); err != nil {
				t.Fatal(err)
			}
			f.write("a", "old a", "../w2/b", "old b", "../w2/r", "old r")
			both := func(before func(op, path string) error) *Workspace {
				tr, err := tree.Open(tree.Options{Roots: []string{f.root, second}, Before: before})
				s, err2 := store.Open(filepath.Join(f.home, "store"))
				if err = errors.Join(err, err2); err != nil {
					t.Fatal(err)
				}
				w, err := Open(Options{Tree: tr, Store: s, Ledger: f.w.Ledger, Dir: f.w.Dir, Before: before})
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			old := [2]map[string]string{f.snapshot(), snapshot(t, second)}
			next := [2]map[string]string{{"a": "-rw-r--r-- new a"}, {"b": "-rw-r--r-- new b", "n": "-rw-r--r-- new n"}}
			text := func(s string) *delta.Image { return delta.NewFile([]byte(s), 0o644) }
			set := delta.Set{f.change("a", "new a"), {Path: second + "/b", Pre: text("old b"), Post: text("new b")},
				{Path: second + "/r", Pre: text("old r")}, {Path: second + "/n", Post: text("new n")}}
			c := &fault{at: k, crash: last > 0, err: errors.New("dead")}
			if last == 0 {
				c.at = 0
			}
			survive(func() { _, _ = both(c.hook).Commit(context.Background(), set, CommitOptions{BestEffort: k%2 == 0}) })
			if last == 0 {
				last, k = len(c.calls), 0
				continue
			}
			switch is {
			case "gone":
				if err := os.RemoveAll(second); err != nil {
					t.Fatal(err)
				}
			case "away":
				if err := os.Rename(second, second+".away"); err != nil {
					t.Fatal(err)
				}
			}
			what := fmt.Sprintf("call %d (%s), the second is %s", k, c.calls[k-1], is)
			w := f.open(false, nil) // has the first root alone
			named, exact := map[string]bool{}, true
			for _, e := range f.entries() {
				exact = exact && e.Exact
				for _, c := range e.Changes {
					named[c.Path] = true
				}
			}
			want := old[0]
			if named[f.path("a")] {
				want = next[0]
			}
			if got := f.snapshot(); w.Unrecovered != nil || !same(got, want) {
				t.Errorf("%s: %v, %v, %v", what, w.Unrecovered, got, want)
			}
			if is == "there" && !exact {
				t.Errorf("%s: %+v", what, f.entries())
			}
			if !exact {
				unseen++
			}
			f.checkClean()
			if is == "gone" {
				continue
			}
			if is == "away" {
				if err := os.Rename(second+".away", second); err != nil {
					t.Fatal(err)
				}
			}
			now := snapshot(t, second)
			for _, name := range []string{"b", "r", "n"} {
				claimed := named[second+"/"+name]
				if now[name] != old[1][name] && !claimed || is == "there" && claimed && now[name] != next[1][name] {
					t.Errorf("%s: %s is %q, claimed %t", what, name, now[name], claimed)
				}
			}
		}
		if is != "there" && unseen == 0 {
			t.Errorf("the second is %s: all is known", is)
		}
	}
}

// TestWhatCannotBeSeenIsNotDecided: after a crash somebody closes a directory. Recovery says that it cannot
// look, and keeps what it knows; when the directory is open again, all is as entered or as before.
func TestWhatCannotBeSeenIsNotDecided(t *testing.T) {
	long.Slow(t)
	if !ordinary.Run(t) {
		return
	}
	for _, name := range []string{"d/a", "d/h1", "d/gone", "d/n"} {
		for _, best := range []bool{false, true} {
			unseen(t, name, best)
		}
	}
}

// unseen has a commit of b and another file die at each of its calls.
func unseen(t *testing.T, name string, best bool) {
	begin := func() (*fixture, delta.Set) {
		f := newFixture(t)
		f.write("d/a", "old a", "b", "old b", "d/h1", "linked", "d/gone", "gone")
		if err := os.Link(f.path("d/h1"), f.path("d/h2")); err != nil {
			t.Skip(err)
		}
		if name == "d/gone" {
			return f, delta.Set{f.change("b", "new b"), f.change(name)}
		}
		return f, delta.Set{f.change("b", "new b"), f.change(name, "other text")}
	}
	o := CommitOptions{BestEffort: best}
	f, set := begin()
	calls, refused := callsOf(t, f, set, o), 0
	for k := 1; k <= calls; k++ {
		f, set := begin()
		what := crashAt(f, set, k, o)
		entered := len(f.entries())
		if err := os.Chmod(f.path("d"), 0); err != nil {
			t.Fatal(err)
		}
		w, err := openAt(f.root, f.home, true, nil)
		if err != nil {
			refused++
		} else {
			_, _ = w.Close(), w.Ledger.Close()
		}
		if n := len(f.entries()); err != nil && n != entered {
			t.Errorf("%s, %s: %v, and %d entries", name, what, err, n-entered)
		}
		if err := os.Chmod(f.path("d"), 0o755); err != nil {
			t.Fatal(err)
		}
		f.w = f.open(false, nil)
		want := map[string]string{"b": "old b", "d/a": "old a", "d/h1": "linked", "d/h2": "linked", "d/gone": "gone", "d/n": ""}
		for _, e := range f.entries() {
			for _, c := range e.Changes {
				want[strings.TrimPrefix(c.Path, f.root+"/")] = ""
				if c.Post != nil {
					want[strings.TrimPrefix(c.Path, f.root+"/")] = f.stored(c.Post.Image())
				}
			}
		}
		for file, text := range want {
			if got := strings.TrimPrefix(f.snapshot()[file], "-rw-r--r-- "); got != text {
				t.Errorf("%s, %s: %s holds %q, not %q; recovered at first: %v", name, what, file, got, text, err)
			}
		}
		f.checkClean()
	}
	if refused < 3 {
		t.Errorf("%s, best effort %t: recovery could look after all but %d crashes", name, best, refused)
	}
}

// TestWhatRecoveryEntersIsFlushed if commits are, and told if that fails.
func TestWhatRecoveryEntersIsFlushed(t *testing.T) {
	for _, durable := range []bool{false, true} {
		for _, fails := range []error{nil, syscall.EIO} {
			f := newFixture(t)
			f.write("a", "old", "b", "old")
			o := CommitOptions{BestEffort: true}
			begun := false
			survive(func() {
				_, _ = f.open(false, func(op, path string) error {
					if begun = begun || op == "exchange"; begun && filepath.Base(path) == "ledger.jsonl" {
						panic(crashed{})
					}
					return nil
				}).Commit(context.Background(), delta.Set{f.change("a", "new"), f.change("b", "new")}, o)
			})
			flushed := 0
			w, err := openAt(f.root, f.home, durable, func(op, path string) error {
				if op == "sync" && filepath.Base(path) == "ledger.jsonl" {
					flushed++
					return fails
				}
				return nil
			})
			if err == nil {
				_, _ = w.Close(), w.Ledger.Close()
			}
			if (flushed > 0) != durable || (err != nil) != (durable && fails != nil) || err != nil && !errors.Is(err, fails) {
				t.Errorf("durable %t: flushed %d times, %v", durable, flushed, err)
			}
			if list := f.entries(); len(list) != 1 || len(list[0].Changes) != 2 {
				t.Errorf("durable %t: %+v", durable, list)
			}
		}
	}
}
