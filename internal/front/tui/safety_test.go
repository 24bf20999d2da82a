package tui

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/approval"
	"kerf/internal/front/tui/panels"
	"kerf/internal/protocol"
)

// payloads are what hostile text may hold (SECURITY_TESTS T1 to T3).
var payloads = []string{
	"\x1b[2J\x1b[H", "\x1b]0;owned\x07", "\x1b]8;;http://evil.test\x1b\\link\x1b]8;;\x1b\\", "\x1b]9;note\x07",
	"\x1b]52;c;b3duZWQ=\x07",
	"\x1b]777;notify;a;b\x07", "\x1b]1337;File=inline=1:AAAA\x07", "\x1bP+q544e\x1b\\", "\x1b_Gf=100;AAAA\x1b\\",
	"\x1b^pm\x1b\\", "\x1bXsos\x1b\\",
	"\u009b31m", "\u009d0;owned\u009c", "\x9b31m", "\x9d0;owned\x9c", "\x1b[", "\x1b]52;c;", "\x1b", "\x1b[?1049h",
	"\x1bc", "\x1b#8", "\x1b[6n",
	"\r", "\b\b\b", "\v", "\f", "\x00", "\x7f", "\x0e", "\x05", "\a",
	"\u202e\u2066rm\u2069", "\u200b", "\ufe0f", "\U000e0041", "\u00a0", "\u2028", "\ufeff", "\xff\xfe", "\xc3\x28",
}

// everywhere says a payload in every place that others fill.
func everywhere(b *bench, p string) {
	b.event("t", protocol.TurnStarted{}, protocol.TitleChanged{Title: "title " + p},
		protocol.Warning{Message: "warn " + p},
		protocol.SettingsChanged{Settings: protocol.Settings{Model: "m" + p, Cwd: "/w/" + p, Approval: "never",
			Sandbox: "read-only"}},
		done("1", user("u "+p)), done("2", answer("a "+p+" `code "+p+"` [l"+p+"](http://x/"+p+")\n\n```go\nx := \""+p+
			"\"\n```\n\n| "+p+" |\n|---|\n| "+p+" |\n")),
		done("3", protocol.Reasoning{Text: "r " + p}), done("4", ran("echo "+p, "out "+p, 0)),
		done("5", protocol.ToolCall{Server: "s" + p, Tool: "t" + p, Args: []byte(`{"a":"` + p + `"}`), Output: p,
			Error: "e " + p}),
		done("6", protocol.FileChange{Diff: "--- a/f" + p + "\n+++ b/f" + p + "\n@@ -1 +1 @@\n-old " + p + "\n+new " + p +
			"\n", Changes: []protocol.PathChange{{Path: "/w/f" + p}}}),
		failed("7", protocol.FileChange{Error: "err " + p, Changes: []protocol.PathChange{{Path: "/w/f" + p}}}),
		done("8", protocol.TodoList{Explanation: p, Steps: []protocol.Step{{Step: "s " + p, Status: "pending"}}}),
		done("9", protocol.SubAgent{Operation: "spawn", Prompt: p,
			Agents: []protocol.Agent{{ID: "12345678", Name: p, State: p, Message: p}}, Error: p}),
		done("10", protocol.WebSearch{Query: p}), done("11", protocol.Problem{Message: p}),
		done("12", protocol.ProposedPlan{Text: "1. " + p}),
		done("13", protocol.ReviewResult{Text: p, Findings: []protocol.Finding{{Title: p, Body: p, Path: p, Start: 1}}}),
		protocol.Retrying{Attempt: 1, Max: 2, Cause: p}, protocol.QueueChanged{Waiting: [][]protocol.Input{{{Text: p}}}},
		protocol.RateLimits{Values: map[string]string{p: p}},
		protocol.Servers{Servers: []protocol.Server{{Name: p, State: "failed", Error: p, Tools: []string{p}}}},
		protocol.Processes{Running: []protocol.Process{{ID: 1, Command: p}}},
		protocol.Agents{Agents: []protocol.Agent{{ID: "1", Name: p, State: p, Message: p}}},
		protocol.Undone{Report: protocol.UndoReport{What: p, Files: []protocol.UndoFile{{Path: p, Outcome: p, Note: p}}}})
	b.event("t", started("20", protocol.Command{Command: p}), delta("20", p), started("21", answer("")), delta("21", p))
	for i, a := range hostileApprovals(p) {
		a.ID = protocol.ApprovalID(fmt.Sprint("a", i))
		b.event("t", protocol.ApprovalRequested{Approval: a})
		b.ready().keys("pgdown", "down", "end")
		b.event("t", protocol.ApprovalResolved{Approval: a.ID, Decision: protocol.Void})
	}
	b.event("t", protocol.TurnFailed{Error: protocol.Trouble{Message: "fail " + p, Hint: p}})
	for _, c := range []string{"/status", "/context", "/mcp", "/agents", "/ps", "/resume", "/changes", "/diff",
		"/transcript", "/skills", "/model", "/doctor"} {
		b.types(c).keys("enter", "down", "esc", "esc")
	}
	b.paste(p).keys("ctrl+c")
}

