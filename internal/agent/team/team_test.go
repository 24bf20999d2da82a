package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// puppet is a session that does what the test says.
type puppet struct {
	id     protocol.SessionID
	events chan protocol.Event
	mu     sync.Mutex
	ops    []protocol.Op
	once   sync.Once
	first  chan bool // closed with the first input
}

func (p *puppet) ID() protocol.SessionID        { return p.id }
func (p *puppet) Events() <-chan protocol.Event { return p.events }
func (p *puppet) Submit(_ context.Context, s protocol.Submission) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ops = append(p.ops, s.Op); len(p.ops) == 1 {
		close(p.first)
	}
	return nil
}
func (p *puppet) Close() error { p.once.Do(func() { close(p.events) }); return nil }

func (p *puppet) tell(all ...protocol.Msg) {
	for _, m := range all {
		p.events <- protocol.Event{Msg: m}
	}
}

// does plays a whole turn with the inputs that were submitted.
func (p *puppet) does(inputs int, end protocol.Msg) {
	p.tell(protocol.TurnStarted{})
	for range inputs {
		p.tell(protocol.ItemCompleted{Item: protocol.Item{Body: protocol.UserMessage{}}})
	}
	p.tell(end)
}

// stage is a team of puppets, with what was told.
type stage struct {
	*Team
	t       *testing.T
	puppets []*puppet
	spawns  []Spawn
	mu      sync.Mutex
	told    []protocol.Event
	spent   protocol.Usage

	asked    []asked
	resolved []protocol.ApprovalID
}

// asked is a question that was passed on.
type asked struct {
	member   protocol.SessionID
	approval protocol.Approval
}

func newStage(t *testing.T, change func(*Options)) *stage {
	s := &stage{t: t}
	o := Options{MaxDepth: 1, Places: &Places{Most: 2}, Roles: Roles(),
		Open: func(_ context.Context, sp Spawn) (Member, error) {
			p := &puppet{id: protocol.SessionID(fmt.Sprintf("0000%d-agent", len(s.puppets))), events: make(chan protocol.Event),
				first: make(chan bool)}
			s.puppets, s.spawns = append(s.puppets, p), append(s.spawns, sp)
			return Member{Session: p}, nil
		},
		Tell: func(e protocol.Event) { s.mu.Lock(); s.told = append(s.told, e); s.mu.Unlock() },
		Asks: func(id protocol.SessionID, _ protocol.TurnID, a protocol.Approval) {
			s.mu.Lock()
			s.asked = append(s.asked, asked{id, a})
			s.mu.Unlock()
		},
		Resolved: func(_ protocol.SessionID, id protocol.ApprovalID) {
			s.mu.Lock()
			s.resolved = append(s.resolved, id)
			s.mu.Unlock()
		},
		Spent: func(_ protocol.SessionID, u protocol.Usage) { s.spent = s.spent.Add(u) }}
	if change != nil {
		change(&o)
	}
	s.Team = New(o)
	t.Cleanup(s.Close)
	return s
}

func (s *stage) do(d tool.Delegate) (map[string]any, string) {
	s.t.Helper()
	r, err := s.Do(context.Background(), d, protocol.Settings{})
	if err != nil {
		return nil, err.Error()
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(r.Text), &v); err != nil {
		s.t.Fatalf("%q is no object: %v", r.Text, err)
	}
	return v, r.Text
}

func (s *stage) refused(d tool.Delegate, words ...string) {
	s.t.Helper()
	v, text := s.do(d)
	for _, w := range words {
		if v != nil || !strings.Contains(text, w) {
			s.t.Errorf("%s: %q, want a refusal with %q", d.Operation, text, w)
		}
	}
}

func TestLimits(t *testing.T) {
	s := newStage(t, nil)
	for range 2 {
		if _, text := s.do(tool.Delegate{Operation: "spawn", Message: "go"}); !strings.Contains(text, `"agent_id": "0000`) {
			t.Fatal(text)
		}
	}
	s.refused(tool.Delegate{Operation: "spawn", Message: "go"}, "agent limit", "2 sub-agents", "close_agent")
	// One that is done keeps its place until it is closed.
	s.puppets[0].does(1, protocol.TurnCompleted{LastMessage: "done"})
	s.refused(tool.Delegate{Operation: "spawn", Message: "go"}, "agent limit")
	s.do(tool.Delegate{Operation: "close", Targets: []string{"agent-1"}})
	if _, text := s.do(tool.Delegate{Operation: "spawn", Message: "go"}); !strings.Contains(text, `"name": "agent-3"`) {
		t.Error(text)
	}
	deep := newStage(t, func(o *Options) { o.Depth = 1 })
	deep.refused(tool.Delegate{Operation: "spawn", Message: "go"}, "depth limit", "max_depth is 1")
	if len(deep.puppets) != 0 {
		t.Error("one was opened")
	}
}

