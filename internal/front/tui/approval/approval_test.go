package approval

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// asked is a question whose answers and panels are kept, with a clock of its own.
type asked struct {
	*Question
	now     time.Time
	answers []protocol.Answer
	opened  []panels.Panel
	notices []string
	edited  string // what the editor makes of a text
}

func ask(a protocol.Approval, from string) *asked {
	x := &asked{now: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)}
	a.ID = "a"
	x.Question = New(a, from, Actions{
		Reply:   func(_ *Question, a protocol.Answer) tea.Cmd { x.answers = append(x.answers, a); return nil },
		Open:    func(p panels.Panel) { x.opened = append(x.opened, p) },
		Edit:    func(_, _ string, then func(string) tea.Cmd) tea.Cmd { return then(x.edited) },
		Notice:  func(_ style.Role, text string) { x.notices = append(x.notices, text) },
		Path:    func(p string) string { return strings.TrimPrefix(p, "/w/") },
		Now:     func() time.Time { return x.now },
		Waiting: func() int { return 1 }})
	return x
}

// screen draws the question and lets it settle.
func (x *asked) screen(width, height int) string {
	var b strings.Builder
	for _, l := range x.View(width, height).Rows {
		b.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
	}
	x.now = x.now.Add(time.Second)
	return b.String()
}

func (x *asked) press(names ...string) *asked {
	for _, n := range names {
		x.Key(panels.Key{Name: n, At: x.now})
	}
	return x
}