func hostileApprovals(p string) []protocol.Approval {
	return []protocol.Approval{
		{Reason: p, Command: &protocol.CommandApproval{Command: "ls " + p, Cwd: "/w" + p, Prefix: []string{p}, Rule: p}},
		{Change: &protocol.ChangeApproval{Diff: "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-o" + p + "\n+n" + p + "\n", Changes: []protocol.PathChange{{Path: p}}, Files: []protocol.FileText{{Path: p, Old: text(p), New: text(p + "x")}}}},
		{Tool: &protocol.ToolApproval{Server: p, Tool: p, Args: p, Changed: p}},
		{Network: &protocol.NetworkApproval{Host: p, Command: p}},
		{Question: &protocol.Question{Server: p, Header: p, Message: p, Options: []protocol.Choice{{Label: p, Description: p}}, URL: p}},
	}
}

func hostileWorkspace(p string) *fakeWorkspace {
	return &fakeWorkspace{files: []string{p}, models: []protocol.ModelInfo{{Name: p, Description: p}},
		checks:  []protocol.Check{{Name: p, State: p, Detail: p, Hint: p}},
		changes: []protocol.ChangeEntry{{Cause: p, Tool: p, Diff: p, Changes: []protocol.PathChange{{Path: p}}}}, prompts: []protocol.Prompt{{Name: p, Description: p, Body: p, Skill: true}, {Name: p, Description: p}}}
}

// No control byte of others reaches the terminal, from any place.
func TestSEC_T1_NoEscapeGetsOut(t *testing.T) {
	for _, p := range payloads {
		b := story(t, 80, 24, func(o *Options) { o.Workspace = hostileWorkspace(p) })
		b.m.focused = false // notifications carry words of others, too
		b.fake.list = []protocol.SessionInfo{{ID: "a", Title: p, Cwd: "/w/" + p, Branch: p, Damage: p, Turns: 1}}
		everywhere(b, p)
		if len(b.vt.Strange) > 0 || b.vt.Clipboard != "" || b.vt.Bells > 0 {
			t.Errorf("%q: the terminal got %q, clipboard %q, %d bells", p, b.vt.Strange, b.vt.Clipboard, b.vt.Bells)
		}
		for _, n := range b.vt.Notes {
			if strings.ContainsFunc(n, func(r rune) bool { return r < 0x20 }) || strings.Contains(n, "note") &&
				!strings.Contains(n, "Kerf") {
				t.Errorf("%q: notification %q", p, n)
			}
		}
		if b.vt.Title == "owned" || b.vt.Full() {
			t.Errorf("%q: title %q, alternate screen %v", p, b.vt.Title, b.vt.Full())
		}
	}
}

// A sequence that is cut by the boundary of two deltas is as harmless.
func TestSEC_T1_SplitAcrossDeltas(t *testing.T) {
	for _, p := range payloads {
		for cut := range len(p) {
			if cut > 2 && cut < len(p)-2 && os.Getenv("KERF_LONG") == "" {
				continue // the ends of a sequence are where it could come through
			}
			b := story(t, 80, 24)
			b.event("t", protocol.TurnStarted{}, started("m", answer("")), started("c", protocol.Command{Command: "x"}))
			b.event("t", delta("m", "a "+p[:cut]), delta("c", "o "+p[:cut])).event("t", delta("m", p[cut:]+" z\n\nnext"),
				delta("c", p[cut:]+" z\n"))
			b.event("t", done("m", answer("a "+p+" z\n\nnext")), done("c", ran("x", "o "+p+" z\n", 0)), protocol.TurnCompleted{})
			b.safe()
		}
	}
}

