//go:build unix

package txn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/long"
	"kerf/internal/text/delta"
)

// fault counts the calls that change the disk, and stops at the at-th one.
type fault struct {
	mu     sync.Mutex
	n      int
	at     int // 0 for never
	err    error
	sticky bool
	crash  bool
	wrap   func(op, path string) error // asked when nothing else happens
	calls  []string
}

// crashed is what a simulated crash panics with.
type crashed struct{}

func (f *fault) hook(op, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	f.calls = append(f.calls, op+" "+filepath.Base(path))
	switch {
	case f.at == 0 || f.n < f.at:
	case f.n == f.at && f.crash:
		panic(crashed{})
	case f.n == f.at || f.sticky || f.crash: // the dead change nothing
		return f.err
	}
	if f.wrap != nil {
		return f.wrap(op, path)
	}
	return nil
}

// survive runs do and reports whether it crashed.
func survive(do func()) (dead bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(crashed); !ok {
				panic(r)
			}
			dead = true
		}
	}()
	do()
	return false
}

// scene is a workspace and a set with every kind of operation in it.
func scene(t *testing.T, files int) (*fixture, delta.Set) {
	f := newFixture(t)
	return f, f.scene(files)
}

// largeScene is scene with contents that are not loaded, because they are larger than the tree has
// whole; the store has those that are to come, as it has for an undo.
func largeScene(t *testing.T) (*fixture, delta.Set) {
	f := newFixtureIn(t, largeRoot)
	set := f.scene(1)
	for i, c := range set {
		for _, img := range []**delta.Image{&set[i].Pre, &set[i].Post} {
			if *img == nil || (*img).Kind != delta.File {
				continue
			}
			if img == &set[i].Post && (*img).Loaded {
				if _, err := f.w.Store.PutSync((*img).Data); err != nil {
					t.Fatal(err)
				}
			}
			*img = &delta.Image{Version: (*img).Version}
		}
		if c.From != "" {
			data, err := os.ReadFile(c.From)
			if err == nil {
				_, err = f.w.Store.PutSync(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return f, set
}

// scene puts files there, and returns a set with every kind of operation in it.
func (f *fixture) scene(files int) delta.Set {
	t := f.t
	var set delta.Set
	f.write("blocked/x", "in the way", "plain", "a file", "h1", "some text that is linked")
	if err := os.Link(f.path("h1"), f.path("h2")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("plain", f.path("link")); err != nil {
		t.Skip(err)
	}
	for i := range files {
		f.write(fmt.Sprintf("up%d*", i), fmt.Sprint("old ", i), fmt.Sprintf("del%d", i), "deleted", fmt.Sprintf("from%d", i),
			fmt.Sprint("moved ", i))
		set = append(set, f.change(fmt.Sprintf("up%d", i), fmt.Sprint("new ", i)))
		set = append(set, f.change(fmt.Sprintf("del%d", i)))
		set = append(set, f.change(fmt.Sprintf("dir%d/new/file", i), "fresh"))
		set = append(set, f.move(fmt.Sprintf("from%d", i), fmt.Sprintf("to%d/moved", i))...)
	}
	set = append(set,
		f.change("h1", "other text that is linked, and longer"),
		f.change("blocked/x"),
		delta.Change{Path: f.path("blocked"), Post: delta.NewFile([]byte("a file now"), 0o644)},
		delta.Change{Path: f.path("link"), Pre: f.image("link"), Post: delta.NewSymlink("elsewhere")},
		delta.Change{Path: f.path("linked"), Post: delta.NewSymlink("plain")},
	)
	return set
}

// afterwards commits the set in a twin of the scene and returns what that gives.
func afterwards(t *testing.T, files int, durable bool, wrap func(op, path string) error, o CommitOptions) (old,
	next map[string]string, calls int) {
	f, set := scene(t, files)
	old = f.snapshot()
	count := &fault{wrap: wrap}
	w := f.open(durable, count.hook)
	if _, err := w.Commit(context.Background(), set, o); err != nil {
		t.Fatal(err)
	}
	f.checkClean()
	return old, f.snapshot(), count.n
}

func same(a, b map[string]string) bool { return cmp.Equal(a, b) }

// checkWhole recovers and fails unless the tree is wholly old or wholly new, and the
// ledger agrees.
func checkWhole(t *testing.T, f *fixture, old, next map[string]string, what string) {
	t.Helper()
	w := f.open(false, nil) // recovers
	got := f.snapshot()
	entries, err := w.Ledger.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case same(got, old) && len(entries) == 0:
	case same(got, next) && len(entries) == 1 && entries[0].Exact:
	default:
		t.Fatalf("%s: neither old nor new; %d entries\n-old +got\n%s\n-new +got\n%s", what, len(entries), cmp.Diff(old, got),
			cmp.Diff(next, got))
	}
	f.checkClean()
}

// The crash tests do without flushing, which is slow and no point of its own: nothing
// changes in the tree between a call and the flush after it.

// ways are the systems to try: with an exchange of names, and without.
var ways = map[string]func(op, path string) error{
	"exchange": nil,
	"no exchange": func(op, path string) error {
		if op == "exchange" {
			return errors.ErrUnsupported
		}
		return nil
	},
}

func TestSEC_E1_CrashAtEveryCall(t *testing.T) {
	for way, wrap := range ways {
		t.Run(way, func(t *testing.T) { crashEverywhere(t, 1, 1, wrap) })
	}
}

func TestSEC_E1_CrashWithLargeContents(t *testing.T) {
	long.Slow(t)
	atEachCrash(t, func() (*fixture, delta.Set) { return largeScene(t) }, func(c remains) {
		checkWhole(t, c.fixture, c.old, c.next, c.call)
	})
}

// TestSEC_E1_CrashOfLargeCommit has more than 50 files, and so tries some calls only
// unless there is time.
func TestSEC_E1_CrashOfLargeCommit(t *testing.T) {
	step := 11
	if os.Getenv("KERF_LONG") != "" {
		step = 1
	}
	crashEverywhere(t, 10, step, nil)
}

func crashEverywhere(t *testing.T, files, step int, wrap func(op, path string) error) {
	old, next, calls := afterwards(t, files, false, wrap, CommitOptions{})
	if same(old, next) || calls < 40 {
		t.Fatalf("%d calls", calls)
	}
	for k := 1; k <= calls; k += step {
		f, set := scene(t, files)
		c := &fault{at: k, crash: true, err: errors.New("dead"), wrap: wrap}
		dead := survive(func() {
			w, err := openAt(f.root, f.home, false, c.hook)
			if err == nil {
				_, _ = w.Commit(context.Background(), set, CommitOptions{})
			}
		})
		if !dead {
			t.Fatalf("call %d did not happen", k)
		}
		checkWhole(t, f, old, next, fmt.Sprintf("call %d (%s)", k, c.calls[k-1]))
	}
	t.Logf("%d calls", calls)
}

func TestSEC_E1_CrashAtEveryCallOfOneFile(t *testing.T) {
	for name, make := range map[string]func(f *fixture) delta.Set{
		"update": func(f *fixture) delta.Set { return delta.Set{f.change("a", "new")} },
		"create": func(f *fixture) delta.Set { return delta.Set{f.change("new", "new")} },
		"delete": func(f *fixture) delta.Set { return delta.Set{f.change("a")} },
		"inside": func(f *fixture) delta.Set { return delta.Set{f.change("h1", "longer than it was before")} },
	} {
		t.Run(name, func(t *testing.T) {
			begin := func() (*fixture, delta.Set) {
				f := newFixture(t)
				f.write("a*", "old", "h1", "linked")
				if err := os.Link(f.path("h1"), f.path("h2")); err != nil {
					t.Skip(err)
				}
				return f, make(f)
			}
			atEachCrash(t, begin, func(c remains) { checkWhole(t, c.fixture, c.old, c.next, c.call) })
		})
	}
}

// remains are what a commit leaves that died at one of its calls.
type remains struct {
	*fixture
	set       delta.Set
	old, next map[string]string // of a commit that does not die
	call      string
}

// atEachCrash has a commit die at each of its calls, in a scene of its own each time, and calls
// then with what is left.
func atEachCrash(t *testing.T, begin func() (*fixture, delta.Set), then func(remains)) {
	t.Helper()
	f, set := begin()
	old := f.snapshot()
	count := &fault{}
	if _, err := f.open(false, count.hook).Commit(context.Background(), set, CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	next := f.snapshot()
	for k := 1; k <= count.n; k++ {
		f, set := begin()
		c := &fault{at: k, crash: true, err: errors.New("dead")}
		survive(func() {
			if w, err := openAt(f.root, f.home, false, c.hook); err == nil {
				_, _ = w.Commit(context.Background(), set, CommitOptions{})
			}
		})
		then(remains{f, set, old, next, fmt.Sprintf("call %d (%s)", k, c.calls[k-1])})
	}
}

// TestSEC_E2_CrashDuringRecovery crashes a commit at its calls, then its recovery at
// every call, then recovers.
func TestSEC_E2_CrashDuringRecovery(t *testing.T) {
	for way, wrap := range ways {
		t.Run(way, func(t *testing.T) { crashRecovery(t, wrap) })
	}
}

func crashRecovery(t *testing.T, wrap func(op, path string) error) {
	old, next, calls := afterwards(t, 1, false, wrap, CommitOptions{})
	rounds := 0
	for k := 1; k <= calls; k += 12 { // not every one: the square of the calls takes long
		for r := 1; ; r++ {
			f, set := scene(t, 1)
			c := &fault{at: k, crash: true, err: errors.New("dead"), wrap: wrap}
			survive(func() {
				if w, err := openAt(f.root, f.home, false, c.hook); err == nil {
					_, _ = w.Commit(context.Background(), set, CommitOptions{})
				}
			})
			again := &fault{at: r, crash: true, err: errors.New("dead"), wrap: wrap}
			dead := survive(func() { _, _ = openAt(f.root, f.home, false, again.hook) })
			what := fmt.Sprintf("call %d (%s), recovery call %d", k, c.calls[k-1], r)
			checkWhole(t, f, old, next, what)
			if !dead {
				break
			}
			rounds++
		}
	}
	t.Logf("%d crashes of recovery", rounds)
}

// TestSEC_E3_FailureAtEveryCall fails every call once, and from then on.
func TestSEC_E3_FailureAtEveryCall(t *testing.T) {
	t.Parallel()
	old, next, calls := afterwards(t, 1, true, nil, CommitOptions{})
	reasons := []error{syscall.ENOSPC, syscall.EIO, syscall.EMFILE, syscall.EROFS, syscall.EDQUOT}
	for k := 1; k <= calls; k++ {
		for _, sticky := range []bool{false, true} {
			reason := reasons[k%len(reasons)]
			f, set := scene(t, 1)
			c := &fault{at: k, err: reason, sticky: sticky}
			w, err := openAt(f.root, f.home, true, c.hook)
			if err != nil {
				t.Fatal(err)
			}
			out, err := w.Commit(context.Background(), set, CommitOptions{})
			what := fmt.Sprintf("call %d (%s) sticky=%v", k, c.calls[k-1], sticky)
			now := f.snapshot()
			if err == nil && (!sameButStrays(now, next) || len(out.Committed) != len(set)+1) { // h2 is h1
				t.Fatalf("%s: success without the change\n%s", what, cmp.Diff(next, now))
			}
			if err != nil && !errors.Is(err, reason) {
				t.Fatalf("%s: error hides the reason: %v", what, err)
			}
			if err != nil && len(out.Committed) == 0 && !sticky && !same(now, old) {
				t.Fatalf("%s: not rolled back (%v)\n%s", what, err, cmp.Diff(old, now))
			}
			checkWhole(t, f, old, next, what)
		}
	}
}

func sameButStrays(got, want map[string]string) bool {
	kept := map[string]string{}
	for name, v := range got {
		if !strings.Contains(name, ".kerf-") {
			kept[name] = v
		}
	}
	return same(kept, want)
}

// TestFailureOfEachFileIsReportedExactly is E3 for best-effort commits: what is
// reported is what is there.
func TestFailureOfEachFileIsReportedExactly(t *testing.T) {
	_, _, calls := afterwards(t, 1, false, nil, CommitOptions{BestEffort: true})
	for k := 1; k <= calls; k++ {
		f, set := scene(t, 1)
		c := &fault{at: k, err: syscall.EIO}
		w, err := openAt(f.root, f.home, false, c.hook)
		if err != nil {
			t.Fatal(err)
		}
		out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: true})
		what := fmt.Sprintf("call %d (%s): %v", k, c.calls[k-1], err)
		w2 := f.open(false, nil)
		landed := map[string]bool{}
		for _, ch := range out.Committed {
			landed[ch.Path] = true
			img, err := w2.Tree.ReadEntry(ch.Path, 0)
			if err != nil || img.At() != ch.Post.At() {
				t.Fatalf("%s: %s was reported but is %+v, %v", what, ch.Path, img.At(), err)
			}
		}
		for _, ch := range set {
			img, err := w2.Tree.ReadEntry(ch.Path, 0)
			if err != nil && !landed[ch.Path] && ch.Pre != nil {
				t.Fatalf("%s: %s: %v", what, ch.Path, err)
			}
			if err == nil && !landed[ch.Path] && img.At() != ch.Pre.At() {
				t.Fatalf("%s: %s changed without being reported", what, ch.Path)
			}
		}
		f.checkClean()
	}
}

// TestFailedMoveReportsItsDestination: the destination was written, the source could
// not be removed.
func TestFailedMoveReportsItsDestination(t *testing.T) {
	f := newFixture(t)
	f.write("src", "text")
	set := f.move("src", "dst")
	refused := false
	w := f.open(true, func(op, path string) error {
		// Removing gives the file another name.
		if op == "rename" && strings.Contains(path, ".kerf-") && !refused {
			refused = true
			return syscall.EPERM
		}
		return nil
	})
	out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: true})
	if err != nil || len(out.Failed) != 1 || out.Failed[0].Path != f.path("src") ||
		!errors.Is(out.Failed[0], syscall.EPERM) {
		t.Fatalf("%+v %v", out, err)
	}
	if d := cmp.Diff(set[:1], out.Committed); d != "" || !out.Exact {
		t.Error(d)
	}
	want := map[string]string{"src": "-rw-r--r-- text", "dst": "-rw-r--r-- text"}
	if d := cmp.Diff(want, f.snapshot()); d != "" {
		t.Error(d)
	}
	// All or nothing: nothing.
	f2 := newFixture(t)
	f2.write("src", "text")
	before := f2.snapshot()
	refused = false
	out, err = f2.open(true, w.Before).Commit(context.Background(), f2.move("src", "dst"), CommitOptions{})
	if err == nil || len(out.Committed) > 0 {
		t.Fatalf("%+v %v", out, err)
	}
	if d := cmp.Diff(before, f2.snapshot()); d != "" {
		t.Error(d)
	}
}

// TestFailedRollbackReportsWhatLanded: the source cannot be removed and then the
// destination cannot be removed either.
func TestFailedRollbackReportsWhatLanded(t *testing.T) {
	f := newFixture(t)
	f.write("src", "text")
	set := f.move("src", "dst")
	w := f.open(true, func(op, path string) error {
		if op == "rename" && strings.Contains(path, ".kerf-") || op == "unlink" && strings.HasSuffix(path, "dst") {
			return syscall.EPERM
		}
		return nil
	})
	out, err := w.Commit(context.Background(), set, CommitOptions{})
	if !errors.Is(err, syscall.EPERM) || out.Entry == nil {
		t.Fatalf("%+v %v", out, err)
	}
	if d := cmp.Diff(set[:1], out.Committed); d != "" || !out.Exact {
		t.Errorf("exact %v\n%s", out.Exact, d)
	}
	want := map[string]string{"src": "-rw-r--r-- text", "dst": "-rw-r--r-- text"}
	f.open(true, nil)
	if d := cmp.Diff(want, f.snapshot()); d != "" {
		t.Error(d)
	}
	f.checkClean()
}

// TestSEC_E1_KilledChild does E1 with a real process and SIGKILL.
func TestSEC_E1_KilledChild(t *testing.T) {
	long.Slow(t)
	if at := os.Getenv("KERF_TEST_KILL"); at != "" {
		k, err := strconv.Atoi(at)
		if err != nil {
			t.Fatal(err)
		}
		f := &fixture{t: t, root: os.Getenv("KERF_TEST_ROOT"), home: os.Getenv("KERF_TEST_HOME")}
		n := 0
		w, err := openAt(f.root, f.home, false, func(string, string) error {
			if n++; n == k {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.w = w
		_, _ = w.Commit(context.Background(), killSet(f), CommitOptions{})
		return
	}
	begin := func() *fixture {
		f := newFixture(t)
		f.write("a*", "1", "b", "2", "from", "m")
		return f
	}
	f := begin()
	old := f.snapshot()
	count := &fault{}
	if _, err := f.open(false, count.hook).Commit(context.Background(), killSet(f), CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	next := f.snapshot()
	for k := 1; k <= count.n; k += 2 {
		f := begin()
		cmd := exec.Command(os.Args[0], "-test.run=^TestSEC_E1_KilledChild$")
		cmd.Env = append(os.Environ(), fmt.Sprint("KERF_TEST_KILL=", k), "KERF_TEST_ROOT="+f.root, "KERF_TEST_HOME="+f.home)
		if err := cmd.Run(); err == nil {
			t.Fatalf("child %d was not killed", k)
		}
		checkWhole(t, f, old, next, fmt.Sprint("killed at ", k))
	}
}

func killSet(f *fixture) delta.Set {
	return append(delta.Set{f.change("a", "new"), f.change("b"), f.change("x/y", "z")}, f.move("from", "to")...)
}

// TestSEC_E7_ManyWritersOneFile: every acknowledged edit is in the result.
func TestSEC_E7_ManyWritersOneFile(t *testing.T) {
	const processes, writers, rounds = 4, 12, 3
	if root := os.Getenv("KERF_TEST_E7"); root != "" {
		w, err := openAt(root, os.Getenv("KERF_TEST_HOME"), false, nil)
		if err != nil {
			t.Fatal(err)
		}
		var g sync.WaitGroup
		for i := range writers {
			g.Go(func() {
				for r := range rounds {
					appendLine(t, w, root+"/f", fmt.Sprintf("%d-%d-%d\n", os.Getpid(), i, r))
				}
			})
		}
		g.Wait()
		return
	}
	f := newFixture(t)
	f.write("f", "")
	var cmds []*exec.Cmd
	for range processes {
		c := exec.Command(os.Args[0], "-test.run=^TestSEC_E7_ManyWritersOneFile$")
		c.Env = append(os.Environ(), "KERF_TEST_E7="+f.path(""), "KERF_TEST_HOME="+f.home)
		c.Stderr = os.Stderr
		c.Stdout = os.Stdout
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, c)
	}
	for _, c := range cmds {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(string(f.image("f").Data), "\n"), "\n")
	seen := map[string]bool{}
	for _, l := range lines {
		seen[l] = true
	}
	if want := processes * writers * rounds; len(lines) != want || len(seen) != want {
		t.Errorf("%d lines, %d different, want %d", len(lines), len(seen), want)
	}
	if n := len(f.entries()); n != processes*writers*rounds {
		t.Errorf("%d entries", n)
	}
	f.checkClean()
}

// appendLine tries until no other writer was faster.
func appendLine(t *testing.T, w *Workspace, path, line string) {
	for {
		pre, err := w.Tree.Read(path, 0)
		if err != nil {
			t.Error(err)
			return
		}
		post := delta.NewFile(append(pre.Data[:len(pre.Data):len(pre.Data)], line...), pre.Mode)
		_, err = w.Commit(context.Background(), delta.Set{{Path: path, Pre: pre, Post: post}}, CommitOptions{})
		var mm *MismatchError
		if errors.As(err, &mm) {
			continue
		}
		if err != nil {
			t.Error(err)
		}
		return
	}
}

// TestOneStrayKeepsNoOther fails the removal of each temporary file alone: the others are
// removed, the outcome names the one, and recovery removes it.
func TestOneStrayKeepsNoOther(t *testing.T) {
	commit := func(nth int) (f *fixture, unlinks int, out Outcome, err error) {
		f, set := scene(t, 2)
		w, err := openAt(f.root, f.home, true, func(op, path string) error {
			if op != "unlink" || !strings.Contains(path, ".kerf-") {
				return nil
			}
			if unlinks++; unlinks == nth {
				return syscall.EPERM
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err = w.Commit(context.Background(), set, CommitOptions{})
		return f, unlinks, out, err
	}
	_, most, _, err := commit(0)
	if err != nil || most < 4 {
		t.Fatalf("%d temporary files are removed: %v", most, err)
	}
	strays := 0
	for nth := 1; nth <= most; nth++ {
		f, unlinks, out, err := commit(nth)
		if err != nil || unlinks != most {
			t.Fatalf("removal %d: %v, with %d of %d removals tried", nth, err, unlinks, most)
		}
		var left []string
		for name := range f.snapshot() {
			if strings.Contains(name, ".kerf-") {
				left = append(left, f.path(name))
			}
		}
		if len(left) == 0 && len(out.Left) == 0 {
			continue // the file was not there any more: it became the user's
		}
		strays++
		if len(left) != 1 || len(out.Left) != 1 || out.Left[0].Path != left[0] {
			t.Fatalf("removal %d: left are %q, told is %v", nth, left, out.Left)
		}
		if words := out.Strays(); len(words) != 1 || !strings.Contains(words[0], "kerf recover") {
			t.Errorf("removal %d: the user is told %q", nth, words)
		}
		if r, err := f.w.Recover(context.Background()); err != nil || r.Finished != 1 {
			t.Fatalf("removal %d: recovery gives %+v, %v", nth, r, err)
		}
		f.checkClean()
	}
	if strays < 4 {
		t.Errorf("only %d removals left a file", strays)
	}
}

// TestALargeFileThatChangesBeforeItIsKept: what the store has to keep of it is not what was seen any more. The
// commit says so, as of a small one, and what the other wrote stays.
func TestALargeFileThatChangesBeforeItIsKept(t *testing.T) {
	for name, post := range map[string]*delta.Image{"removed": nil, "replaced": delta.NewFile([]byte("its successor"), 0o644)} {
		f := newFixtureIn(t, largeRoot)
		f.write("a", "what was seen")
		c := delta.Change{Path: f.path("a"), Pre: &delta.Image{Version: f.image("a").Version}, Post: post}
		done := false
		w := f.open(true, func(op, path string) error {
			if op == "write" && strings.HasSuffix(path, "journal.jsonl") && !done {
				done = true
				f.write("a", "what another wrote, and is longer")
			}
			return nil
		})
		_, err := w.Commit(context.Background(), delta.Set{c}, CommitOptions{})
		var mismatch *MismatchError
		if !errors.As(err, &mismatch) || mismatch.Path != c.Path || !done {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(f.path("a")); string(got) != "what another wrote, and is longer" {
			t.Errorf("%s: it holds %q, %v", name, got, err)
		}
		f.checkClean()
	}
}
