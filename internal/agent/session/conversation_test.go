package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/history"
	"kerf/internal/agent/hooks"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/turn"
	"kerf/internal/agent/view"
	"kerf/internal/model"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

func input(text string) protocol.UserInput {
	return protocol.UserInput{Items: []protocol.Input{{Text: text}}}
}

// failing answers with its errors, one a request, and then with the model.
type failing struct {
	errs []error
	fakeModel
}

func (m *failing) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	if len(m.errs) > 0 {
		err := m.errs[0]
		m.errs = m.errs[1:]
		return err
	}
	return m.fakeModel.Stream(ctx, r, emit)
}

// hanging never answers a request: it ends when the request is stopped.
type hanging struct{ begun chan struct{} }

func (m hanging) Stream(ctx context.Context, _ *model.Request, _ func(model.Chunk) error) error {
	m.begun <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// TestARequestThatFailsIsMadeAgain: after the wait that the provider asks for; what it says of the
// trouble is told without secrets.
func TestARequestThatFailsIsMadeAgain(t *testing.T) {
	m := &failing{fakeModel: fakeModel{replies: [][]model.Chunk{says("done")}},
		errs: []error{&model.Error{Kind: model.Server, Message: "hush is overloaded"}}}
	c := begin(t, func(o *Options) {
		o.Client, o.Retries = m, func(string) (int, int) { return 1, 1 }
	})
	c.do(input("go"))
	r := c.until(is[protocol.Retrying]).(protocol.Retrying)
	if r.Cause != "[redacted] is overloaded" || r.Attempt != 1 {
		t.Errorf("%+v", r)
	}
	if done := c.until(is[protocol.TurnCompleted]).(protocol.TurnCompleted); done.LastMessage != "done" {
		t.Errorf("%+v", done)
	}
	m.errs = []error{&model.Error{Kind: model.Auth, Message: "hush is no key", Hint: "not hush"}}
	c.do(input("go on"))
	failed := c.until(is[protocol.TurnFailed]).(protocol.TurnFailed)
	if failed.Error.Message != "[redacted] is no key" || failed.Error.Hint != "not [redacted]" {
		t.Errorf("%+v", failed)
	}
	_ = c.Close()
}

// TestInterruptEndsWhatIsUnderWay: the request, the wait before the next one, and a call are
// stopped, not waited for.
func TestInterruptEndsWhatIsUnderWay(t *testing.T) {
	for name, place := range map[string]func(c *conversation, o *Options) (reached func()){
		"request": func(c *conversation, o *Options) func() {
			m := hanging{make(chan struct{}, 1)}
			o.Client = m
			return func() { <-m.begun }
		},
		"wait": func(c *conversation, o *Options) func() {
			o.Client = &failing{errs: []error{&model.Error{Kind: model.Server, RetryAfter: time.Minute}}}
			o.Retries = func(string) (int, int) { return 1, 1 }
			return func() { c.until(is[protocol.Retrying]) }
		},
		"call": func(c *conversation, o *Options) func() {
			running := make(chan struct{})
			c.exec.run = func(ctx context.Context, e turn.Run, _ executor.Live) turn.Outcome {
				close(running)
				<-ctx.Done()
				return turn.Outcome{Text: "stopped"}
			}
			return func() { <-running }
		},
		"command of the user": func(c *conversation, o *Options) func() {
			running := make(chan struct{})
			c.exec.shell = func(ctx context.Context) { close(running); <-ctx.Done() }
			return func() { <-running }
		},
		"what a tool proposes": func(c *conversation, o *Options) func() {
			running := make(chan struct{})
			c.exec.prepare = func(ctx context.Context) { close(running); <-ctx.Done() }
			return func() { <-running }
		},
	} {
		t.Run(name, func(t *testing.T) {
			var reached func()
			c := &conversation{t: t, exec: &fakeExecutor{}, model: &fakeModel{replies: [][]model.Chunk{calls("c1"), says("no")}}}
			c.start(func(o *Options) { reached = place(c, o) })
			if name == "command of the user" {
				c.do(protocol.Shell{Command: "sleep 1000"})
			} else {
				c.do(input("go"))
			}
			reached()
			c.do(protocol.Interrupt{})
			if name == "command of the user" {
				c.until(func(m protocol.Msg) bool { i, ok := m.(protocol.ItemCompleted); return ok && i.Item.ID != "" })
			} else {
				c.until(is[protocol.TurnAborted])
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestQuestionsWhileACallRuns: the user's answer reaches whoever asked. Where the call is stopped
// first, the question is withdrawn and the answer says nothing.
func TestQuestionsWhileACallRuns(t *testing.T) {
	for _, interrupt := range []bool{false, true} {
		got := make(chan turn.Reply, 1)
		c := &conversation{t: t, exec: &fakeExecutor{}, model: &fakeModel{replies: [][]model.Chunk{calls("c1"), says("done")}}}
		c.exec.run = func(ctx context.Context, e turn.Run, l executor.Live) turn.Outcome {
			got <- l.Ask(ctx, protocol.Approval{Reason: "which one?", Question: &protocol.Question{Message: "which?"}})
			l.Warn("hush, it was asked")
			return turn.Outcome{Text: "asked", Success: true}
		}
		c.start(nil)
		c.do(input("go"))
		a := c.until(is[protocol.ApprovalRequested]).(protocol.ApprovalRequested).Approval
		if a.Reason != "which one?" || a.ID == "" {
			t.Errorf("asked %+v", a)
		}
		if interrupt {
			c.do(protocol.Interrupt{})
			if r := <-got; r.Answer.Decision != protocol.Void {
				t.Errorf("a question that was withdrawn has the answer %+v", r)
			}
			c.until(is[protocol.TurnAborted])
		} else {
			c.do(protocol.Answer{Approval: a.ID, Decision: protocol.Once, Content: []byte(`"that"`)})
			if r := <-got; r.Answer.Decision != protocol.Once || string(r.Answer.Content) != `"that"` {
				t.Errorf("the answer is %+v", r)
			}
			c.until(is[protocol.TurnCompleted])
			if !c.has(func(m protocol.Msg) bool {
				w, ok := m.(protocol.Warning)
				return ok && w.Message == "[redacted], it was asked"
			}) {
				t.Errorf("the call's warning is not told: %+v", c.told)
			}
		}
		_ = c.Close()
	}
}

// TestQuestionsFromOutsideOfCalls: as MCP servers ask them. One that is asked when the session is
// over has no answer.
func TestQuestionsFromOutsideOfCalls(t *testing.T) {
	c := begin(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan turn.Reply, 1)
	go func() { got <- c.Ask(ctx, protocol.Approval{Reason: "first"}) }()
	first := c.until(is[protocol.ApprovalRequested]).(protocol.ApprovalRequested).Approval
	cancel()
	if r := <-got; r.Answer.Decision != protocol.Void || r.Answer.Words == "" {
		t.Errorf("withdrawn: %+v", r)
	}
	if over := c.until(is[protocol.ApprovalResolved]).(protocol.ApprovalResolved); over.Approval != first.ID {
		t.Errorf("%+v is over, not %s", over, first.ID)
	}
	go func() { got <- c.Ask(t.Context(), protocol.Approval{Reason: "second"}) }()
	second := c.until(is[protocol.ApprovalRequested]).(protocol.ApprovalRequested).Approval
	if second.ID == first.ID {
		t.Errorf("two questions are called %s", first.ID)
	}
	c.do(protocol.Answer{Approval: second.ID, Decision: protocol.Deny, Words: "never"})
	if r := <-got; r.Answer.Decision != protocol.Deny || r.Answer.Words != "never" {
		t.Errorf("answered: %+v", r)
	}
	_ = c.Close()
	if r := c.Ask(t.Context(), protocol.Approval{Reason: "third"}); r.Answer.Decision != protocol.Void {
		t.Errorf("asked after the end: %+v", r)
	}
}

// TestSubmissionsAreToldApart: those without an id get one each, and each turn is named by its own.
func TestSubmissionsAreToldApart(t *testing.T) {
	c := begin(t, nil, says("one"), says("two"))
	if c.ID() != "s" {
		t.Errorf("the session is called %q", c.ID())
	}
	var turns []protocol.TurnID
	for range 2 {
		if err := c.Submit(t.Context(), protocol.Submission{Op: input("go")}); err != nil {
			t.Fatal(err)
		}
		c.until(is[protocol.TurnStarted])
		turns = append(turns, c.told[len(c.told)-1].Turn)
		c.until(is[protocol.TurnCompleted])
	}
	if turns[0] == "" || turns[0] == turns[1] {
		t.Errorf("the turns are called %q", turns)
	}
	for i, e := range c.told {
		if e.Seq != uint64(i+1) || e.Time.IsZero() {
			t.Fatalf("event %d has number %d, time %v", i+1, e.Seq, e.Time)
		}
	}
	_ = c.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 { // the queue is not looked at any more
		if err := c.Submit(over, protocol.Submission{Op: protocol.Interrupt{}}); err == nil || !strings.Contains(err.Error(), "session s has ended") {
			t.Errorf("after the end: %v", err)
		}
	}
}

// TestRewindForgetsWhatWasSeen: what the model read in turns that are gone is no longer known to
// it; what it read before is.
func TestRewindForgetsWhatWasSeen(t *testing.T) {
	v := &view.View{}
	c := &conversation{t: t, exec: &fakeExecutor{}, model: &fakeModel{replies: [][]model.Chunk{calls("c1"), says("one"), calls("c2"), says("two"),
		says("a summary")}}}
	c.exec.run = func(_ context.Context, e turn.Run, _ executor.Live) turn.Outcome {
		img := delta.NewFile([]byte(e.Call), 0o644)
		return turn.Outcome{Text: "read", Success: true, Observed: []history.Observation{{Path: pathname.Path("/w/" + e.Call), Sum: img.Sum.String()}}}
	}
	c.start(func(o *Options) { o.View = v })
	var second protocol.TurnID
	for _, text := range []string{"first", "second"} {
		if err := c.Submit(t.Context(), protocol.Submission{ID: text, Op: input(text)}); err != nil {
			t.Fatal(err)
		}
		c.until(is[protocol.TurnCompleted])
		second = c.told[len(c.told)-1].Turn
	}
	if !v.Knows("/w/c1") || !v.Knows("/w/c2") {
		t.Fatal("what was read is not known")
	}
	c.do(protocol.Rewind{Turn: second, Conversation: true})
	c.until(is[protocol.Undone])
	if !v.Knows("/w/c1") || v.Knows("/w/c2") {
		t.Errorf("after a rewind the first is known %v, the second %v", v.Knows("/w/c1"), v.Knows("/w/c2"))
	}
	c.do(protocol.Compact{})
	c.until(is[protocol.TurnCompleted])
	if v.Knows("/w/c1") {
		t.Error("after a compaction the model is taken to have the file still")
	}
	_ = c.Close()
}

// TestAGoalIsChecked: the check runs when the model says that it is done, and decides.
func TestAGoalIsChecked(t *testing.T) {
	c := &conversation{t: t, exec: &fakeExecutor{}, model: &fakeModel{replies: [][]model.Chunk{says("done"), says("done now")}}}
	c.exec.checks = []bool{false, true}
	c.start(nil)
	op := input("go")
	op.Goal = &protocol.Goal{Text: "all tests pass", Check: "make test"}
	c.do(op)
	if done := c.until(is[protocol.TurnCompleted]).(protocol.TurnCompleted); done.LastMessage != "done now" || len(c.exec.checks) != 0 {
		t.Errorf("%+v, checks left %v", done, c.exec.checks)
	}
	_ = c.Close()
}

// TestHooksAreTold: of a question to the user, of a compaction and of the end; what they print for the
// user is told.
func TestHooksAreTold(t *testing.T) {
	var seen []string
	run := func(_ context.Context, h hooks.Handler, in []byte) (hooks.Output, error) {
		said := string(h.Event)
		if strings.Contains(string(in), "may it?") {
			said += " may it?"
		}
		seen = append(seen, said)
		return hooks.Output{Stdout: []byte(`{"systemMessage":"seen ` + string(h.Event) + `"}`)}, nil
	}
	var list []hooks.Handler
	for e, matcher := range map[hooks.Event]string{hooks.Notification: "permission_prompt", hooks.PreCompact: "auto", hooks.SessionEnd: "other"} {
		list = append(list, hooks.Handler{Event: e, Matcher: matcher, Timeout: time.Minute},
			hooks.Handler{Event: e, Matcher: "something_else", Timeout: time.Minute})
	}
	set, err := hooks.New(list, run)
	if err != nil {
		t.Fatal(err)
	}
	c := begin(t, func(o *Options) { o.Hooks = set }, calls("c1"), says("fine"), says("a summary"))
	c.exec.ask = &protocol.Approval{Reason: "may it?", Command: &protocol.CommandApproval{Command: "x"}}
	warned := func(e hooks.Event) func(protocol.Msg) bool {
		return func(m protocol.Msg) bool {
			w, ok := m.(protocol.Warning)
			return ok && strings.Contains(w.Message, "seen "+string(e))
		}
	}
	c.do(input("go"))
	a := c.until(is[protocol.ApprovalRequested]).(protocol.ApprovalRequested).Approval
	c.until(warned(hooks.Notification))
	c.do(protocol.Answer{Approval: a.ID, Decision: protocol.Once})
	c.until(is[protocol.TurnCompleted])
	c.do(protocol.Compact{})
	c.until(warned(hooks.PreCompact))
	c.until(is[protocol.TurnCompleted])
	c.do(protocol.Shutdown{})
	c.until(warned(hooks.SessionEnd))
	if want := []string{"Notification may it?", "PreCompact", "SessionEnd"}; !slices.Equal(seen, want) {
		t.Errorf("hooks saw %q, not %q", seen, want)
	}
	_ = c.Close()
}

// TestAResumedSessionGreetsItsHooksOnce: and says that it was resumed.
func TestAResumedSessionGreetsItsHooksOnce(t *testing.T) {
	for resumed, want := range map[bool]string{false: "startup", true: "resume"} {
		var sources []string
		run := func(_ context.Context, h hooks.Handler, in []byte) (hooks.Output, error) {
			for _, s := range []string{"startup", "resume"} {
				if strings.Contains(string(in), `"source":"`+s+`"`) {
					sources = append(sources, s)
				}
			}
			return hooks.Output{Stdout: []byte(`{"systemMessage": "a word for the user"}`)}, nil
		}
		set, err := hooks.New([]hooks.Handler{{Event: hooks.SessionStart, Matcher: want, Timeout: time.Minute},
			{Event: hooks.SessionStart, Matcher: "other", Timeout: time.Minute}}, run)
		if err != nil {
			t.Fatal(err)
		}
		c := begin(t, func(o *Options) { o.Hooks, o.Resumed = set, resumed }, says("one"), says("two"))
		for range 2 {
			c.do(input("go"))
			c.until(is[protocol.TurnCompleted])
			if len(sources) == 0 {
				t.Errorf("resumed %v: hooks were told of no start in the first turn", resumed)
			}
		}
		if !c.has(func(m protocol.Msg) bool {
			w, ok := m.(protocol.Warning)
			return ok && strings.Contains(w.Message, "a word for the user")
		}) {
			t.Errorf("resumed %v: what a hook said at the start was not told", resumed)
		}
		_ = c.Close()
		if !slices.Equal(sources, []string{want}) {
			t.Errorf("resumed %v: hooks were told %q", resumed, sources)
		}
	}
}

// recorded is a session with a rollout.
func recorded(t *testing.T, more func(*conversation, *Options), replies ...[]model.Chunk) (c *conversation, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "s")
	w, err := rollout.Create(dir, rollout.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c = &conversation{t: t, exec: &fakeExecutor{}, model: &fakeModel{replies: replies}}
	c.start(func(o *Options) {
		o.Rollout, o.Meta = w, rollout.Metadata{ID: "s", Source: "exec"}
		if more != nil {
			more(c, o)
		}
	})
	return c, dir
}

// TestTheRecordHasItAll: who the session is first; what the user said, the model answered and calls
// did after that. Titles are one line of at most 80 bytes, and follow the user's own name.
func TestTheRecordHasItAll(t *testing.T) {
	early := ""
	c, dir := recorded(t, func(c *conversation, o *Options) {
		c.exec.run = func(context.Context, turn.Run, executor.Live) turn.Outcome {
			m, _ := rollout.LoadMetadata(o.Rollout.Dir()) // others list the session while its first turn runs
			early = m.Title
			return turn.Outcome{Text: "a picture", Success: true, Images: []string{"data:image/png;base64,aGVsbG8="}}
		}
	}, calls("c1"), says("all done"))
	long := strings.Repeat("ü", 60)
	c.do(input("  " + long + "\nand more"))
	c.until(is[protocol.TurnCompleted])
	records, damage, err := rollout.Read(dir)
	if err != nil || damage != nil || len(records) == 0 || records[0].Type != "session_meta" {
		t.Fatalf("%+v, %v, %v", records, damage, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "rollout.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"source":"exec"`, "and more", "all done", `"c1"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the record lacks %q:\n%s", part, text)
		}
	}
	if strings.Contains(string(text), "aGVsbG8=") {
		t.Error("the record holds a picture itself")
	}
	if blobs, _ := filepath.Glob(filepath.Join(dir, "blobs", "*")); len(blobs) != 1 {
		t.Errorf("%d pictures are kept", len(blobs))
	}
	title := func() string {
		m, err := rollout.LoadMetadata(dir)
		if err != nil {
			t.Fatal(err)
		}
		return m.Title
	}
	if got := title(); got != strings.Repeat("ü", 40)+"…" || early != got {
		t.Errorf("the title is %q, and was %q while the turn ran", got, early)
	}
	c.do(protocol.Rename{Title: "my own"})
	c.until(is[protocol.TitleChanged])
	if err := c.Close(); err != nil || title() != "my own" {
		t.Errorf("%v: the title is %q", err, title())
	}
}

// TestAPlanIsKept: beside the record, for people. Where that is not possible, and only there, they are told.
func TestAPlanIsKept(t *testing.T) {
	for _, blocked := range []bool{false, true} {
		c, dir := recorded(t, func(_ *conversation, o *Options) { o.Settings.Approval = protocol.PolicyPlan },
			says("<proposed_plan>\n1. test\n2. mend\n</proposed_plan>"))
		c.until(is[protocol.SessionStarted])
		if blocked {
			if err := os.MkdirAll(filepath.Join(dir, "plan.md", "in the way"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		c.do(input("plan it"))
		c.until(is[protocol.TurnCompleted])
		_ = c.Close()
		b, err := os.ReadFile(filepath.Join(dir, "plan.md"))
		if !blocked && (err != nil || !strings.Contains(string(b), "2. mend")) {
			t.Errorf("%q, %v", b, err)
		}
		told := slices.ContainsFunc(c.told, func(e protocol.Event) bool {
			w, ok := e.Msg.(protocol.Warning)
			return ok && strings.HasPrefix(w.Message, "the plan cannot be saved: ")
		})
		if told != blocked {
			t.Errorf("blocked %v: told %v", blocked, told)
		}
	}
}

// TestARecordThatCannotBeWrittenIsToldOnce: the turn goes on, and the user is warned once, not with
// each record. The end of the turn says that the record is not whole.
func TestARecordThatCannotBeWrittenIsToldOnce(t *testing.T) {
	c, dir := recorded(t, nil, calls("c1"), says("done"))
	c.until(is[protocol.SessionStarted])
	if err := c.o.Rollout.Close(); err != nil {
		t.Fatal(err)
	}
	c.do(input("go"))
	c.until(is[protocol.TurnFailed])
	_ = c.Close()
	n := 0
	for _, e := range c.told {
		if w, ok := e.Msg.(protocol.Warning); ok && strings.HasPrefix(w.Message, "the session cannot be saved at the moment: ") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("it is told %d times: %+v", n, c.told)
	}
	if failed := c.told[slices.IndexFunc(c.told, func(e protocol.Event) bool { return is[protocol.TurnFailed](e.Msg) })].Msg.(protocol.TurnFailed); !strings.Contains(failed.Error.Message, "not wholly recorded") {
		t.Errorf("%+v", failed)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

// TestSecretsOfOthersAreNotTold: in the words of servers and the outputs of programs.
func TestSecretsOfOthersAreNotTold(t *testing.T) {
	c := begin(t, nil)
	c.say(protocol.Servers{Servers: []protocol.Server{{Name: "hush", Error: "hush is wrong"}}})
	s := c.until(is[protocol.Servers]).(protocol.Servers)
	if s.Servers[0].Error != "[redacted] is wrong" || s.Servers[0].Name != "hush" {
		t.Errorf("%+v", s)
	}
	c.say(protocol.Processes{Running: []protocol.Process{{Output: "hush 1"}}, Over: []protocol.Process{{Output: "hush 2"}}})
	p := c.until(is[protocol.Processes]).(protocol.Processes)
	if p.Running[0].Output != "[redacted] 1" || p.Over[0].Output != "[redacted] 2" {
		t.Errorf("%+v", p)
	}
	_ = c.Close()
}

// TestProcessesInTheBackground: the end of one is told when it ends, all are told to whoever asks, and
// one that cannot be ended is named.
func TestProcessesInTheBackground(t *testing.T) {
	c := &conversation{t: t, exec: &fakeExecutor{killed: errors.New("there is no process 7")}, model: &fakeModel{}}
	c.start(nil)
	c.do(protocol.ListProcesses{})
	if p := c.until(is[protocol.Processes]).(protocol.Processes); len(p.Running) != 1 || p.Ended != 0 {
		t.Errorf("%+v", p)
	}
	c.exec.ended(1)
	if p := c.until(is[protocol.Processes]).(protocol.Processes); p.Ended != 1 {
		t.Errorf("%+v", p)
	}
	c.do(protocol.Kill{Process: 7})
	c.until(func(m protocol.Msg) bool {
		w, ok := m.(protocol.Warning)
		return ok && w.Message == "there is no process 7"
	})
	_ = c.Close()
}

// TestProcessesAreToldWhenTheyChange: not again with each call.
func TestProcessesAreToldWhenTheyChange(t *testing.T) {
	c := begin(t, nil, calls("c1"), calls("c2"), calls("c3"), says("done"))
	c.do(input("go"))
	c.until(is[protocol.TurnCompleted])
	n := 0
	for _, e := range c.told {
		if is[protocol.Processes](e.Msg) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("one process is told of %d times", n)
	}
	_ = c.Close()
}

// TestWhatHasEndedIsNotKept: a session that goes on for days holds on to nothing of requests, calls and waits
// that are over.
func TestWhatHasEndedIsNotKept(t *testing.T) {
	m := &failing{fakeModel: fakeModel{replies: [][]model.Chunk{calls("c1"), calls("c2"), says("done"), says("really")}},
		errs: []error{&model.Error{Kind: model.Server, Message: "busy"}}}
	c := &conversation{t: t, exec: &fakeExecutor{ask: &protocol.Approval{Reason: "may it?", Command: &protocol.CommandApproval{}}, checks: []bool{false, true}}}
	c.start(func(o *Options) { o.Client, o.Retries = m, func(string) (int, int) { return 3, 3 } })
	op := input("go")
	op.Goal = &protocol.Goal{Text: "well", Check: "true"}
	c.do(op)
	for _, d := range []protocol.Decision{protocol.Once, protocol.Deny} {
		a := c.until(is[protocol.ApprovalRequested]).(protocol.ApprovalRequested).Approval
		c.do(protocol.Answer{Approval: a.ID, Decision: d})
	}
	c.until(is[protocol.TurnCompleted])
	c.do(protocol.Shell{Command: "ls"})
	c.until(is[protocol.ItemCompleted])
	c.do(protocol.Review{Words: "it"}) // there are no agents for it
	c.until(is[protocol.TurnFailed])
	_ = c.Close()
	if len(c.stops)+len(c.replies) != 0 {
		t.Errorf("kept: %v, %v", c.stops, c.replies)
	}
}

// TestAskerAsksOnce: outside of any conversation, and takes no answer without end.
func TestAskerAsksOnce(t *testing.T) {
	m := &fakeModel{replies: [][]model.Chunk{says("it is right"), nil}}
	a := Asker{Client: m, Model: "small"}
	if got, err := a.Ask(t.Context(), "is it?"); err != nil || got != "it is right" {
		t.Errorf("%q, %v", got, err)
	}
	if r := m.asked[0]; r.Model != "small" || len(r.Items) != 1 || r.Items[0].Content[0].Text != "is it?" || len(r.Tools) != 0 {
		t.Errorf("%+v", r)
	}
	for range 300 {
		m.replies[1] = append(m.replies[1], model.TextDelta{Text: strings.Repeat("x", 1<<10)})
	}
	if got, err := a.Ask(t.Context(), "and?"); err != nil || len(got) != maxReply {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	a.Client = &failing{errs: []error{errors.New("no model")}}
	if _, err := a.Ask(t.Context(), "well?"); err == nil || err.Error() != "no model" {
		t.Errorf("%v", err)
	}
}

// TestRetriesAreSpread: by a tenth to either side, so that clients do not come all at once.
func TestRetriesAreSpread(t *testing.T) {
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		d := jitter(10 * time.Second)
		least, most = min(least, d), max(most, d)
	}
	if least < 9*time.Second || most > 11*time.Second || most-least < time.Second {
		t.Errorf("from %v to %v", least, most)
	}
}