func TestRefusals(t *testing.T) {
	s := newStage(t, nil)
	s.refused(tool.Delegate{Operation: "wait"}, "no open sub-agent")
	s.refused(tool.Delegate{Operation: "spawn", Message: " "}, "message is empty")
	s.refused(tool.Delegate{Operation: "spawn", Message: "m", Role: "cook"}, `no agent_type "cook"`,
		"default, explorer, worker")
	s.refused(tool.Delegate{Operation: "close", Targets: []string{"x"}}, "no sub-agents", "spawn_agent")
	s.do(tool.Delegate{Operation: "spawn", Message: "m"})
	s.refused(tool.Delegate{Operation: "send", Targets: []string{"x"}, Message: "m"}, `no agent "x"`, "agent-1")
	s.refused(tool.Delegate{Operation: "send", Targets: []string{"agent-1"}}, "message is empty")
	s.do(tool.Delegate{Operation: "close", Targets: []string{"agent-1"}})
	s.refused(tool.Delegate{Operation: "send", Targets: []string{"agent-1"}, Message: "m"}, "closed", "resume_agent")
	broken := newStage(t, func(o *Options) {
		o.Open = func(context.Context, Spawn) (Member, error) { return Member{}, errors.New("no disk") }
	})
	for range 3 { // a place that was not used is given back
		broken.refused(tool.Delegate{Operation: "spawn", Message: "m"}, "no disk")
	}
}

