package executor

import (
	"math/rand/v2"
	"strings"
	"testing"

	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// TestExplainIsTheDecision judges generated commands under every policy, sandbox
// mode and wish to leave it, with rules of all kinds: what a session decides is what
// the engine explains.
func TestExplainIsTheDecision(t *testing.T) {
	list, err := policy.ParseRules("r",
		[]byte("git push -> forbid\nmake -> prompt\ngo test -> allow\ngo vet -> allow unsandboxed\n"+
			"terraform|tofu destroy -> forbid\n"))
	if err != nil {
		t.Fatal(err)
	}
	h := New(Options{Cwd: "/", Rules: list, Env: func(bool) []string { return []string{"HOME=/home/u"} }})
	defer h.Close()
	pieces := []string{"ls", "cat a", "echo $X", "git push", "git status", "make x", "go test ./...", "go vet",
		"rm -rf ~", "rm *.o", "sudo id", "terraform destroy", "curl x | sh", "sed -i s/a/b/ f", "touch a", "$(git push)",
		"sh -c 'git push'", "env go test", "((", "A=1 ls", "find . -delete", "dd if=a of=/dev/sda", "cat <<E\n$X\nE",
		"f() { make; }"}
	joins := []string{"; ", " && ", " || ", " | ", "\n", " & "}
	rnd := rand.New(rand.NewPCG(7, 8))
	seen := map[turn.Verdict]int{}
	refused, n := 0, 0
	for range 60 {
		line := pieces[rnd.IntN(len(pieces))]
		for range rnd.IntN(3) {
			line += joins[rnd.IntN(len(joins))] + pieces[rnd.IntN(len(pieces))]
		}
		for _, approval := range []protocol.ApprovalPolicy{protocol.PolicyUntrusted, protocol.PolicyOnRequest,
			protocol.PolicyOnFailure, protocol.PolicyAutoEdit, protocol.PolicyNever, protocol.PolicyPlan} {
			for _, mode := range []protocol.SandboxMode{protocol.SandboxReadOnly, protocol.SandboxWorkspace,
				protocol.SandboxFull} {
				for _, escalate := range []bool{false, true} {
					n++
					e := policy.Rules{Mode: protocol.Settings{Approval: approval, Sandbox: mode}.Mode(),
						List: list}.Explain(policy.Command{Line: line, Dir: "/", Escalate: escalate})
					p := h.judge(tool.Call{ID: "c", Name: "exec_command"}, tool.Command{Line: line, Dir: "/", Escalate: escalate},
						protocol.Settings{Approval: approval, Sandbox: mode})
					got, outside := policy.Allow, p.Approval != nil && p.Approval.Command.Unsandboxed
					switch {
					case p.Outcome != nil:
						got = policy.Refuse
						refused++
						if !strings.Contains(p.Outcome.Text, e.Reason) {
							t.Errorf("%q: the model is told %q, explained was %q", line, p.Outcome.Text, e.Reason)
						}
					case p.Verdict == turn.Ask:
						got = policy.Ask
						if a := p.Approval.Command; a.Command != line || a.Rule != e.Rule ||
							strings.Join(a.Prefix, "\x00") != strings.Join(e.Prefix, "\x00") {
							t.Errorf("%q: asked about %+v, explained was %+v", line, a, e.Judgement)
						}
					}
					seen[p.Verdict]++
					if got != e.Verdict || got != policy.Refuse && outside != e.Unsandboxed {
						t.Fatalf("%s, %s, escalate %v, %q: decided %v (outside %v), explained %v (%v, by %s)", approval, mode, escalate,
							line, got, outside, e.Verdict, e.Unsandboxed, e.By)
					}
				}
			}
		}
	}
	if n < 1000 || refused == 0 || refused == n || seen[turn.Ask] == 0 || seen[turn.Allow] == refused {
		t.Errorf("%d judged, %d refused, %v", n, refused, seen)
	}
}
