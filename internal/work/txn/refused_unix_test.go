//go:build unix

package txn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/ordinary"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/room"
	"kerf/internal/work/tree"
)

// TestACommitThatIsCalledOff before names are traded changes nothing and leaves nothing; from then on it
// is not called off.
func TestACommitThatIsCalledOff(t *testing.T) {
	t.Parallel()
	old, next, calls := afterwards(t, 1, false, nil, CommitOptions{})
	for k := 1; k <= calls; k++ {
		f, set := scene(t, 1)
		ctx, cancel := context.WithCancel(context.Background())
		c := &fault{}
		c.wrap = func(string, string) error {
			if c.n == k {
				cancel()
			}
			return nil
		}
		out, err := f.open(false, c.hook).Commit(ctx, set, CommitOptions{})
		cancel()
		intent := 1 + slices.Index(c.calls[2:], "write journal.jsonl") + 2 // behind the creation and the beginning
		what, want := fmt.Sprintf("called off before call %d (%s)", k, c.calls[k-1]), next
		if k <= intent {
			want = old
		}
		if errors.Is(err, context.Canceled) != (k <= intent) || (err == nil) != (k > intent) || !same(f.snapshot(), want) {
			t.Fatalf("%s: the intent is call %d, %v\n%s", what, intent, err, cmp.Diff(want, f.snapshot()))
		}
		if err != nil && (len(out.Committed) > 0 || out.Entry != nil || !out.Exact) {
			t.Errorf("%s: %+v", what, out)
		}
		f.checkClean()
	}
}

// TestWhatCannotBeIsSeenFirst: what cannot be done is refused before anything is staged or announced, and
// where each file is committed for itself the others are.
func TestWhatCannotBeIsSeenFirst(t *testing.T) {
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	outside := func(err error) bool { return errors.As(err, new(*tree.OutsideError)) }
	for name, c := range map[string]struct {
		path   string // where a file is to be made, or a directory
		dir    bool
		prune  string
		reason func(error) bool
	}{
		"below a file":               {"file/in", false, "", is(syscall.ENOTDIR)},
		"below a FIFO":               {"fifo/in", false, "", func(err error) bool { return errors.As(err, new(*tree.SpecialError)) }},
		"deep below a file":          {"file/in/deep", false, "", is(syscall.ENOTDIR)},
		"over a directory":           {"empty", false, "", is(tree.ErrDirectory)},
		"over one that stays":        {"empty", false, "d/none", is(tree.ErrDirectory)},
		"over one with more in it":   {"d", false, "", is(tree.ErrDirectory)},
		"the same file":              {"link", false, "", is(ErrBadSet)},
		"outside":                    {"../x", false, "", outside},
		"a directory over a file":    {"file", true, "", is(syscall.ENOTDIR)},
		"a directory below a file":   {"file/d", true, "", is(syscall.ENOTDIR)},
		"a directory outside":        {"../d", true, "", outside},
		"a directory through a link": {"out/d", true, "", outside},
	} {
		for _, best := range []bool{false, true} {
			f := newFixture(t)
			f.write("a", "old", "file", "x", "d/x", "x")
			if err := os.Mkdir(f.path("empty"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(f.path("fifo"), 0o600); err != nil {
				t.Fatal(err)
			}
			f.link("a", "link")
			f.link(f.outside(), "out")
			set, o := delta.Set{f.change("a", "new")}, CommitOptions{BestEffort: best}
			switch {
			case c.dir:
				o.Make = []ledger.Dir{{Path: ledger.Path(f.root + "/" + c.path), Mode: 0o755}}
			case c.path == "link":
				set = append(set, delta.Change{Path: f.path("link"), Pre: set[0].Pre, Post: delta.NewFile([]byte("other"), 0o644)})
			default:
				set = append(set, delta.Change{Path: f.root + "/" + c.path, Post: delta.NewFile([]byte("made"), 0o644)})
			}
			if c.prune != "" {
				o.Prune = []string{f.path(c.prune)}
			}
			want := f.snapshot()
			count := &fault{}
			out, err := f.open(false, count.hook).Commit(context.Background(), set, o)
			if len(out.Failed) != 1 || !c.reason(out.Failed[0]) || (err == nil) != best {
				t.Errorf("%s, best effort %t: %+v, %v", name, best, out.Failed, err)
			}
			if best {
				want["a"] = "-rw-r--r-- new"
			} else if len(count.calls) > 0 || len(out.Committed) > 0 || !out.Exact {
				t.Errorf("%s: %+v, after %v", name, out, count.calls)
			}
			if d := cmp.Diff(want, f.snapshot()); d != "" {
				t.Errorf("%s, best effort %t: (-want +got)\n%s", name, best, d)
			}
			f.checkClean()
		}
	}
}

// TestWithoutRoomNothingBegins, and nothing is tried.
func TestWithoutRoomNothingBegins(t *testing.T) {
	f := newFixture(t)
	f.write("file", "x")
	count := &fault{}
	w := f.open(false, count.hook)
	w.Room = room.New(f.path("file/none"))
	out, err := w.Commit(context.Background(), delta.Set{f.change("a", "new")}, CommitOptions{})
	if full := new(room.Error); !errors.As(err, &full) || !out.Exact || len(count.calls) > 0 || len(out.Committed) > 0 {
		t.Errorf("%+v, %v, after %v", out, err, count.calls)
	}
}

// TestADirectoryGivesItsNameToAFile where the commit removes it, empty, and keeps it where more is in it.
func TestADirectoryGivesItsNameToAFile(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		prune []string
		ok    bool
	}{
		"empty":              {nil, []string{"d"}, true},
		"empty, with others": {nil, []string{"d/in", "d"}, true},
		"one is left in it":  {[]string{"d/in/x", "x"}, []string{"d/in", "d"}, false},
		"a root":             {nil, []string{"", "d"}, true}, // which stays
	} {
		f := newFixture(t)
		if err := os.MkdirAll(f.path("d/in"), 0o755); err != nil {
			t.Fatal(err)
		}
		if len(c.prune) == 1 || c.prune[0] == "" {
			if err := os.Remove(f.path("d/in")); err != nil {
				t.Fatal(err)
			}
		}
		f.write(c.files...)
		var o CommitOptions
		for _, dir := range c.prune {
			o.Prune = append(o.Prune, f.path(dir))
		}
		want := f.snapshot()
		if c.ok {
			want = map[string]string{"d": "-rw-r--r-- a file"}
		}
		set := delta.Set{{Path: f.path("d"), Post: delta.NewFile([]byte("a file"), 0o644)}}
		if _, err := f.open(false, nil).Commit(context.Background(), set, o); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, f.snapshot()); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
		f.checkClean()
	}
}

