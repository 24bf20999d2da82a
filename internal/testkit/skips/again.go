package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// failure is a test that failed by itself, not because of a subtest.
type failure struct {
	pkg, test string
	said      string // what it printed
}

// fails takes in that a test failed, and what it printed. A package that fails after all of its tests
// ended well, or while some had not ended, cannot be mended by running a test again.
func (r *reader) fails(pkg, test, said string) {
	child := slices.ContainsFunc(r.failures, func(f failure) bool {
		return f.pkg == pkg && strings.HasPrefix(f.test, test+"/")
	})
	if !child {
		r.failures = append(r.failures, failure{pkg, test, said})
	}
}

// failsWhole takes in that a package failed; unended are the tests that had not ended.
func (r *reader) failsWhole(pkg string, unended int) {
	known := slices.ContainsFunc(r.failures, func(f failure) bool { return f.pkg == pkg })
	if unended > 0 || !known {
		r.broken = append(r.broken, pkg)
	}
}

// seeded finds the number that replays what a test of random data found.
var seeded = regexp.MustCompile(`(?i)\bseed\b[ =:]*-?[0-9]|\[rapid\]|testdata/fuzz`)

// settle decides what the failures of a run whose exit code was code mean, and prints them last, where
// a reader looks first. With most > 0, up to so many tests that failed run once more, each alone: one that
// then passes is told as flaky and does not fail the run. What names its seed never runs again, since
// other data would not find it, and neither does a package that broke off.
func (r *reader) settle(code, most int) int {
	if code == 0 || len(r.failures)+len(r.broken) == 0 {
		return code
	}
	again := most > 0 && len(r.failures) <= most && len(r.broken) == 0
	red := 0
	fmt.Fprintf(r.w, "\nfailed:\n")
	for _, pkg := range r.broken {
		fmt.Fprintf(r.w, "  %s: the package broke off\n", pkg)
	}
	for _, f := range r.failures {
		switch {
		case !again:
			fmt.Fprintf(r.w, "  %s.%s\n", f.pkg, f.test)
			red++
		case seeded.MatchString(f.said):
			fmt.Fprintf(r.w, "  %s.%s: by random data, so it is not run again\n%s", f.pkg, f.test, lastLines(f.said, 30))
			red++
		case r.alone(r.w, f):
			fmt.Fprintf(r.w, "  FLAKY: %s.%s failed once and passed alone; it said:\n%s", f.pkg, f.test, lastLines(f.said, 30))
		default:
			fmt.Fprintf(r.w, "  %s.%s: alone, too\n", f.pkg, f.test)
			red++
		}
	}
	if again && red == 0 {
		return 0
	}
	return code
}

// testAlone runs one test again, by itself, and reports whether it passed. What it prints when it
// fails goes to w.
func testAlone(w io.Writer, f failure) bool {
	cmd := exec.Command("go", "test", "-count=1", "-v", "-timeout", "15m", "-run", exactly(f.test), f.pkg)
	cmd.Env = os.Environ()
	out, err := cmd.CombinedOutput()
	// A test that a pattern no longer finds, or that is skipped, did not pass.
	passed := err == nil && bytes.Contains(out, []byte("--- PASS: "+f.test+" ")) && !bytes.Contains(out, []byte("--- SKIP"))
	if !passed {
		fmt.Fprint(w, lastLines(string(out), 100))
	}
	return passed
}

// lastLines returns at most the last n lines of text, each indented.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "    " + strings.Join(lines, "\n    ") + "\n"
}
