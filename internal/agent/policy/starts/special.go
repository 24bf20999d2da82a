package starts

import (
	"slices"
	"strings"
)

// special are programs whose grammar is their own, by what reads their words.
var special = []struct {
	names string // with a space on both sides of each
	read  func(words) Found
}{
	{" find ", words.find},
	{" fd fdfind ", words.fd},
	{" eval ", words.eval},
	{" source . ", words.source},
	{" trap ", words.trap},
	{" alias ", words.alias},
	{" su runuser script flock ", words.scripted},
	{" make gmake ", words.make},
	{" git ", words.git},
	{" tar bsdtar ", words.tar},
	{" awk gawk mawk nawk ", words.awk},
	{" sed ", words.sed},
	{" go ", words.golang},
	{" compgen complete ", words.completes},
	{" enable hash bind fc ", words.loads},
	{" mapfile readarray ", words.callback},
	{" test [ unset read printf let wait ", words.subscripts},
	{" sort ", optioned("", "--compress-program")},
	{" split ", optioned("", "--filter")},
	{" rg ", optioned("", "--pre", "--hostname-bin")},
	{" rsync ", optioned("BTfM", "-e", "--rsh", "--rsync-path")},
	{" ssh ", words.remote},
	{" scp ", optioned("cDiJlPX", "-S", "-o", "-F")},
	{" sftp ", optioned("BbcDiJlPRsX", "-S", "-o", "-F")},
	{" man ", optioned("CRLmMeErsS", "-P", "--pager", "-H", "--html")},
	{" zip ", optioned("", "-TT", "--unzip-command")},
	{" gdb lldb vim vi nvim ex ed emacs less more expect parallel entr hyperfine nix nix-shell tmux" +
		" screen run-parts at batch crontab socat ncat m4 dc newgrp sg sqlite3 ", words.any},
	{" bwrap firejail proot unshare nsenter setpriv systemd-run pkexec torsocks proxychains proxychains4" +
		" rlwrap catchsegv linux64 linux32 arch numactl cpulimit prlimit direnv mise asdf xvfb-run valgrind" +
		" perf rr coreutils start-stop-daemon dtach abduco openvt choom uclampset logsave eatmydata cgexec" +
		" aa-exec runcon capsh trickle pv uv uvx pipx poetry pdm conda npx pnpx bunx bundle ", words.wraps},
}

// specially is what reads the words of a program with a grammar of its own, or nil.
func specially(name string) func(words) Found {
	for _, s := range special {
		if Among(s.names, name) {
			return s.read
		}
	}
	return nil
}

// Among reports whether a name is one of names, which have a space on both sides of each.
func Among(names, name string) bool {
	return !strings.Contains(name, " ") && strings.Contains(names, " "+name+" ")
}

// wraps is a program that starts a command that ends its words.
func (w words) wraps() Found {
	f := w.any()
	f.Doubt = ""
	return f
}

// any is a program that starts what some of its words say; which, nobody knows here. A
// question for its version or its help starts nothing.
func (w words) any() Found {
	if len(w.argv) == 2 && (w.argv[1] == "--version" || w.argv[1] == "--help") || len(w.argv) == 1 {
		return Found{}
	}
	f := w.rest(1, Name(w.argv[0])+" starts other programs")
	for i, a := range w.argv[1:] {
		if strings.ContainsAny(a, " \t\n;|&") {
			f.Scripts = append(f.Scripts, Script{Text: a, Words: []int{i + 1}})
		}
	}
	return f
}

// abbreviates reports whether name means the long option, as it is or abbreviated: programs of GNU
// and git take as much of it as tells it from others.
func abbreviates(name, option string) bool { return len(name) > 2 && strings.HasPrefix(option, name) }

