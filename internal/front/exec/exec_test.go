package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/protocol"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fake is a session that plays messages, and answers ops with more of them.
type fake struct {
	script []protocol.Msg
	// on answers an op; the messages are played as events.
	on     func(op protocol.Op) []protocol.Msg
	events chan protocol.Event
	inbox  chan protocol.Op
	done   chan struct{}
	once   sync.Once
	mu     sync.Mutex
	ops    []protocol.Op  // guarded by mu
	stuck  bool           // Close never returns
	last   []protocol.Msg // played while the session ends
}

func newFake(script ...protocol.Msg) *fake {
	return &fake{script: script, events: make(chan protocol.Event), inbox: make(chan protocol.Op, 8),
		done: make(chan struct{})}
}

func (f *fake) ID() protocol.SessionID { return "0190a0b0-0000-7000-8000-000000000001" }

func (f *fake) Submit(ctx context.Context, s protocol.Submission) error {
	if _, last := s.Op.(protocol.Shutdown); last {
		go f.end(true)
		return nil
	}
	f.mu.Lock()
	f.ops = append(f.ops, s.Op)
	f.mu.Unlock()
	select {
	case f.inbox <- s.Op:
		return nil
	case <-f.done:
		return errors.New("ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) Events() <-chan protocol.Event { return f.events }

func (f *fake) Close() error {
	if f.stuck {
		select {}
	}
	f.end(false)
	return nil
}

// end ends the session, but for one that is stuck. What nobody takes at once is thrown away
// unless it is to wait.
func (f *fake) end(wait bool) {
	if f.stuck {
		return
	}
	f.once.Do(func() {
		for _, m := range f.last {
			select {
			case f.events <- protocol.Event{Msg: m}:
				continue
			default:
			}
			if wait {
				f.events <- protocol.Event{Msg: m}
			}
		}
		close(f.done)
	})
}

func (f *fake) submitted() []protocol.Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]protocol.Op(nil), f.ops...)
}

// run plays the session until it is closed.
func (f *fake) run() {
	defer close(f.events)
	play := func(ms []protocol.Msg) bool {
		for _, m := range ms {
			select {
			case f.events <- protocol.Event{Msg: m}:
			case <-f.done:
				return false
			}
		}
		return true
	}
	if !play([]protocol.Msg{protocol.SessionStarted{Session: f.ID(), Provider: "script", Settings: protocol.Settings{
		Model: "m1", Effort: "low", Approval: protocol.PolicyNever, Sandbox: protocol.SandboxWorkspace, Cwd: "/w"}}}) {
		return
	}
	for {
		select {
		case op := <-f.inbox:
			ms := f.script
			if _, first := op.(protocol.UserInput); !first {
				ms = nil
				if f.on != nil {
					ms = f.on(op)
				}
			}
			if !play(ms) {
				return
			}
		case <-f.done:
			return
		}
	}
}

type sessions struct {
	session *fake
	err     error
	opened  protocol.OpenOptions
	wait    bool
}

func (s *sessions) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	s.opened = o
	if s.wait {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	go s.session.run()
	return s.session, nil
}

func (s *sessions) List(context.Context, protocol.Filter) ([]protocol.SessionInfo, error) {
	return nil, nil
}

func text1(s string) []protocol.Input { return []protocol.Input{{Text: s}} }

func started(id string, b protocol.Body) protocol.Msg {
	return protocol.ItemStarted{Item: protocol.Item{ID: protocol.ItemID(id), Status: protocol.InProgress, Body: b}}
}

func completed(id string, s protocol.Status, b protocol.Body) protocol.Msg {
	return protocol.ItemCompleted{Item: protocol.Item{ID: protocol.ItemID(id), Status: s, Body: b}}
}

func code(n int) *int { return &n }

const oneDiff = `diff --git a/a.txt b/a.txt
index 1111111..2222222 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
--- two
+++ TWO
 three
diff --git a/dir/new b/dir/new
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/dir/new
@@ -0,0 +1 @@
+new
`