func (x *asked) decided(t *testing.T, want ...protocol.Answer) {
	t.Helper()
	for i := range want {
		want[i].Approval = "a"
	}
	if d := cmp.Diff(want, x.answers); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func command(text string) protocol.Approval {
	return protocol.Approval{Command: &protocol.CommandApproval{Command: text, Cwd: "/w"}}
}

func change(old, now string) protocol.Approval {
	return protocol.Approval{Change: &protocol.ChangeApproval{Changes: []protocol.PathChange{{Path: "/w/f",
		Kind: protocol.Update}},
		Diff: "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", Files: []protocol.FileText{{Path: "/w/f", Old: &old, New: &now}}}}
}

func TestNoKeyCountsBeforeItSettled(t *testing.T) {
	x := ask(command("make"), "")
	x.View(80, 24)
	x.press("y").decided(t)
	x.now = x.now.Add(panels.Settle)
	x.press("y").decided(t, protocol.Answer{Decision: protocol.Once})
}

// TestAllowedOnlyAfterItWasSeen: the last row has to be on the screen before a yes counts;
// a no counts at once.
func TestAllowedOnlyAfterItWasSeen(t *testing.T) {
	long := strings.Repeat("echo\n", 40) + "rm -rf /"
	x := ask(command(long), "scout")
	if got := x.screen(60, 12); !strings.Contains(got, "asked by agent scout") || !strings.Contains(got, "more rows") {
		t.Errorf("the question begins with\n%s", got)
	}
	x.press("y", "s").decided(t)
	for range 10 {
		if x.press("pgdown"); strings.Contains(x.screen(60, 12), "rm -rf /") {
			break
		}
	}
	x.press("y").decided(t, protocol.Answer{Decision: protocol.Once})
	y := ask(command(long), "")
	y.screen(60, 12)
	y.press("esc").decided(t, protocol.Answer{Decision: protocol.Abort})
	z := ask(command("make"), "")
	if got := z.screen(LeastWidth-1, 24); !strings.Contains(got, "screen too") {
		t.Errorf("a small screen shows\n%s", got)
	}
	z.press("y", "enter").decided(t)
}

func TestExactText(t *testing.T) {
	x := ask(protocol.Approval{Tool: &protocol.ToolApproval{Server: "s", Tool: "t", Args: "{\"a\":\"\u202e\"}",
		Changed: "now it deletes"}}, "")
	got := x.screen(60, 24)
	for _, want := range []string{"? Call this tool?", "s.t", `  "a": "<U+202E>"`,
		"this tool changed since you allowed it", "now it deletes"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestDenyWithWords(t *testing.T) {
	x := ask(command("make"), "")
	x.screen(80, 24)
	x.press("n").opened[0].(*panels.Input).Done("use go test")
	a := protocol.Answer{Decision: protocol.Deny, Words: "use go test"}
	x.decided(t, a)
	if got := x.Outcome(a).Text(); got != "• Denied  make  “use go test”" {
		t.Error(got)
	}
}

// TestHunks: what is left out keeps its old text; leaving out all is a no.
func TestHunks(t *testing.T) {
	x := ask(change("1\n2\n3\n4\n", "one\n2\n3\nfour\n"), "")
	x.screen(80, 24)
	h := x.press("h").opened[0].(*Hunks)
	if len(h.List) != 2 || h.List[0].Label != "f:1" || h.List[1].Label != "f:4" {
		t.Fatalf("hunks %+v", h.List)
	}
	h.Key(panels.Key{Name: "space"})
	h.Key(panels.Key{Name: "enter"})
	x.decided(t, protocol.Answer{Decision: protocol.Once, Edited: map[string]string{"/w/f": "1\n2\n3\nfour\n"}})
	x.answers = nil
	if _, stay, again := h.Line("2"); !stay || !again {
		t.Error("a number in plain mode does not mark")
	}
	h.Line("ok")
	x.decided(t, protocol.Answer{Decision: protocol.Deny, Words: "The user left out every part of this change."})
}

func TestEditChange(t *testing.T) {
	x := ask(change("a\n", "b\n"), "")
	x.screen(80, 24)
	x.edited = "b\n"
	if x.press("e").decided(t); len(x.notices) != 1 {
		t.Errorf("notices %q", x.notices)
	}
	x.edited = "c\n"
	x.press("e").decided(t, protocol.Answer{Decision: protocol.Once, Edited: map[string]string{"/w/f": "c\n"}})
	for path, want := range map[string]string{"/w/x.go": "file.go", "/w/-o.sh": "file.sh", "x.$(id)": "file.txt",
		"none": "file", `a.b\c`: "file"} {
		if got := safeName(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestForm(t *testing.T) {
	q := &protocol.Question{Message: "Sign in", Schema: json.RawMessage(`{"properties":{
		"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},"e":{"type":"string","enum":["x","y"]},"s":{"type":"string","title":"S"}},"required":["s"]}`)}
	var names []string
	fields := map[string]field{}
	for _, f := range schemaFields(q.Schema) {
		names, fields[f.name] = append(names, f.name), f
	}
	if got := strings.Join(names, ""); got != "beins" {
		t.Fatalf("fields %s", got)
	}
	for _, x := range []struct{ field, text, want string }{
		{"n", "1.5", "1.5 <nil>"}, {"n", "x", "<nil> enter a number"}, {"i", "7", "7 <nil>"}, {"i", "1.5", "<nil> enter a whole number"},
		{"b", "Yes", "true <nil>"}, {"b", "no", "false <nil>"}, {"b", "maybe", "<nil> enter yes or no"},
		{"e", "x", "x <nil>"}, {"e", "z", "<nil> enter one of x, y"}, {"s", "", "<nil> fill this in"}, {"e", "", "<nil> <nil>"},
	} {
		v, err := fields[x.field].value(x.text)
		if got := fmt.Sprint(v, " ", err); got != x.want {
			t.Errorf("%s %q: %s, want %s", x.field, x.text, got, x.want)
		}
	}
}

// TestServersAreSentNoWords: a server takes no answer in words, only the values of its form.
func TestServersAreSentNoWords(t *testing.T) {
	x := ask(protocol.Approval{Question: &protocol.Question{Server: "db", Message: "Go on?", Free: true}}, "")
	if text := x.screen(80, 20); strings.Contains(text, "answer in words") {
		t.Errorf("the answers are\n%s", text)
	}
	x.press("y").decided(t, protocol.Answer{Decision: protocol.Once})
}

func TestPlainMode(t *testing.T) {
	x := ask(command("make"), "")
	if got := x.Lines(); got[0].Text() != "? Run this command?" || got[len(got)-1].Text() != "esc  no, and stop the turn" {
		t.Errorf("lines %v", got)
	}
	if _, _, again := x.Line("what"); !again {
		t.Error("a line that is no answer is taken")
	}
	x.Line("YES")
	x.decided(t, protocol.Answer{Decision: protocol.Once})
}

// TestUnseenIsNeverAllowedOnward: an undo asks about these files only, and can be left.
func TestUnseenIsNeverAllowedOnward(t *testing.T) {
	unseen := change("a\n", "b\n")
	unseen.Change.Unseen = true
	for key, want := range map[string]protocol.Decision{"y": protocol.Once, "n": protocol.Deny, "esc": protocol.Abort} {
		x := ask(unseen, "")
		got := x.screen(80, 24)
		if !strings.Contains(got, "Take these changes back, too?") || strings.Contains(got, "session") ||
			strings.Contains(got, "tell the model") {
			t.Errorf("the question is\n%s", got)
		}
		x.press("s", "h", "e").decided(t)
		x.press(key).decided(t, protocol.Answer{Decision: want})
	}
}
