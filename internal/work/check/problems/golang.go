package problems

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"kerf/internal/text/pattern"
)

// The forms of go test.
var (
	goRuns    = pattern.Lazy(`^=== (RUN|CONT|NAME|PAUSE)\s+(\S+)$`)
	goEnds    = pattern.Lazy(`^\s*--- (FAIL|PASS|SKIP): (\S+)`)
	goPackage = pattern.Lazy(`^(?:FAIL|ok  |---)\s+(\S+)\s+(?:\(cached\)|\[.*\]|[\d.]+s)`)
	goAt      = pattern.Lazy(`^\s+([^\s:/]+\.go):(\d+): (.*)$`)
	goPanic   = pattern.Lazy(`^panic: (.*?)(?: \[recovered.*)?$`)
	goFrame   = pattern.Lazy(`^\t(\S.*\.go):(\d+)(?: \+0x[0-9a-f]+)?$`)
)

// goTests are what Go tests said, until the line that names their package.
type goTests struct {
	failed []Problem
	test   string               // the one that failed last, after which its words come
	runs   string               // with -v: the one that speaks
	said   map[string][]Problem // with -v: what each has said so far
	panics bool                 // the place of a panic comes
}

// goTest holds back what tests say until the line that names their package.
func (r *reader) goTest(s string) bool {
	g := &r.golang
	if m := goRuns().FindStringSubmatch(s); m != nil {
		g.runs, g.test = m[2], ""
		return true
	}
	if m := goEnds().FindStringSubmatch(s); m != nil {
		g.ends(m[2], m[1] == "FAIL")
		return true
	}
	if m := goAt().FindStringSubmatch(s); m != nil && (g.test != "" || g.runs != "") {
		g.says(m[1], number(m[2]), m[3])
		return true
	}
	if g.panicked(r, s) {
		return true
	}
	m := goPackage().FindStringSubmatch(s)
	if m == nil {
		return false
	}
	for _, x := range g.failed {
		x.Test = m[1] + "." + x.Test
		if x.File != "" {
			x.File = r.inPackage(m[1], x.File)
		} else {
			x.Message = m[1] + ": " + x.Message
		}
		r.add(x)
	}
	r.golang = goTests{}
	return true
}

// ends notes that a test is over.
func (g *goTests) ends(test string, failed bool) {
	said := g.said[test]
	delete(g.said, test)
	g.test = ""
	if !failed {
		return
	}
	n := len(g.failed)
	if n > 0 && g.failed[n-1].File == "" && strings.HasPrefix(test, g.failed[n-1].Test+"/") {
		g.failed = g.failed[:n-1] // its part tells it
	}
	part := slices.ContainsFunc(g.failed, func(x Problem) bool { return strings.HasPrefix(x.Test, test+"/") })
	switch g.test = test; {
	case len(said) > 0:
		g.failed = append(g.failed, said...)
	case !part:
		g.failed = append(g.failed, Problem{Test: test, Message: test + " failed"})
	}
}

// says takes a line of a test.
func (g *goTests) says(file string, line int, text string) {
	x := Problem{File: file, Line: line}
	if g.test == "" { // it is not known yet whether it fails
		if g.said == nil {
			g.said = map[string][]Problem{}
		}
		x.Test, x.Message = g.runs, g.runs+": "+text
		if len(g.said[g.runs]) < Most {
			g.said[g.runs] = append(g.said[g.runs], x)
		}
		return
	}
	x.Test, x.Message = g.test, g.test+": "+text
	if n := len(g.failed); n > 0 && g.failed[n-1] == (Problem{Test: g.test, Message: g.test + " failed"}) {
		g.failed = g.failed[:n-1]
	}
	g.failed = append(g.failed, x)
}

// panicked takes a panic of the test that failed last, and the first of its places that lies
// in the directory.
func (g *goTests) panicked(r *reader, s string) bool {
	n := len(g.failed)
	if n == 0 {
		return false
	}
	last := &g.failed[n-1]
	if m := goPanic().FindStringSubmatch(s); m != nil {
		last.Message, g.panics = last.Test+": panic: "+m[1], last.File == ""
		return true
	}
	m := goFrame().FindStringSubmatch(s)
	if m == nil || !g.panics {
		return false
	}
	name := r.below(m[1])
	if r.Exists != nil && !path.IsAbs(name) {
		dir, file := path.Split(name)
		name = r.inPackage(path.Clean(dir), file)
	}
	if !path.IsAbs(name) && (r.Exists == nil || r.Exists(name)) {
		// What names the package puts the directory before it.
		last.File, last.Line, g.panics = "./"+name, number(m[2]), false
	}
	return true
}

// inPackage finds the file of a package whose module is not known: the longest end of the
// package's path that has it.
func (r *reader) inPackage(pkg, file string) string {
	if r.Exists == nil || strings.Contains(file, "/") {
		return file
	}
	parts := strings.Split(pkg, "/")
	for i := range parts {
		if name := path.Join(path.Join(parts[i:]...), file); r.Exists(name) {
			return name
		}
	}
	return file
}

// goJSON are the outputs of the packages where go test speaks JSON, and else the whole one.
func goJSON(output string) []string {
	if !strings.HasPrefix(output, `{"`) || !strings.Contains(output, `"Action":"`) {
		return []string{output}
	}
	outputs, rest := map[string]*strings.Builder{}, &strings.Builder{}
	for line := range strings.Lines(output) {
		var e struct{ Action, Package, ImportPath, Output string }
		if json.Unmarshal([]byte(line), &e) != nil {
			rest.WriteString(line)
			continue
		}
		if outputs[e.Package+e.ImportPath] == nil {
			outputs[e.Package+e.ImportPath] = &strings.Builder{}
		}
		outputs[e.Package+e.ImportPath].WriteString(e.Output)
	}
	list := []string{rest.String()}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		list = append(list, outputs[name].String())
	}
	return list
}