// TestAFileTakesTheNameOfADirectory whose files the commit removes, however deep they lie, but for others.
func TestAFileTakesTheNameOfADirectory(t *testing.T) {
	for name, c := range map[string]struct{ removed, others []string }{
		"in it": {[]string{"d/x"}, nil}, "deep in it": {[]string{"d/in/deep/x"}, nil}, "both": {[]string{"d/in/deep/x", "d/y"}, nil},
		"one is left deep in it": {[]string{"d/x", "d/in/y"}, []string{"d/in/other"}}, "beside": {[]string{"d/in/x"}, []string{"d/other"}},
	} {
		f := newFixture(t)
		set := delta.Set{{Path: f.path("d"), Post: delta.NewFile([]byte("a file"), 0o644)}}
		for _, file := range c.removed {
			f.write(file, "x")
			set = append(set, f.change(file))
		}
		for _, file := range c.others {
			f.write(file, "theirs")
		}
		want := map[string]string{"d": "-rw-r--r-- a file"}
		if c.others != nil {
			want = f.snapshot()
		}
		if _, err := f.open(false, nil).Commit(context.Background(), set, CommitOptions{}); (err == nil) != (c.others == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, f.snapshot()); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
		f.checkClean()
	}
}

// TestAnUndoIsEntered also where the files are as wanted already; if that cannot be entered, it is told.
func TestAnUndoIsEntered(t *testing.T) {
	f := newFixture(t)
	f.write("a", "as wanted")
	undo := func(of ...int64) CommitOptions {
		return CommitOptions{Cause: ledger.CauseUndo, Origin: Origin{Undoes: of}}
	}
	for _, of := range [][]int64{nil, {7}, {7, 8}} {
		out, err := f.w.Commit(context.Background(), delta.Set{f.change("a", "as wanted")}, undo(of...))
		list := f.entries()
		if err != nil || (out.Entry != nil) != (len(of) > 0) || len(out.Committed) > 0 {
			t.Errorf("undo of %v: %+v, %v", of, out, err)
		}
		if n := len(list); len(of) > 0 && (n == 0 || !slices.Equal(list[n-1].Undoes, of) || list[n-1].Cause != ledger.CauseUndo || !list[n-1].Exact) {
			t.Errorf("undo of %v: %+v", of, list)
		}
	}
	if n := len(f.entries()); n != 2 {
		t.Errorf("%d entries", n)
	}
	f.w.Ledger.Hook = func(op, _ string) error { return syscall.EIO }
	if _, err := f.w.Commit(context.Background(), nil, undo(7)); !errors.Is(err, syscall.EIO) {
		t.Errorf("the ledger fails: %v", err)
	}
}

