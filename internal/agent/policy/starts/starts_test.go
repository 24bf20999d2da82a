package starts

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write what is found into testdata/starts.txt")

// wordsOf reads a line of the table: words between blanks or in single quotes; one that begins
// with an unquoted ? is not known.
func wordsOf(line string) (argv []string, known []bool) {
	word, sure, begun, quoted := "", true, false, false
	for _, c := range line + " " {
		switch {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == ' ' && !quoted:
			if begun {
				argv, known = append(argv, word), append(known, sure)
			}
			word, sure, begun = "", true, false
		case c == '?' && !begun:
			sure, begun = false, true
		default:
			word, begun = word+string(c), true
		}
	}
	return argv, known
}

// said is what was found, a line for each part.
func said(argv []string, f Found) string {
	var b strings.Builder
	for _, c := range f.Commands {
		fmt.Fprintf(&b, "    starts %s", strings.Join(argv[c.From:c.To], " "))
		if c.More {
			b.WriteString(" and more words")
		}
		if c.Placeholder != "" {
			fmt.Fprintf(&b, ", for each %s", c.Placeholder)
		}
		b.WriteString("\n")
	}
	for _, s := range f.Scripts {
		fmt.Fprintf(&b, "    script %s (words %v)\n", s.Text, s.Words)
	}
	if f.Doubt != "" {
		fmt.Fprintf(&b, "    doubt: %s\n", f.Doubt)
	}
	return b.String()
}

// TestOf compares what commands start with the table, in which each was looked at.
func TestOf(t *testing.T) {
	text, err := os.ReadFile("testdata/starts.txt")
	if err != nil {
		t.Fatal(err)
	}
	var now strings.Builder
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimRight(line, "\n"); {
		case strings.HasPrefix(line, "    "):
		case line == "" || line[0] == '#':
			now.WriteString(line + "\n")
		default:
			argv, known := wordsOf(line)
			now.WriteString(line + "\n" + said(argv, Of(argv, known)))
		}
	}
	if *update {
		if err := os.WriteFile("testdata/starts.txt", []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(string(text), now.String()); d != "" && !*update {
		t.Errorf("(-want +got):\n%s", d)
	}
	if f := Of(nil, nil); said(nil, f) != "" {
		t.Errorf("no words start %s", said(nil, f))
	}
}

func TestName(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/bin/python3.12": "python3", "python2.7": "python", "python": "python", "pip3.11": "pip3", "pip2": "pip",
		`C:\tools\git.exe`: "git", "gtimeout": "timeout", "grm": "rm", "git": "git", "grep": "grep", "go": "go", "gcc": "gcc", "g": "g",
		"node20": "node", "bash-5.2": "bash", "perl5.38.0": "perl", "a52": "a52", "base64": "base64", "123": "123", "": ".",
	} {
		if got := Name(program); got != want {
			t.Errorf("%q is %q, not %q", program, got, want)
		}
	}
}

// TestReads: which commands run what comes in by their standard input.
func TestReads(t *testing.T) {
	for line, want := range map[string]bool{
		"bash": true, "sh -s": true, "bash -s x": true, "bash -": true, "bash -x": true, "python3 -": true, "python3": true,
		"python3 -u": true, "node": true, "bash /dev/stdin": true, "bash /proc/self/fd/0": true, "bash /dev/fd/0 a": true,
		"/bin/sh -e": true, "perl -w": true, "bash -o pipefail": true, "bash --norc": true, "node -v x": false, "bash -v": true,
		"bash -c ls": false, "bash -ec ls": false, "bash file": false, "python3 -c x": false, "python3 -m json.tool": false,
		"python3 file": false, "perl -ne print": false, "perl -e print": false, "perl -pe print": false, "perl -ex": false, "node -v": false,
		"node --version": false, "bash --help": false, "ruby -rjson": false, "cat": false, "": false, "sort -": false, "python3 -V": false,
		"deno eval": false, "node --eval=x": false, "node --evalx": false,
	} {
		argv, _ := wordsOf(line)
		if got := Reads(argv); got != want {
			t.Errorf("%q runs what it reads: %v", line, got)
		}
	}
}