// letterIn is the place in a word of joined letters at which the option with the letter stands, 0 for
// none. Behind a letter of valued stands its value.
func letterIn(word string, letter byte, valued string) int {
	if len(word) < 2 || word[0] != '-' || word[1] == '-' {
		return 0
	}
	for i := 1; i < len(word); i++ {
		switch {
		case word[i] == letter:
			return i
		case strings.IndexByte(valued, word[i]) >= 0:
			return 0
		}
	}
	return 0
}

// optioned are programs that start another one only if they have one of the options. Letters of
// valued are options of other kinds that take a value.
func optioned(valued string, list ...string) func(words) Found {
	return options{valued, list}.find
}

type options struct {
	valued string
	list   []string
}

func (o options) find(w words) Found {
	for i, a := range w.argv[1:] {
		for _, option := range o.list {
			value, joined, is := o.value(a, option)
			if !is {
				continue
			}
			f, at := Found{Doubt: a + " starts another program"}, i+1
			if !joined {
				if at++; at == len(w.argv) {
					return f
				}
				value = w.argv[at]
			}
			f.Scripts = []Script{{value, []int{at}}}
			return f
		}
	}
	return Found{}
}

// value tells whether a word is the option, and the value that is joined to it.
func (o options) value(a, option string) (value string, joined, is bool) {
	switch {
	case strings.HasPrefix(option, "--"):
		name, value, joined := strings.Cut(a, "=")
		return value, joined, abbreviates(name, option)
	case len(option) > 2:
		value, is := strings.CutPrefix(a, option)
		return value, value != "", is
	}
	at := letterIn(a, option[1], o.valued)
	return a[at+min(at, 1):], at+1 < len(a), at > 0
}

func (w words) find() Found {
	var f Found
	for i := 1; i < len(w.argv); i++ {
		switch w.argv[i] {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(w.argv) && w.argv[end] != ";" && (w.argv[end] != "+" || w.argv[end-1] != "{}") {
				end++
			}
			if end > i+1 {
				f.Commands = append(f.Commands, Span{From: i + 1, To: end, Placeholder: "{}"})
			}
			i = end
		default:
			if w.unknown(i) && strings.HasPrefix(w.argv[i], "-") {
				f.Doubt = "an action of find is known only when it runs"
			}
		}
	}
	return f
}

func (w words) fd() Found {
	var f Found
	for i := 1; i < len(w.argv); i++ {
		switch a := w.argv[i]; {
		case a == "-x" || a == "--exec" || a == "-X" || a == "--exec-batch":
			end := i + 1
			for end < len(w.argv) && w.argv[end] != ";" {
				end++
			}
			if end > i+1 {
				f.Commands = append(f.Commands, Span{From: i + 1, To: end, More: true, Placeholder: "{"})
			}
			i = end
		case strings.HasPrefix(a, "--exec"), strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") &&
			strings.ContainsAny(a, "xX"), a == "-l", a == "--list-details":
			return w.rest(i+1, a+" starts another program")
		}
	}
	return f
}

func (w words) eval() Found {
	i := 1
	if i < len(w.argv) && w.argv[i] == "--" {
		i++
	}
	return w.joined(i)
}

// source runs a file in the same shell: one whose name is not known is doubtful.
func (w words) source() Found {
	if len(w.argv) > 1 && (w.unknown(1) || strings.HasPrefix(w.argv[1], "/dev/") ||
		strings.HasPrefix(w.argv[1], "/proc/")) {
		return Found{Doubt: "what " + w.argv[0] + " reads is known only when it runs"}
	}
	return Found{}
}

func (w words) trap() Found {
	for i, a := range w.argv[1:] {
		switch {
		case a == "--":
		case a == "-" || a == "-l" || a == "-p" || a == "-P":
			return Found{}
		default:
			return Found{Scripts: []Script{{a, []int{i + 1}}}}
		}
	}
	return Found{}
}

// alias changes what later words mean.
func (w words) alias() Found {
	var f Found
	for i, a := range w.argv[1:] {
		if _, value, ok := strings.Cut(a, "="); ok || w.unknown(i+1) {
			f.Doubt = "an alias changes what later words mean"
			f.Scripts = append(f.Scripts, Script{value, []int{i + 1}})
		}
	}
	return f
}

