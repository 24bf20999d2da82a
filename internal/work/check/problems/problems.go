// Package problems reads what compilers, linters and test programs print, and finds what is
// wrong where.
//
// It knows the forms of go build, vet and test, gcc and clang, tsc, pyright, eslint, cargo, pytest
// and Python itself, and the form FILE:LINE: MESSAGE that most others have, too. What it does
// not know it leaves out: no problem found does not mean that there is none.
package problems

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"kerf/internal/text/pattern"
)

// Problem is one thing that is wrong. Line and Column count from 1; 0 is not known. File is
// relative to the directory that the program ran in where it lies in it, with slashes, and
// empty where it is not known. Test is the test that failed, with its package or file.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Test    string `json:"test,omitempty"`
	Warning bool   `json:"warning,omitempty"`
}

// String gives "file:line:column: message", without what is not known.
func (p Problem) String() string {
	where := p.File
	for _, n := range []int{p.Line, p.Column} {
		if where != "" && n > 0 {
			where += ":" + strconv.Itoa(n)
		}
	}
	if where == "" {
		return p.Message
	}
	return where + ": " + p.Message
}

// Parser reads outputs. The zero value works.
type Parser struct {
	// Dir is the directory that the program ran in.
	Dir string
	// Exists reports whether a file, relative to Dir, is there; nil knows of none. It finds
	// the directory of a Go package, whose tests name their files without it.
	Exists func(rel string) bool
}

// The forms of lines.
var (
	escapes   = pattern.Lazy("\x1b\\[[0-9;?]*[A-Za-z]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)")
	tsc       = pattern.Lazy(`^(\S.*?)\((\d+),(\d+)\): (error|warning) (TS\d+: .*)$`)
	dashed    = pattern.Lazy(`^\s*(\S.*?):(\d+):(\d+) - (error|warning):? +(\S.*)$`) // tsc and pyright
	plain     = pattern.Lazy(`^(?:vet: )?((?:[A-Za-z]:)?[^\s:(][^:]*?):(\d+)(?::(\d+))?(?:: *| +)(.*)$`)
	severity  = pattern.Lazy(`^(fatal error|error|warning|note|info|help|remark)(\[[^\]]+\])?: *`)
	rust      = pattern.Lazy(`^(error|warning)(\[E\d+\])?: (.*)$`)
	rustAt    = pattern.Lazy(`^\s*--> (.+?):(\d+):(\d+)$`)
	rustPanic = pattern.Lazy(`^thread '(.+?)'.* panicked at (.+?):(\d+):(\d+):$`)
	eslintAt  = pattern.Lazy(`^\s+(\d+):(\d+)\s+(error|warning)\s+(.*)$`)
	goFail    = pattern.Lazy(`^\s*--- FAIL: (\S+)`)
	goPackage = pattern.Lazy(`^(?:FAIL|ok  |---)\s+(\S+)\s+(?:\(cached\)|\[.*\]|[\d.]+s)`)
	goAt      = pattern.Lazy(`^\s+([^\s:/]+\.go):(\d+): (.*)$`)
	pytest    = pattern.Lazy(`^(?:FAILED|ERROR) ([^\s:]+\.py)(?:::(\S+))?(?: - (.*))?$`)
	raised    = pattern.Lazy(`^\w*(Error|Exception|Failed|Exit|Interrupt|Warning)$`)
	pythonAt  = pattern.Lazy(`^\s*File "(.+?)", line (\d+)`)
	pythonEnd = pattern.Lazy(`^(\w+(?:Error|Exception)): (.*)$`)
)

// Most is how many problems of one output are kept.
const Most = 1000

// Parse finds the problems in an output, in its order, each once. Warnings are left out
// where there are errors.
func (p Parser) Parse(output string) []Problem {
	r := reader{Parser: p, seen: map[Problem]bool{}, at: map[string][]int{}}
	for line := range strings.Lines(escapes().ReplaceAllString(output, "")) {
		if len(r.list) >= Most {
			break
		}
		r.line(strings.TrimRight(line, "\r\n"))
	}
	r.end()
	return errorsFirst(r.list)
}

func errorsFirst(list []Problem) []Problem {
	var hard []Problem
	for _, x := range list {
		if !x.Warning {
			hard = append(hard, x)
		}
	}
	if len(hard) > 0 {
		return hard
	}
	return list
}

