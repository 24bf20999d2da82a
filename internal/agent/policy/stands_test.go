package policy

import (
	"fmt"
	"strings"
	"testing"

	"kerf/internal/protocol"
)

// TestDefinitionsAreNoWayRound: an alias or a function is judged by what it stands
// for, through any number of others.
func TestDefinitionsAreNoWayRound(t *testing.T) {
	forbid, _ := ParseRules("r", []byte("git push -> forbid\ndeploy -> allow\n"))
	stands := map[string]string{"gp": "git push", "g": "git", "ll": "ls -l", "nuke": "rm -rf ~", "ls": "ls --color",
		"f": "{ \n echo a; gp origin\n}", "deep": "f", "loop": "loop x", "a": "b", "b": "a",
		"deploy": "{ frobnicate; }", "sneaky": "{ deploy; gp; }", "broken": "{ ((", "again": "{ again; again x; }",
		"lister": "{ ls; }", "round": "( ls )"}
	for _, tt := range []struct {
		line     string
		approval protocol.ApprovalPolicy
		want     Verdict
	}{
		{"gp origin main", protocol.PolicyOnRequest, Refuse},
		{"g push", protocol.PolicyOnRequest, Refuse},
		{"g pull", protocol.PolicyOnRequest, Allow},
		{"ls; f", protocol.PolicyOnRequest, Refuse},
		{"if true; then deep; fi", protocol.PolicyOnRequest, Refuse},
		{"env gp", protocol.PolicyOnRequest, Refuse}, // more than a shell would do, never less
		{"nuke", protocol.PolicyOnRequest, Ask},
		{"nuke", protocol.PolicyNever, Refuse},
		{"ll", protocol.PolicyOnRequest, Allow},
		{"ls", protocol.PolicyUntrusted, Allow}, // runs without definitions
		{"ll", protocol.PolicyUntrusted, Ask},
		{"deploy", protocol.PolicyUntrusted, Allow},
		{"sneaky", protocol.PolicyOnRequest, Refuse},
		{"loop", protocol.PolicyOnRequest, Allow},
		{"a", protocol.PolicyOnRequest, Allow},
		{"again", protocol.PolicyOnRequest, Allow},
		{"deploy x", protocol.PolicyUntrusted, Allow}, // the words of a function are not part of its text
		{"lister x 'y z'", protocol.PolicyOnRequest, Allow},
		{"round x", protocol.PolicyOnRequest, Allow},
		{"broken", protocol.PolicyOnRequest, Ask},
	} {
		r := Rules{Mode: protocol.Settings{Approval: tt.approval, Sandbox: protocol.SandboxWorkspace}.Mode(), List: forbid}
		if e := r.Explain(Command{Line: tt.line, Dir: "/w", Stands: stands}); e.Verdict != tt.want {
			t.Errorf("%s, %q: %v (%s: %s), want %v", tt.approval, tt.line, e.Verdict, e.By, e.Reason, tt.want)
		}
		if tt.line == "gp origin main" { // control
			if e := r.Explain(Command{Line: tt.line, Dir: "/w"}); e.Verdict != Allow {
				t.Errorf("%q without definitions: %v", tt.line, e.Verdict)
			}
		}
	}
	many := map[string]string{}
	for i := range 1000 {
		var b strings.Builder
		for j := range 20 {
			fmt.Fprintf(&b, "c%d; ", (i*7+j)%1000)
		}
		many[fmt.Sprintf("c%d", i)] = "{ " + b.String() + "}"
	}
	r := Rules{Mode: protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}.Mode(), Memory: &Memory{}}
	c := Command{Line: "c1", Dir: "/w", Stands: many}
	if e := r.Explain(c); e.Verdict != Ask {
		t.Errorf("too many definitions: %v", e.Verdict)
	}
	r.Memory.AllowCommand(c, false)
	if e := r.Explain(c); e.Verdict != Allow {
		t.Errorf("too many definitions, allowed by the user: %v (%s)", e.Verdict, e.Reason)
	}
}
