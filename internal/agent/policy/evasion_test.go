package policy

import (
	"fmt"
	"strings"
	"testing"

	"kerf/internal/protocol"
	"kerf/internal/text/shell"
)

// spellings are ways to write a word that a shell reads as that word.
func spellings(word string) []string {
	head, tail := word[:1], word[1:]
	return []string{word, `\` + word, head + `\` + tail, `'` + word + `'`, `"` + word + `"`, head + `''` + tail, head + `""` + tail,
		`$'` + word + `'`, `$"` + word + `"`, fmt.Sprintf(`$'\x%02x%s'`, head[0], tail), fmt.Sprintf(`$'\%03o'%s`, head[0], tail),
		fmt.Sprintf(`$'\u%04x'"%s"`, head[0], tail), head + "\\\n" + tail, "/usr/bin/" + word, "/usr/../bin/" + word,
		"~/bin/" + word, "../" + word}
}

// starters are ways to have another program start a command, which takes the place
// of %s. Those of the second list take it as one quoted word.
var (
	starters = []string{"%s", "env %s", "env -i %s", "env -u X A=b %s", "env -S %s", "env -vS %s", "exec -a x %s", "exec -c %s",
		"command %s", "command -p -- %s", "builtin %s", "nice %s", "nice -n5 %s", "nice -10 %s", "ionice -c 3 %s", "timeout 5 %s",
		"timeout -k 1 --signal=9 5 %s", "nohup %s", "setsid -w %s", "stdbuf -oL %s", "stdbuf --output=L %s", "sudo -u x %s",
		"doas %s", "xargs %s", "xargs -n1 -P 4 %s", "xargs -I{} %s", "ssh-agent %s", "watch -n 1 %s", "parallel %s", "busybox %s",
		"toybox %s", "time -p %s", "chronic %s", "strace -f -o x %s", "unshare -r %s", "taskset 1 %s", "chrt -f 1 %s",
		"dbus-run-session -- %s", "flock x %s", "find . -exec %s ;", "find . -exec true ; -exec %s +", "find . -okdir %s ;",
		"fd -x %s", "eval %s", "eval -- %s", "trap '%s' EXIT", "git submodule foreach %s", "git bisect run %s", "uv run %s",
		"npx %s", "frobnicate %s", "frobnicate --run -- %s", "/lib64/ld-linux-x86-64.so.2 %s", "nice timeout 3 env setsid %s",
		"{ %s; }", "(%s)", "! %s", "if true; then %s; fi", "f() { %s; }; f", "coproc %s", "cat <(%s)", "echo $(%s)", "%s &",
		"while %s; do :; done", "A=1 %s", "<x %s", "2>x %s"}
	quoters = []string{"sh -c %s", "bash -lc %s", "bash -c -- %s", "sh -c -e %s", "sh -ec %s", "bash --norc -o pipefail -c %s",
		"bash -O extglob -c %s x", "busybox sh -c %s", "env bash -c %s", "su -c %s", "su root -c %s", "runuser -u x -- sh -c %s",
		"script -qc %s x", "flock x -c %s", "watch %s", "xargs sh -c %s", "find . -exec sh -c %s ;", "eval %s", "trap %s EXIT",
		"sh -c \"sh -c %s\"", "git rebase -x %s", "git -c alias.x=!%s x", "make SHELL=%s", "make CC=%s", "GIT_EDITOR=%s git commit",
		"env --split-string=%s", "hyperfine %s", "tar xf a --to-command=%s", "tar cf a --checkpoint-action=exec=%s b",
		"sort --compress-program=%s a", "split --filter=%s a", "frobnicate -c %s", "frobnicate --run=%s", "alias x=%s",
		"mapfile -C %s -c 1 a", "complete -C %s x", "fish -c %s", "rsync -e %s a b:", "go test -exec %s ./...",
		"awk 'BEGIN{system('%s')}'", "perl -e %s", "python3 -c %s", "python3.12 -c %s", "node -e %s", "ruby -e %s", "vim -c %s",
		"PROMPT_COMMAND=%s bash", "sqlite3 a %s", "nix-shell --run %s"}
)

// TestNoSpellingHidesACommand: however the word of a command is written, and whatever
// starts it, it is not run unasked with full access, and a rule that forbids it is not
// passed by.
func TestNoSpellingHidesACommand(t *testing.T) {
	forbid, err := ParseRules("r", []byte("rm -> forbid\n"))
	if err != nil {
		t.Fatal(err)
	}
	full := Rules{Mode: protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxFull}.Mode()}
	held := Rules{Mode: protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}.Mode(), List: forbid}
	never := Rules{Mode: protocol.Settings{Approval: protocol.PolicyNever, Sandbox: protocol.SandboxFull}.Mode(), List: forbid}
	n := 0
	check := func(line string) {
		n++
		if j := full.Command(Command{Line: line, Dir: "/w"}); j.Verdict != Ask {
			t.Errorf("full access: %q: %v (%s)", line, j.Verdict, j.By)
		}
		if j := held.Command(Command{Line: line, Dir: "/w"}); j.Verdict == Allow {
			t.Errorf("forbidden, in the sandbox: %q: %v (%s)", line, j.Verdict, j.By)
		}
		if j := never.Command(Command{Line: line, Dir: "/w"}); j.Verdict != Refuse {
			t.Errorf("forbidden, never: %q: %v (%s)", line, j.Verdict, j.By)
		}
	}
	for _, word := range spellings("rm") {
		for _, s := range starters {
			if strings.Contains(s, "'%s'") && strings.Contains(word, "'") {
				continue
			}
			check(fmt.Sprintf(s, word+" -rf d"))
		}
		for _, q := range quoters {
			if strings.Contains(q, `"sh`) || strings.Contains(q, "'%s'") && strings.Contains(word, "'") {
				continue
			}
			check(fmt.Sprintf(q, shell.Quote(word+" -rf d")))
		}
	}
	for _, line := range []string{"{rm,-rf,d}", "{r,x}m -rf d", "$X -rf d", "${X}m -rf d", "r$X -rf d", "/bin/r? -rf d",
		"r[m] -rf d", "`echo rm` -rf d", "$(echo rm) -rf d", `"$X" -rf d`, "X=rm; $X -rf d", "echo d | xargs rm -rf",
		"echo 'rm -rf d' | sh", "echo rm | xargs env", "bash <<E\nrm -rf d\nE", "bash <<<'rm -rf d'", "sh -s < x",
		"find . -name rm -exec {} -rf d ;", "echo rm | xargs -I% % -rf d", "source <(echo rm -rf d)", ". /dev/stdin",
		"eval \"$X\"", "bash -c \"$X\"", "bash -c \"rm -rf $X\"", "sh -c", "bash $X", "env $X", "xargs $X", "hash -p /bin/rm ls; ls d",
		"enable -f ./rm.so rm", "test -v 'a[$(rm -rf d)]'", "printf -v 'a[$(rm -rf d)]' x", "coproc { rm -rf d; }",
		"python3 <<'E'\nimport os\nE", "python3 -", "env -S 'r\\m -rf d'", "nice --unknown rm -rf d"} {
		check(line)
	}
	t.Logf("%d lines", n)
	// Control: what does not hide anything runs.
	for _, line := range []string{"ls", "go test ./...", "make", "npm test", "git commit -m 'rm -rf d'", "echo rm -rf d",
		"grep -rn 'rm -rf' .", "./run.sh", "python3 x.py -c rm", "bash x.sh", "env A=1 go build", "timeout 5 go test",
		"find . -name x -exec grep y {} +", "sh -c 'go build && ls'", "xargs grep y", "CGO_ENABLED=0 go build", "cd x && make",
		"git -c color.ui=always log", "mkdir -p a && touch a/b", "frobnicate a b c", "for i in a b; do echo $i; done",
		"make CC=gcc test", "awk '{print $1}' f", "sed -i s/a/b/ f", "python3 -m pytest", "cat <<E > f\n$X\nE"} {
		if j := full.Command(Command{Line: line, Dir: "/w"}); j.Verdict != Allow {
			t.Errorf("full access, control: %q: %v (%s: %s)", line, j.Verdict, j.By, j.Reason)
		}
	}
}

