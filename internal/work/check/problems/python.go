package problems

import (
	"slices"
	"strings"

	"kerf/internal/text/pattern"
)

// The forms of pytest and Python.
var (
	pytest    = pattern.Lazy(`^(?:FAILED|ERROR) ([^\s:]+\.py)(?:::(.+?))?(?: - (.*))?$`)
	pytestFor = pattern.Lazy(`^_{3,} (?:ERROR (?:at (?:setup|teardown) of|collecting) )?(.+?) _{3,}$`)
	raised    = pattern.Lazy(`^\w*(Error|Exception|Failed|Exit|Interrupt|Warning)$`)
	pythonAt  = pattern.Lazy(`^\s*File "(.+?)", line (\d+)`)
	pythonEnd = pattern.Lazy(`^(\w+(?:Error|Exception)): (.*)$`)
)

// pythonTests are what pytest said where, until the lines that say what failed.
type pythonTests struct {
	test  string           // the one that is told about
	lines map[string][]int // at which something was raised, by test and file
	came  map[string]int   // the last line that it came by, by the same
	trace *Problem         // the innermost line of a traceback
}

// place notes a line that pytest names, and reports whether it is one.
func (p *pythonTests) place(x Problem) bool {
	at := p.test + "\x00" + x.File
	switch {
	case raised().MatchString(x.Message):
		if p.lines == nil {
			p.lines = map[string][]int{}
		}
		p.lines[at] = append(p.lines[at], x.Line)
	case strings.HasPrefix(x.Message, "in "):
		if p.came == nil {
			p.came = map[string]int{}
		}
		p.came[at] = x.Line
	default:
		return false
	}
	return true
}

// line is where a test of a file failed, 0 where that was not said.
func (p *pythonTests) line(test, file string) int {
	name := test
	if i := strings.IndexByte(test, '['); i >= 0 { // parameters may have colons
		name = test[:i]
	}
	for _, name := range []string{strings.ReplaceAll(name, "::", ".") + test[len(name):], file} {
		at := name + "\x00" + file
		if lines := p.lines[at]; len(lines) > 0 {
			p.lines[at] = lines[1:]
			return lines[0]
		}
		if line := p.came[at]; line > 0 {
			return line
		}
	}
	return 0
}

func (r *reader) python(s string) bool {
	s = strings.TrimPrefix(s, "E   ")
	if m := pytestFor().FindStringSubmatch(s); m != nil {
		r.py.test = m[1]
		return true
	}
	if m := pytest().FindStringSubmatch(s); m != nil {
		r.pytest(m[1], m[2], m[3])
		return true
	}
	if m := pythonAt().FindStringSubmatch(s); m != nil {
		r.py.trace = &Problem{File: m[1], Line: number(m[2])}
		return true
	}
	if m := pythonEnd().FindStringSubmatch(s); m != nil && r.py.trace != nil {
		r.py.trace.Message = m[1] + ": " + m[2]
		r.add(*r.py.trace)
		r.py.trace = nil
		return true
	}
	return false
}

// pytest takes a line of its summary.
func (r *reader) pytest(file, test, why string) {
	x := Problem{File: file, Message: strings.TrimSpace(test + " failed"), Test: file + "::" + test}
	if test == "" && why == "" && slices.ContainsFunc(r.list, func(y Problem) bool { return y.File == x.File }) {
		return // it was told what is wrong in it
	}
	if why != "" {
		x.Message = strings.TrimPrefix(test+": "+why, ": ")
	}
	x.Line = r.py.line(test, file)
	// With one line for each failure its words were told with their place.
	if i := slices.IndexFunc(r.list, func(y Problem) bool {
		return y.Test == "" && y.Message == why && strings.HasSuffix("/"+y.File, "/"+r.name(file))
	}); i >= 0 && why != "" && x.Line == 0 {
		x.Line = r.list[i].Line
		r.list = slices.Delete(r.list, i, i+1)
	}
	r.add(x)
}
