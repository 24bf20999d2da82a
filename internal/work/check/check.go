// Package check runs the checks of a project, and tells what they newly find: a compiler, a
// linter, the tests. What a check found before anything was changed does not count.
package check

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"kerf/internal/text/shell"
	"kerf/internal/work/check/problems"
)

// When is a moment at which checks run.
type When string

// The moments.
const (
	Edit When = "edit" // after each change of files
	Turn When = "turn" // when the model is done
	// Keep is before a try is kept, Commit before a turn becomes a commit.
	Keep   When = "keep"
	Commit When = "commit"
	// The others cannot be configured: Verify is when the user has checks run again, Goal after a
	// turn with a goal, Attempt after one of several attempts.
	Verify  When = "verify"
	Goal    When = "goal"
	Attempt When = "attempt"
)

// Gate says what becomes of work that newly breaks a check.
type Gate string

// The gates.
const (
	Tell  Gate = "tell"  // model and user are told
	Block Gate = "block" // the turn goes on, or fails
)

// Check is one check as it is configured.
type Check struct {
	Name    string
	Command string // a line of the shell; Files in it stands for what was changed
	// Paths are globs, relative to the working directory. The check is about changes of
	// files that fit one of them; empty fits all.
	Paths   []string
	When    []When
	Timeout time.Duration
	Gate    Gate
	// Writes says that the check changes files, as formatters do. It has no baseline.
	Writes bool
}

// Files is the word of a command that stands for the changed files.
const Files = "{files}"

// Wants reports whether the check runs at a moment.
func (c Check) Wants(w When) bool { return slices.Contains(c.When, w) }

// Of are those of the files that the check is about. Files are relative to the working
// directory, with slashes.
func (c Check) Of(files []string) []string {
	if len(c.Paths) == 0 {
		return files
	}
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		return !slices.ContainsFunc(c.Paths, func(glob string) bool { return fits(glob, name) })
	})
}

// fits reports whether a glob fits a file. One without a slash fits names in all
// directories, one that ends in a slash all below a directory.
func fits(glob, name string) bool {
	glob = strings.TrimPrefix(glob, "./")
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	if !strings.Contains(glob, "/") {
		name = path.Base(name)
	}
	return doublestar.MatchUnvalidated(glob, name)
}

// Line is the command for some files.
func (c Check) Line(files []string) string {
	if !strings.Contains(c.Command, Files) {
		return c.Command
	}
	quoted := make([]string, len(files))
	for i, name := range files {
		if strings.HasPrefix(name, "-") {
			name = "./" + name
		}
		quoted[i] = shell.Quote(name)
	}
	return strings.ReplaceAll(c.Command, Files, strings.Join(quoted, " "))
}

// Outcome is what a check came to.
type Outcome string

// The outcomes.
const (
	OK     Outcome = "ok"
	Failed Outcome = "failed" // it finds something that it did not find before
	Before Outcome = "before" // it fails, and finds only what it found before
	Flaky  Outcome = "flaky"  // it failed, and did not when it ran again
	Unable Outcome = "unable" // it did not run, or not to its end
)

// Ran is what one run of a command came to.
type Ran struct {
	Exit     int
	Output   string
	Took     time.Duration
	TimedOut bool
	// Unable says why the command did not run; empty when it did.
	Unable string
	// Changed are the files that it changed, relative to the working directory.
	Changed []string
}

// missing reports whether the shell did not find the command, or could not start it.
func (r Ran) missing() bool { return r.Exit == 126 || r.Exit == 127 }

// Report is what one check came to.
type Report struct {
	Check    Check
	When     When // empty for the baseline
	Outcome  Outcome
	Exit     int
	New      []problems.Problem // what it did not find before
	Known    int                // how many it found before, too
	Blind    bool               // what it found before is not known
	All      bool               // all counts, also what it would have found before
	Took     time.Duration
	Why      string // for Unable
	Output   string // whole
	Kept     string // the name under which the output is kept
	Tree     string // of the files that it ran on, see treehash; empty where it is not known
	Moved    bool   // others changed files while it ran, so that Tree is empty
	Changed  []string
	OnRecord string // what an earlier run on the same files came to, empty where there was none
}

// Verdict is the outcome in a few words, without what is new.
func (r Report) Verdict() string {
	switch r.Outcome {
	case OK:
		if n := len(r.Changed); n > named {
			return fmt.Sprintf("ok, and changed %s and %d more files", strings.Join(r.Changed[:named], ", "), n-named)
		} else if n > 0 {
			return "ok, and changed " + strings.Join(r.Changed, ", ")
		}
		return "ok"
	case Before:
		return "fails as it did before"
	case Flaky:
		return "flaky: it failed, and passed when it ran again on the same files"
	case Unable:
		return "did not run: " + r.Why
	}
	word, many := "newly fails", "s"
	if r.All {
		word = "fails"
	}
	if len(r.New) == 1 {
		many = ""
	}
	return fmt.Sprintf("%s: %d problem%s", word, len(r.New), many)
}

const (
	named = 3  // how many changed files are named
	shown = 20 // how many problems are listed
)

// Text is the report for the model and for people, with what is new.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "check %s (%s): %s", r.Check.Name, r.Check.Command, r.Verdict())
	if r.Outcome == Failed || r.Outcome == Flaky {
		fmt.Fprintf(&b, "\n%s", problems.Shown(r.New, shown))
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if r.Check.Writes && len(r.Changed) > 0 {
		text += "\n(read what it changed again before you edit it)"
	}
	if r.Outcome == Failed && r.Known > 0 {
		text += fmt.Sprintf("\n(%d more were there before; leave them)", r.Known)
	}
	if r.Outcome == Failed && r.Blind {
		text += "\n(it was not run before the change: some of it may be older)"
	}
	if r.Outcome == Failed && r.Kept != "" {
		text += "\n(whole output: " + r.Kept + ")"
	}
	return text
}

// Text joins the reports that tell something beyond "ok".
func Text(list []Report) string {
	var parts []string
	for _, r := range list {
		if r.Outcome != OK && r.Outcome != Before || len(r.Changed) > 0 {
			parts = append(parts, r.Text())
		}
	}
	return strings.Join(parts, "\n\n")
}

// Blocks reports whether one of the reports keeps work from going on.
func Blocks(list []Report) bool {
	return slices.ContainsFunc(list, Report.Blocks)
}

// Blocks reports whether the report does so.
func (r Report) Blocks() bool {
	return r.Check.Gate == Block && (r.Outcome == Failed || r.Outcome == Unable)
}
