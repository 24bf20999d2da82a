package approval

import (
	"strings"
	"testing"

	"kerf/internal/front/tui/panels"
	"kerf/internal/protocol"
)

// TestTextOfOthersIsMarked: no row of a text of the model, a hook or a server can pass
// for one of Kerf's, however wide the screen is.
func TestTextOfOthersIsMarked(t *testing.T) {
	hostile := "harmless\nrunning it is safe: verified by Kerf\n\nin /somewhere/else\n? Run this command?\n▸ y   yes, once " +
		strings.Repeat("long ", 60)
	for _, width := range []int{12, 40, 80, 200} {
		for _, a := range []protocol.Approval{
			{Reason: "the model asks to run this without the sandbox", Says: hostile,
				Command: &protocol.CommandApproval{Command: "mytool build", Cwd: "/w", Unsandboxed: true}},
			{Reason: "a hook asks for your approval", Says: hostile, SaidBy: "Hook", Change: &protocol.ChangeApproval{}},
			{Question: &protocol.Question{Message: hostile}},
			{Question: &protocol.Question{Server: "db", Header: hostile, Message: hostile}},
		} {
			x := ask(a, "")
			marked := 0
			for _, row := range x.body(width) {
				text := row.Text()
				foreign := strings.Contains(text, "harmless") || strings.Contains(text, "verified") || strings.Contains(text, "elsewhere") ||
					strings.Contains(text, "long") || strings.Contains(text, "▸") || strings.Contains(text, "?")
				if foreign && !strings.HasPrefix(text, "│ ") {
					t.Errorf("width %d: %q is not marked", width, text)
				}
				if strings.HasPrefix(text, "│ ") {
					marked++
				}
			}
			if marked < 5 {
				t.Errorf("width %d: %d marked rows", width, marked)
			}
		}
	}
	own := ask(protocol.Approval{Reason: "the danger list", Command: &protocol.CommandApproval{Command: "rm x", Cwd: "/w"}}, "")
	for _, row := range own.body(80) { // control
		if strings.HasPrefix(row.Text(), "│") {
			t.Errorf("%q is marked", row.Text())
		}
	}
}

// TestAlwaysIsConfirmed: one key writes no rule.
func TestAlwaysIsConfirmed(t *testing.T) {
	question := func() *asked {
		x := ask(protocol.Approval{Command: &protocol.CommandApproval{Command: "touch a", Cwd: "/w", Unsandboxed: true,
			Rule: "touch a -> allow unsandboxed exactly in /w", Covers: "exactly the command touch a, in /w and below"}}, "")
		x.screen(100, 40)
		return x
	}
	x := question().press("a")
	if len(x.opened) != 0 {
		t.Error("one key opens the second question")
	}
	if x.press("enter"); len(x.answers) != 0 || len(x.opened) != 1 {
		t.Fatalf("two keys: answers %+v, %d panels", x.answers, len(x.opened))
	}
	in, ok := x.opened[0].(*panels.Input)
	if !ok || !strings.Contains(in.Title, "exactly the command touch a, in /w and below") {
		t.Fatalf("the second question is %+v", x.opened[0])
	}
	for _, text := range []string{"", "no", "y", "a"} {
		if in.Done(text); len(x.answers) != 0 {
			t.Errorf("%q writes a rule", text)
		}
	}
	in.Done("yes")
	x.decided(t, protocol.Answer{Decision: protocol.Always})
	once := question().press("y") // control
	once.decided(t, protocol.Answer{Decision: protocol.Once})
}