// TestWhoeverWroteOnMakesItInexact: a file fails, and meanwhile somebody wrote on in another that was
// changed before. That one stays, is entered, and it is said that it holds something else.
func TestWhoeverWroteOnMakesItInexact(t *testing.T) {
	f := newFixture(t)
	f.write("a", "old a", "b", "old b")
	set := delta.Set{f.change("a", "new a"), f.change("b", "new b")}
	w := f.open(false, func(op, path string) error {
		if op != "exchange" || path != f.path("b") {
			return nil
		}
		return errors.Join(os.WriteFile(f.path("a"), []byte("new a, and theirs"), 0o644), syscall.EIO)
	})
	out, err := w.Commit(context.Background(), set, CommitOptions{})
	if !errors.Is(err, syscall.EIO) || out.Exact || out.Entry == nil || out.Entry.Exact || !cmp.Equal(set[:1], out.Committed) {
		t.Errorf("%+v, %v", out, err)
	}
	if d := cmp.Diff(map[string]string{"a": "-rw-r--r-- new a, and theirs", "b": "-rw-r--r-- old b"}, f.snapshot()); d != "" {
		t.Error(d)
	}
	f.checkClean()
}

// TestWhatIsSavedBeforeIsNotExchanged: nobody sees another file under the name for a moment.
func TestWhatIsSavedBeforeIsNotExchanged(t *testing.T) {
	f := newFixture(t)
	f.write("a", "old")
	announced, exchanged := 0, 0
	w := f.open(false, func(op, path string) error {
		switch {
		case op == "write" && filepath.Base(path) == "journal.jsonl":
			if announced++; announced == 2 {
				return os.WriteFile(f.path("a"), []byte("theirs"), 0o644)
			}
		case op == "exchange":
			exchanged++
		}
		return nil
	})
	_, err := w.Commit(context.Background(), delta.Set{f.change("a", "new")}, CommitOptions{})
	want := &MismatchError{f.path("a"), delta.NewFile([]byte("old"), 0o644).Version, delta.NewFile([]byte("theirs"), 0o644).Version}
	var mm *MismatchError
	if !errors.As(err, &mm) || !cmp.Equal(want, mm) || exchanged != 0 || announced != 2 {
		t.Errorf("%+v; announced %d times, exchanged %d", err, announced, exchanged)
	}
}

// TestAFlushOfTheLedgerThatFails is told, with what has landed.
func TestAFlushOfTheLedgerThatFails(t *testing.T) {
	for _, durable := range []bool{false, true} {
		f := newFixture(t)
		w := f.open(durable, func(op, path string) error {
			if strings.HasPrefix(op, "sync") && filepath.Base(path) == "ledger.jsonl" {
				return syscall.EIO
			}
			return nil
		})
		set := delta.Set{f.change("a", "new")}
		out, err := w.Commit(context.Background(), set, CommitOptions{})
		if errors.Is(err, syscall.EIO) != durable || out.Entry == nil || !cmp.Equal(set, out.Committed) || f.snapshot()["a"] != "-rw-r--r-- new" {
			t.Errorf("durable %t: %+v, %v", durable, out, err)
		}
		e, err := w.Record(context.Background(), set, CommitOptions{Cause: ledger.CauseOutside})
		if errors.Is(err, syscall.EIO) != durable || e == nil || len(f.entries()) != 2 {
			t.Errorf("durable %t: %+v, %v", durable, e, err)
		}
		f.checkClean()
	}
}

