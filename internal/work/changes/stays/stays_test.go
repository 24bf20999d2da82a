package stays

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"kerf/internal/work/ledger"
	"kerf/internal/work/repo/commit"
)

func at(branch, id string) *ledger.Head {
	return &ledger.Head{Branch: branch, Commit: strings.Repeat(id, 40)}
}

// TestWhatIsSaidIsTrueOfTheEntries: both ends are those of the turns that were taken back, and git's
// command is told where it does what it says.
func TestWhatIsSaidIsTrueOfTheEntries(t *testing.T) {
	move := func(seq int64, session, turn string, from, to *ledger.Head) ledger.Entry {
		return ledger.Entry{Seq: seq, Session: session, Turn: turn, Head: &ledger.HeadMove{From: from, To: to}}
	}
	made := []commit.Step{{ID: strings.Repeat("c", 40), How: "commit: \x1bthree"}}
	reset := []commit.Step{{ID: strings.Repeat("c", 40), How: "reset: moving to c"}}
	b, main, later := at("main", "b"), at("main", "a"), at("main", "d")
	for name, c := range map[string]struct {
		entries []ledger.Entry
		undone  []int64
		now     *ledger.Head
		steps   []commit.Step
		want    string
	}{
		"no turn moved it": {[]ledger.Entry{move(1, "s", "t", main, nil), move(2, "s", "u", main, b)}, []int64{1}, b, nil, ""},
		"another session":  {[]ledger.Entry{{Seq: 1, Session: "s", Turn: "t"}, move(2, "x", "t", main, b)}, []int64{1}, b, nil, ""},
		"no turn at all":   {[]ledger.Entry{{Seq: 1}, move(2, "", "", main, b)}, []int64{1}, b, nil, ""},
		"an end that nobody saw": {[]ledger.Entry{move(1, "s", "t", at("main", "e"), nil), move(2, "s", "t", main, b), move(3, "s", "t", b, nil)},
			[]int64{1}, b, nil, "note: HEAD moved during that turn, and stays: main at aaaaaaaaa -> main at bbbbbbbbb|" +
				"hint: to put HEAD back and keep the files: git reset aaaaaaaaa"},
		"nobody looked as it ended": {[]ledger.Entry{{Seq: 1, Session: "s", Turn: "t", Head: &ledger.HeadMove{From: main, To: b, Late: true}}},
			[]int64{1}, b, made, "note: what was committed during that turn or after it stays committed:|  ccccccccc <U+001B>three"},
		"there and back": {[]ledger.Entry{move(1, "s", "t", main, b), move(2, "s", "t", b, main)}, []int64{1}, main, reset,
			""},
		"commits": {[]ledger.Entry{move(1, "s", "t", main, b)}, []int64{1}, b, made,
			"note: what was committed during that turn stays committed:|  ccccccccc <U+001B>three|" +
				"hint: to put HEAD back and keep the files: git reset aaaaaaaaa"},
		"commits, and more later": {[]ledger.Entry{move(1, "s", "t", main, b)}, []int64{1}, later, made,
			"note: what was committed during that turn stays committed:|  ccccccccc <U+001B>three"},
		"a reset": {[]ledger.Entry{move(1, "s", "t", main, b)}, []int64{1}, b, reset,
			"note: HEAD moved during that turn, and stays: main at aaaaaaaaa -> main at bbbbbbbbb|" +
				"hint: to put HEAD back and keep the files: git reset aaaaaaaaa"},
		"a reset, and more later": {[]ledger.Entry{move(1, "s", "t", main, b)}, []int64{1}, later, reset,
			"note: HEAD moved during that turn, and stays: main at aaaaaaaaa -> main at bbbbbbbbb"},
		"two commands, two turns": {[]ledger.Entry{move(1, "s", "t", main, at("main", "e")), move(2, "s", "u", at("main", "f"), b)},
			[]int64{1, 2}, b, nil, "note: HEAD moved during that turn, and stays: main at aaaaaaaaa -> main at bbbbbbbbb|" +
				"hint: to put HEAD back and keep the files: git reset aaaaaaaaa"},
		"another branch": {[]ledger.Entry{move(1, "s", "t", main, at("x", "b"))}, []int64{1}, at("x", "b"), made,
			"note: HEAD moved during that turn, and stays: main at aaaaaaaaa -> x at bbbbbbbbb|" +
				"note: what was committed during that turn stays committed:|  ccccccccc <U+001B>three|" +
				"hint: to put HEAD back and keep the files: git branch -f main aaaaaaaaa && git symbolic-ref HEAD refs/heads/main && git reset"},
		"a branch that a shell would read": {[]ledger.Entry{move(1, "s", "t", at("a;b", "a"), main)}, []int64{1}, main, nil,
			"note: HEAD moved during that turn, and stays: a;b at aaaaaaaaa -> main at aaaaaaaaa"},
		"detached": {[]ledger.Entry{move(1, "s", "t", at("", "a"), main)}, []int64{1}, main, nil,
			"note: HEAD moved during that turn, and stays: aaaaaaaaa, detached -> main at aaaaaaaaa"},
		"the first commit": {[]ledger.Entry{move(1, "s", "t", &ledger.Head{Branch: "main"}, b)}, []int64{1}, b, made,
			"note: what was committed during that turn stays committed:|  ccccccccc <U+001B>three"},
		"a repository that came": {[]ledger.Entry{move(1, "s", "t", nil, b)}, []int64{1}, b, nil,
			"note: HEAD moved during that turn, and stays: unknown -> main at bbbbbbbbb"},
		"from where only git knows": {[]ledger.Entry{move(1, "s", "t", nil, b)}, []int64{1}, b, made,
			"note: HEAD moved during that turn, and stays: unknown -> main at bbbbbbbbb"},
	} {
		got := ""
		if m, ok := moved(c.entries, c.undone); ok {
			got = strings.Join(lines(m, present{Head: *c.now}, c.steps), "|")
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestAHintLeadsWhereHeadWas: there is none where git goes on with something from where HEAD is, and
// none that takes away what somebody else gave the branch that was left.
func TestAHintLeadsWhereHeadWas(t *testing.T) {
	id := func(c string) string { return strings.Repeat(c, 40) }
	on := []commit.Step{{ID: id("c"), How: "commit: on x"}, {ID: id("e"), How: "commit: on main"}}
	other, back := at("x", "c"), "git branch -f main aaaaaaaaa && git symbolic-ref HEAD refs/heads/main && git reset"
	for _, c := range []struct {
		to   *ledger.Head
		now  present
		want string
	}{
		{other, present{Head: *other, left: id("a")}, back},
		{other, present{Head: *other}, back},                // it was deleted
		{other, present{Head: *other, left: id("e")}, back}, // the turn made a commit on it
		{other, present{Head: *other, left: id("f")}, ""},
		{other, present{Head: *other, left: id("a"), busy: true}, ""},
		{at("main", "c"), present{Head: *at("main", "c"), left: id("c")}, "git reset aaaaaaaaa"},
		{at("main", "c"), present{Head: *at("main", "c"), left: id("c"), busy: true}, ""},
		{at("main", "c"), present{Head: *at("main", "f"), left: id("f")}, ""},
	} {
		said := strings.Join(lines(ledger.HeadMove{From: at("main", "a"), To: c.to}, c.now, on), "\n")
		_, hint, _ := strings.Cut(said, "hint: to put HEAD back and keep the files: ")
		if hint != c.want {
			t.Errorf("%v: %q instead of %q", c.now, hint, c.want)
		}
	}
}

// TestACommandRunsUntilItsLastEntry: whose entry it is counts, and not whose is the newest.
func TestACommandRunsUntilItsLastEntry(t *testing.T) {
	entries := []ledger.Entry{{Seq: 1}, {Seq: 2, Of: 1}, {Seq: 3}, {Seq: 4, Of: 3}, {Seq: 5, Of: 3}, {Seq: 6, Of: 3, Ended: true},
		{Seq: 7}}
	for _, c := range []struct {
		undone []int64
		want   bool
	}{{[]int64{4, 5}, false}, {[]int64{2}, true}, {[]int64{2, 4}, true}, {[]int64{7}, false}, {nil, false}} {
		if got := running(entries, c.undone); got != c.want {
			t.Errorf("%v: %v", c.undone, got)
		}
	}
}

// TestWhatIsSaidOfARepository that a turn left on another branch: git's own answers are in it.
func TestWhatIsSaidOfARepository(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commits := func(subject string) string {
		git("commit", "-q", "--allow-empty", "-m", subject)
		return git("rev-parse", "HEAD")
	}
	git("init", "-q", "-b", "main")
	one := commits("one")
	git("checkout", "-q", "-b", "x")
	two := commits("two")
	l, err := ledger.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []ledger.Entry{{Session: "s", Turn: "t"}, {Session: "s", Turn: "t", Of: 1, Head: &ledger.HeadMove{
		From: &ledger.Head{Branch: "main", Commit: one}, To: &ledger.Head{Branch: "x", Commit: two}}}, {Session: "s", Turn: "u"}} {
		if err := l.Append(&e); err != nil {
			t.Fatal(err)
		}
	}
	const hint = "hint: to put HEAD back and keep the files: git branch -f main "
	said := func(undone ...int64) (list []string, hinted bool) {
		t.Helper()
		list, err := Lines(t.Context(), l, dir, undone)
		if err != nil {
			t.Fatal(err)
		}
		return list, slices.ContainsFunc(list, func(line string) bool { return strings.HasPrefix(line, hint+one[:9]) })
	}
	list, hinted := said(2)
	if !slices.Contains(list, "  "+two[:9]+" two") || !strings.Contains(list[0], "still runs") || !hinted {
		t.Errorf("%q", list)
	}
	if list, _ := said(3); list != nil {
		t.Errorf("of another turn: %q", list)
	}
	git("branch", "-q", "-f", "main", commits("three"))
	git("reset", "-q", "--hard", two)
	if list, hinted := said(1); hinted || len(list) == 0 {
		t.Errorf("somebody gave the branch more: %q", list)
	}
	git("branch", "-q", "-f", "main", one)
	if list, hinted := said(1); !hinted {
		t.Errorf("the branch is as it was: %q", list)
	}
	git("bisect", "start")
	if list, hinted := said(1); hinted || len(list) == 0 {
		t.Errorf("git goes on with something: %q", list)
	}
}
