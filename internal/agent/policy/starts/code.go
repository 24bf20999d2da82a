package starts

import (
	"slices"
	"strings"
)

// shells read shell text.
var shells = set("sh bash zsh dash ksh mksh ash fish csh tcsh rbash")

// code are the interpreters of other languages, a line each for those with the same options that
// take code, after the colon.
const code = ` python python2 python3 pypy pypy3 guile ipython xonsh nu elvish gjs : -c
 perl : -e -E -M -m -x
 ruby : -e -r
 php : -r -B -R -E -d
 node : -e -p -pe --eval --print -r --require --import
 nodejs : -e -p --eval --print
 deno : eval
 bun : -e --eval -p --print
 lua luajit Rscript R osascript elixir groovy scala racket ghc swift qjs : -e
 tclsh jshell irb jjs :
 julia : -e -E
 pwsh : -c -Command -e -enc -EncodedCommand
 powershell : -c -Command -e -enc
 cmd : /c /C /k
 erl : -eval
 octave : --eval`

// codeOf are the options of an interpreter that take code, and whether it is one.
func codeOf(name string) ([]string, bool) {
	for line := range strings.Lines(code) {
		if names, options, _ := strings.Cut(line, ":"); Among(names, name) {
			return strings.Fields(options), true
		}
	}
	return nil, false
}

// Interpreter reports whether a program runs code that it reads.
func Interpreter(name string) bool {
	return interprets(name) || name == "eval" || name == "source" || name == "."
}

// interprets reports whether a program is a shell or another interpreter.
func interprets(name string) bool {
	_, ok := codeOf(name)
	return ok || shells()[name]
}

// Reads reports whether a command runs what it reads from its standard input.
func Reads(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	name := Name(argv[0])
	options, ok := codeOf(name)
	if !ok && !shells()[name] {
		return false
	}
	for i := 1; i < len(argv); i++ {
		switch a := argv[i]; {
		case a == "-s" || a == "-" || a == "/dev/stdin" || a == "/dev/fd/0" || a == "/proc/self/fd/0":
			return true
		case a == "--version" || a == "--help" || a == "-V" || a == "-v" && len(argv) == 2 && !shells()[name]:
			return false
		case strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "c") && shells()[name]:
			return false
		case strings.HasPrefix(a, "-"):
			if slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(a, o) }) {
				return false
			}
			if a == "-m" && strings.HasPrefix(name, "python") {
				return false
			}
		case i > 1 && (argv[i-1] == "-o" || argv[i-1] == "-O"):
		default:
			return false
		}
	}
	return true
}

// shell takes the options of a shell apart: with -c, wherever it stands, its first
// operand is a script.
func (w words) shell() Found {
	name, script := Name(w.argv[0]), false
	i := 1
options:
	for ; i < len(w.argv); i++ {
		a := w.argv[i]
		switch {
		case a == "--" || a == "-":
			i++
			break options
		case w.unknown(i):
			return w.rest(i, "the options of "+name+" are known only when it runs")
		case a == "--version" || a == "--help":
			return Found{}
		case strings.HasPrefix(a, "--"):
			if !has("--norc --noprofile --login --posix --restricted --verbose --noediting --no-rcs "+
				"--no-globalrcs", a) {
				return w.rest(i, "the option "+a+" of "+name+" is not known")
			}
		case (strings.HasPrefix(a, "-") || strings.HasPrefix(a, "+")) && len(a) > 1:
			if strings.Trim(a[1:], "abcefhiklmnoOprstuvxBCDEHPT") != "" {
				return w.rest(i, "the option "+a+" of "+name+" is not known")
			}
			script = script || a[0] == '-' && strings.Contains(a, "c")
			i += strings.Count(a[1:], "o") + strings.Count(a[1:], "O")
		default:
			break options
		}
	}
	if !script {
		return Found{}
	}
	if i >= len(w.argv) {
		return Found{Doubt: name + " gets a script that is known only when it runs"}
	}
	f := Found{Scripts: []Script{{w.argv[i], []int{i}}}}
	if name == "fish" || strings.HasSuffix(name, "csh") {
		f.Doubt = "it is a script for another shell"
	}
	return f
}

// interpreter finds code among the words.
func (w words) interpreter(name string) Found {
	options, _ := codeOf(name)
	for i, a := range w.argv[1:] {
		if i > 0 && !strings.HasPrefix(w.argv[i], "-") { // what follows is for the program
			break
		}
		for _, o := range options {
			short := len(o) == 2 && o[0] == '-' && !strings.HasPrefix(a, "--")
			if a == o || strings.HasPrefix(o, "--") && strings.HasPrefix(a,
				o+"=") || short && strings.HasPrefix(a, "-") &&
				strings.ContainsRune(a, rune(o[1])) && !(strings.HasPrefix(name,
				"python") && strings.HasPrefix(a, "-m")) {
				return Found{Doubt: "Kerf does not read code of " + name, Scripts: quotedIn(strings.ReplaceAll(
					strings.Join(w.argv[i+1:], " "), "'", `"`), i+1)}
			}
		}
		if w.unknown(i+1) && strings.HasPrefix(a, "-") {
			return Found{Doubt: "the options of " + name + " are known only when it runs"}
		}
	}
	return Found{}
}