// reader reads one output, line by line.
type reader struct {
	Parser
	list []Problem
	seen map[Problem]bool

	heading string           // the file that eslint's next lines are about
	rust    *Problem         // of cargo, without its place
	panics  bool             // the next line is what a Rust program panicked with
	tests   []Problem        // of Go tests, whose package is not known yet
	test    string           // the Go test that failed
	at      map[string][]int // lines at which pytest saw something raised, by file
	trace   *Problem         // the innermost line of a Python traceback
}

func (r *reader) add(x Problem) {
	x.File, x.Message = r.name(x.File), strings.TrimSpace(x.Message)
	if x.Message == "" || r.seen[x] {
		return
	}
	r.seen[x] = true
	r.list = append(r.list, x)
}

// name is a file relative to the directory.
func (r *reader) name(file string) string {
	if file == "" {
		return ""
	}
	if filepath.IsAbs(file) && r.Dir != "" {
		if rel, err := filepath.Rel(r.Dir, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		}
	}
	return path.Clean(filepath.ToSlash(file))
}

// line takes one line. The special forms come before the common one.
func (r *reader) line(s string) {
	for _, form := range []func(string) bool{r.typeScript, r.cargo, r.eslint, r.goTest, r.python} {
		if form(s) {
			return
		}
	}
	if m := plain().FindStringSubmatch(s); m != nil && fileLike(m[1]) {
		r.common(m)
	}
}

func (r *reader) typeScript(s string) bool {
	m := tsc().FindStringSubmatch(s)
	if m == nil {
		m = dashed().FindStringSubmatch(s)
	}
	if m != nil {
		r.add(Problem{File: m[1], Line: number(m[2]), Column: number(m[3]), Message: m[5], Warning: m[4] == "warning"})
	}
	return m != nil
}

func (r *reader) cargo(s string) bool {
	if r.panics {
		r.panics = false
		r.rust.Message += ": " + strings.TrimSpace(s)
		r.add(*r.rust)
		r.rust = nil
		return true
	}
	if m := rustPanic().FindStringSubmatch(s); m != nil {
		r.rust = &Problem{File: m[2], Line: number(m[3]), Column: number(m[4]), Message: m[1] + " panicked", Test: m[1]}
		r.panics = true
		return true
	}
	if m := rust().FindStringSubmatch(s); m != nil {
		r.rust = &Problem{Message: m[1] + m[2] + ": " + m[3], Warning: m[1] == "warning"}
		return true
	}
	if m := rustAt().FindStringSubmatch(s); m != nil && r.rust != nil {
		r.rust.File, r.rust.Line, r.rust.Column = m[1], number(m[2]), number(m[3])
		r.add(*r.rust)
		r.rust = nil
		return true
	}
	return false
}

func (r *reader) eslint(s string) bool {
	if m := eslintAt().FindStringSubmatch(s); m != nil && r.heading != "" {
		r.add(Problem{File: r.heading, Line: number(m[1]), Column: number(m[2]), Message: spaces(m[4]),
			Warning: m[3] == "warning"})
		return true
	}
	switch {
	case strings.TrimSpace(s) == "":
		r.heading = ""
	case s == strings.TrimSpace(s) && fileLike(s) && !strings.ContainsAny(s, ":\"'\t"):
		r.heading = s
		return true
	}
	return false
}

// goTest holds back what tests say until the line that names their package.
func (r *reader) goTest(s string) bool {
	if m := goFail().FindStringSubmatch(s); m != nil {
		if r.test != "" && strings.HasPrefix(m[1], r.test+"/") && len(r.tests) > 0 && r.tests[len(r.tests)-1].File == "" {
			r.tests = r.tests[:len(r.tests)-1] // its part tells it
		}
		r.test = m[1]
		r.tests = append(r.tests, Problem{Test: m[1], Message: m[1] + " failed"})
		return true
	}
	if m := goAt().FindStringSubmatch(s); m != nil && r.test != "" {
		last := &r.tests[len(r.tests)-1]
		found := Problem{File: m[1], Line: number(m[2]), Message: r.test + ": " + m[3], Test: r.test}
		if last.File == "" && last.Message == r.test+" failed" {
			*last = found
		} else {
			r.tests = append(r.tests, found)
		}
		return true
	}
	m := goPackage().FindStringSubmatch(s)
	if m == nil {
		return false
	}
	for _, x := range r.tests {
		x.Test = m[1] + "." + x.Test
		if x.File != "" {
			x.File = r.inPackage(m[1], x.File)
		} else {
			x.Message = m[1] + ": " + x.Message
		}
		r.add(x)
	}
	r.tests, r.test = nil, ""
	return true
}