// TestForbiddenSubcommands: a rule of several words is not passed by when some of them are
// known only when the line runs.
func TestForbiddenSubcommands(t *testing.T) {
	list, _ := ParseRules("r", []byte("git push -> forbid\n"))
	r := Rules{Mode: protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}.Mode(), List: list}
	for line, want := range map[string]Verdict{"git push": Refuse, `git pu\sh`: Refuse, "git $'push' x": Refuse,
		"git {push,x}": Refuse, "/usr/bin/git 'push'": Refuse, "git.exe push": Refuse, "GIT push": Refuse, "git -C x push": Refuse,
		"git $X": Ask, "git -C $X push": Ask, "git $X push": Ask, "echo push | xargs git": Ask, "git -c alias.p=push p": Ask,
		"git p": Ask, "git --exec-path=. push": Refuse, "find . -exec git {} ;": Ask, "frobnicate git push": Ask,
		"git commit -m 'git push'": Allow, "git pull": Allow, "git status": Allow, "echo git push": Allow,
		"git log --oneline $X": Allow} {
		if j := r.Command(Command{Line: line, Dir: "/w"}); j.Verdict != want {
			t.Errorf("%q: %v (%s: %s), want %v", line, j.Verdict, j.By, j.Reason, want)
		}
	}
}

