package check

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/work/check/problems"
)

// Options make a Suite.
type Options struct {
	Checks []Check
	Dir    string // the working directory, in which commands run
	// Run runs a command in the sandbox.
	Run func(ctx context.Context, c Check, line string) Ran
	// Tree names the state of the files; an error leaves it out of the reports.
	Tree func(ctx context.Context) (string, error)
	// Recall gives what is on record of a check on a tree: its exit code, and its output
	// where that is not 0. Nil knows nothing.
	Recall func(c Check, tree string) (exit int, output string, ok bool)
	// Record keeps a report, and gives back the name of its output; nil keeps none.
	Record func(Report) string
}

// Suite is the checks of a session with what they found before anything was changed. It is
// for one goroutine at a time.
type Suite struct {
	o     Options
	known map[string]*known // by the check's name
	begun map[string]bool   // the checks that have a baseline in this turn
}

// known is what is known of one check.
type known struct {
	base   []problems.Problem // found before the session changed anything
	failed bool               // it failed then
	last   []problems.Problem // found by the last run
	tree   string             // of the last run
}

// New makes a suite.
func New(o Options) *Suite {
	return &Suite{o: o, known: map[string]*known{}, begun: map[string]bool{}}
}

// Begin says that a turn begins: others may have changed files since the last one.
func (s *Suite) Begin() { clear(s.begun) }

// Baseline runs, before files are changed, the checks that will run because of it. Files are
// those that are going to change; nil says that it is not known which. It runs each check
// once a turn, and none whose outcome for these very files is known.
func (s *Suite) Baseline(ctx context.Context, changing []string, when ...When) {
	for _, c := range s.o.Checks {
		switch {
		case c.Writes || !wantsAny(c, when) || changing != nil && len(c.Of(changing)) == 0:
		case strings.Contains(c.Command, Files):
			s.baselineOf(ctx, c, c.Of(changing))
		case !s.begun[c.Name]:
			if s.baseline(ctx, c); ctx.Err() == nil {
				s.begun[c.Name] = true
			}
		}
	}
}

// baselineOf is the baseline of a check that is told the changed files: it grows with them.
func (s *Suite) baselineOf(ctx context.Context, c Check, changing []string) {
	id := func(name string) string { return c.Name + "\x00" + name }
	var files []string
	for _, name := range changing {
		if !s.begun[id(name)] {
			files = append(files, name)
		}
	}
	there := s.existing(files)
	k := s.known[c.Name]
	if k == nil || !s.begun[c.Name] {
		k = &known{}
		s.known[c.Name], s.begun[c.Name] = k, true
	}
	if len(there) > 0 {
		ran := s.o.Run(ctx, c, c.Line(there))
		if ctx.Err() != nil || ran.Unable != "" || ran.TimedOut {
			return
		}
		k.base = append(k.base, s.parse(ran.Exit, ran.Output)...)
		k.failed = k.failed || ran.Exit != 0
	}
	for _, name := range files {
		s.begun[id(name)] = true
	}
}

func wantsAny(c Check, when []When) bool {
	for _, w := range when {
		if c.Wants(w) {
			return true
		}
	}
	return len(when) == 0
}

func (s *Suite) baseline(ctx context.Context, c Check) {
	tree := s.tree(ctx)
	k := s.known[c.Name]
	if k != nil && tree != "" && k.tree == tree {
		return // nothing was changed since it ran
	}
	var found []problems.Problem
	var exit int
	var output string
	ok := false
	if s.o.Recall != nil && tree != "" {
		exit, output, ok = s.o.Recall(c, tree)
	}
	if !ok {
		ran := s.o.Run(ctx, c, c.Command)
		r := Report{Check: c, Outcome: OK, Exit: ran.Exit, Took: ran.Took, Output: ran.Output, Tree: tree}
		if ctx.Err() != nil || ran.Unable != "" || ran.TimedOut || ran.missing() {
			return // the run after the change tells why
		}
		if exit, output = ran.Exit, ran.Output; exit != 0 {
			r.Outcome, r.Known = Before, len(s.parse(exit, output))
		}
		s.settled(ctx, &r)
		tree = r.Tree
		s.record(&r)
	}
	found = s.parse(exit, output)
	now := &known{base: found, failed: exit != 0, last: found, tree: tree}
	if k != nil { // what the session broke in earlier turns is still new
		owed := problems.News(k.base, k.last)
		now.base = problems.News(owed, found)
		now.failed = k.failed
	}
	s.known[c.Name] = now
}

