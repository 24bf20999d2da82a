package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/hooks"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/agent/view"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// fakeExecutor answers every effect at once, but for those that a test takes part in.
type fakeExecutor struct {
	ask  *protocol.Approval
	ran  []turn.Run
	shut bool

	run     func(context.Context, turn.Run, executor.Live) turn.Outcome // in the place of Run
	prepare func(context.Context)                                       // before Prepare answers
	shell   func(context.Context)                                       // before Shell answers
	checks  []bool                                                      // what Check answers
	ended   func(id int)                                                // to be called when a process ends
	killed  error                                                       // what Kill answers
	killing func()                                                      // before Kill answers
}

type fakeProposal struct{ action tool.Action }

func (p fakeProposal) Proposed() tool.Action { return p.action }

func (f *fakeExecutor) Offered() []tool.Spec { return []tool.Spec{{Name: "extra"}} }

func (f *fakeExecutor) Gather(_ context.Context, _ turn.Gather, news []*model.Item) turn.Gathered {
	return turn.Gathered{Items: []*model.Item{model.UserText("surroundings")}, Notices: news}
}

func (f *fakeExecutor) Prepare(ctx context.Context, e turn.Prepare) turn.Prepared {
	if f.prepare != nil {
		f.prepare(ctx)
	}
	p := turn.Prepared{Call: e.Call.ID, Proposal: fakeProposal{tool.Command{Line: e.Call.Name}},
		Body: protocol.Command{Call: e.Call.ID, Command: "x"}}
	if f.ask != nil {
		p.Verdict, p.Approval = turn.Ask, f.ask
	}
	return p
}

func (f *fakeExecutor) Run(ctx context.Context, e turn.Run, l executor.Live) turn.Input {
	f.ran = append(f.ran, e)
	if f.run != nil {
		return turn.Finished{Call: e.Call, Outcome: f.run(ctx, e, l)}
	}
	l.Show("live output")
	return turn.Finished{Call: e.Call, Outcome: turn.Outcome{Text: "done: " + e.Proposal.Proposed().(tool.Command).Line,
		Success: true}}
}

func (f *fakeExecutor) Shell(ctx context.Context, e turn.RunShell, _ executor.Live) turn.ShellDone {
	if f.shell != nil {
		f.shell(ctx)
	}
	return turn.ShellDone{Call: e.Call, Outcome: turn.Outcome{Text: "ran", Success: true}}
}

func (f *fakeExecutor) Undo(_ context.Context, e turn.Undo, _ executor.Ask) turn.Undone {
	return turn.Undone{ID: e.ID}
}

func (f *fakeExecutor) Check(_ context.Context, e turn.Check, _ executor.Live) turn.Checked {
	passed := true
	if len(f.checks) > 0 {
		passed, f.checks = f.checks[0], f.checks[1:]
	}
	return turn.Checked{Call: e.Call, Passed: passed}
}

func (f *fakeExecutor) Settle(_ context.Context, e turn.Settle) turn.Settled {
	return turn.Settled{Turn: e.Turn, Diff: &protocol.TurnDiff{Diff: "+x", Exact: true, Files: 1}}
}

func (f *fakeExecutor) Close() { f.shut = true }

func (f *fakeExecutor) Processes() (running, over []protocol.Process) {
	return []protocol.Process{{ID: 1, Command: "bg"}}, nil
}
func (f *fakeExecutor) OnEnd(fn func(int)) { f.ended = fn }
func (f *fakeExecutor) Kill(int) error {
	if f.killing != nil {
		f.killing()
	}
	return f.killed
}

// fakeModel streams one list of chunks a request.
type fakeModel struct {
	replies [][]model.Chunk
	asked   []*model.Request
}

func (m *fakeModel) Stream(_ context.Context, r *model.Request, emit func(model.Chunk) error) error {
	m.asked = append(m.asked, r)
	if len(m.asked) > len(m.replies) {
		return emit(model.Done{})
	}
	for _, c := range m.replies[len(m.asked)-1] {
		if err := emit(c); err != nil {
			return err
		}
	}
	return nil
}

// conversation is a session with what it told so far.
type conversation struct {
	t *testing.T
	*Session
	exec  *fakeExecutor
	model *fakeModel
	told  []protocol.Event
}