// scripted are programs that take a script by -c anywhere, or a command after their
// operands.
func (w words) scripted() Found {
	f := w.rest(2, "")
	if Name(w.argv[0]) == "script" {
		f.Commands = nil
	}
	for i, a := range w.argv {
		name, value, joined := strings.Cut(a, "=")
		at := strings.IndexByte(a, 'c')
		short := i > 0 && strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && at > 0
		long := abbreviates(name, "--command") || abbreviates(name, "--session-command")
		switch {
		case short && at+1 < len(a):
			f.Scripts = append(f.Scripts, Script{a[at+1:], []int{i}})
			if i+1 < len(w.argv) {
				f.Scripts = append(f.Scripts, Script{w.argv[i+1], []int{i + 1}})
			}
		case long && joined:
			f.Scripts = append(f.Scripts, Script{value, []int{i}})
		case (short || long) && i+1 < len(w.argv):
			f.Scripts = append(f.Scripts, Script{w.argv[i+1], []int{i + 1}})
		case i > 0 && w.unknown(i):
			f.Doubt = "an option of " + Name(w.argv[0]) + " is known only when it runs"
		}
	}
	return f
}

// make takes shell text in variables and in --eval.
func (w words) make() Found {
	var f Found
	for i, a := range w.argv[1:] {
		name, value, joined := strings.Cut(a, "=")
		switch {
		case abbreviates(name, "--eval"), letterIn(a, 'E', "CfIlojOW") > 0:
			f.Doubt = "make --eval runs what it says"
		case joined && !strings.HasPrefix(a, "-"):
			name = strings.TrimRight(name, ":?+!")
			if name == "SHELL" || name == ".SHELLFLAGS" || name == "MAKEFLAGS" || name == "MAKE" || name == "MAKEFILES" ||
				strings.Contains(value, "$(") || strings.Contains(value, "${") {
				f.Doubt = "make " + name + "= changes what make runs"
			}
			f.Scripts = append(f.Scripts, Script{value, []int{i + 1}})
		case w.unknown(i + 1):
			f.Doubt = "an argument of make is known only when it runs"
		}
	}
	return f
}

// tar starts programs for some options, and in any position.
func (w words) tar() Found {
	var f Found
	for i, a := range w.argv[1:] {
		name, value, joined := strings.Cut(a, "=")
		for _, o := range []string{"--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command",
			"--rmt-command", "--info-script", "--new-volume-script"} {
			if !abbreviates(name, o) {
				continue
			}
			f.Doubt = a + " starts another program"
			at := i + 1
			if !joined && at+1 < len(w.argv) {
				at, value = at+1, w.argv[at+1]
			}
			f.Scripts = append(f.Scripts, Script{strings.TrimPrefix(value, "exec="), []int{at}})
		}
		cluster := strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") || i == 0 && !strings.HasPrefix(a, "-")
		if cluster && strings.ContainsAny(a, "IF") {
			f.Doubt = a + " may start another program"
			if i+2 < len(w.argv) {
				f.Scripts = append(f.Scripts, Script{w.argv[i+2], []int{i + 2}})
			}
		}
		if w.unknown(i+1) && strings.HasPrefix(a, "-") {
			f.Doubt = "an option of tar is known only when it runs"
		}
	}
	return f
}

// awk runs programs that its own program names.
func (w words) awk() Found {
	for i, a := range w.argv[1:] {
		for _, word := range []string{"system", "getline", "|", "@"} {
			if strings.Contains(a, word) {
				return Found{Doubt: "the awk program may start others", Scripts: quotedIn(a, i+1)}
			}
		}
		if w.unknown(i + 1) {
			return Found{Doubt: "the awk program is known only when it runs"}
		}
	}
	return Found{}
}

