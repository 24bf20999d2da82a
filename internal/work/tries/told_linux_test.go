package tries_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/work/check"
	"kerf/internal/work/homes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tries"
	"kerf/internal/work/workspace"
)

// made is a try in which nothing runs: no overlay is needed.
func (h *house) made() *tries.Try {
	h.Helper()
	t, err := tries.New(h.home, []string{h.dir}, "asked for")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = t.Remove() })
	return t
}

// plan is what becomes of a try, and the workspace that it is about, open until the test ends.
func (h *house) plan(t *tries.Try) (*tries.Plan, *workspace.Workspace) {
	h.Helper()
	ws, err := workspace.Open(workspace.Options{Home: h.home, Roots: []string{h.dir}})
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { ws.Close() })
	plan, err := t.Plan(h.Context(), ws, tries.Options{})
	if err != nil {
		h.Fatal(err)
	}
	return plan, ws
}

// TestDiffsOfTries: what one try changed, and what leads from one to another. Pipes and what git
// ignores are in neither.
func TestDiffsOfTries(t *testing.T) {
	h := newHouse(t)
	run(t, h.dir, "git init -q . && echo ignored > .gitignore && echo one > a && echo same > b && mkdir d && echo in > d/f")
	one := h.try("echo two > a; echo new > n; rm b; mkfifo p; echo x > ignored; chmod 755 d/f")
	two := h.try("echo three > a; echo new > n; rm -r d; mkdir b2; echo y > b2/f")
	first, ws := h.plan(one)
	second, _ := h.plan(two)
	files := func(text string) (names []string) {
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, "diff --git a/"); ok {
				name, _, _ := strings.Cut(rest, " ")
				names = append(names, name)
			}
		}
		return names
	}
	text := first.Diff(h.dir)
	if d := cmp.Diff([]string{"a", "b", "d/f", "n"}, files(text)); d != "" || !strings.Contains(text, "-one\n+two\n") ||
		!strings.Contains(text, "new mode 100755") {
		t.Errorf("the first (-want +got):\n%s%s", d, text)
	}
	text, err := tries.Between(first, second, ws, h.dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a", "b", "b2/f", "d/f"}, files(text)); d != "" || !strings.Contains(text, "-two\n+three\n") ||
		!strings.Contains(text, "+same\n") || !strings.Contains(text, "deleted file mode 100755") {
		t.Errorf("from one to the other (-want +got):\n%s%s", d, text)
	}
	if text, err := tries.Between(first, first, ws, h.dir); text != "" || err != nil {
		t.Errorf("from one to itself: %v\n%s", err, text)
	}
	if one.Fresh() || one.Session() != "" {
		t.Errorf("what ran in is fresh: %v, of session %q", one.Fresh(), one.Session())
	}
}

// TestWhatGitNotesIsNoLoss: an index that was only read again is nothing to keep; a commit that was
// made in a try would be missed.
func TestWhatGitNotesIsNoLoss(t *testing.T) {
	h := newHouse(t)
	run(t, h.dir, "git init -q . && echo one > a && git add a && git -c user.name=a -c user.email=a@b commit -qm x")
	for script, want := range map[string]int{
		"touch a && git status > /dev/null && git add a && echo note > .git/COMMIT_EDITMSG": 0,
		"git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y":                 1,
		"git config core.editor x": 1,
	} {
		plan, _ := h.plan(h.try(script))
		if n := plan.Count(tries.Git); n != want {
			t.Errorf("%s: %d rows of git, want %d\n%s", script, n, want, rows(plan))
		}
	}
}