// TestNothingIsFlushedUnlessAsked: who does not ask for it waits for no directory of theirs, nor for the
// journal and the ledger.
func TestNothingIsFlushedUnlessAsked(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	f, set := scene(t, 6)
	if err := os.Mkdir(f.path("shut"), 0o500); err != nil {
		t.Fatal(err)
	}
	set = append(set, f.change("shut/in", "i"))
	o := CommitOptions{Chmod: []ledger.DirMode{{Path: ledger.Path(f.path("shut")), Pre: 0o500, Post: 0o755}},
		Make: []ledger.Dir{{Path: ledger.Path(f.path("made")), Mode: 0o500}}}
	for _, durable := range []bool{false, true} {
		var flushes []string
		w := f.open(durable, func(op, path string) error {
			if op == "sync" && strings.HasSuffix(path, ".jsonl") || strings.HasPrefix(op, "sync") && strings.HasPrefix(path, f.root) && op != "sync" {
				flushes = append(flushes, op+" "+path)
			}
			return nil
		})
		if _, err := w.Commit(context.Background(), set, o); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Record(context.Background(), set, CommitOptions{}); err != nil {
			t.Fatal(err)
		}
		if (len(flushes) > 0) != durable {
			t.Errorf("durable %t: %q", durable, flushes)
		}
		set, o = delta.Set{f.change("shut/in", "other")}, CommitOptions{}
	}
}

// TestNothingStaysOpen: whichever way a commit in a closed directory ends that cannot be taken back,
// the directory is closed. When the disk is well again all is as before, or as the ledger tells.
func TestNothingStaysOpen(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	for name, broken := range map[string]struct {
		op, path string // fails from its second call on
		ledger   bool   // fails as well
	}{
		"what landed is entered":         {"exchange", "", false},
		"what landed cannot be entered":  {"exchange", "", true},
		"half of a file is written":      {"write", "h1", false},
		"half of it, and no ledger":      {"write", "h1", true},
		"only the ledger":                {"none", "", true},
		"what was staged stays":          {"unlink", "", false},
		"what was staged stays, as well": {"unlink", "", true},
	} {
		f := newFixture(t)
		f.write("c/x", "old x", "c/y", "old y", "c/h1", "a text that is linked")
		if err := errors.Join(os.Link(f.path("c/h1"), f.path("c/h2")), os.Chmod(f.path("c"), 0o500)); err != nil {
			t.Skip(err)
		}
		set := delta.Set{f.change("c/x", "new x"), f.change("c/y", "new y"), f.change("c/h1", "another text"), f.change("c/h2", "another text")}
		old, n := f.snapshot(), 0
		w := f.open(false, func(op, path string) error {
			switch {
			case filepath.Base(path) == "ledger.jsonl" && broken.ledger:
				return syscall.EROFS
			case op == broken.op && strings.HasPrefix(path, f.path("c")) && strings.HasSuffix(path, broken.path):
				if n++; n > 1 {
					return syscall.EIO
				}
			}
			return nil
		})
		out, err := w.Commit(context.Background(), set, undoes)
		if st, statErr := os.Stat(f.path("c")); statErr != nil || st.Mode().Perm() != 0o500 || err == nil && len(out.Left) == 0 {
			t.Errorf("%s: the directory has mode %v; %v, %v", name, st.Mode(), err, statErr)
		}
		f.w = f.open(false, nil)
		want, list := old, f.entries()
		for _, e := range list {
			for _, c := range e.Changes {
				want[strings.TrimPrefix(c.Path, f.root+"/")] = "-rw-r--r-- " + f.stored(c.Post.Image())
			}
		}
		if d := cmp.Diff(want, f.snapshot()); d != "" {
			t.Errorf("%s: %v, %v\n(-want +got)\n%s", name, out, err, d)
		}
		f.checkClean()
	}
}

// stored is the text of an image.
func (f *fixture) stored(i *delta.Image) string {
	f.t.Helper()
	b, err := f.w.Store.Get(i.Sum)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

// TestTasksAreDoneOnce, all of them unless one fails, whose error is told.
func TestTasksAreDoneOnce(t *testing.T) {
	f := newFixture(t)
	for _, n := range []int{0, 1, 2, 9, 100} {
		for _, failing := range []int{-1, 0, n - 1} {
			done := make([]atomic.Int64, n)
			var tasks []func() error
			for i := range n {
				tasks = append(tasks, func() error {
					if done[i].Add(1); i == failing {
						return syscall.EIO
					}
					return nil
				})
			}
			err := f.w.together(tasks, flushesAtOnce)
			if errors.Is(err, syscall.EIO) != (n > 0 && failing >= 0) || err != nil && !errors.Is(err, syscall.EIO) {
				t.Errorf("%d tasks, of which %d fails: %v", n, failing, err)
			}
			for i := range n {
				if times := done[i].Load(); times > 1 || times == 0 && err == nil {
					t.Errorf("%d tasks: task %d is done %d times", n, i, times)
				}
			}
		}
	}
}
