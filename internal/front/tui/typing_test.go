package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/panels"
	"kerf/internal/protocol"
)

// asking is a question of the terminal UI: how it comes up, the keys that answer it with yes,
// and what tells that it was answered.
type asking struct {
	name  string
	begin func(b *bench)
	yes   []string
	// options set it up; done is called once it was answered.
	options func(o *Options, done func())
	trust   bool // it comes before the session
}

func askings() []asking {
	undo := func(outcome string, redo bool) func(b *bench) {
		return func(b *bench) {
			b.types(map[bool]string{false: "/undo", true: "/redo"}[redo]).keys("enter").ops()
			b.event("", protocol.Undone{Report: protocol.UndoReport{What: "the last turn", DryRun: true, Redo: redo,
				Files: []protocol.UndoFile{{Path: "/work/project/a.go", Outcome: outcome}}}})
		}
	}
	ask := func(a protocol.Approval) func(b *bench) {
		a.ID = "a"
		return func(b *bench) { b.event("t", protocol.TurnStarted{}, protocol.ApprovalRequested{Approval: a}) }
	}
	tries := func(o *Options, done func()) {
		o.Tries = &Tries{Inside: 3, GoOn: func(string, string, string) error { done(); return fmt.Errorf("moved") },
			List: func(context.Context) ([]Waiting, error) { return []Waiting{{ID: 1, Request: "a"}}, nil },
			End:  func(context.Context, int, bool) (string, error) { done(); return "kept", nil }}
	}
	change := protocol.ChangeApproval{Diff: smallDiff, Changes: []protocol.PathChange{{Path: "/w/mathx.go"}},
		Files: []protocol.FileText{{Path: "/w/mathx.go", Old: text("a\n"), New: text("b\n")}}}
	loss := change
	loss.Unseen = true
	form := json.RawMessage(`{"type":"object","properties":{"age":{"type":"integer"}}}`)
	return []asking{
		{name: "trust", trust: true, yes: []string{"1", "enter"}, options: func(o *Options, done func()) {
			o.Trust = &Trust{Root: "/work/project", Decide: func(bool) error { done(); return nil }}
		}},
		{name: "begin", trust: true, yes: []string{"1"}, options: func(o *Options, done func()) {
			o.Sessions.(*fakeSessions).fail = &protocol.CredentialsError{Provider: "openai", Err: fmt.Errorf("no key")}
			o.Ways = func(context.Context) []Way {
				return []Way{{Name: "Use it", Use: func(context.Context) error {
					done()
					o.Sessions.(*fakeSessions).fail = nil
					return nil
				}}}
			}
		}},
		{name: "undo", begin: undo("restored", false), yes: []string{"y"}},
		{name: "redo", begin: undo("restored", true), yes: []string{"enter"}},
		{name: "conflict", begin: undo("conflict", false), yes: []string{"4"}},
		{name: "plan", yes: []string{"1"}, begin: func(b *bench) {
			b.event("", protocol.SettingsChanged{Settings: protocol.Settings{Model: "m", Approval: protocol.PolicyPlan,
				Sandbox: protocol.SandboxWorkspace, Cwd: "/w"}})
			b.event("t", protocol.TurnStarted{}, done("p", protocol.ProposedPlan{Text: "1. do it"}), protocol.TurnCompleted{})
		}},
		{name: "full access", yes: []string{"2", "enter"}, begin: func(b *bench) {
			b.types("/approvals").keys("enter", "7")
		}},
		{name: "leave a try", yes: []string{"2"}, options: tries, begin: func(b *bench) { b.types("/try").keys("enter") }},
		{name: "throw a try away", yes: []string{"2", "enter"}, options: tries,
			begin: func(b *bench) { b.types("/tries").keys("enter", "x") }},
		{name: "keep a try", yes: []string{"y"}, options: tries,
			begin: func(b *bench) { b.types("/tries").keys("enter", "k") }},
		{name: "command", yes: []string{"y"}, begin: ask(protocol.Approval{Command: &protocol.CommandApproval{
			Command: "make", Cwd: "/w", Prefix: []string{"make"}, Rule: "make"}})},
		{name: "change", yes: []string{"y"}, begin: ask(protocol.Approval{Change: &change})},
		{name: "loss", yes: []string{"y"}, begin: ask(protocol.Approval{Change: &loss})},
		{name: "tool", yes: []string{"y"}, begin: ask(protocol.Approval{Tool: &protocol.ToolApproval{Server: "s", Tool: "t"}})},
		{name: "network", yes: []string{"y"}, begin: ask(protocol.Approval{Network: &protocol.NetworkApproval{Host: "h"}})},
		{name: "choice", yes: []string{"1"}, begin: ask(protocol.Approval{Question: &protocol.Question{Message: "Which?",
			Options: []protocol.Choice{{Label: "A"}, {Label: "B"}}, Free: true}})},
		{name: "sign in", yes: []string{"y"}, begin: ask(protocol.Approval{Question: &protocol.Question{Server: "s",
			Message: "Sign in", URL: "https://example.test"}})},
		{name: "form", yes: []string{"y", "4", "enter"}, begin: ask(protocol.Approval{Question: &protocol.Question{
			Server: "s", Message: "How old?", Schema: form}})},
	}
}