func begin(t *testing.T, more func(*Options), replies ...[]model.Chunk) *conversation {
	t.Helper()
	c := &conversation{t: t, exec: &fakeExecutor{}, model: &fakeModel{replies: replies}}
	c.start(more)
	return c
}

// start begins the session, with options that a test may change.
func (c *conversation) start(more func(*Options)) {
	c.t.Helper()
	o := Options{ID: "s", Settings: protocol.Settings{Cwd: c.t.TempDir(), Model: "m", Approval: protocol.PolicyOnRequest,
		Sandbox: protocol.SandboxFull},
		Client: c.model, Executor: c.exec, Background: c.exec, View: &view.View{},
		Agents:   Agents{Places: &team.Places{Most: 1}},
		Redact:   func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hush", "[redacted]")) },
		Warnings: []string{"hush now"}}
	if more != nil {
		more(&o)
	}
	c.Session = Start(o)
}

// until takes events up to the first that want accepts.
func (c *conversation) until(want func(protocol.Msg) bool) protocol.Msg {
	c.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				c.t.Fatal("the session ended")
			}
			c.told = append(c.told, e)
			if want(e.Msg) {
				return e.Msg
			}
		case <-limit:
			c.t.Fatalf("it was not told; so far: %+v", c.told)
		}
	}
}

func is[T protocol.Msg](m protocol.Msg) bool { _, ok := m.(T); return ok }

func (c *conversation) do(op protocol.Op) {
	c.t.Helper()
	if err := c.Submit(c.t.Context(), protocol.Submission{ID: "sub", Op: op}); err != nil {
		c.t.Fatal(err)
	}
}

func says(text string) []model.Chunk {
	return []model.Chunk{model.TextDelta{Text: text},
		model.ItemDone{Item: &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: text}}}},
		model.Done{}}
}

func calls(id string) []model.Chunk {
	return []model.Chunk{model.ItemDone{Item: &model.Item{Kind: model.Call, CallID: id, Name: "probe",
		Style: model.Function, Input: "{}"}}, model.Done{}}
}

// TestTurnWithACall: what the user says reaches the model, its call the executor, the
// outcome the model again; then the turn settles.
func TestTurnWithACall(t *testing.T) {
	c := begin(t, nil, calls("c1"), says("all done"))
	c.do(protocol.UserInput{Items: []protocol.Input{{Text: "go"}}})
	m := c.until(is[protocol.TurnCompleted]).(protocol.TurnCompleted)
	if len(c.exec.ran) != 1 || c.exec.ran[0].Proposal == nil {
		t.Errorf("%d calls were run", len(c.exec.ran))
	}
	if len(c.model.asked) != 2 || c.model.asked[0].Tools[0].Name != "extra" {
		t.Errorf("%d requests", len(c.model.asked))
	}
	if !c.has(func(m protocol.Msg) bool { w, ok := m.(protocol.Warning); return ok && w.Message == "[redacted] now" }) {
		t.Error("a secret was told")
	}
	if m.Duration <= 0 {
		t.Error("the turn took no time")
	}
	if err := c.Close(); err != nil || !c.exec.shut {
		t.Errorf("closed: %v", err)
	}
	if c.Submit(t.Context(), protocol.Submission{Op: protocol.Interrupt{}}) == nil {
		t.Error("a closed session takes input")
	}
}

func (c *conversation) has(want func(protocol.Msg) bool) bool {
	for _, e := range c.told {
		if want(e.Msg) {
			return true
		}
	}
	return false
}

// TestCallIsAskedAbout: the user's answer decides whether a call runs.
func TestCallIsAskedAbout(t *testing.T) {
	for _, d := range []protocol.Decision{protocol.Once, protocol.Deny} {
		c := begin(t, nil, calls("c1"), says("fine"))
		c.exec.ask = &protocol.Approval{Reason: "may it?", Command: &protocol.CommandApproval{Command: "x"}}
		c.do(protocol.UserInput{Items: []protocol.Input{{Text: "go"}}})
		a := c.until(is[protocol.ApprovalRequested]).(protocol.ApprovalRequested).Approval
		c.do(protocol.Answer{Approval: a.ID, Decision: d})
		c.until(is[protocol.TurnCompleted])
		if ran := len(c.exec.ran) == 1; ran != d.Allows() {
			t.Errorf("%s: ran %v", d, ran)
		}
		_ = c.Close()
	}
}

