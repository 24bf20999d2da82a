package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// project is a directory whose check finds the words "bad" in its files, one problem each.
type project struct {
	t     *testing.T
	dir   string
	runs  []string           // the lines that were run
	fails func(run int) *Ran // what a run comes to instead, or nil
	kept  []Report
}

func (p *project) run(_ context.Context, _ Check, line string) Ran {
	p.runs = append(p.runs, line)
	if p.fails != nil {
		if r := p.fails(len(p.runs)); r != nil {
			return *r
		}
	}
	var out strings.Builder
	names, _ := filepath.Glob(filepath.Join(p.dir, "*"))
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		for i, l := range strings.Split(string(data), "\n") {
			if strings.Contains(l, "bad") {
				fmt.Fprintf(&out, "%s:%d: %s\n", filepath.Base(name), i+1, l)
			}
		}
	}
	exit := 0
	if out.Len() > 0 {
		exit = 1
	}
	return Ran{Exit: exit, Output: out.String()}
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) tree(context.Context) (string, error) {
	var all strings.Builder
	names, _ := filepath.Glob(filepath.Join(p.dir, "*"))
	for _, name := range names {
		data, _ := os.ReadFile(name)
		fmt.Fprintf(&all, "%s=%q ", filepath.Base(name), data)
	}
	return all.String(), nil
}

func newProject(t *testing.T, checks ...Check) (*project, *Suite) {
	p := &project{t: t, dir: t.TempDir()}
	return p, New(Options{Checks: checks, Dir: p.dir, Run: p.run, Tree: p.tree,
		Record: func(r Report) string { p.kept = append(p.kept, r); return "" }})
}

// TestOnlyWhatIsNewCounts goes through the turns of a session, with the user's own changes
// between them.
func TestOnlyWhatIsNewCounts(t *testing.T) {
	c := Check{Name: "words", Command: "words", Paths: []string{"*.txt"}, When: []When{Turn}}
	p, s := newProject(t, c)
	turn := func(name, text string) string {
		t.Helper()
		s.Begin()
		s.Baseline(t.Context(), []string{name}, Turn)
		p.write(name, text)
		var got []string
		for _, r := range s.After(t.Context(), Turn, []string{name}) {
			line := string(r.Outcome)
			for _, n := range r.New {
				line += "; " + n.String()
			}
			got = append(got, line)
		}
		return strings.Join(got, " | ")
	}
	p.write("old.txt", "bad old\n")
	for i, step := range []struct{ name, text, want string }{
		{"a.txt", "good\n", "before"},
		{"a.txt", "good\nbad one\n", "failed; a.txt:2: bad one"},
		{"a.txt", "good\n\nbad one\n", "failed; a.txt:3: bad one"}, // still the session's own
		{"a.txt", "good\n", "before"},
		{"a.md", "bad\n", ""}, // of no file that the check is about
	} {
		if got := turn(step.name, step.text); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	p.write("user.txt", "bad of the user\n") // between turns
	if got, want := turn("a.txt", "bad two\n"), "failed; a.txt:1: bad two"; got != want {
		t.Errorf("after the user's change: %q, want %q", got, want)
	}
	p.write("user.txt", "bad of the user, again\n")
	if got, want := turn("b.txt", "good\n"), "failed; a.txt:1: bad two"; got != want {
		t.Errorf("what the session broke is forgotten when the user changes something: %q, want %q", got, want)
	}
}

// TestABaselineIsNotRunTwice counts the runs.
func TestABaselineIsNotRunTwice(t *testing.T) {
	p, s := newProject(t, Check{Name: "words", Command: "words", When: []When{Turn}})
	s.Begin()
	s.Baseline(t.Context(), nil, Turn)
	s.Baseline(t.Context(), []string{"a"}, Turn)
	p.write("a", "x")
	s.After(t.Context(), Turn, []string{"a"})
	s.Begin()
	s.Baseline(t.Context(), nil, Turn) // the files are those of the last run
	if len(p.runs) != 2 {
		t.Errorf("%d runs, want 2: before and after", len(p.runs))
	}
}

func TestFlakyAndUnable(t *testing.T) {
	for name, c := range map[string]struct {
		fails func(run int) *Ran
		want  Outcome
		runs  int
	}{
		"fails once":     {func(n int) *Ran { return map[int]*Ran{2: {Exit: 1, Output: "a:1: no"}}[n] }, Flaky, 3},
		"fails again":    {func(n int) *Ran { return map[int]*Ran{2: {Exit: 1, Output: "x"}, 3: {Exit: 1, Output: "y"}}[n] }, Failed, 3},
		"out of time":    {func(n int) *Ran { return map[int]*Ran{2: {TimedOut: true}}[n] }, Unable, 2},
		"no command":     {func(int) *Ran { return &Ran{Exit: 127, Output: "bash: tsc: command not found"} }, Unable, 2},
		"no sandbox":     {func(n int) *Ran { return map[int]*Ran{2: {Unable: "no sandbox"}}[n] }, Unable, 2},
		"fails as ever":  {func(int) *Ran { return &Ran{Exit: 2, Output: "who knows"} }, Before, 2},
		"fails as ever,": {func(n int) *Ran { return &Ran{Exit: 2, Output: fmt.Sprint("at ", n, " o'clock: boom")} }, Before, 2},
	} {
		p, s := newProject(t, Check{Name: "c", Command: "c", When: []When{Turn}, Gate: Block})
		p.fails = c.fails
		s.Begin()
		s.Baseline(t.Context(), nil, Turn)
		p.write("a", "x")
		list := s.After(t.Context(), Turn, []string{"a"})
		if len(list) != 1 || list[0].Outcome != c.want || len(p.runs) != c.runs {
			t.Errorf("%s: %+v after %d runs, want %s after %d", name, list, len(p.runs), c.want, c.runs)
		}
		if got := Blocks(list); got != (c.want == Failed || c.want == Unable) {
			t.Errorf("%s: blocks %t", name, got)
		}
	}
}

func TestLineAndPaths(t *testing.T) {
	c := Check{Command: "fmt -- {files}", Paths: []string{"src/", "*.go", "docs/**/*.md"}}
	got := c.Of([]string{"a.go", "x/b.go", "src/y/z.c", "docs/a/b.md", "docs/b.md", "README.md"})
	if d := cmp.Diff([]string{"a.go", "x/b.go", "src/y/z.c", "docs/a/b.md", "docs/b.md"}, got); d != "" {
		t.Error(d)
	}
	if got, want := c.Line([]string{"it's", "-x", "a b"}), `fmt -- 'it'"'"'s' ./-x 'a b'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFilesThatChangeMeanwhile: a verdict is about one state of the files, or about none. What
// the check itself changes is no matter.
func TestFilesThatChangeMeanwhile(t *testing.T) {
	p, s := newProject(t, Check{Name: "words", Command: "words", When: []When{Turn}})
	p.write("a", "good")
	s.Begin()
	s.Baseline(t.Context(), []string{"a"}, Turn)
	p.fails = func(int) *Ran {
		p.write("b", "of others")
		return nil
	}
	if r := s.After(t.Context(), Turn, []string{"a"}); len(r) != 1 || r[0].Outcome != OK || r[0].Tree != "" || !r[0].Moved {
		t.Errorf("others changed files: %+v", r)
	}
	p.fails = func(int) *Ran {
		p.write("c", "of the check")
		return &Ran{Changed: []string{"c"}}
	}
	if r := s.After(t.Context(), Turn, []string{"a"}); len(r) != 1 || r[0].Tree == "" || r[0].Moved {
		t.Errorf("the check changed files: %+v", r)
	}
}