// existing are the files that are there: a new one has nothing to check before it is made.
func (s *Suite) existing(files []string) (list []string) {
	for _, name := range files {
		if _, err := os.Lstat(filepath.Join(s.o.Dir, filepath.FromSlash(name))); err == nil {
			list = append(list, name)
		}
	}
	return list
}

// After runs the checks of a moment that are about the changed files. Those that change
// files run first. A check that newly fails runs again, but after an edit: there it has to
// be quick.
func (s *Suite) After(ctx context.Context, when When, changed []string) (list []Report) {
	for _, writes := range []bool{true, false} {
		for _, c := range s.o.Checks {
			files := c.Of(changed)
			if c.Writes != writes || !c.Wants(when) || len(files) == 0 {
				continue
			}
			if strings.Contains(c.Command, Files) {
				if files = s.existing(files); len(files) == 0 {
					continue
				}
			}
			r := s.after(ctx, c, when, files)
			if ctx.Err() != nil {
				return list
			}
			s.record(&r)
			list = append(list, r)
			if writes {
				changed = append(changed[:len(changed):len(changed)], r.Changed...)
			}
		}
	}
	return list
}

// Moment says which checks run on the files as they are.
type Moment struct {
	When When // those that want this; all where it is empty
	// Only is a command that runs in the place of the configured checks, for so long at most.
	Only    string
	Timeout time.Duration
	// Show gets what commands print, while they run; nil shows nothing.
	Show func(text string)
	// Before is what checks said elsewhere, before anything was changed, by their names: what
	// it has does not count. Where it says nothing of a check, all counts.
	Before map[string]Past
}

// Past is what a check said.
type Past struct {
	Exit   int    `json:"exit"`
	Output string `json:"output"`
}

// Pasts are what the checks of some reports said.
func Pasts(list []Report) map[string]Past {
	pasts := map[string]Past{}
	for _, r := range list {
		if r.Outcome != Unable {
			pasts[r.Check.Name] = Past{r.Exit, r.Output}
		}
	}
	return pasts
}

// Again runs the checks of a moment that change nothing and need no changed files, on the
// files as they are.
func (s *Suite) Again(ctx context.Context, m Moment) (list []Report) {
	checks := slices.DeleteFunc(slices.Clone(s.o.Checks), func(c Check) bool {
		return c.Writes || strings.Contains(c.Command, Files) || m.When != "" && !c.Wants(m.When)
	})
	if m.Only != "" {
		checks = []Check{{Name: m.Only, Command: m.Only, Timeout: m.Timeout}}
	}
	for _, c := range checks {
		if ctx.Err() != nil {
			break
		}
		past, ok := m.Before[c.Name]
		if ok {
			s.known[c.Name] = &known{base: s.parse(past.Exit, past.Output), failed: past.Exit != 0}
		}
		r := Report{Check: c, When: cmp.Or(m.When, Verify), Tree: s.tree(ctx), All: !ok}
		s.fill(&r, s.o.Run(ctx, c, c.Command))
		r.Blind = false
		s.settled(ctx, &r)
		if s.o.Recall != nil && r.Tree != "" {
			if exit, _, known := s.o.Recall(c, r.Tree); known {
				r.OnRecord = fmt.Sprintf("exit %d", exit)
			}
		}
		s.record(&r)
		list = append(list, r)
	}
	return list
}