// TestOwnCommandsAndUndo: what the user does beside turns reaches the executor.
func TestOwnCommandsAndUndo(t *testing.T) {
	c := begin(t, nil)
	c.do(protocol.Shell{Command: "ls"})
	c.until(func(m protocol.Msg) bool { p, ok := m.(protocol.Processes); return ok && len(p.Running) == 1 })
	c.do(protocol.Undo{})
	c.until(is[protocol.Undone])
	c.do(protocol.Kill{Process: 1})
	c.until(is[protocol.Processes])
	c.do(protocol.Address{Agent: "nobody", Op: protocol.Interrupt{}})
	c.until(is[protocol.Warning])
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestHooksWatchTheSession: hooks add to what the model is told, refuse a prompt and have
// a turn go on.
func TestHooksWatchTheSession(t *testing.T) {
	stops := 0
	run := func(_ context.Context, h hooks.Handler, in []byte) (hooks.Output, error) {
		switch {
		case h.Event == hooks.SessionStart:
			return hooks.Output{Stdout: []byte("remember the tests")}, nil
		case h.Event == hooks.UserPromptSubmit && strings.Contains(string(in), "secret"):
			return hooks.Output{Code: 2, Stderr: []byte("not that")}, nil
		case h.Event == hooks.Stop:
			if stops++; stops == 1 {
				return hooks.Output{Code: 2, Stderr: []byte("run the tests")}, nil
			}
		}
		return hooks.Output{}, nil
	}
	set, err := hooks.New([]hooks.Handler{{Event: hooks.SessionStart, Timeout: time.Second},
		{Event: hooks.UserPromptSubmit, Timeout: time.Second}, {Event: hooks.Stop, Timeout: time.Second}}, run)
	if err != nil {
		t.Fatal(err)
	}
	c := begin(t, func(o *Options) { o.Hooks = set }, says("done"), says("tested"))
	c.do(protocol.UserInput{Items: []protocol.Input{{Text: "go"}}})
	c.until(is[protocol.TurnCompleted])
	if len(c.model.asked) != 2 || stops != 2 {
		t.Errorf("%d requests, %d stops", len(c.model.asked), stops)
	}
	c.do(protocol.UserInput{Items: []protocol.Input{{Text: "the secret"}}})
	failed := c.until(is[protocol.TurnFailed]).(protocol.TurnFailed)
	if !strings.Contains(failed.Error.Message, "not that") {
		t.Errorf("failed: %+v", failed)
	}
	_ = c.Close()
}

// TestRecordsAndMetadata: a session with a rollout keeps records, a title and images
// beside them.
func TestRecordsAndMetadata(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	w, err := rollout.Create(dir, rollout.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := begin(t, func(o *Options) {
		o.Rollout, o.Meta = w, rollout.Metadata{ID: "s"}
		o.Dirty = func(time.Duration) (bool, bool) { return true, true }
	}, says("done"))
	c.do(protocol.UserInput{Items: []protocol.Input{{Text: "a title\nmore"},
		{ImageURL: "data:image/png;base64,aGVsbG8="}}})
	c.until(is[protocol.TurnCompleted])
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := rollout.LoadMetadata(dir)
	if err != nil || m.Title != "a title" || m.Turns != 1 || m.Git.Dirty == nil || !*m.Git.Dirty {
		t.Errorf("%+v: %v", m, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "rollout.jsonl"))
	if err != nil || strings.Contains(string(data), "aGVsbG8=") || !strings.Contains(string(data), "user_input") {
		t.Errorf("%v: %s", err, data)
	}
}

// TestWhatIsSaidKeepsItsOrder: and all of it is told before the session ends.
func TestWhatIsSaidKeepsItsOrder(t *testing.T) {
	c := begin(t, nil)
	const many = 1000
	for i := range many {
		c.say(protocol.Warning{Message: fmt.Sprintf("word %d", i)})
	}
	c.do(protocol.Shutdown{})
	c.until(is[protocol.SessionEnded])
	n := 0
	for _, e := range c.told {
		if w, ok := e.Msg.(protocol.Warning); ok && strings.HasPrefix(w.Message, "word ") {
			if w.Message != fmt.Sprintf("word %d", n) {
				t.Fatalf("after %d words it said %q", n, w.Message)
			}
			n++
		}
	}
	if n != many {
		t.Errorf("%d of %d words were told", n, many)
	}
}
