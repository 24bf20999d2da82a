package problems

import (
	"strings"

	"kerf/internal/text/pattern"
)

// The forms of jest and vitest.
var (
	jestFile   = pattern.Lazy(`^\s*FAIL\s+(?:\|.*?\|\s+|\S+\s+)?(\S+\.[cm]?[jt]sx?)(?: > (.+?))?(?: \([\d.]+ m?s\))?$`)
	jestTest   = pattern.Lazy(`^\s*● (.+)$`)
	jestAt     = pattern.Lazy(`^\s+at (?:.*\()?([^()\s][^()]*?):(\d+):(\d+)\)?$`)
	vitestAt   = pattern.Lazy(`^\s*❯ (?:.* )?(\S+?):(\d+):(\d+)$`)
	jestRegion = pattern.Lazy(`^\s*>?\s*\d+\s*\|`)
)

// jsTest is the test of jest or vitest that is told about.
type jsTest struct {
	file  string // the last one that failed
	now   *Problem
	words bool // its first words were there
}

// end is the test, which is over.
func (j *jsTest) end() []Problem {
	x := j.now
	if j.now = nil; x == nil {
		return nil
	}
	return []Problem{*x}
}

func (r *reader) javaScript(s string) bool {
	j := &r.js
	begin := func(file, test string) {
		for _, x := range j.end() {
			r.add(x)
		}
		j.now, j.words = &Problem{File: file, Message: test, Test: file + " > " + test}, false
	}
	if m := jestFile().FindStringSubmatch(s); m != nil {
		for _, x := range j.end() {
			r.add(x)
		}
		if j.file = m[1]; m[2] != "" {
			begin(m[1], m[2])
		}
		return true
	}
	if m := jestTest().FindStringSubmatch(s); m != nil && j.file != "" && m[1] != "Console" {
		begin(j.file, m[1])
		return true
	}
	if j.now == nil {
		return false
	}
	m := jestAt().FindStringSubmatch(s)
	if m == nil {
		m = vitestAt().FindStringSubmatch(s)
	}
	switch text := strings.TrimSpace(s); {
	case m != nil:
		// The first place in the test's own file, or in whatever else is of the project.
		if j.now.Line == 0 && !strings.Contains(m[1], "node_modules/") && !strings.HasPrefix(m[1], "node:") {
			j.now.File, j.now.Line, j.now.Column = m[1], number(m[2]), number(m[3])
		}
	case !j.words && text != "":
		j.now.Message, j.words = j.now.Message+": "+text, true
	case j.words && j.now.Line == 0 && (strings.HasPrefix(text, "Expected: ") || strings.HasPrefix(text, "Received: ")):
		j.now.Message += ", " + strings.ToLower(text[:1]) + text[1:]
	case jestRegion().MatchString(s):
	case strings.HasPrefix(text, "Test Suites: "), strings.HasPrefix(text, "Test Files "),
		text == "Summary of all failing tests":
		for _, x := range j.end() {
			r.add(x)
		}
		j.file = ""
	}
	return true
}