// What is asked is shown whole: blanks and newlines before the payload do not
// hide it, and nothing can be allowed before its end was on the screen.
func TestSEC_T2_NothingIsCutSilently(t *testing.T) {
	for name, command := range map[string]string{
		"newlines": "echo ok" + strings.Repeat("\n", 300) + "rm -rf ~/hidden",
		"blanks":   "echo ok" + strings.Repeat(" ", 5000) + "rm -rf ~/hidden",
		"return":   "rm -rf ~/hidden\recho ok",
		"back":     "rm -rf ~/hidden\b\b\b\b\b\bok\v\f",
	} {
		t.Run(name, func(t *testing.T) {
			b := story(t, 80, 24)
			b.event("t", protocol.TurnStarted{}, askCommand("a", command)).ready()
			seen := b.vt.Screen()
			for range 60 {
				b.ready().keys("y")
				if ops := b.ops(); len(ops) > 0 {
					break
				}
				seen += b.vt.Screen()
			}
			if seen = strings.Join(strings.Fields(seen), " "); !strings.Contains(seen, "rm -rf ~/hidden") {
				t.Error("the command could be allowed without having been seen")
			}
			if name == "return" && !strings.Contains(seen, "<U+000D>") || name == "back" && !strings.Contains(seen, "<U+0008>") {
				t.Errorf("controls are not visible:\n%s", seen)
			}
		})
	}
}

func TestSEC_T3_InvisibleIsSpelledOut(t *testing.T) {
	for in, want := range map[string]string{
		"a\u202eb": "<U+202E>", "a\u2066b": "<U+2066>", "a\u200bb": "<U+200B>", "a\ufe0fb": "<U+FE0F>",
		"a\U000e0041b": "<U+E0041>",
		"a\u00a0b":     "<U+00A0>", "a\u3164b": "<U+3164>", "p\u0430ypal": "<U+0430>",
	} {
		b := story(t, 80, 24)
		b.event("t", protocol.TurnStarted{}, askCommand("a", "run "+in)).says(want)
		b.event("t", protocol.ApprovalResolved{Approval: "a"},
			protocol.ApprovalRequested{Approval: protocol.Approval{ID: "b", Change: &protocol.ChangeApproval{
				Diff: "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+x " + in + "\n"}}}).says(want)
	}
}

// Answers of the terminal are no keys, even when they come apart.
func TestSEC_T4_TerminalAnswersAreNoKeys(t *testing.T) {
	b := story(t, 80, 24)
	b.event("t", protocol.TurnStarted{}, askCommand("a", "make")).ready()
	for _, msg := range []tea.Msg{tea.BackgroundColorMsg{}, tea.CursorPositionMsg{X: 3, Y: 4},
		tea.TerminalVersionMsg{Name: "y"}, tea.ClipboardMsg{Content: "y"}, tea.CapabilityMsg{Content: "y"}} {
		b.send(msg)
	}
	for _, answer := range []string{"[?62;1;6c", "]11;rgb:ffff/aaaa/eeee", "[24;80R", "P>|xterm\\", "_Gy;OK"} {
		b.ready().send(tea.KeyPressMsg{Code: rune(answer[0]), Mod: tea.ModAlt})
		for _, r := range answer[1:] {
			b.send(tea.KeyPressMsg{Code: r, Text: string(r)})
			b.clock = b.clock.Add(time.Millisecond)
		}
	}
	b.submitted().says("Run this command?")
	b.paste("y\ny\ny\n").submitted().says("You write a message")
	b.keys("ctrl+c").ready().keys("y").submitted(protocol.Answer{Approval: "a", Decision: protocol.Once})
}

// What was being typed when a question came does not answer it.
func TestSEC_T4_TypingAheadDoesNotAnswer(t *testing.T) {
	b := story(t, 80, 24)
	b.event("t", protocol.TurnStarted{}).types("yes a")
	b.event("t", askCommand("a", "make"), askCommand("b", "make install"))
	b.types("yay\n").submitted().says("yes ayay").says("You write a message")
	b.ready().keys("y", "enter").submitted(protocol.UserInput{Items: []protocol.Input{{Text: "yes ayay\ny"}}})
	b.ready().keys("y", "y", "y").submitted(protocol.Answer{Approval: "a", Decision: protocol.Once})
	b.says("yy").keys("ctrl+c").ready().keys("y").submitted(protocol.Answer{Approval: "b", Decision: protocol.Once})
}