// TestTriesAreFound by the directory that they are of, and one that it is in.
func TestTriesAreFound(t *testing.T) {
	h := newHouse(t)
	below := filepath.Join(h.dir, "d")
	link := filepath.Join(filepath.Dir(h.dir), "link")
	if err := errors.Join(os.Mkdir(below, 0o755), os.Symlink(h.dir, link)); err != nil {
		t.Fatal(err)
	}
	if list, err := tries.Here(h.home, h.dir); len(list) > 0 || err != nil {
		t.Errorf("before any: %v, %v", list, err)
	}
	try := h.made()
	for dir, want := range map[string]int{h.dir: 1, below: 1, link: 1, h.home: 0} {
		list, err := tries.Here(h.home, dir)
		if len(list) != want || err != nil {
			t.Errorf("%s: %d tries, %v", dir, len(list), err)
		}
		if is := dir == h.dir || dir == link; try.Is(dir) != is {
			t.Errorf("%s is its directory: %v", dir, !is)
		}
	}
	if _, err := tries.Here(h.home, filepath.Join(h.dir, "none")); err == nil {
		t.Error("a directory that is not there has no error")
	}
	for path, want := range map[string]string{"a": "a", "d/../a": "a", link + "/a": "a", "d/new": "d/new", ".": ""} {
		if got := try.Name(h.dir, path); got != filepath.Join(h.dir, want) {
			t.Errorf("%s is %s", path, got)
		}
	}
	if !try.Fresh() || try.Meta.Request != "asked for" || tries.Inside(h.dir) || tries.Inside(below+"/none") {
		t.Errorf("fresh %v, %+v, inside %v", try.Fresh(), try.Meta, tries.Inside(h.dir))
	}
	for _, number := range []string{"0", "01", "x", "-1", "7"} {
		if _, err := tries.Get(h.home, number); !errors.Is(err, tries.ErrNone) {
			t.Errorf("%s: %v", number, err)
		}
	}
	if err := os.WriteFile(filepath.Join(try.Dir, "meta.json"), []byte(`{"v":2,"roots":["/x"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tries.Get(h.home, strconv.Itoa(try.ID)); err == nil || errors.Is(err, tries.ErrNone) {
		t.Errorf("of another version: %v", err)
	}
	if list, err := tries.List(h.home); len(list) > 0 || err != nil {
		t.Errorf("it is listed: %v, %v", list, err)
	}
}

// TestTheRoomOfTries: they are weighed before they are copied, counted while they are there, and
// what runs in one is ended when all take more than they may.
func TestTheRoomOfTries(t *testing.T) {
	h := newHouse(t)
	run(t, h.dir, "mkdir d; head -c 3000 /dev/zero > d/f; head -c 4000 /dev/zero > g")
	try := h.made()
	if w, err := try.Weigh(); err != nil || w.Files < 2 || w.Bytes < 7000 {
		t.Errorf("%+v, %v", w, err)
	}
	if c, err := try.Copy(); err != nil || c.Files < 2 || try.Fresh() {
		t.Errorf("%+v, %v, fresh %v", c, err, try.Fresh())
	}
	size := try.Size()
	if size < 7000 {
		t.Fatalf("it takes %d bytes", size)
	}
	var full *tries.FullError
	for _, c := range []struct {
		err   error
		fails bool
	}{{tries.Room(h.home, 0), false}, {tries.Room(h.home, size), false}, {tries.Room(h.home, size-1), true},
		{tries.Fits(h.home, 100, 0), false}, {tries.Fits(h.home, 100, size+100), false}, {tries.Fits(h.home, 101, size+100), true}} {
		if errors.As(c.err, &full) != c.fails || !c.fails && c.err != nil {
			t.Errorf("fails %v: %v", c.fails, c.err)
		}
	}
	if full == nil || !strings.Contains(full.Error(), "tries.max_bytes") {
		t.Errorf("%v", full)
	}
	if err := tries.Fits(h.home, 1<<62, 0); err == nil || errors.As(err, &full) {
		t.Errorf("more than the disk has: %v", err)
	}
	for _, most := range []int64{0, size} {
		code, err := tries.Within(t.Context(), h.home, most, func(ctx context.Context) (int, error) { return 7, ctx.Err() })
		if code != 7 || err != nil {
			t.Errorf("at most %d: %d, %v", most, code, err)
		}
	}
	_, err := tries.Within(t.Context(), h.home, size-1, func(ctx context.Context) (int, error) {
		<-ctx.Done() // the test ends only if somebody looks
		return 0, ctx.Err()
	})
	if !errors.As(err, &full) || full.Bytes != size {
		t.Errorf("too much: %v", err)
	}
}

// TestWhatIsLeftOfTriesIsSwept: of those whose making or removal was cut off some time ago. Tries,
// and what may become one, stay.
func TestWhatIsLeftOfTriesIsSwept(t *testing.T) {
	h := newHouse(t)
	if list, err := tries.Sweep(h.home, false); len(list) > 0 || err != nil {
		t.Errorf("before any: %v, %v", list, err)
	}
	try := h.made()
	place := filepath.Dir(try.Dir)
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{"8", "9", "notes"} {
		dir := filepath.Join(place, name)
		if err := errors.Join(os.MkdirAll(dir+"/0/work/closed", 0o700), os.WriteFile(dir+"/0/f", []byte("left"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if name == "9" {
			continue // young
		}
		if err := errors.Join(os.Chmod(dir+"/0/work/closed", 0), os.Chtimes(dir, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(try.Dir, old, old); err != nil {
		t.Fatal(err)
	}
	want := []tries.Left{{Dir: filepath.Join(place, "8"), Bytes: 4}}
	for _, dry := range []bool{true, false} {
		list, err := tries.Sweep(h.home, dry)
		if d := cmp.Diff(want, list); d != "" || err != nil {
			t.Errorf("dry %v: %v\n%s", dry, err, d)
		}
		if _, err := os.Lstat(want[0].Dir); (err == nil) != dry {
			t.Errorf("dry %v: %v", dry, err)
		}
	}
	for _, dir := range []string{try.Dir, filepath.Join(place, "9"), filepath.Join(place, "notes")} {
		if _, err := os.Lstat(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestVerdictsOfATry are the newest of each check since the last change. They go into the ledger of
// the directory, and are not believed where the try's own ledger was changed.
func TestVerdictsOfATry(t *testing.T) {
	h := newHouse(t)
	try := h.made()
	if v, err := try.Verdicts(); len(v) > 0 || err != nil || try.Session() != "" {
		t.Errorf("before any: %v, %v, session %q", v, err, try.Session())
	}
	home := homes.Of(try.Dir, h.dir)
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	verdict := func(name, when, outcome string) *ledger.Entry {
		return &ledger.Entry{Cause: ledger.CauseChecked, Session: "s", Exact: true, Changes: []ledger.Change{},
			Check: &ledger.Verdict{Name: name, Command: "make " + name, When: when, Outcome: outcome, Output: "kept"}}
	}
	changed := func(session string) *ledger.Entry {
		return &ledger.Entry{Cause: ledger.CauseTool, Session: session, Turn: "t", Exact: true,
			Changes: []ledger.Change{{Path: h.dir + "/a", Post: &ledger.Version{}}}}
	}
	attempt := string(check.Attempt)
	for _, e := range []*ledger.Entry{changed("first"), verdict("lint", "turn", "red"), changed("s"), verdict("lint", "", "red"),
		verdict("lint", "turn", "red"), verdict("test", "turn", "green"), verdict("lint", "turn", "green"),
		verdict("all", attempt, "red"), verdict("all", attempt, "green")} {
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	v, err := try.Verdicts()
	if err != nil {
		t.Fatal(err)
	}
	told := func(list []ledger.Entry) (rows []string) {
		for _, e := range list {
			rows = append(rows, fmt.Sprintf("%s %s %s %d %q", e.Check.Name, e.Check.When, e.Check.Outcome, e.Check.Beside, e.Check.Output))
		}
		return rows
	}
	v.Beside(3)
	want := []string{`test turn green 3 ""`, `lint turn green 3 ""`, "all " + attempt + ` green 3 ""`}
	if d := cmp.Diff(want, told(v)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if a, seq, err := try.Attempt(); err != nil || a == nil || a.Outcome != "green" || seq != 9 {
		t.Errorf("%+v, entry %d, %v", a, seq, err)
	}
	if s := try.Session(); s != "s" {
		t.Errorf("session %q", s)
	}
	own, err := ledger.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := errors.Join(tries.Verdicts(nil).Enter(own), v.Enter(own)); err != nil {
		t.Fatal(err)
	}
	entered, err := own.Read(0)
	if d := cmp.Diff(want, told(entered)); d != "" || err != nil {
		t.Errorf("entered: %v\n%s", err, d)
	}

	file := filepath.Join(home, "ledger.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(text), `"outcome":"red"`, `"outcome":"green"`, 1)
	if err := os.WriteFile(file, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	var broken *ledger.BreakError
	if v, err := try.Verdicts(); len(v) > 0 || !errors.As(err, &broken) {
		t.Errorf("of a changed ledger: %v, %v", told(v), err)
	}
}
