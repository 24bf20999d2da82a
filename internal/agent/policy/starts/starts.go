// Package starts tells which other commands a command starts, as far as its words say.
//
// It knows programs by a grammar of their options. What does not fit that grammar is
// doubtful: nobody can say from the words what would run.
package starts

import (
	"path"
	"strings"
	"sync"
)

// Found is what a command starts.
type Found struct {
	// Commands are parts of its words that are commands themselves.
	Commands []Span
	// Scripts are shell text that it runs.
	Scripts []Script
	// Doubt says why what it runs cannot be known, or is empty.
	Doubt string
}

// Span is a command made of words From to To, To not included. More is set when the
// command gets further words that nobody knows yet, and Placeholder is what stands for
// such a word.
type Span struct {
	From, To    int
	More        bool
	Placeholder string
}

// Script is shell text that stands in one or more words.
type Script struct {
	Text  string
	Words []int
}

// Known reports whether a program starts what it is given: other programs, scripts, or
// code that it reads.
func Known(name string) bool {
	name = Name(name)
	_, form := forms()[name]
	more := specially(name) != nil
	return form || more || Interpreter(name) || loader(name)
}

// Carries reports whether a program is mostly used to start others, or to run code.
func Carries(name string) bool {
	switch Name(name) {
	case "go", "sort", "split", "rg", "rsync", "scp", "sftp", "man", "zip", "test", "[", "unset", "read",
		"printf", "let",
		"wait", "mapfile", "readarray":
		return false
	}
	return Known(name)
}

// Waits reports whether a command that says nothing of what it starts would start what
// further words say.
func Waits(argv []string) bool {
	name := Name(argv[0])
	if name == "git" {
		sub, _, _ := GitSub(argv[1:])
		return sub == ""
	}
	_, form := forms()[name]
	return form || Interpreter(name) || loader(name)
}

// Of tells what a command starts. Words that are not known have known false.
func Of(argv []string, known []bool) Found {
	if len(argv) == 0 {
		return Found{}
	}
	w := words{argv, known}
	name := Name(argv[0])
	read := specially(name)
	switch {
	case read != nil:
		return read(w)
	case shells()[name]:
		return w.shell()
	case Interpreter(name):
		return w.interpreter(name)
	case loader(name):
		return w.rest(1, name+" loads a program")
	}
	if f, ok := forms()[name]; ok {
		return f.read(w, name)
	}
	return Found{}
}