// transcripts are what sessions say; every front end is held against the same ones.
func transcripts() map[string][]protocol.Msg {
	usage := protocol.Usage{Input: 1200, Cached: 1000, CacheWrite: 3, Output: 34, Reasoning: 20}
	done := func(s string) protocol.Msg { return protocol.TurnCompleted{Usage: usage, LastMessage: s} }
	changes := []protocol.PathChange{{Path: "/w/a.txt", Kind: protocol.Update}, {Path: "/w/dir/new", Kind: protocol.Add},
		{Path: "/else/moved", Kind: protocol.Update, Moved: "/w/old"}}
	return map[string][]protocol.Msg{
		"hello": {
			protocol.TurnStarted{},
			started("u", protocol.UserMessage{Input: text1("do it")}),
			completed("u", protocol.Completed, protocol.UserMessage{Input: text1("do it")}),
			started("r", protocol.Reasoning{}), protocol.ItemDelta{Item: "r", Text: "thi"},
			completed("r", protocol.Completed, protocol.Reasoning{Text: "**Thinking**\nof <it>"}),
			started("m", protocol.AgentMessage{}), protocol.ItemDelta{Item: "m", Text: "Hel"},
			completed("m", protocol.Completed, protocol.AgentMessage{Text: "Hello & bye"}),
			protocol.TokensUsed{Turn: usage}, protocol.RateLimits{},
			done("Hello & bye"),
		},
		"work": {
			protocol.TurnStarted{},
			protocol.Warning{Message: "no bwrap; using landlock"},
			started("t", protocol.TodoList{Explanation: "two steps",
				Steps: []protocol.Step{{Step: "look", Status: "in_progress"}, {Step: "edit", Status: "pending"}}}),
			started("c1", protocol.Command{Command: "ls -la", Cwd: "/w"}),
			started("c2", protocol.Command{Command: "false", Cwd: "/w/sub"}),
			completed("c2", protocol.Completed, protocol.Command{Command: "false", Cwd: "/w/sub", ExitCode: code(1)}),
			completed("c1", protocol.Completed,
				protocol.Command{Command: "ls -la", Cwd: "/w", Output: strings.Repeat("line\n", 13), ExitCode: code(0)}),
			completed("c3", protocol.Declined, protocol.Command{Command: "rm -rf /", Cwd: "/w"}),
			started("g", protocol.ToolCall{Tool: "grep", Args: json.RawMessage(`{"pattern": "x"}`)}),
			completed("g", protocol.Completed, protocol.ToolCall{Tool: "grep", Args: json.RawMessage(`{"pattern": "x"}`),
				Output: "a.txt:1:x"}),
			started("s", protocol.ToolCall{Server: "db", Tool: "query", Args: json.RawMessage(`not json`)}),
			completed("s", protocol.Failed, protocol.ToolCall{Server: "db", Tool: "query", Args: json.RawMessage(`not json`),
				Error: "no such table"}),
			protocol.ItemUpdated{Item: protocol.Item{ID: "t",
				Body: protocol.TodoList{Steps: []protocol.Step{{Step: "look", Status: "completed"}, {Step: "edit", Status: "in_progress"}}}}},
			protocol.ItemUpdated{Item: protocol.Item{ID: "t",
				Body: protocol.TodoList{Steps: []protocol.Step{{Step: "look", Status: "completed"}, {Step: "edit", Status: "in_progress"}}}}},
			started("f", protocol.FileChange{Changes: changes}),
			completed("f", protocol.Completed, protocol.FileChange{Changes: changes, Diff: oneDiff}),
			completed("f2", protocol.Failed, protocol.FileChange{Changes: changes[:1], Error: "a.txt changed meanwhile"}),
			protocol.TurnDiff{Diff: oneDiff, Exact: true, Files: 2, Outside: strings.ReplaceAll(oneDiff, "a.txt", "b.txt")},
			completed("m", protocol.Completed, protocol.AgentMessage{Text: "Done.\n"}),
			completed("t", protocol.Completed, protocol.TodoList{Steps: []protocol.Step{{Step: "look", Status: "completed"},
				{Step: "edit", Status: "completed"}}}),
			done("Done.\n"),
		},
		"retry": {
			protocol.TurnStarted{},
			started("c", protocol.Command{Command: "sleep 1"}),
			protocol.ItemDropped{Item: "c"},
			protocol.Retrying{Attempt: 1, Max: 2, Delay: 1500 * time.Millisecond, Cause: "stream closed\nearly"},
			started("c", protocol.Command{Command: "sleep 1"}),
			protocol.TurnDiff{Exact: false, Note: "/w/x could not be read"},
			protocol.TurnFailed{Error: protocol.Trouble{Kind: protocol.TroubleAuth, Message: "unexpected status 401: bad key.",
				Hint: "set OPENAI_API_KEY"}},
		},
		"plan": {
			protocol.TurnStarted{},
			completed("m", protocol.Completed, protocol.AgentMessage{Text: ""}),
			completed("p", protocol.Completed, protocol.ProposedPlan{Text: "1. look\n2. edit"}),
			done(""),
		},
		"hostile": {
			protocol.TurnStarted{},
			completed("c", protocol.Completed, protocol.Command{Command: "echo \x1b]0;x\a\u202egnp\r\nls", Cwd: "/w\x1b[2J",
				Output: "\x1b[31mred\x9b\xff\r\n\u009b2J\u200b\u00a0x\b\b", ExitCode: code(0)}),
			completed("f", protocol.Completed, protocol.FileChange{Changes: []protocol.PathChange{{Path: "/w/a\n\x1b[1m",
				Kind: protocol.Delete}}, Diff: "diff --git a/x b/x\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-\x1b[5mblink\n"}),
			completed("g", protocol.Failed, protocol.ToolCall{Server: "s\x1b", Tool: "t\u2066",
				Args: json.RawMessage(`{"a":"\u001b"}`), Error: "\x1bPboom"}),
			completed("x", protocol.Completed, protocol.Problem{Message: "\x1b[?25l"}),
			completed("r", protocol.Completed, protocol.Reasoning{Text: "\x1b]52;c;aGk=\a"}),
			completed("m", protocol.Completed, protocol.AgentMessage{Text: "ok ✔️ 👩‍💻 \x1b[2J\U000e0041"}),
			done("ok ✔️ 👩‍💻 \x1b[2J\U000e0041"),
		},
	}
}