func (s *Suite) after(ctx context.Context, c Check, when When, files []string) Report {
	r := Report{Check: c, When: when, Tree: s.tree(ctx)}
	line := c.Line(files)
	ran := s.o.Run(ctx, c, line)
	s.fill(&r, ran)
	s.settled(ctx, &r)
	k := s.known[c.Name]
	if r.Outcome == Failed && len(r.New) > 0 && when != Edit && !c.Writes && ctx.Err() == nil {
		again := r
		s.fill(&again, s.o.Run(ctx, c, line))
		switch again.Outcome {
		case OK, Before:
			r.Outcome, r.Took = Flaky, r.Took+again.Took
		case Failed:
			r = again
		}
	}
	if c.Writes {
		r.Tree = s.tree(ctx)
	}
	if r.Outcome != Unable && !c.Writes {
		if k == nil {
			k = &known{}
			s.known[c.Name] = k
		}
		k.tree, k.last = r.Tree, nil
		if r.Outcome == Failed || r.Outcome == Before {
			k.last = s.parse(r.Exit, r.Output)
		}
	}
	return r
}

// fill judges one run.
func (s *Suite) fill(r *Report, ran Ran) {
	c := r.Check
	r.Exit, r.Took, r.Output, r.Changed = ran.Exit, ran.Took, ran.Output, ran.Changed
	r.New, r.Known, r.Blind = nil, 0, false
	switch {
	case ran.Unable != "":
		r.Outcome, r.Why = Unable, ran.Unable
		return
	case ran.TimedOut:
		r.Outcome, r.Why = Unable, fmt.Sprintf("it was not over after %s", c.Timeout)
		return
	case ran.Exit == 0:
		r.Outcome = OK
		return
	case ran.missing():
		r.Outcome, r.Why = Unable, tail(ran.Output)
		return
	}
	found := s.parse(ran.Exit, ran.Output)
	k := s.known[c.Name]
	if k == nil || c.Writes {
		k = &known{}
	}
	r.New, r.Blind = problems.News(k.base, found), !c.Writes && s.known[c.Name] == nil
	if k.failed && vague(found) && vague(k.base) {
		r.New = nil // it fails, and does not say in known words why; so it did before
	}
	r.Known = len(found) - len(r.New)
	if r.Outcome = Failed; len(r.New) == 0 {
		r.Outcome = Before
	}
}

// parse finds the problems in the output of a command that failed: at least one, which is the
// end of the output where no form of problem is known.
func (s *Suite) parse(exit int, output string) []problems.Problem {
	if exit == 0 {
		return nil
	}
	p := problems.Parser{Dir: s.o.Dir, Exists: func(rel string) bool {
		_, err := os.Lstat(filepath.Join(s.o.Dir, filepath.FromSlash(rel)))
		return err == nil
	}}
	list := p.Parse(output)
	if len(list) > 0 {
		return list
	}
	return []problems.Problem{{Message: fmt.Sprintf("exit code %d: %s", exit, tail(output))}}
}

// vague reports whether nothing is known of what was found but that something was.
func vague(list []problems.Problem) bool {
	return len(list) == 1 && list[0].File == "" && strings.HasPrefix(list[0].Message, "exit code ")
}

// The bounds of what is told of an output in which no problem was found.
const (
	tailLines = 15
	tailBytes = 2000
)

func tail(output string) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(output, "\uFFFD")), "\n")
	if len(lines) > tailLines {
		lines = append([]string{"…"}, lines[len(lines)-tailLines:]...)
	}
	text := strings.Join(lines, "\n")
	if len(text) > tailBytes {
		text = "…" + strings.ToValidUTF8(text[len(text)-tailBytes:], "")
	}
	if text == "" {
		return "it printed nothing"
	}
	return text
}

func (s *Suite) tree(ctx context.Context) string {
	if s.o.Tree == nil {
		return ""
	}
	name, err := s.o.Tree(ctx)
	if err != nil {
		return ""
	}
	return name
}

// settled takes the state of the files from a report when others changed them while the check
// ran: it says nothing about one state then.
func (s *Suite) settled(ctx context.Context, r *Report) {
	if r.Tree == "" || r.Check.Writes || len(r.Changed) > 0 || ctx.Err() != nil {
		return
	}
	if now := s.tree(ctx); now != r.Tree {
		r.Tree, r.Moved = "", true
	}
}

func (s *Suite) record(r *Report) {
	if s.o.Record != nil {
		r.Kept = s.o.Record(*r)
	}
}