// play brings a question up; answered reports whether it was answered since.
func (x asking) play(t *testing.T, before string) (b *bench, answered func() bool) {
	t.Helper()
	count := 0
	b = unopened(t, 80, 30, func(o *Options) {
		if x.options != nil {
			x.options(o, func() { count++ })
		}
	})
	if x.trust {
		b.types(before)
		b.run(b.m.Init())
		return b, func() bool { return count > 0 || b.quit || len(b.fake.opened) > 0 }
	}
	b.run(b.m.Init())
	b.event("", protocol.SessionStarted{Session: b.m.session.ID, Settings: protocol.Settings{Model: "test-model",
		Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace, Cwd: "/work/project"}})
	x.begin(b)
	b.ops()
	return b, func() bool {
		for _, op := range b.ops() {
			if _, says := op.(protocol.UserInput); !says {
				return true
			}
		}
		return count > 0 || b.quit
	}
}

// aWhile is a while without keys.
const aWhile = 3 * time.Second

// messages are words that people write, with the keys of answers at their beginning, in them and
// at their end.
var messages = []string{"yes but only the first", "1. fix the parser, 2. test it", "no wait", "2 things", "y1y1y1", "edit it differently",
	"don't do that", "hold on i would rea", "stop", "always ask me", "show me first", "what is that", "quick question", "just look",
	"nyet", "4", "1 1 1 1"}

// TestSEC_T4_TypingAnswersNoQuestion: whatever asks, what is typed before it came, as it comes, or
// after it stood for a while goes into a message, whole, at any speed that people type at; the
// message is sent, and the question still waits and can be answered.
func TestSEC_T4_TypingAnswersNoQuestion(t *testing.T) {
	for _, x := range askings() {
		t.Run(x.name, func(t *testing.T) {
			gaps := []time.Duration{20 * time.Millisecond, 110 * time.Millisecond, panels.Rest - 10*time.Millisecond}
			for i, words := range messages {
				for k, rest := range []time.Duration{0, 900 * time.Millisecond, aWhile} {
					if rest < aWhile || len(words) > 1 { // alone it is an answer
						x.types(t, words, gaps[(i+k)%len(gaps)], rest)
					}
				}
			}
		})
	}
}

func (x asking) types(t *testing.T, words string, gap, rest time.Duration) {
	t.Helper()
	b, answered := x.play(t, "")
	b.wait(rest)
	for _, r := range words {
		b.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		b.wait(gap)
	}
	b.wait(2 * time.Second)
	if got := b.m.shown.Composer.Value(); answered() || got != words {
		t.Fatalf("%q, %v between its keys, %v after the question: answered, or the message is %q:\n%s", words, gap, rest, got,
			b.vt.Screen())
	}
	b.keys("enter")
	early := len(b.m.early) == 1 && b.m.early[0].text == words
	if answered() || b.m.shown.Composer.Value() != "" || x.trust && !early {
		t.Fatalf("%q could not be sent: %q %v\n%s", words, b.m.shown.Composer.Value(), b.m.early, b.vt.Screen())
	}
	b.ready().keys(x.yes...)
	if !answered() {
		t.Fatalf("%v answers nothing after the message %q:\n%s", x.yes, words, b.vt.Screen())
	}
}

// TestSEC_T4_TypedBeforeTheQuestion: what was begun before the question is one message with what
// follows, and the session gets what was sent while it was not open yet.
func TestSEC_T4_TypedBeforeTheQuestion(t *testing.T) {
	for _, x := range askings() {
		if !x.trust {
			continue
		}
		b, answered := x.play(t, "look at 1")
		b.wait(aWhile).types("1 and 2").paste(" or y").wait(aWhile)
		if got := b.m.shown.Composer.Value(); answered() || got != "look at 11 and 2 or y" {
			t.Errorf("%s: answered, or the message is %q", x.name, got)
		}
		b.keys("enter").says("1 message of yours will be sent once the session is open").ready().keys(x.yes...)
		b.submitted(protocol.UserInput{Items: []protocol.Input{{Text: "look at 11 and 2 or y"}}})
	}
}

// TestSEC_T4_PastesAnswerNothing: a paste answers nothing, with brackets and without, and takes a
// key along that was pressed just before it.
func TestSEC_T4_PastesAnswerNothing(t *testing.T) {
	for _, x := range askings() {
		for _, text := range []string{"y\ny\n", "1\n2\n1\n", "yes, do it\n", "n\n"} {
			b, answered := x.play(t, "")
			b.wait(aWhile)
			b.send(press("y"))
			b.paste(text).wait(2 * time.Second)
			if got := b.m.shown.Composer.Value(); answered() || !strings.HasSuffix(got, text) {
				t.Errorf("%s: the paste %q answered, or the message is %q", x.name, text, got)
			}
			b, answered = x.play(t, "")
			b.wait(aWhile)
			for _, r := range text {
				k := tea.KeyPressMsg{Code: r, Text: string(r)}
				if r == '\n' {
					k = press("enter")
				}
				b.send(k)
			}
			if answered() {
				t.Errorf("%s: the paste %q, without brackets, answered", x.name, text)
			}
		}
	}
}

// TestSEC_T4_OneQuestionIsNotAnsweredForAnother: a key for the question that is above counts for no
// other one below it.
func TestSEC_T4_OneQuestionIsNotAnsweredForAnother(t *testing.T) {
	for _, x := range askings() {
		if x.trust || len(x.yes) > 2 {
			continue
		}
		b, _ := x.play(t, "")
		b.wait(aWhile).keys(x.yes[:len(x.yes)-1]...) // the first of two keys
		b.event("t2", protocol.TurnStarted{}, protocol.ApprovalRequested{Approval: protocol.Approval{ID: "z",
			Network: &protocol.NetworkApproval{Host: "other"}}})
		b.ready().keys("y").ops()
		below := b.m.top()
		b.wait(panels.Rest).send(press(x.yes[len(x.yes)-1]))
		b.wait(panels.Rest)
		if below != nil && b.m.top() != below {
			t.Errorf("%s: the key behind an answer answered, too", x.name)
		}
	}
}