func TestTranscripts(t *testing.T) {
	for name, script := range transcripts() {
		t.Run(name, func(t *testing.T) {
			var golden []byte
			for _, asJSON := range []bool{true, false} {
				var out, errs bytes.Buffer
				n := Run(t.Context(), Options{Sessions: &sessions{session: newFake(script...)}, Prompt: text1("do it"),
					JSON: asJSON, Stdout: &out, Stderr: &errs, Width: 60, Version: "0.1"})
				mode := "text"
				if asJSON {
					mode = "json"
				}
				for _, f := range []struct {
					name string
					data []byte
				}{{"stdout", out.Bytes()}, {"stderr", errs.Bytes()}, {"exit", fmt.Appendln(nil, n)}} {
					golden = fmt.Appendf(golden, "-- %s/%s --\n%s", mode, f.name, f.data)
				}
			}
			compare(t, filepath.Join("testdata", name+".txtar"), golden)
		})
	}
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

func TestNoControlBytesReachTheTerminal(t *testing.T) {
	for name, script := range transcripts() {
		var out, errs bytes.Buffer
		Run(t.Context(), Options{Sessions: &sessions{session: newFake(script...)}, Prompt: text1("\x1b[2J"), Stdout: &out,
			Stderr: &errs})
		for _, s := range []string{out.String(), errs.String()} {
			if i := strings.IndexFunc(s, func(r rune) bool {
				return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2066 || r == 0xfffd
			}); i >= 0 {
				t.Errorf("%s: control character at %d in %q", name, i, s)
			}
		}
	}
}

func TestColours(t *testing.T) {
	var errs bytes.Buffer
	Run(t.Context(), Options{Sessions: &sessions{session: newFake(transcripts()["work"]...)}, Prompt: text1("x"),
		Stdout: io.Discard, Stderr: &errs, Color: true})
	for _, want := range []string{"\x1b[32m+++ TWO\x1b[0m", "\x1b[31m--- two\x1b[0m", "\x1b[36m@@ -1,3 +1,3 @@\x1b[0m"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("no %q in\n%s", want, errs.String())
		}
	}
}