// What people wrote when it answered a question: it is a message, whole.
func TestSEC_T4_AMessageIsAMessage(t *testing.T) {
	for _, words := range []string{"wait, donot do this", "hold on i would rea", "stop", "always ask me", "show me first",
		"just look", "what is that"} {
		b := story(t, 80, 24)
		b.event("t", protocol.TurnStarted{}, askCommand("a", "make")).ready()
		b.types(words).keys("enter")
		if ops := b.ops(); len(ops) != 1 {
			t.Errorf("%q led to %v", words, ops)
		} else if in, ok := ops[0].(protocol.UserInput); !ok || in.Items[0].Text != words {
			t.Errorf("%q led to %v", words, ops)
		}
		b.says("Run this command?")
	}
}

// TestSEC_T4_NoKeyAnswersWithoutASecondOfRest plays random keys with random pauses, while
// questions come and go: no answer that allows something is given by a key before which
// the question was not up, with no key pressed, for a second.
func TestSEC_T4_NoKeyAnswersWithoutASecondOfRest(t *testing.T) {
	names := []string{"y", "s", "a", "n", "d", "w", "1", "x", "enter", "tab", "right", "left", "esc", "backspace", "ctrl+c",
		"ctrl+t", "space", "down"}
	allowed := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		b := story(t, 80, 30)
		b.event("t", protocol.TurnStarted{})
		asked := 0
		var up time.Time   // since when the first question is up
		var last time.Time // the last key
		rested := false    // a second without keys has passed since up, and no message was begun
		for range 140 {
			switch {
			case r.IntN(12) == 0 && len(b.m.questions) < 3:
				asked++
				b.event("t", askCommand(fmt.Sprint("q", asked), "make"))
				if len(b.m.questions) == 1 {
					up, rested = b.clock, false
				}
			case r.IntN(20) == 0 && len(b.m.questions) > 0:
				b.event("t", protocol.ApprovalResolved{Approval: b.m.questions[0].Approval.ID, Decision: protocol.Void})
				up, rested = b.clock, false
			}
			b.wait(time.Duration(r.IntN(4)*r.IntN(500)) * time.Millisecond)
			quiet := b.clock.Sub(last)
			if b.clock.Sub(up) < quiet {
				quiet = b.clock.Sub(up)
			}
			rested = rested || quiet >= time.Second
			draft := !b.m.shown.Composer.Empty()
			name := names[r.IntN(len(names))]
			last = b.clock
			b.keys(name)
			for _, op := range b.ops() {
				if a, ok := op.(protocol.Answer); ok && a.Decision.Allows() {
					allowed++
					if !rested || draft {
						t.Fatalf("seed %d: %q answered %+v after %v, with a message %v", seed, name, a, quiet, draft)
					}
				}
				if _, ok := op.(protocol.Answer); ok {
					up, rested = b.clock, false
				}
			}
			if !b.m.shown.Composer.Empty() {
				rested = false
			}
			if b.quit {
				break
			}
		}
	}
	if allowed < 50 {
		t.Errorf("only %d answers were given at all: the play is too tame", allowed)
	}
}

// TestSEC_T4_QuestionsStandAbovePages: a page that is open does not hide a question, and
// its keys do not answer one.
func TestSEC_T4_QuestionsStandAbovePages(t *testing.T) {
	for _, open := range [][]string{{"ctrl+t"}, {"f1"}, {"ctrl+r"}} {
		b := story(t, 80, 24).aTurn()
		b.event("t9", protocol.TurnStarted{})
		b.keys(open...)
		b.event("t9", askCommand("a", "make everything")).says("Run this command?").says("make everything")
		b.keys("y").submitted()
		b.keys("ctrl+c").ready().keys("y").submitted(protocol.Answer{Approval: "a", Decision: protocol.Once})
		if b.m.top() == nil {
			t.Errorf("%v: the page is gone", open)
		}
	}
}

// TestSEC_T4_APageThatIsAskedForBelowAQuestionWaits: it says so, and opens behind the answer.
func TestSEC_T4_APageThatIsAskedForBelowAQuestionWaits(t *testing.T) {
	b := story(t, 80, 24).aTurn()
	b.event("t9", protocol.TurnStarted{}, askCommand("a", "make everything")).ready()
	b.types("/help").keys("enter").says("Run this command?", "this opens when you have answered").submitted()
	b.ready().keys("y").submitted(protocol.Answer{Approval: "a", Decision: protocol.Once}).silent("Run this command?")
	if b.m.top() == nil {
		t.Error("the page is gone")
	}
}

