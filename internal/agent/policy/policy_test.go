package policy

import (
	"regexp"
	"strings"
	"testing"

	"kerf/internal/protocol"
)

func TestKnownSafe(t *testing.T) {
	safe := []string{"ls", "ls -la src", "cat a.txt | head -n 3", "git status --short && git log -3", "grep -rn 'a b' .",
		"sed -n 1,20p main.go", "find . -name '*.go'", "true", "sleep 1", `echo "plain words"`, "rg --files"}
	unsafe := []string{"", "rm x", "ls > out", "ls $(rm x)", "cat `x`", "ls &", "FOO=1 ls", "echo $HOME", "ls *.go",
		"find . -delete", "find . -exec rm {} ;", "git -c core.pager=x log", "git diff --output=x", "git log --exec-path=.",
		"rg --pre sh x", "sed -i s/a/b/ f", "sed -n 1w,out f", "./ls", "/bin/ls", "if true; then ls; fi", "ls; rm x",
		"(ls)", "f() { ls; }; f", "ls\rrm x", "cat <(rm x)", "cat <<X\n$(rm)\nX", "echo ~", "git grep -Ovi x",
		"echo ${x:=1}", "ls |& cat", "! ls", "\\rm x"}
	for _, s := range safe {
		if !KnownSafe(s) {
			t.Errorf("KnownSafe(%q) = false, want true", s)
		}
	}
	for _, s := range unsafe {
		if KnownSafe(s) {
			t.Errorf("KnownSafe(%.60q) = true, want false", s)
		}
	}
}

func rules(a protocol.ApprovalPolicy, s protocol.SandboxMode) Rules {
	return Rules{Mode: protocol.Settings{Approval: a, Sandbox: s}.Mode()}
}

// TestConfinedStaysInside: where those who answer are not the user, nothing is asked that
// would let a command out; the user's own rules still do.
func TestConfinedStaysInside(t *testing.T) {
	own, err := ParseRule("make test -> allow exactly unsandboxed")
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := ParseRule("git push -> prompt")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]Verdict{"make": Refuse, "make test": Allow, "git push": Refuse, "rm -rf /": Refuse,
		"ls": Refuse, "make test && ls": Refuse} {
		for _, approval := range []protocol.ApprovalPolicy{protocol.PolicyOnRequest, protocol.PolicyUntrusted,
			protocol.PolicyOnFailure, protocol.PolicyAutoEdit} {
			r := rules(approval, protocol.SandboxWorkspace)
			r.List, r.Confined = []Rule{own, prompt}, true
			if j := r.Command(Command{Line: line, Escalate: true}); j.Verdict != want {
				t.Errorf("%s, %q: %v: %s", approval, line, j.Verdict, j.Reason)
			}
			if j := r.Command(Command{Line: "make"}); j.Verdict == Refuse || j.Unsandboxed {
				t.Errorf("%s: inside the sandbox: %+v", approval, j)
			}
			for _, j := range []Judgement{r.Remote(Remote{Server: "s", Tool: "t", Mode: "auto"}), r.Remote(Remote{Changed: true}),
				r.Fetch(Host{Name: "h"})} {
				if j.Verdict != Refuse {
					t.Errorf("%s: beyond the sandbox: %+v", approval, j)
				}
			}
			if r.Remote(Remote{Mode: "approve"}).Verdict != Allow || r.Fetch(Host{Listed: true}).Verdict != Allow {
				t.Errorf("%s: what the user configured is refused", approval)
			}
			r.Confined = false
			if r.Remote(Remote{Mode: "auto"}).Verdict != Ask || r.Fetch(Host{}).Verdict != Ask {
				t.Errorf("control: %s", approval)
			}
			if j := r.Command(Command{Line: line, Escalate: true}); j.Verdict == Refuse {
				t.Errorf("control: %s, %q: %s", approval, line, j.Reason)
			}
		}
	}
}

func TestJudgements(t *testing.T) {
	tests := []struct {
		rules   Rules
		command *Command
		want    Verdict
	}{
		{rules(protocol.PolicyNever, protocol.SandboxWorkspace), &Command{Line: "make"}, Allow},
		{rules(protocol.PolicyNever, protocol.SandboxWorkspace), &Command{Line: "make", Escalate: true}, Refuse},
		{rules(protocol.PolicyNever, protocol.SandboxFull), &Command{Line: "make", Escalate: true}, Allow},
		{rules(protocol.PolicyOnRequest, protocol.SandboxWorkspace), &Command{Line: "make", Escalate: true}, Ask},
		{rules(protocol.PolicyUntrusted, protocol.SandboxWorkspace), &Command{Line: "make"}, Ask},
		{rules(protocol.PolicyUntrusted, protocol.SandboxWorkspace), &Command{Line: "ls"}, Allow},
		{rules(protocol.PolicyPlan, protocol.SandboxFull), &Command{Line: "make"}, Refuse},
		{rules(protocol.PolicyPlan, protocol.SandboxFull), &Command{Line: "ls"}, Allow},
		{rules(protocol.PolicyPlan, protocol.SandboxFull), nil, Refuse},
		{rules(protocol.PolicyNever, protocol.SandboxReadOnly), nil, Refuse},
		{rules(protocol.PolicyOnRequest, protocol.SandboxReadOnly), nil, Ask},
		{rules(protocol.PolicyUntrusted, protocol.SandboxWorkspace), nil, Ask},
		{rules(protocol.PolicyAutoEdit, protocol.SandboxWorkspace), nil, Allow},
	}
	for _, tt := range tests {
		got := tt.rules.Change([]string{"/w/a"}, nil)
		if tt.command != nil {
			got = tt.rules.Command(*tt.command)
		}
		if got.Verdict != tt.want {
			t.Errorf("%+v judges %+v as %+v, want verdict %d", tt.rules, tt.command, got, tt.want)
		}
	}
}

func FuzzKnownSafe(f *testing.F) {
	f.Add("ls | cat")
	f.Add("git log $(x)")
	f.Add("git log $")
	lone := regexp.MustCompile(`\$([ \t\n;&|]|$)`) // a dollar that stands for itself
	f.Fuzz(func(t *testing.T, s string) {
		left := lone.ReplaceAllString(s, "$1")
		if KnownSafe(s) && strings.ContainsAny(left, "$`><\r\x00") && !strings.ContainsAny(s, `'"`) {
			t.Errorf("KnownSafe(%q) with an active character outside quotes", s)
		}
	})
}