func TestKinds(t *testing.T) {
	type kind struct{ known, carries, interprets, inside bool }
	for name, want := range map[string]kind{
		"env": {known: true, carries: true}, "xargs": {known: true, carries: true}, "bash": {true, true, true, false},
		"python3.9": {known: true, carries: true}, "python3": {true, true, true, false}, "find": {known: true, carries: true},
		"sort": {known: true}, "go": {known: true}, "rg": {known: true}, "printf": {known: true}, "eval": {true, true, true, true},
		"ls": {}, "cp": {}, "cd": {inside: true}, "[": {known: true, inside: true}, "ld-linux-x86-64.so.2": {known: true, carries: true},
		"ld-musl-x86_64.so.1": {known: true, carries: true}, "ld.so": {known: true, carries: true}, "ld": {}, ".": {true, true, true, true},
		"source": {true, true, true, true}, "fish": {true, true, true, false},
	} {
		if got := (kind{Known(name), Carries(name), Interpreter(name), Inside(name)}); got != want {
			t.Errorf("%s: %+v, not %+v", name, got, want)
		}
	}
	for line, want := range map[string]bool{"xargs": true, "env": true, "bash": true, "git": true, "git -C x": true, "git status": false,
		"ls": false, "find": false, "ld.so": true} {
		argv, _ := wordsOf(line)
		if got := Waits(argv); got != want {
			t.Errorf("%s waits for further words: %v", line, got)
		}
	}
}

// TestWhatStandsBehindOptionsIsFound: for every program with a grammar, a command behind any of its
// options is found at its place; behind an option that is not known it is doubtful, and among what
// may be started.
func TestWhatStandsBehindOptionsIsFound(t *testing.T) {
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				argv := []string{name}
				strange := -1
				for range rapid.IntRange(0, 3).Draw(r, "options") {
					words := f.drawOption(r)
					if strange < 0 && rapid.IntRange(0, 9).Draw(r, "strange") == 0 {
						strange, words = len(argv), []string{rapid.SampledFrom([]string{"--no-such-option", "-@"}).Draw(r, "option")}
					}
					argv = append(argv, words...)
				}
				if f.assigns && rapid.Bool().Draw(r, "assigns") {
					argv = append(argv, "NAME=value")
				}
				for range f.operands {
					argv = append(argv, "operand")
				}
				if f.operands == 0 && !f.assigns && rapid.Bool().Draw(r, "ends") {
					argv = append(argv, "--")
				}
				at := len(argv)
				argv = append(argv, "rm", "-r", "x")
				got := Of(argv, nil)
				spans := map[Span]bool{}
				for _, c := range got.Commands {
					spans[Span{From: c.From, To: c.To}] = true
				}
				switch found := spans[Span{From: at, To: len(argv)}]; {
				case strange >= 0 && (got.Doubt == "" || !found):
					r.Fatalf("%q: %s", argv, said(argv, got))
				case strange < 0 && f.shell && (len(got.Scripts) != 1 || got.Scripts[0].Text != "rm -r x" || got.Doubt != ""):
					r.Fatalf("%q: %s", argv, said(argv, got))
				case strange < 0 && !f.shell && (len(got.Commands) != 1 || !found || got.Doubt != ""):
					r.Fatalf("%q: %s", argv, said(argv, got))
				}
			})
		})
	}
}

// drawOption makes an option of the grammar, with its value.
func (f form) drawOption(r *rapid.T) []string {
	var ways [][]string
	for _, c := range f.flags {
		ways = append(ways, []string{"-" + string(c)})
	}
	for _, c := range f.valued {
		ways = append(ways, []string{"-" + string(c), "value"}, []string{"-" + string(c) + "7"})
	}
	for _, c := range f.joined {
		ways = append(ways, []string{"-" + string(c)}, []string{"-" + string(c) + "x"})
	}
	for _, name := range strings.Fields(f.long) {
		if bare, takes := strings.CutSuffix(name, "="); takes {
			ways = append(ways, []string{"--" + bare, "value"}, []string{"--" + bare + "=value"})
		} else {
			ways = append(ways, []string{"--" + name})
		}
	}
	if len(ways) == 0 {
		return nil
	}
	return rapid.SampledFrom(ways).Draw(r, "way")
}