// TestSEC_T4_LookingBackAnswersNothing: the transcript can be read before a question is
// answered; its keys do not answer.
func TestSEC_T4_LookingBackAnswersNothing(t *testing.T) {
	for _, key := range []string{"ctrl+t", "ctrl+o"} {
		b := story(t, 80, 24).aTurn()
		b.event("t9", protocol.TurnStarted{}, askCommand("a", "make everything")).ready()
		b.keys(key).silent("Run this command?").says("q back")
		b.ready().keys("y").submitted()
		b.keys("q").says("Run this command?").keys("y").submitted()
		b.keys("ctrl+c").ready().keys("y").submitted(protocol.Answer{Approval: "a", Decision: protocol.Once})
	}
}

// What holds for longer than once wants enter behind its key, after a moment.
func TestSEC_T4_LastingAnswersWantASecondKey(t *testing.T) {
	b := story(t, 80, 24)
	b.event("t", protocol.TurnStarted{}, askCommand("a", "make")).ready()
	for _, key := range []string{"s", "enter", "enter"} {
		b.send(press(key))
	}
	b.submitted().silent("enter confirms")                                                            // too soon after the key before
	b.wait(panels.Rest).submitted().says("enter confirms").ready().keys("x").submitted().says("› sx") // it was a word
	b.keys("ctrl+c").ready().keys("s").ready().keys("enter").
		submitted(protocol.Answer{Approval: "a", Decision: protocol.ForSession})
	b.event("t", askCommand("held", "make")).ready()
	for range 50 { // a key that is held down
		b.keys("s")
	}
	b.submitted().keys("ctrl+c").event("t", protocol.ApprovalResolved{Approval: "held", Decision: protocol.Void})
	b.event("t", askCommand("b", "make")).ready().keys("enter").submitted()
	if p, ok := b.m.top().(*panels.Input); !ok || !strings.HasPrefix(p.Title, "No.") {
		t.Errorf("enter chose something else than no: %T", b.m.top())
	}
}

func TestSEC_T5_SmallScreensAskWholeOrNotAtAll(t *testing.T) {
	for _, size := range [][2]int{{20, 5}, {40, 10}, {11, 24}, {80, 3}, {1, 1}, {2, 2}, {5, 40}} {
		b := story(t, size[0], size[1])
		command := "make everything and then remove /important/things --yes"
		b.event("t", protocol.TurnStarted{}, askCommand("a", command)).ready()
		seen := ""
		for range 40 {
			seen += strings.Join(strings.Fields(b.vt.Screen()), " ") + " "
			b.ready().keys("y")
			if ops := b.ops(); len(ops) > 0 {
				for _, w := range strings.Fields(command) {
					if size[0] >= 40 && !strings.Contains(seen, w) {
						t.Errorf("%v: allowed without %q on the screen", size, w)
					}
				}
				if size[0] < approval.LeastWidth {
					t.Errorf("%v: allowed on a screen that shows nothing", size)
				}
				break
			}
		}
		b.ready().keys("esc").safe()
	}
	b := story(t, 80, 24)
	b.send(tea.WindowSizeMsg{})
	b.types("still here").says("still here")
}

func TestSEC_T6_PanicsEndInOrder(t *testing.T) {
	b := story(t, 80, 24)
	msg := do(nil)()
	if _, ok := msg.(crashMsg); !ok {
		t.Fatalf("a panic became %T", msg)
	}
	b.send(crashMsg{"x"})
	if !b.quit || b.m.exit.code != 1 || b.m.err == nil {
		t.Errorf("quit %v code %d err %v", b.quit, b.m.exit.code, b.m.err)
	}
	b.m.release(true)
	for mode, on := range b.vt.Modes {
		if on && mode != "?25" && mode != "?7" { // both are how a terminal starts
			t.Errorf("mode %s is left on", mode)
		}
	}
	if b.vt.CursorHidden {
		t.Error("the cursor is left hidden")
	}
}