// inPackage finds the file of a package whose module is not known: the longest end of the
// package's path that has it.
func (r *reader) inPackage(pkg, file string) string {
	if r.Exists == nil {
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

func (r *reader) python(s string) bool {
	s = strings.TrimPrefix(s, "E   ")
	if m := pytest().FindStringSubmatch(s); m != nil {
		x := Problem{File: m[1], Message: strings.TrimSpace(m[2] + " failed"), Test: m[1] + "::" + m[2]}
		if m[2] == "" && m[3] == "" && slices.ContainsFunc(r.list, func(y Problem) bool { return y.File == x.File }) {
			return true // it was told what is wrong in it
		}
		if m[3] != "" {
			x.Message = strings.TrimPrefix(m[2]+": "+m[3], ": ")
		}
		if lines := r.at[m[1]]; len(lines) > 0 {
			x.Line, r.at[m[1]] = lines[0], lines[1:]
		}
		r.add(x)
		return true
	}
	if m := pythonAt().FindStringSubmatch(s); m != nil {
		r.trace = &Problem{File: m[1], Line: number(m[2])}
		return true
	}
	if m := pythonEnd().FindStringSubmatch(s); m != nil && r.trace != nil {
		r.trace.Message = m[1] + ": " + m[2]
		r.add(*r.trace)
		r.trace = nil
		return true
	}
	return false
}

// common takes a line FILE:LINE[:COLUMN]: MESSAGE.
func (r *reader) common(m []string) {
	x := Problem{File: m[1], Line: number(m[2]), Column: number(m[3]), Message: m[4]}
	if raised().MatchString(x.Message) && strings.HasSuffix(x.File, ".py") {
		r.at[x.File] = append(r.at[x.File], x.Line) // pytest tells later what it was
		return
	}
	if strings.HasPrefix(x.Message, "in ") && strings.HasSuffix(x.File, ".py") {
		return // where pytest came by
	}
	if w := severity().FindStringSubmatch(x.Message); w != nil {
		switch w[1] {
		case "note", "info", "help", "remark":
			return
		case "warning":
			x.Warning = true
		}
		x.Message = strings.TrimPrefix(x.Message[len(w[0]):]+" "+w[2], " ")
	}
	x.Warning = x.Warning || strings.HasPrefix(x.Message, "Warning")
	r.add(x)
}

// end adds what waited for a line that did not come.
func (r *reader) end() {
	for _, x := range r.tests {
		r.add(x)
	}
	if r.rust != nil && r.rust.File == "" && strings.HasPrefix(r.rust.Message, "error[") {
		r.add(*r.rust)
	}
}

// fileLike reports whether a word looks like the name of a file, rather than like a time,
// an address or a sentence.
func fileLike(s string) bool {
	if len(s) > 1000 || strings.Contains(s, "://") || strings.HasPrefix(s, "-") {
		return false
	}
	ext := strings.TrimPrefix(path.Ext(filepath.ToSlash(s)), ".")
	if ext == "" || len(ext) > 8 {
		return path.Base(filepath.ToSlash(s)) == "Makefile"
	}
	letters := false
	for _, c := range ext {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '+' {
			return false
		}
		letters = letters || unicode.IsLetter(c)
	}
	return letters
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

var runs = pattern.Lazy(`\s{2,}`)

func spaces(s string) string { return runs().ReplaceAllString(strings.TrimSpace(s), "  ") }

// Shown lists problems in words, at most so many, and says how many more there are.
func Shown(list []Problem, most int) string {
	var b strings.Builder
	for i, x := range list {
		if i == most {
			fmt.Fprintf(&b, "  and %d more\n", len(list)-most)
			break
		}
		fmt.Fprintf(&b, "  %s\n", x)
	}
	return b.String()
}
