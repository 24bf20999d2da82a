// Package problems reads what compilers, linters and test programs print, and finds what is
// wrong where.
//
// It knows the forms of go build, vet and test, gcc, clang and ld, tsc, pyright, eslint, jest, vitest,
// cargo, ruff, pytest and Python itself, Maven, and the form FILE:LINE: MESSAGE that most others
// have, too. What it does not know it leaves out: no problem found does not mean that there is none.
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
	escapes    = pattern.Lazy("\x1b\\[[0-9;?]*[A-Za-z]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)")
	tsc        = pattern.Lazy(`^(\S.*?)\((\d+),(\d+)\): (error|warning) (TS\d+: .*)$`)
	dashed     = pattern.Lazy(`^\s*(\S.*?):(\d+):(\d+) - (error|warning):? +(\S.*)$`) // tsc and pyright
	plain      = pattern.Lazy(`^(?:vet: )?((?:[A-Za-z]:)?[^\s:(][^:]*?):(\d+)(?::(\d+))?(?:: *| +)(.*)$`)
	severity   = pattern.Lazy(`^(fatal error|error|warning|note|info|help|remark)(\[[^\]]+\])?: *`)
	rust       = pattern.Lazy(`^(error|warning)(\[E\d+\])?: (.*)$`)
	rustAt     = pattern.Lazy(`^\s*--> (.+?):(\d+):(\d+)$`)
	rustPanic  = pattern.Lazy(`^thread '(.+?)'.* panicked at (.+?):(\d+):(\d+):$`)
	rustFailed = pattern.Lazy(`^test (\S+)(?: - should panic)? \.\.\. FAILED$`)
	ruffCode   = pattern.Lazy(`^([A-Z]{1,4}\d{2,4})(?: \[\*\])? (\S.*)$`)
	undefined  = pattern.Lazy(`^(?:\S*ld: )?(?:\S+\.o: )?([^\s:(][^:(]*):(?:(\d+)|\([^)]*\))` +
		`: (undefined reference to .*)$`)
	mavenAt  = pattern.Lazy(`^\[(ERROR|WARNING)\] (\S+?):\[(\d+),(\d+)\] (.*)$`)
	makeDir  = pattern.Lazy("^(?:g?make(?:\\[\\d+\\])?|ninja): [^/'\"`]*['\"`‘“«](.+)['\"’”»]")
	eslintAt = pattern.Lazy(`^\s+(\d+):(\d+)\s+(error|warning)\s+(.*)$`)
)

// Most is how many problems of one output are kept.
const Most = 1000

// Parse finds the problems in an output, in its order, each once. Warnings are left out
// where there are errors.
func (p Parser) Parse(output string) []Problem {
	var list []Problem
	seen := map[Problem]bool{}
	for _, text := range goJSON(escapes().ReplaceAllString(output, "")) {
		r := reader{Parser: p, list: list, seen: seen}
		for line := range strings.Lines(text) {
			if len(r.list) >= Most {
				break
			}
			r.line(strings.TrimRight(line, "\r\n"))
		}
		r.end()
		list = r.list
	}
	return errorsFirst(list)
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

	heading string    // the file that eslint's next lines are about
	rust    *Problem  // of cargo, without its place
	quiet   []Problem // Rust tests that failed; why may be told later
	panics  bool      // the next line is what a Rust program panicked with
	golang  goTests
	py      pythonTests
	js      jsTest
	dirs    []string // in which make and ninja work, the last ones last
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
	if filepath.IsAbs(file) {
		return r.below(file)
	}
	name := path.Clean(filepath.ToSlash(file))
	if r.Exists == nil || r.Exists(name) {
		return name
	}
	for _, dir := range slices.Backward(r.dirs) { // what runs there names its files without it
		if in := path.Join(r.below(dir), name); !path.IsAbs(in) && r.Exists(in) {
			return in
		}
	}
	dir := filepath.ToSlash(r.Dir)
	for i := range name { // cargo names files from the top of a workspace
		if name[i] == '/' && strings.HasSuffix(dir, "/"+name[:i]) && r.Exists(name[i+1:]) {
			return name[i+1:]
		}
	}
	return name
}

// below is an absolute path without the directory, where it lies in it.
func (r *reader) below(file string) string {
	if rel, err := filepath.Rel(r.Dir, file); r.Dir != "" && err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	return path.Clean(filepath.ToSlash(file))
}

// entering notes where make and ninja go to work, whatever language they say it in.
func (r *reader) entering(s string) bool {
	m := makeDir().FindStringSubmatch(s)
	if m != nil && len(r.dirs) < Most {
		r.dirs = append(r.dirs, m[1])
	}
	return m != nil
}

// line takes one line. The special forms come before the common one.
func (r *reader) line(s string) {
	for _, form := range []func(string) bool{r.entering, r.javaScript, r.typeScript, r.cargo, r.ruff, r.eslint, r.goTest,
		r.python, r.linker, r.maven} {
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
		r.add(Problem{File: r.inWorkspace(m[1]), Line: number(m[2]), Column: number(m[3]), Message: m[5],
			Warning: m[4] == "warning"})
	}
	return m != nil
}

// inWorkspace takes off what pnpm and the like write before each line: the directory of a
// package and what runs there.
func (r *reader) inWorkspace(file string) string {
	before, name, ok := strings.Cut(file, ": ")
	if !ok || !fileLike(name) {
		return file
	}
	dir, _, _ := strings.Cut(before, " ")
	if in := path.Join(dir, name); r.Exists != nil && r.Exists(in) {
		return in
	}
	return name
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
	if m := rustFailed().FindStringSubmatch(s); m != nil {
		told := func(x Problem) bool { return x.Test == m[1] }
		if !slices.ContainsFunc(r.list, told) {
			r.quiet = append(r.quiet, Problem{Message: m[1] + " failed", Test: m[1]})
		}
		return true
	}
	return false
}

// ruff takes the two lines of its full form.
func (r *reader) ruff(s string) bool {
	m := ruffCode().FindStringSubmatch(s)
	if m != nil {
		r.rust = &Problem{Message: m[1] + " " + m[2]}
	}
	return m != nil
}

func (r *reader) linker(s string) bool {
	m := undefined().FindStringSubmatch(s)
	if m != nil {
		r.add(Problem{File: m[1], Line: number(m[2]), Message: m[3]})
	}
	return m != nil
}

func (r *reader) maven(s string) bool {
	m := mavenAt().FindStringSubmatch(s)
	if m != nil {
		r.add(Problem{File: m[2], Line: number(m[3]), Column: number(m[4]), Message: m[5], Warning: m[1] == "WARNING"})
	}
	return m != nil
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

// common takes a line FILE:LINE[:COLUMN]: MESSAGE.
func (r *reader) common(m []string) {
	x := Problem{File: m[1], Line: number(m[2]), Column: number(m[3]), Message: m[4]}
	if strings.HasSuffix(x.File, ".py") && r.py.place(x) {
		return // pytest tells later what it was
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
	r.javaScript("")
	for _, x := range slices.Concat(r.js.end(), r.golang.failed) {
		r.add(x)
	}
	for _, x := range r.quiet {
		if !slices.ContainsFunc(r.list, func(y Problem) bool { return y.Test == x.Test }) {
			r.add(x)
		}
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