// A storm of sizes leaves no garbage: one composer, one status line.
func TestResizeStorm(t *testing.T) {
	b := story(t, 80, 24).aTurn()
	b.event("t2", protocol.TurnStarted{}, started("m", answer("")),
		delta("m", "Some text that is being written, long enough to wrap when the terminal gets narrow."))
	b.types("my draft")
	r := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		b.resize(20+r.IntN(150), 8+r.IntN(60))
		if r.IntN(3) == 0 {
			b.event("t2", delta("m", " more words"))
		}
	}
	b.resize(80, 24).safe()
	if n := strings.Count(b.vt.Screen(), "my draft"); n != 1 {
		t.Errorf("the draft is on the screen %d times:\n%s", n, b.vt.Screen())
	}
	if n := strings.Count(b.vt.All(), "my draft"); n > 3 {
		t.Errorf("the draft is in the scrollback %d times", n)
	}
	b.types("!").says("my draft!")
}

func TestHugePaste(t *testing.T) {
	b := story(t, 80, 24)
	big := strings.Repeat("0123456789abcde\n", 10<<20/16)
	b.paste(big).types(" what is this?").says("[Pasted #1: 655361 lines, 10.0 MB] what is this?")
	b.keys("left", "backspace").keys("enter")
	ops := b.ops()
	got := ops[0].(protocol.UserInput).Items[0].Text
	if len(got) != len(big)+len(" what is this?")-1 || !strings.HasPrefix(got, big) {
		t.Errorf("%d bytes were sent", len(got))
	}
	if len(b.m.input.Search().Items) != 0 {
		t.Error("a paste of 10 MB is kept in the history")
	}
}

// 200,000 tokens of one answer are drawn as they come and do not stay.
func TestLongStreamKeepsMemoryFlat(t *testing.T) {
	b := story(t, 80, 24)
	b.event("t", protocol.TurnStarted{}, started("m", answer("")))
	words := []string{"the ", "quick ", "`brown` ", "**fox** ", "jumps\n", "over ", "\n\n", "- a ", "lazy\n", "dog. "}
	memory := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	stream := func(n int) {
		for i := 0; i < n; i += 400 {
			var sb strings.Builder
			for j := range 400 {
				sb.WriteString(words[(i+j*7)%len(words)])
			}
			b.event("t", delta("m", sb.String()))
			b.vt.Forget()
		}
	}
	stream(20_000)
	before := memory()
	stream(180_000)
	if after := memory(); after > before+2<<20 {
		t.Errorf("the heap grew from %d to %d KB", before>>10, after>>10)
	}
	b.safe()
}

// One line without an end must not freeze anything.
func TestEndlessLine(t *testing.T) {
	b := story(t, 80, 24)
	b.event("t", protocol.TurnStarted{}, started("m", answer("")), started("c", protocol.Command{Command: "yes"}))
	for range 60 {
		b.event("t", delta("m", strings.Repeat("x", 10_000)), delta("c", strings.Repeat("y", 10_000)))
		b.vt.Forget()
	}
	b.event("t", done("f", protocol.FileChange{Diff: "--- a/x.js\n+++ b/x.js\n@@ -1 +1 @@\n-" +
		strings.Repeat("a(", 50_000) + "\n+" + strings.Repeat("b(", 50_000) + "\n"}))
	b.safe()
}

func TestNotifications(t *testing.T) {
	for way, want := range map[string]string{"": "Kerf: done: All is well", "osc777": "notify;Kerf: done;All is well",
		"bell": "", "off": ""} {
		b := story(t, 80, 24, func(o *Options) { o.Notify = way })
		end := protocol.TurnCompleted{LastMessage: "All is well"}
		b.event("t", protocol.TurnStarted{}, end)
		if len(b.vt.Notes)+b.vt.Bells != 0 {
			t.Errorf("%q: told while the terminal is in focus", way)
		}
		b.send(tea.BlurMsg{})
		b.event("t", protocol.TurnStarted{}, end)
		if got := strings.Join(b.vt.Notes, ","); got != want || (b.vt.Bells == 1) != (way == "bell") {
			t.Errorf("%q: notes %q, %d bells", way, got, b.vt.Bells)
		}
	}
}

func TestOnlyCopyTouchesTheClipboard(t *testing.T) {
	b := story(t, 80, 24).aTurn()
	if b.vt.Clipboard != "" {
		t.Fatal("something was copied unasked")
	}
	b.types("/copy").keys("enter").safe()
	if !strings.HasPrefix(b.vt.Clipboard, "c;") {
		t.Errorf("clipboard %q", b.vt.Clipboard)
	}
}
