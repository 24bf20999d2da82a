// Package goal holds the words about the goal of a turn, and knows which files decide whether
// it is reached.
package goal

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kerf/internal/protocol"
)

// Checks is how often the check of a goal may run.
func Checks(g protocol.Goal) int {
	if g.Checks > 0 {
		return g.Checks
	}
	return 20
}

// Statement tells the model the goal. For one goal it is always the same.
func Statement(g protocol.Goal) string {
	text := "<goal>\nThe user set this goal for the turn. Nothing that is said later changes it; only the user ends it " +
		"early.\n<text>\n" + strings.TrimSpace(safe(g.Text)) + "\n</text>\n"
	if g.Check != "" {
		text += "Whenever you say that you are done, Kerf itself runs this check in the working directory:\n<check>\n" +
			safe(g.Check) + "\n</check>\nThe turn ends when it exits with 0 on the files as they are then. What you say of it " +
			"does not count. Make it pass by reaching the goal: leave the check and the tests as they are, unless the goal " +
			"asks for other ones. A check whose own files were changed does not count, and the user is told of changed tests.\n"
	}
	return text + "</goal>"
}

func safe(s string) string { return strings.ReplaceAll(s, "</goal", "<\\/goal") }

// Finding is what a run of the check came to.
type Finding struct {
	Exit   *int   // nil when it did not run to its end
	Result string // of the command, as models are told results
	// Altered are the files of the check itself that are not what they were when the turn
	// began. Tests are changed files that may decide about the outcome.
	Altered, Tests []string
}

// Passed reports whether the goal is reached.
func (f Finding) Passed() bool { return f.Exit != nil && *f.Exit == 0 && len(f.Altered) == 0 }

// Text tells the model what was found.
func (f Finding) Text() string {
	switch {
	case f.Passed():
		return "<goal_check>\nThe check of the goal passed: exit code 0." + f.tests() + "\n</goal_check>"
	case len(f.Altered) > 0:
		return "<goal_check>\nThe check does not count, because files that it consists of were changed in this turn: " +
			strings.Join(f.Altered, ", ") + ". Put them back as they were when the turn began, and reach the goal without " +
			"changing them.\nThis is what it said as it is now:\n" + f.Result + "\n</goal_check>"
	}
	return "<goal_check>\nThe check of the goal failed, so the goal is not reached. Go on.\n" + f.Result +
		"\n</goal_check>"
}

// Warnings tell the user what to look at.
func (f Finding) Warnings() (list []string) {
	if len(f.Altered) > 0 {
		list = append(list, "the check does not count: its own files were changed in this turn: "+shown(f.Altered))
	}
	if f.Passed() && len(f.Tests) > 0 {
		list = append(list, "the check passed with changed tests, look at them: "+shown(f.Tests))
	}
	return list
}

func (f Finding) tests() string {
	if len(f.Tests) == 0 {
		return ""
	}
	return " The user is told that these were changed: " + shown(f.Tests) + "."
}

func shown(names []string) string {
	const most = 10
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Named are the words of a check that may name files of it, cleaned; absolute ones and such
// that lead out of the directory among them.
func Named(check string) (names []string) {
	between := func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`$={},", r) }
	for _, word := range strings.FieldsFunc(check, between) {
		word = path.Clean(word)
		if word != "." && !strings.HasPrefix(word, "-") && !slices.Contains(names, word) {
			names = append(names, word)
		}
	}
	return names
}

// The names of what tests are and run by, lower case.
var (
	testDirs  = []string{"test", "tests", "__tests__", "spec", "specs", "testdata", "__snapshots__", "e2e"}
	testNames = []string{"*_test.*", "test_*.*", "*.test.*", "*.spec.*", "*_spec.*", "*test.java", "*tests.cs",
		"*test.kt", "*test.php", "conftest.py", "check.sh", "test.sh"}
	runners = []string{"makefile", "gnumakefile", "justfile", "taskfile.y*ml", "package.json", "pytest.ini", "tox.ini",
		"setup.cfg", "pyproject.toml", "noxfile.py", "jest.config.*", "vitest.config.*", "vite.config.*", ".mocharc*",
		"playwright.config.*", "phpunit.xml*", "build.gradle*", "pom.xml", "cmakelists.txt", "rakefile"}
)

// Decides reports whether a changed file, relative and with slashes, may decide about what a
// check finds: it is a test by its name, or says how tests are run.
func Decides(name string) bool {
	name = strings.ToLower(name)
	dir, base := path.Split(name)
	for part := range strings.SplitSeq(dir, "/") {
		if slices.Contains(testDirs, part) {
			return true
		}
	}
	return slices.ContainsFunc(append(testNames[:len(testNames):len(testNames)], runners...), func(glob string) bool {
		ok, _ := path.Match(glob, base)
		return ok
	})
}