// quotedIn are the texts in quotes of a program.
func quotedIn(program string, at int) []Script {
	var all []Script
	parts := strings.Split(program, `"`)
	for i := 1; i < len(parts) && len(all) < 16; i += 2 {
		all = append(all, Script{parts[i], []int{at}})
	}
	return all
}

// sed runs programs by its command e and the flag e of s.
func (w words) sed() Found {
	for i, a := range w.argv[1:] {
		if w.unknown(i + 1) {
			return Found{Doubt: "the sed script is known only when it runs"}
		}
		if strings.HasPrefix(a, "-") && a != "-e" {
			continue
		}
		for _, line := range strings.FieldsFunc(a,
			func(r rune) bool { return r == ';' || r == '\n' || r == '{' || r == '}' }) {
			end := strings.TrimRight(line, " \t")
			bare := strings.TrimLeft(end, "0123456789$,!/ \t")
			flags := end[strings.LastIndexAny(end, "/|,#@:_")+1:]
			if strings.HasPrefix(bare, "e") && (len(bare) == 1 || bare[1] == ' ') || len(flags) < len(end) &&
				strings.Contains(flags, "e") && strings.Trim(flags, "egpIimMw0123456789") == "" {
				return Found{Doubt: "the sed script may start a program"}
			}
		}
	}
	return Found{}
}

// golang knows the options of go that start other programs.
func (w words) golang() Found {
	for i, a := range w.argv[1:] {
		name := strings.TrimLeft(a, "-")
		name, value, joined := strings.Cut(name, "=")
		if strings.HasPrefix(a, "-") && slices.Contains([]string{"exec", "toolexec", "vettool", "ldflags",
			"extld"}, name) &&
			i > 0 {
			at := i + 1
			if !joined && at+1 < len(w.argv) {
				at, value = at+1, w.argv[at+1]
			}
			if name == "ldflags" && !strings.Contains(value, "extld") {
				continue
			}
			return Found{Doubt: a + " starts another program", Scripts: []Script{{value, []int{at}}}}
		}
	}
	return Found{}
}

func (w words) completes() Found {
	for i, a := range w.argv[1:] {
		if strings.HasPrefix(a, "-") && strings.ContainsAny(a, "CFW") && i+2 < len(w.argv) {
			return Found{Doubt: w.argv[0] + " may run " + w.argv[i+2], Scripts: []Script{{w.argv[i+2],
				[]int{i + 2}}}}
		}
	}
	return Found{}
}

// loads changes which program a name starts.
func (w words) loads() Found {
	if len(w.argv) == 1 || len(w.argv) == 2 && (w.argv[1] == "-r" || w.argv[1] == "-l" || w.argv[1] == "-a") {
		return Found{}
	}
	return Found{Doubt: w.argv[0] + " changes which program a name starts"}
}

func (w words) callback() Found {
	f := w.subscripts()
	for i, a := range w.argv[1:] {
		if strings.HasPrefix(a, "-") && strings.Contains(a, "C") {
			f.Doubt = w.argv[0] + " -C runs a command"
			if i+2 < len(w.argv) {
				f.Scripts = append(f.Scripts, Script{w.argv[i+2], []int{i + 2}})
			}
		}
	}
	return f
}

// subscripts are builtins that evaluate the subscripts in names of variables, with the
// substitutions in them.
func (w words) subscripts() Found {
	for _, a := range w.argv[1:] {
		if strings.Contains(a, "$(") || strings.ContainsRune(a, '`') {
			return Found{Doubt: w.argv[0] + " may run what stands in " + a}
		}
		if name := w.argv[0]; (name == "read" || name == "printf") && (a == "PATH" || a == "BASH_ENV" || a == "IFS") {
			return Found{Doubt: name + " may change " + a}
		}
	}
	return Found{}
}

func (w words) remote() Found {
	f := optioned("BbcDEeiLlmOpPQRWw", "-o", "-F", "-S", "-J", "-I")(w)
	if f.Doubt == "" && len(w.argv) > 2 {
		f = w.rest(2, "")
	}
	return f
}