func lastLine(s string) string {
	all := strings.Split(strings.TrimSpace(s), "\n")
	return all[len(all)-1]
}

func TestInterruptEndsEveryItem(t *testing.T) {
	for _, tt := range []struct {
		signal os.Signal
		code   int
	}{{os.Interrupt, 130}, {syscall.SIGTERM, 143}} {
		synctest.Test(t, func(t *testing.T) {
			s := newFake(protocol.TurnStarted{}, started("c", protocol.Command{Command: "sleep 9"}))
			s.on = func(op protocol.Op) []protocol.Msg {
				if _, ok := op.(protocol.Interrupt); ok {
					return []protocol.Msg{protocol.TurnAborted{Reason: protocol.AbortInterrupted}}
				}
				return nil
			}
			signals := make(chan os.Signal, 2)
			var out bytes.Buffer
			result := make(chan int)
			go func() {
				result <- Run(t.Context(), Options{Sessions: &sessions{session: s}, Prompt: text1("x"), JSON: true, Stdout: &out,
					Stderr: io.Discard, Interrupts: signals})
			}()
			synctest.Wait()
			signals <- tt.signal
			if got := <-result; got != tt.code {
				t.Errorf("exit %d, want %d", got, tt.code)
			}
			want := `{"type":"thread.started","thread_id":"0190a0b0-0000-7000-8000-000000000001"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"sleep 9","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"sleep 9","aggregated_output":"","exit_code":null,"status":"failed"}}
{"type":"turn.failed","error":{"message":"turn interrupted"}}
`
			if d := cmp.Diff(want, out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

// A session that answers nothing any more is left at the second signal, and
// without one after a while.
func TestInterruptOfAStuckSession(t *testing.T) {
	for _, twice := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newFake(protocol.TurnStarted{})
			signals := make(chan os.Signal, 2)
			var out bytes.Buffer
			result := make(chan int)
			begin := time.Now()
			go func() {
				result <- Run(t.Context(), Options{Sessions: &sessions{session: s}, Prompt: text1("x"), JSON: true, Stdout: &out,
					Stderr: io.Discard, Interrupts: signals})
			}()
			synctest.Wait()
			signals <- os.Interrupt
			if twice {
				synctest.Wait()
				signals <- os.Interrupt
			}
			if got := <-result; got != 130 || !strings.Contains(lastLine(out.String()), "interrupted") {
				t.Errorf("exit %d, last %s", got, lastLine(out.String()))
			}
			if took := time.Since(begin); took > patience || twice && took > 0 {
				t.Errorf("took %s", took)
			}
			var asked int
			for _, op := range s.submitted() {
				if _, ok := op.(protocol.Interrupt); ok {
					asked++
				}
			}
			if asked != 1 {
				t.Errorf("interrupted %d times", asked)
			}
		})
	}
}

func TestSignalWhileOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		signals <- os.Interrupt
		var out bytes.Buffer
		if got := Run(t.Context(), Options{Sessions: &sessions{wait: true}, Prompt: text1("x"), JSON: true, Stdout: &out,
			Stderr: &out, Interrupts: signals}); got != 130 || out.Len() > 0 {
			t.Errorf("exit %d, output %q", got, out.String())
		}
	})
}

type coded struct{ error }

func (coded) ExitCode() int { return 2 }

