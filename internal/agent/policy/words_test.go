package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/protocol"
)

// TestEachJudgementOfFilesToolsAndHosts, whole: the verdict, what decided, and what the user or the
// model reads.
func TestEachJudgementOfFilesToolsAndHosts(t *testing.T) {
	const cannot = ", and this session was begun by a client of the user's server, which does not stand for the user. " +
		"The user can allow it: "
	const toServer = `set mcp_servers.s.default_tools_approval_mode = "approve" in config.toml, or tools.t.approval_mode`
	const toHost = `set web_fetch.domains."h.org" = "allow" in config.toml`
	untrusted, plan := rules(protocol.PolicyUntrusted, protocol.SandboxWorkspace), rules(protocol.PolicyPlan, protocol.SandboxWorkspace)
	onRequest, never := rules(protocol.PolicyOnRequest, protocol.SandboxWorkspace), rules(protocol.PolicyNever, protocol.SandboxWorkspace)
	readOnly, nobody := rules(protocol.PolicyOnRequest, protocol.SandboxReadOnly), rules(protocol.PolicyNever, protocol.SandboxReadOnly)
	unbounded, confined := rules(protocol.PolicyNever, protocol.SandboxFull), rules(protocol.PolicyOnRequest, protocol.SandboxWorkspace)
	confined.Confined = true
	remembers := untrusted
	remembers.Memory = &Memory{}
	remembers.Memory.AllowPaths([]string{"/w/a"})
	a, steer := []string{"/w/a"}, []string{"/w/AGENTS.md", "/w/.envrc"}
	for name, c := range map[string]struct{ got, want Judgement }{
		"a file, untrusted":  {untrusted.Change(a, nil), Judgement{Verdict: Ask, Reason: "file changes need approval (approval policy untrusted)", By: "approval policy untrusted"}},
		"a file, on request": {onRequest.Change(a, nil), Judgement{By: "inside the workspace"}},
		"a file, never":      {never.Change(a, steer), Judgement{By: "approval policy never"}},
		"a file, plan": {plan.Change(a, nil), Judgement{Verdict: Refuse, By: "plan mode",
			Reason: "this is plan mode: no file may be changed. Propose the change in the plan"}},
		"a file, read-only": {readOnly.Change(a, nil), Judgement{Verdict: Ask, Reason: "the sandbox is read-only", By: "sandbox read-only"}},
		"a file, nobody": {nobody.Change(a, nil), Judgement{Verdict: Refuse, By: "approval policy never",
			Reason: "the sandbox is read-only and nobody can be asked: no file may be changed. Tell the user to run with --sandbox workspace-write"}},
		"control files": {onRequest.Change(steer, steer), Judgement{Verdict: Ask, By: "the list of control files",
			Reason: "agents, editors or build machines obey /w/AGENTS.md, /w/.envrc"}},
		"an allowed file": {remembers.Change(a, a), Judgement{By: "allowed for this session"}},
		"no file":         {remembers.Change(nil, nil), Judgement{Verdict: Ask, Reason: "file changes need approval (approval policy untrusted)", By: "approval policy untrusted"}},

		"a resource": {plan.Remote(Remote{Reads: true}), Judgement{By: "resources are only read"}},
		"a tool in plan mode": {plan.Remote(Remote{Server: "s", Tool: "t", Mode: "approve"}), Judgement{Verdict: Refuse, By: "plan mode",
			Reason: "this is plan mode: tools of MCP servers may change things and are not called. Propose the call in the plan"}},
		"a changed tool": {onRequest.Remote(Remote{Server: "s", Tool: "t", Mode: "approve", Allowed: true, Changed: true}),
			Judgement{Verdict: Ask, By: "the tool changed", Reason: "the server changed this tool since it was allowed"}},
		"an approved tool": {untrusted.Remote(Remote{Server: "s", Tool: "t", Mode: "approve"}), Judgement{By: "approval_mode approve"}},
		"an allowed tool":  {untrusted.Remote(Remote{Server: "s", Tool: "t", Mode: "auto", Allowed: true}), Judgement{By: "allowed for this session"}},
		"a tool, no bounds": {unbounded.Remote(Remote{Server: "s", Tool: "t", Mode: "prompt"}),
			Judgement{By: "nothing is asked and nothing confined"}},
		"a tool": {onRequest.Remote(Remote{Server: "s", Tool: "t", Mode: "auto"}), Judgement{Verdict: Ask, By: "approval_mode auto",
			Reason: "tools of MCP servers need approval; to allow this one always, " + toServer}},
		"a tool, never": {never.Remote(Remote{Server: "s", Tool: "t", Mode: "auto"}), Judgement{Verdict: Refuse, By: "approval policy never",
			Reason: "approval_mode auto, and the approval policy is never. The user can allow it: " + toServer}},
		"a tool, confined": {confined.Remote(Remote{Server: "s", Tool: "t", Mode: "prompt"}), Judgement{Verdict: Refuse, By: "approval_mode prompt",
			Reason: "approval_mode prompt" + cannot + toServer}},

		"a denied host": {unbounded.Fetch(Host{Name: "h.org", Denied: true, Listed: true, Allowed: true}), Judgement{Verdict: Refuse,
			By: "web_fetch.domains", Reason: "the user's configuration denies the host h.org"}},
		"a listed host":     {confined.Fetch(Host{Name: "h.org", Listed: true}), Judgement{By: "web_fetch.domains"}},
		"an allowed host":   {onRequest.Fetch(Host{Name: "h.org", Allowed: true}), Judgement{By: "allowed for this session"}},
		"a host, no bounds": {unbounded.Fetch(Host{Name: "h.org"}), Judgement{By: "nothing is asked and nothing confined"}},
		"a host": {onRequest.Fetch(Host{Name: "h.org"}), Judgement{Verdict: Ask, By: "no rule names h.org",
			Reason: "the model wants to read a page of a host that no rule names"}},
		"a host, never": {never.Fetch(Host{Name: "h.org"}), Judgement{Verdict: Refuse, By: "approval policy never",
			Reason: "no rule names h.org, and the approval policy is never. The user can allow it: " + toHost}},
		"a host, confined": {confined.Fetch(Host{Name: "h.org"}), Judgement{Verdict: Refuse, By: "no rule names h.org",
			Reason: "no rule names h.org" + cannot + toHost}},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestRulesAreWrittenAsTheyAreRead: what a rule says comes back from its line, and faults say what was
// expected, whole.
func TestRulesAreWrittenAsTheyAreRead(t *testing.T) {
	for line, want := range map[string]Rule{
		"git push -> forbid":                   {Prefix: [][]string{{"git"}, {"push"}}, Decision: RuleForbid},
		"git fetch|pull -> allow":              {Prefix: [][]string{{"git"}, {"fetch", "pull"}}, Decision: RuleAllow},
		"'a|b' \"c d\" e'f'g -> prompt":        {Prefix: [][]string{{"a|b"}, {"c d"}, {"efg"}}, Decision: RulePrompt},
		"a '' -> allow":                        {Prefix: [][]string{{"a"}, {""}}, Decision: RuleAllow},
		"a '->' -> allow":                      {Prefix: [][]string{{"a"}, {"->"}}, Decision: RuleAllow},
		"a \"it's\" -> allow":                  {Prefix: [][]string{{"a"}, {"it's"}}, Decision: RuleAllow},
		"a\tb  ->  allow  exactly unsandboxed": {Prefix: [][]string{{"a"}, {"b"}}, Decision: RuleAllow, Exactly: true, Unsandboxed: true},
		"a -> allow program /usr/../bin/a in /w/ repo '/r s'": {Prefix: [][]string{{"a"}}, Decision: RuleAllow,
			Program: "/bin/a", In: "/w", Repo: "/r s"},
	} {
		got, err := ParseRule(line)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", line, err, d)
			continue
		}
		again, err := ParseRule(got.String())
		if d := cmp.Diff(want, again); d != "" || err != nil {
			t.Errorf("%s, written as %s: %v (-want +got):\n%s", line, got, err, d)
		}
		if got.At() != "of this session" {
			t.Errorf("%s stands %s", line, got.At())
		}
	}
	const form = "expected WORDS -> allow, prompt or forbid, found "
	for line, want := range map[string]string{
		"":                        form + `""`,
		"a b":                     form + `"a b"`,
		"-> allow":                form + `"-> allow"`,
		"a ->":                    form + `"a ->"`,
		"a '->' allow":            form + `"a '->' allow"`,
		"a -> maybe":              `expected allow, prompt or forbid, found "maybe"`,
		"'' -> allow":             "the first word is empty",
		"|a -> allow":             "the first word is empty",
		"'a -> allow":             "a quote is not closed",
		"a -> allow in":           "in: expected an absolute directory",
		"a -> allow repo x":       "repo: expected an absolute directory",
		"a -> allow program x":    "program: expected the absolute path of a program",
		"a -> allow now":          `expected in DIR, repo DIR, program FILE, exactly or unsandboxed, found "now"`,
		"a -> prompt unsandboxed": "unsandboxed goes with allow only",
		"a -> forbid program /a":  "program goes with allow only",
	} {
		if r, err := ParseRule(line); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v, want %s", line, r, err, want)
		}
	}
	list, err := ParseRules("r", []byte("# one\n\na|b -> prompt\n  match b c\n\tnot_match c\n  because it is dear\na -> forbid in /w\n  match a\n"))
	want := []Rule{{Prefix: [][]string{{"a", "b"}}, Decision: RulePrompt, Match: []string{"b c"}, NotMatch: []string{"c"},
		Why: "it is dear", File: "r", Line: 3}, {Prefix: [][]string{{"a"}}, Decision: RuleForbid, In: "/w", Match: []string{"a"}, File: "r", Line: 7}}
	if d := cmp.Diff(want, list); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if at := want[1].At(); at != "r:7" {
		t.Errorf("it stands %s", at)
	}
}