// TestEscalationCoversOneCommand: a rule that lets a command out of the sandbox takes
// nothing else with it.
func TestEscalationCoversOneCommand(t *testing.T) {
	list, err := ParseRules("r", []byte("mytool build -> allow unsandboxed\nls -> allow unsandboxed\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := Rules{Mode: protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}.Mode(), List: list}
	out := func(line string) Judgement { return r.Command(Command{Line: line, Dir: "/w", Escalate: true}) }
	for _, line := range []string{"mytool build", "mytool build -v", "mytool build 2>&1", "mytool build >/dev/null"} { // control
		if j := out(line); j.Verdict != Allow || !j.Unsandboxed {
			t.Errorf("%q: %+v", line, j)
		}
	}
	neighbours := []string{"ls", "true", "git grep -nO./evil x", "printf '%n' PATH", "cd /other", "git status", "cat x", "mytool build",
		"echo x", "export A=1", "f() { :; }", "frobnicate", "A=1", "rm x"}
	for _, join := range []string{" && ", "; ", " || ", " | ", "\n", " & "} {
		for _, other := range neighbours {
			for _, line := range []string{other + join + "mytool build", "mytool build" + join + other} {
				if j := out(line); j.Verdict != Ask {
					t.Errorf("%q: %v", line, j.Verdict)
				}
			}
		}
	}
	for _, line := range []string{"A=1 mytool build", "PATH=. mytool build", "mytool build > x", "mytool build $X", "(mytool build)",
		"mytool $(x) build", "mytool build < $X", "env mytool build", "./mytool build", "/opt/mytool build", "my\\tool build",
		"mytool build *", "mytool build &", "! mytool build", "bash -c 'mytool build'", "mytool test"} {
		if j := out(line); j.Verdict != Ask {
			t.Errorf("%q: %v", line, j.Verdict)
		}
	}
	// What the user's shell defines by that name is something else.
	j := r.Command(Command{Line: "mytool build", Dir: "/w", Escalate: true, Stands: map[string]string{"mytool": "ls"}})
	if j.Verdict != Ask {
		t.Errorf("an alias: %v", j.Verdict)
	}
}

// disk is a place for tests.
type disk struct {
	links    map[string]string // directories that are links
	programs map[string]string
	writable map[string]bool
	runs     map[string]string
}

func (d disk) Real(dir string) (string, bool) {
	if to, ok := d.links[dir]; ok {
		return to, to != ""
	}
	return dir, true
}
func (d disk) Cd(dir, to string) (string, bool) {
	if to == "nowhere" {
		return "", false
	}
	return words{}.Cd(dir, to)
}
func (d disk) Repo(string) string { return "" }
func (d disk) Program(name string) (string, bool) {
	p := d.programs[name]
	return p, d.writable[p]
}
func (d disk) Runs(dir string) string { return d.runs[dir] }

// TestRulesHoldWhereTheCommandRuns: a rule for a directory is compared with the real
// directory of each command, wherever the line goes before.
func TestRulesHoldWhereTheCommandRuns(t *testing.T) {
	list, err := ParseRules("r", []byte("mytool -> allow in /w\nother -> forbid in /prod\n"))
	if err != nil {
		t.Fatal(err)
	}
	place := disk{links: map[string]string{"/w/link": "/other", "/w/broken": "", "/alias": "/w"}}
	r := Rules{Mode: protocol.Settings{Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace}.Mode(), List: list}
	for _, tt := range []struct {
		dir, line string
		want      Verdict
	}{
		{"/w", "mytool a", Allow}, {"/w/sub", "mytool a", Allow}, {"/alias", "mytool a", Allow}, // control
		{"/", "cd /w && mytool a", Allow}, {"/w", "cd sub && mytool a", Allow}, {"/w", "cd sub; mytool a", Allow},
		{"/", "cd w/sub && ls && mytool a | head", Allow}, {"/w", "cd /other | mytool a", Allow},
		{"/w", "cd sub && mytool a || mytool b", Allow},
		{"/other", "mytool a", Ask}, {"/w/link", "mytool a", Ask}, {"/w/broken", "mytool a", Ask},
		{"/w", "cd /other && mytool a", Ask}, {"/w", "cd .. && mytool a", Ask}, {"/w", "cd link && mytool a", Ask},
		{"/w", "cd sub && cd ../.. && mytool a", Ask}, {"/", "cd /w; mytool a", Ask}, {"/", "cd /w || mytool a", Ask},
		{"/w", "cd /other || ls && mytool a", Ask}, {"/w", "ls && cd /other\nmytool a", Ask}, {"/w", "cd && mytool a", Ask},
		{"/w", "cd - && mytool a", Ask}, {"/w", "cd -P /other && mytool a", Ask}, {"/w", "pushd /other && mytool a", Ask},
		{"/w", "cd $X && mytool a", Ask}, {"/w", "cd nowhere && mytool a", Ask}, {"/w", "(cd /other; mytool a)", Ask},
		{"/w", "cd /other && ls && cd /w; mytool a", Ask}, {"/w", "env -C /other mytool a", Ask},
		{"/prod", "other a", Refuse}, {"/w", "cd /prod && other a", Refuse}, {"/w", "if cd /prod; then other a; fi", Ask},
		{"/w", "env -C /prod other a", Ask}, {"/w", "cd $X; other a", Ask}, {"/w", "other a", Ask},
	} {
		e := r.Explain(Command{Line: tt.line, Dir: tt.dir, Place: place})
		if e.Verdict != tt.want {
			t.Errorf("in %s, %q: %v (%s: %s), want %v", tt.dir, tt.line, e.Verdict, e.By, e.Reason, tt.want)
		}
	}
	held := Rules{Mode: protocol.Settings{Approval: protocol.PolicyNever, Sandbox: protocol.SandboxWorkspace}.Mode(), List: list}
	for line, want := range map[string]Verdict{"other a": Allow, "cd $X; other a": Refuse, "if cd /prod; then other a; fi": Refuse} {
		if j := held.Command(Command{Line: line, Dir: "/w", Place: place}); j.Verdict != want {
			t.Errorf("never, %q: %v (%s), want %v", line, j.Verdict, j.Reason, want)
		}
	}
}

// TestProgramsOfRules: a rule that lets a command out of the sandbox speaks of no
// program that commands in the sandbox may have written, and of that file only which it
// names.
func TestProgramsOfRules(t *testing.T) {
	list, err := ParseRules("r", []byte("mytool -> allow unsandboxed\npinned -> allow unsandboxed program /usr/bin/pinned\n"+
		"a b -> allow exactly\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := Rules{Mode: protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}.Mode(), List: list}
	for _, tt := range []struct {
		name, path string
		writable   bool
		want       Verdict
	}{{"mytool", "/usr/bin/mytool", false, Allow}, {"mytool", "/w/mytool", true, Ask}, {"pinned", "/usr/bin/pinned", false, Allow},
		{"pinned", "/usr/local/bin/pinned", false, Ask}, {"pinned", "", false, Ask}} {
		place := disk{programs: map[string]string{tt.name: tt.path}, writable: map[string]bool{tt.path: tt.writable}}
		c := Command{Line: tt.name + " x", Dir: "/w", Escalate: true, Place: place}
		if j := r.Command(c); j.Verdict != tt.want {
			t.Errorf("%+v: %v", tt, j.Verdict)
		}
	}
	untrusted := Rules{Mode: protocol.Settings{Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace}.Mode(), List: list}
	for line, want := range map[string]Verdict{"a b": Allow, "a b c": Ask, "a": Ask} {
		if j := untrusted.Command(Command{Line: line, Dir: "/w"}); j.Verdict != want {
			t.Errorf("exactly: %q: %v", line, j.Verdict)
		}
	}
	// What is offered is for exactly the command, in its place, by its program.
	place := disk{programs: map[string]string{"touch": "/usr/bin/touch", "mine": "/w/mine"}, writable: map[string]bool{"/w/mine": true}}
	for line, want := range map[string]string{"touch a": "touch a -> allow unsandboxed exactly program /usr/bin/touch in /w",
		"touch": "touch -> allow unsandboxed exactly program /usr/bin/touch in /w", "mine a": "", "touch a && ls": "", "touch $X": ""} {
		e := Rules{Mode: protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}.Mode()}.Explain(Command{Line: line, Dir: "/w",
			Escalate: true, Place: place, Reason: "because I say so"})
		if e.Rule != want || e.Prefix != nil || strings.Contains(e.Reason, "because I") || e.Says != "because I say so" {
			t.Errorf("%q: offered %q %q (%s / %s), want %q", line, e.Rule, e.Prefix, e.Reason, e.Says, want)
		}
		if (want == "") != (e.Covers == "") {
			t.Errorf("%q covers %q", line, e.Covers)
		}
	}
	for _, line := range []string{"touch a", "pytest", "mkdir x", "frobnicate a b", "ls x y; mytool z"} {
		e := untrusted.Explain(Command{Line: line, Dir: "/w"})
		if strings.HasPrefix(e.Rule, "touch ->") || e.Rule != "" && !strings.Contains(e.Rule, "exactly") || e.Prefix != nil {
			t.Errorf("%q: offered %q %q", line, e.Rule, e.Prefix)
		}
	}
}

// TestPlacesThatRunSomething: what only reads by its words is asked about where a program
// lies in reach of commands, or git would run something.
func TestPlacesThatRunSomething(t *testing.T) {
	r := Rules{Mode: protocol.Settings{Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace}.Mode()}
	place := disk{programs: map[string]string{"ls": "/w/bin/ls", "cat": "/bin/cat", "git": "/usr/bin/git"},
		writable: map[string]bool{"/w/bin/ls": true}, runs: map[string]string{"/w/emb": "core.fsmonitor"}}
	for line, want := range map[string]Verdict{"cat x": Allow, "ls": Ask, "cat x | ls": Ask, "echo x": Allow, "git status": Allow,
		"cd emb && git status": Ask, "cd sub && git status": Allow, "cd emb; cat x": Allow, "cd emb && cd .. && git status": Allow,
		"cd emb; cd ..; git diff": Ask, "cd nowhere && git status": Ask, "bash -c 'cd emb && git status'": Ask,
		"bash -c 'git status'": Allow, "bash -c ls": Ask} {
		if e := r.Explain(Command{Line: line, Dir: "/w", Place: place}); e.Verdict != want {
			t.Errorf("%q: %v (%s), want %v", line, e.Verdict, e.Reason, want)
		}
	}
}