func TestOpenFails(t *testing.T) {
	for err, want := range map[error]int{errors.New("no session \x1b[m"): 1, coded{errors.New("no session \x1b[m")}: 2} {
		var out, errs bytes.Buffer
		got := Run(t.Context(), Options{Sessions: &sessions{err: err}, Prompt: text1("x"), JSON: true, Stdout: &out,
			Stderr: &errs})
		if got != want || out.Len() > 0 || errs.String() != "kerf: no session <U+001B>[m\n" {
			t.Errorf("exit %d, stdout %q, stderr %q", got, out.String(), errs.String())
		}
	}
}

func TestEmptyPrompt(t *testing.T) {
	var errs bytes.Buffer
	if got := Run(t.Context(), Options{Sessions: nil, Prompt: text1(" \n"), Stdout: io.Discard,
		Stderr: &errs}); got != 2 || !strings.Contains(errs.String(), "no prompt") {
		t.Errorf("exit %d, %q", got, errs.String())
	}
}

func TestSessionGetsPromptAndSchema(t *testing.T) {
	s := &sessions{session: newFake(transcripts()["hello"]...)}
	schema := json.RawMessage(`{"type":"object"}`)
	Run(t.Context(), Options{Sessions: s, Open: protocol.OpenOptions{Last: true}, Prompt: text1("x"), Schema: schema,
		Stdout: io.Discard, Stderr: io.Discard})
	if d := cmp.Diff(protocol.OpenOptions{Last: true, Headless: true, Source: "exec"}, s.opened); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]protocol.Op{protocol.UserInput{Items: text1("x"), Schema: schema}},
		s.session.submitted()); d != "" {
		t.Error(d)
	}
}

func TestApprovalsAreDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(protocol.TurnStarted{},
			protocol.ApprovalRequested{Approval: protocol.Approval{ID: "a", Command: &protocol.CommandApproval{Command: "rm"}}})
		s.on = func(op protocol.Op) []protocol.Msg {
			a, ok := op.(protocol.Answer)
			if !ok || a.Approval != "a" || a.Decision != protocol.Deny || a.Words == "" {
				t.Errorf("answer %+v", op)
			}
			return []protocol.Msg{protocol.ApprovalResolved{Approval: "a", Decision: protocol.Deny}, protocol.TurnCompleted{}}
		}
		if got := Run(t.Context(), Options{Sessions: &sessions{session: s}, Prompt: text1("x"), Stdout: io.Discard,
			Stderr: io.Discard}); got != 0 {
			t.Errorf("exit %d", got)
		}
	})
}

// brokenPipe fails from the nth write on.
type brokenPipe struct{ left int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.left--; p.left < 0 {
		return 0, syscall.EPIPE
	}
	return len(b), nil
}

func TestBrokenPipeInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(protocol.TurnStarted{}, started("c", protocol.Command{Command: "sleep"}))
		s.on = func(op protocol.Op) []protocol.Msg {
			return []protocol.Msg{protocol.TurnAborted{Reason: protocol.AbortInterrupted}}
		}
		var errs bytes.Buffer
		got := Run(t.Context(), Options{Sessions: &sessions{session: s}, Prompt: text1("x"), JSON: true,
			Stdout: &brokenPipe{left: 2}, Stderr: &errs})
		if want := "kerf: nobody reads standard output any more, so the turn was stopped\n"; got != 1 || errs.String() != want {
			t.Errorf("exit %d, stderr %q", got, errs.String())
		}
	})
}

func TestLastMessageFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "last")
	o := Options{Sessions: &sessions{session: newFake(transcripts()["hello"]...)}, Prompt: text1("x"), Stdout: io.Discard,
		Stderr: io.Discard, LastMessage: file}
	if got := Run(t.Context(), o); got != 0 {
		t.Errorf("exit %d", got)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "Hello & bye" {
		t.Errorf("%q, %v", data, err)
	}
	var errs bytes.Buffer
	o.Sessions, o.LastMessage, o.Stderr, o.JSON = &sessions{session: newFake(transcripts()["hello"]...)},
		filepath.Join(file, "x"), &errs, true
	if got := Run(t.Context(), o); got != 1 || !strings.HasPrefix(errs.String(), "kerf: write the last message: ") {
		t.Errorf("exit %d, %q", got, errs.String())
	}
}

func TestSessionThatEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(protocol.TurnStarted{})
		var out bytes.Buffer
		result := make(chan int)
		go func() {
			result <- Run(t.Context(), Options{Sessions: &sessions{session: s}, Prompt: text1("x"), JSON: true, Stdout: &out,
				Stderr: io.Discard})
		}()
		synctest.Wait()
		s.Close()
		if got := <-result; got != 1 || lastLine(out.String()) != `{"type":"turn.failed","error":{"message":"the session ended before the turn did"}}` {
			t.Errorf("exit %d, %s", got, lastLine(out.String()))
		}
	})
}

func TestLongTroubleIsCut(t *testing.T) {
	got := words(protocol.Trouble{Message: strings.Repeat("é", 9000), Hint: strings.Repeat("h", 900)})
	if n := len([]rune(got)); n >= 5000 {
		t.Errorf("%d characters", n)
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31m", "a\r\nb\rc", "\u202e\u200b\xff\x9b", "👩‍💻✔️", "\ufe0f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Visible(s)
		for _, r := range got {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e ||
				r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("Visible(%q) = %q", s, got)
			}
		}
		if Visible(got) != got {
			t.Fatalf("Visible is not idempotent on %q", s)
		}
	})
}

// closedBefore notes whether the session was closed when the end of the turn was written.
type closedBefore struct {
	bytes.Buffer
	session *fake
	closed  bool
}

func (w *closedBefore) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"turn.completed"`)) {
		select {
		case <-w.session.done:
			w.closed = true
		default:
		}
	}
	return w.Buffer.Write(p)
}

// TestTheEndIsToldWhenTheSessionIsFree: a program may go on with the session as soon as
// it reads that the turn is over.
func TestTheEndIsToldWhenTheSessionIsFree(t *testing.T) {
	f := newFake(protocol.TurnStarted{}, protocol.TurnCompleted{LastMessage: "done"})
	out := &closedBefore{session: f}
	code := Run(t.Context(), Options{Sessions: &sessions{session: f}, JSON: true, Stdout: out, Stderr: io.Discard,
		Prompt: []protocol.Input{{Text: "go"}}})
	if code != 0 || !out.closed {
		t.Errorf("exit %d, closed %v:\n%s", code, out.closed, out.String())
	}
}

// TestWhatIsToldWhileTheSessionEnds: what a server or a hook says after the turn's end is
// shown, and a server that had no time to start is named.
func TestWhatIsToldWhileTheSessionEnds(t *testing.T) {
	servers := func(state string) protocol.Msg {
		return protocol.Servers{Servers: []protocol.Server{{Name: "docs", State: state}, {Name: "slow", State: "starting"},
			{Name: "well", State: "ready"}}}
	}
	for _, asJSON := range []bool{false, true} {
		f := newFake(servers("starting"), protocol.TurnStarted{}, protocol.TurnCompleted{LastMessage: "done"})
		for i := range 200 {
			f.last = append(f.last, protocol.Warning{Message: fmt.Sprintf("late %d;", i)})
		}
		f.last = append(f.last, servers("failed"), protocol.Warning{Message: "MCP server docs: the license expired"},
			protocol.SessionEnded{})
		var out, trouble bytes.Buffer
		code := Run(t.Context(), Options{Sessions: &sessions{session: f}, JSON: asJSON, Stdout: &out, Stderr: &trouble,
			Prompt: text1("go")})
		said := trouble.String()
		if asJSON {
			said, _, _ = strings.Cut(out.String(), "turn.completed")
		}
		for i := range 200 {
			if late := fmt.Sprintf("late %d;", i); !strings.Contains(said, late) {
				t.Fatalf("%q was lost:\n%s", late, said)
			}
		}
		if code != 0 || !strings.Contains(said, "docs: the license expired") || !strings.Contains(said, "slow: it was still starting") ||
			strings.Contains(said, "docs: it was still") || strings.Contains(said, "server well") {
			t.Errorf("JSON %v, exit %d:\n%s", asJSON, code, said)
		}
	}
}