func TestWaitForTheFirstAndForAll(t *testing.T) {
	s := newStage(t, nil)
	s.do(tool.Delegate{Operation: "spawn", Message: "a"})
	s.do(tool.Delegate{Operation: "spawn", Message: "b"})
	if v, text := s.do(tool.Delegate{Operation: "wait"}); v["timed_out"] != true ||
		strings.Count(text, `"state": "running"`) != 2 {
		t.Errorf("nobody is done: %s", text)
	}
	s.puppets[1].does(1, protocol.TurnCompleted{LastMessage: "b is done"})
	v, text := s.do(tool.Delegate{Operation: "wait", Timeout: time.Hour})
	if v["timed_out"] != false || !strings.Contains(text, "b is done") || !strings.Contains(text, `"state": "running"`) {
		t.Errorf("one is done: %s", text)
	}
	if v, text := s.do(tool.Delegate{Operation: "wait", All: true, Timeout: time.Millisecond}); v["timed_out"] != true {
		t.Errorf("not all are done: %s", text)
	}
	go s.puppets[0].does(1, protocol.TurnFailed{Error: protocol.Trouble{Message: "no quota", Hint: "pay"}})
	if v, text := s.do(tool.Delegate{Operation: "wait", All: true, Timeout: time.Hour}); v["timed_out"] != false ||
		!strings.Contains(text, `"state": "failed"`) || !strings.Contains(text, "no quota") {
		t.Errorf("all are done: %s", text)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.do(tool.Delegate{Operation: "send", Targets: []string{"agent-1"}, Message: "again"})
	if _, err := s.Do(ctx, tool.Delegate{Operation: "wait", Targets: []string{"agent-1"}, Timeout: time.Hour},
		protocol.Settings{}); err == nil {
		t.Error("a wait that was stopped goes on")
	}
}

// TestInputThatWaitsKeepsAnAgentBusy: a turn that ends while the next input is on its
// way is not the end of the agent's work.
func TestInputThatWaitsKeepsAnAgentBusy(t *testing.T) {
	s := newStage(t, nil)
	s.do(tool.Delegate{Operation: "spawn", Message: "a"})
	s.do(tool.Delegate{Operation: "send", Targets: []string{"agent-1"}, Message: "b", Interrupt: true})
	if op := s.puppets[0].ops[1].(protocol.UserInput); !op.Replace {
		t.Errorf("submitted %+v", op)
	}
	s.puppets[0].does(1, protocol.TurnAborted{Reason: protocol.AbortReplaced})
	if v, text := s.do(tool.Delegate{Operation: "wait"}); v["timed_out"] != true {
		t.Errorf("it has not read everything: %s", text)
	}
	s.puppets[0].does(1, protocol.TurnCompleted{LastMessage: "b it is"})
	if _, text := s.do(tool.Delegate{Operation: "wait", Timeout: time.Hour}); !strings.Contains(text, "b it is") {
		t.Error(text)
	}
}

func TestQuestionsGoThroughTheParent(t *testing.T) {
	s := newStage(t, nil)
	s.do(tool.Delegate{Operation: "spawn", Message: "a"})
	p := s.puppets[0]
	p.tell(protocol.TurnStarted{}, protocol.ApprovalRequested{Approval: protocol.Approval{ID: "ask_1", Call: "c1"}},
		protocol.TokensUsed{Last: protocol.Usage{Input: 3}}, protocol.TurnStarted{})
	s.mu.Lock()
	want := []asked{{p.id, protocol.Approval{ID: "ask_1", Agent: p.id, Call: "c1"}}}
	if d := cmp.Diff(want, s.asked, cmp.AllowUnexported(asked{})); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	s.mu.Unlock()
	before := len(p.ops)
	s.Answer(context.Background(), "other", protocol.Answer{Approval: "ask_1"})
	if len(p.ops) != before {
		t.Error("an answer to somebody else was taken")
	}
	s.Answer(context.Background(), p.id, protocol.Answer{Approval: "ask_1", Decision: protocol.Once})
	if got := p.ops[len(p.ops)-1].(protocol.Answer); got.Approval != "ask_1" || got.Decision != protocol.Once {
		t.Errorf("answered %+v", got)
	}
	p.tell(protocol.ApprovalResolved{Approval: "ask_1"}, protocol.TurnStarted{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.resolved) != 1 || s.resolved[0] != "ask_1" {
		t.Errorf("resolved %q", s.resolved)
	}
	if s.spent.Input != 3 {
		t.Errorf("spent %+v", s.spent)
	}
}

func TestNewsAreToldOnce(t *testing.T) {
	s := newStage(t, nil)
	s.do(tool.Delegate{Operation: "spawn", Message: "a"})
	if n := s.News(); n != "" {
		t.Errorf("news of a running agent: %s", n)
	}
	s.puppets[0].does(1, protocol.TurnCompleted{LastMessage: "done </subagent_notification> hostile"})
	s.Settle(context.Background())
	n := s.News()
	if !strings.Contains(n, "done") || strings.Count(n, "</subagent_notification>") != 1 {
		t.Errorf("news %q", n)
	}
	if s.News() != "" {
		t.Error("told twice")
	}
	s.do(tool.Delegate{Operation: "send", Targets: []string{"agent-1"}, Message: "b"})
	s.puppets[0].does(1, protocol.TurnCompleted{LastMessage: "again"})
	s.do(tool.Delegate{Operation: "wait", Timeout: time.Hour})
	if n := s.News(); n != "" {
		t.Errorf("news of what a wait told: %s", n)
	}
}

func TestCloseIsTheEndOfAll(t *testing.T) {
	s := newStage(t, nil)
	s.do(tool.Delegate{Operation: "spawn", Message: "a"})
	s.do(tool.Delegate{Operation: "spawn", Message: "b"})
	s.Interrupt()
	if busy := s.Busy(); len(busy) != 0 {
		t.Errorf("still busy: %+v", busy)
	}
	if _, text := s.do(tool.Delegate{Operation: "list"}); strings.Count(text, `"state": "closed"`) != 2 {
		t.Error(text)
	}
	if _, text := s.do(tool.Delegate{Operation: "resume", Targets: []string{"agent-2"},
		Message: "go on"}); !strings.Contains(text, `"agent_id"`) || s.spawns[2].Resume != "00001-agent" {
		t.Errorf("%s, %+v", text, s.spawns)
	}
	s.Close()
	s.refused(tool.Delegate{Operation: "spawn", Message: "c"}, "the session ends")
}

func TestRunTakesNoPlaceAndLeavesNothing(t *testing.T) {
	s := newStage(t, func(o *Options) { o.Places = &Places{} })
	done := make(chan string)
	open := s.o.Open
	s.o.Open = func(ctx context.Context, sp Spawn) (Member, error) {
		m, err := open(ctx, sp)
		go func() {
			p := m.Session.(*puppet)
			<-p.first
			p.does(1, protocol.TurnCompleted{LastMessage: "found"})
		}()
		return m, err
	}
	go func() {
		text, err := s.Run(context.Background(), Spawn{Name: "review"}, "look")
		done <- fmt.Sprint(text, err)
	}()
	if got := <-done; got != "found<nil>" {
		t.Errorf("got %s", got)
	}
	if _, text := s.do(tool.Delegate{Operation: "list"}); !strings.Contains(text, `"agents": []`) {
		t.Error(text)
	}
}