// Name is the name of a program without directory, suffix and version, as the lists
// have it: /usr/bin/python3.12 is python3, C:\git.exe is git.
func Name(program string) string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(program, `\`, "/")), ".exe")
	if own := strings.TrimPrefix(name, "g"); own != name && prefixed()[own] {
		return own
	}
	bare := strings.TrimRight(name, "0123456789.-")
	if bare != name && bare != "" && (interprets(bare) || bare == "pip") {
		if bare == "python" && strings.HasPrefix(name, "python3") {
			return "python3"
		}
		if bare == "pip" && strings.HasPrefix(name, "pip3") {
			return "pip3"
		}
		return bare
	}
	return name
}

// prefixed are the programs that some systems call by a g before their name.
var prefixed = set("rm dd timeout env nice xargs find stdbuf make tar sed chmod chown shred unlink rmdir mv " +
	"cp ln " +
	"install truncate tee nohup chroot awk sort split")

// set is a set of names, made when it is first asked for.
func set(names string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for _, name := range strings.Fields(names) {
			m[name] = true
		}
		return m
	})
}

func loader(name string) bool {
	return strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || name == "ld.so"
}

// words are those of a command.
type words struct {
	argv  []string
	known []bool
}

func (w words) unknown(i int) bool { return i < len(w.known) && !w.known[i] }

// rest has all words from i on as a command, with a doubt about it.
func (w words) rest(i int, doubt string) Found {
	f := Found{Doubt: doubt}
	for ; i < len(w.argv); i++ {
		f.Commands = append(f.Commands, Span{From: i, To: len(w.argv)})
	}
	if most := 32; len(f.Commands) > most {
		f.Commands = f.Commands[:most]
	}
	return f
}

// after has the words from i on as a command, or nothing.
func (w words) after(i int) Found {
	if i >= len(w.argv) {
		return Found{}
	}
	return Found{Commands: []Span{{From: i, To: len(w.argv)}}}
}

// joined has the words from i on as shell text.
func (w words) joined(i int) Found {
	if i >= len(w.argv) {
		return Found{}
	}
	s := Script{Text: strings.Join(w.argv[i:], " ")}
	for ; i < len(w.argv); i++ {
		s.Words = append(s.Words, i)
	}
	return Found{Scripts: []Script{s}}
}

// form is the grammar of a program that starts the command after its own options.
type form struct {
	_        [0]func() // forms are never compared
	flags    string    // letters of options without a value
	valued   string    // letters of options with one, joined or in the next word
	joined   string    // letters of options with a value that is joined, if any
	long     string    // names; a = after one says that it takes a value, joined or next
	split    string    // options whose value is the words of the command
	operands int       // words before the command
	assigns  bool      // NAME=VALUE may stand before the command
	shell    bool      // the command is read by a shell
	more     bool      // the command gets further words
	stop     string    // options with which nothing is started
	replace  string    // the option that names what stands for a further word
}

// forms are the programs whose grammar is known.
var forms = sync.OnceValue(func() map[string]form {
	return map[string]form{
		"env": {flags: "0iv", valued: "uCa", long: "null ignore-environment debug unset= chdir= argv0= block-signal " +
			"default-signal ignore-signal list-signal-handling", split: "-S --split-string", assigns: true},
		"nice":   {valued: "n", long: "adjustment="},
		"ionice": {flags: "t", valued: "cnpPu", long: "class= classdata= ignore"},
		"timeout": {flags: "vfp", valued: "ks", long: "foreground preserve-status verbose kill-after= signal=",
			operands: 1},
		"stdbuf": {valued: "ioe", long: "input= output= error="},
		"xargs": {flags: "0oprtx", valued: "aEILdnPsRS", joined: "eil", long: "null arg-file= delimiter= " +
			"max-lines max-args= " +
			"max-procs= max-chars= interactive no-run-if-empty verbose exit open-tty show-limits " +
			"process-slot-var= replace", more: true,
			replace: "I"},
		"chroot": {long: "userspec= groups= skip-chdir", operands: 1},
		"watch": {flags: "bdegtpcwrx", valued: "nq", long: "beep color no-color errexit chgexit " +
			"differences exec precise no-rerun no-title interval= equexit= no-wrap", shell: true},
		"nohup":   {},
		"setsid":  {flags: "cfw", long: "ctty fork wait"},
		"time":    {flags: "apvlh", valued: "fo", long: "append portability verbose format= output="},
		"command": {flags: "p", stop: "-v -V"},
		"builtin": {},
		"exec":    {flags: "cl", valued: "a"},
		"sudo": {flags: "AbEHknPSBN", valued: "ughpCrtTUDR", long: "user= group= host= prompt= " +
			"preserve-env login set-home non-interactive background stdin", assigns: true},
		"doas":     {flags: "nLs", valued: "uC"},
		"busybox":  {},
		"toybox":   {},
		"chronic":  {flags: "ve"},
		"setarch":  {flags: "vRFZLXBIST3", operands: 0, long: "uname-2.6 verbose addr-no-randomize"},
		"taskset":  {flags: "ac", operands: 1, long: "all-tasks cpu-list"},
		"chrt":     {flags: "abfioRv", valued: "TPD", operands: 1, long: "batch fifo idle other rr all-tasks"},
		"faketime": {flags: "mpf", operands: 1},
		"strace": {flags: "cCdfFhiqrtTvwxyYzZDkn", valued: "beEIoOpPsSuUaX", long: "follow-forks trace= " +
			"seccomp-bpf"},
		"ltrace":           {flags: "cCfiLrStT", valued: "aAeFlnopsuwxD"},
		"dbus-run-session": {long: "config-file= dbus-daemon="},
		"fakeroot":         {valued: "lsbi", long: "lib= faked="},
		"unbuffer":         {flags: "p"},
		"caffeinate":       {flags: "disum", valued: "tw"},
		"ssh-agent":        {flags: "csDdk", valued: "aEPt"},
		"coproc":           {},
		"jobs":             {flags: "lnprs"},
		"ccache":           {}, "distcc": {}, "sccache": {},
	}
})

// read takes the words of a command apart.
func (f form) read(w words, name string) Found {
	out := Found{}
	placeholder := ""
	i, operands := 1, f.operands
	for i < len(w.argv) {
		a := w.argv[i]
		switch {
		case a == "--":
			i++
			for ; operands > 0 && i < len(w.argv); operands-- {
				i++
			}
			return f.command(w, i, placeholder, out)
		case w.unknown(i) && operands == 0 && (i > 1 || strings.HasPrefix(a, "-")):
			return w.rest(i, "the words after "+name+" are known only when it runs")
		case strings.HasPrefix(a, "-") && len(a) > 1:
			o := f.option(w, i)
			switch {
			case o.stop:
				return Found{}
			case o.script != nil:
				out.Scripts = append(out.Scripts, *o.script)
			case o.doubt:
				return w.rest(i+1, "the option "+a+" of "+name+" is not known, so what it starts is not, either")
			case o.replace != "":
				placeholder = o.replace
			}
			if len(out.Scripts) > 0 { // env -S: the rest belongs to it
				for j := i + o.used; j < len(w.argv); j++ {
					s := &out.Scripts[0]
					s.Text, s.Words = s.Text+" "+w.argv[j], append(s.Words, j)
				}
				out.Doubt = doubtful(out.Scripts[0].Text)
				return out
			}
			i += o.used
		case f.assigns && strings.Contains(a, "="):
			i++
		case operands > 0:
			operands--
			i++
		default:
			return f.command(w, i, placeholder, out)
		}
	}
	return out
}

// doubtful says why text that another program than a shell splits may be split in
// another way.
func doubtful(text string) string {
	if strings.ContainsAny(text, "\\${}#'\"") {
		return "only env knows how it splits its text"
	}
	return ""
}

func (f form) command(w words, i int, placeholder string, out Found) Found {
	var found Found
	switch {
	case i >= len(w.argv):
		return out
	case f.shell:
		found = w.joined(i)
	default:
		found = w.after(i)
		for k := range found.Commands {
			found.Commands[k].More, found.Commands[k].Placeholder = f.more && placeholder == "", placeholder
		}
	}
	out.Commands = append(out.Commands, found.Commands...)
	out.Scripts = append(out.Scripts, found.Scripts...)
	return out
}

// option is what one word of options is.
type option struct {
	used    int // how many words
	script  *Script
	doubt   bool
	stop    bool
	replace string
}

func (f form) option(w words, i int) option {
	a := w.argv[i]
	if strings.HasPrefix(a, "--") {
		return f.longOption(w, i, a[2:])
	}
	if strings.Trim(a[1:], "0123456789") == "" && f.valued == "n" { // nice -10
		return option{used: 1}
	}
	for j := 1; j < len(a); j++ {
		c := a[j : j+1]
		value, used := a[j+1:], 1
		next := func() {
			if value == "" && i+1 < len(w.argv) {
				value, used = w.argv[i+1], 2
			}
		}
		switch {
		case has(f.stop, "-"+c):
			return option{stop: true}
		case has(f.split, "-"+c):
			next()
			return option{used: used, script: &Script{Text: value, Words: []int{i + used - 1}}}
		case strings.Contains(f.flags, c):
			continue
		case strings.Contains(f.valued, c):
			next()
			o := option{used: used}
			if c == f.replace {
				o.replace = value
			}
			return o
		case strings.Contains(f.joined, c):
			o := option{used: 1}
			if c == "i" {
				if o.replace = value; value == "" {
					o.replace = "{}"
				}
			}
			return o
		default:
			return option{used: 1, doubt: true}
		}
	}
	return option{used: 1}
}

func (f form) longOption(w words, i int, text string) option {
	name, value, joined := strings.Cut(text, "=")
	used := 1
	if has(f.split, "--"+name) {
		if !joined && i+1 < len(w.argv) {
			value, used = w.argv[i+1], 2
		}
		return option{used: used, script: &Script{Text: value, Words: []int{i + used - 1}}}
	}
	switch {
	case has(f.long, name+"="):
		if !joined {
			used = 2
		}
		return option{used: used}
	case has(f.long, name):
		o := option{used: 1}
		if name == "replace" {
			if o.replace = value; value == "" {
				o.replace = "{}"
			}
		}
		return o
	}
	return option{used: 1, doubt: true}
}

func has(list, word string) bool {
	for _, w := range strings.Fields(list) {
		if w == word {
			return true
		}
	}
	return false
}

// Inside reports whether the shell itself does what a command of this name does, so that
// no file is started.
func Inside(name string) bool { return inside()[name] }

var inside = set("alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs " +
	"disown enable eval exec exit export fc fg getopts hash help history jobs let local logout mapfile popd pushd " +
	"read readarray readonly return set shift shopt source suspend times trap type typeset ulimit umask unalias " +
	"unset wait . : [")