// TestWhatRulesCover: in words, all that narrows a rule.
func TestWhatRulesCover(t *testing.T) {
	const end = ", unasked, in this session and all later ones"
	for line, want := range map[string]string{
		"go test -> allow":                      "every command that begins with go test, in the sandbox",
		"git fetch|pull -> allow in /w repo /w": "every command that begins with git 'fetch|pull', in /w and below, in the sandbox",
		"a 'b c' -> allow exactly unsandboxed program /bin/a in /w": "exactly the command a 'b c', as long as it starts /bin/a, " +
			"in /w and below, without the sandbox",
	} {
		r, err := ParseRule(line)
		if err != nil || r.Covers() != want+end {
			t.Errorf("%s (%v) covers\n%s, not\n%s", line, err, r.Covers(), want+end)
		}
	}
}

// TestADefinitionCountsOnce, however often a line uses it, and the worst that a definition does is told.
func TestADefinitionCountsOnce(t *testing.T) {
	r := rules(protocol.PolicyOnRequest, protocol.SandboxWorkspace)
	c := Command{Line: strings.Repeat("ll; ", 2*maxStands) + "ll", Dir: "/w", Stands: map[string]string{"ll": "ls -l", "wipe": "rm -rf x"}}
	if j := r.Command(c); j.Verdict != Allow {
		t.Errorf("%v: %s", j.Verdict, j.Reason)
	}
	c.Line = "wipe; ll"
	if h := r.Explain(c).Harm; h.Level != Risky || h.Why != "rm deletes without asking" {
		t.Errorf("harm of what wipe stands for: %+v", h)
	}
	c.Line = "git filter-branch; wipe"
	if h := r.Explain(c).Harm; h.Level != Wide {
		t.Errorf("the worst: %+v", h)
	}
}
