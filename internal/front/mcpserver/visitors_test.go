package mcpserver

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/protocol"
)

// byHand is a client of the newest revision that answers questions itself.
func byHand() *mcp.ClientOptions {
	return &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, errTest }}
}

// asking has each turn ask a question, and end with the answer.
func asking(s *session, op protocol.Op) error {
	switch op := op.(type) {
	case protocol.UserInput:
		s.tell(protocol.ApprovalRequested{Approval: protocol.Approval{ID: protocol.ApprovalID(op.Items[0].Text),
			Command: &protocol.CommandApproval{Command: "make"}}})
	case protocol.Answer:
		s.tell(protocol.TurnCompleted{LastMessage: string(op.Approval) + " " + string(op.Decision)})
	case protocol.Interrupt:
		s.tell(protocol.TurnAborted{Reason: "interrupted"})
	}
	return nil
}

func (s *served) answer(name string, args map[string]any, state string, answers mcp.InputResponseMap) *mcp.CallToolResult {
	s.t.Helper()
	r, err := s.client.CallTool(s.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args, RequestState: state, InputResponses: answers})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func approves() mcp.InputResponseMap {
	return mcp.InputResponseMap{askedApproval: &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}}
}

// TestAQuestionIsAnsweredOnce: its state is good for one answer of the client that was asked.
func TestAQuestionIsAnsweredOnce(t *testing.T) {
	s := serve(t, sessionless, byHand())
	s.sessions.play = asking
	first := map[string]any{"prompt": "q1"}
	r := s.answer("kerf", first, "", nil)
	if q, ok := r.InputRequests[askedApproval].(*mcp.ElicitParams); !ok || !strings.Contains(q.Message, "> make") || r.RequestState == "" {
		t.Fatalf("it asks %+v", r)
	}
	again := s.answer("kerf", first, r.RequestState, nil)
	if again.RequestState == "" || again.RequestState == r.RequestState || len(again.InputRequests) != 1 {
		t.Errorf("without an answer it asks %+v", again)
	}
	for _, state := range []string{r.RequestState, "made up"} {
		if got := told(t, s.answer("kerf", first, state, approves())); got != "! this question is not open any more" {
			t.Errorf("state %q: %s", state, got)
		}
	}
	if got := told(t, s.answer("kerf", first, again.RequestState, approves())); got != "s1: q1 once" {
		t.Error(got)
	}
	if got := told(t, s.answer("kerf", first, again.RequestState, approves())); got != "! this question is not open any more" {
		t.Error(got)
	}
}

// TestATurnThatTheClientGivesUpIsInterrupted, and its question with it.
func TestATurnThatTheClientGivesUpIsInterrupted(t *testing.T) {
	s := serve(t, sessionless, byHand())
	s.sessions.play = asking
	r := s.answer("kerf", map[string]any{"prompt": "q1"}, "", nil)
	next := s.answer("kerf-reply", map[string]any{"threadId": "s1", "prompt": "q2"}, "", nil)
	if ops := s.sessions.session(1).took(); len(ops) != 3 || ops[1] != (protocol.Interrupt{}) {
		t.Errorf("the session took %+v", ops)
	}
	if got := told(t, s.answer("kerf", nil, r.RequestState, approves())); got != "! this question is not open any more" {
		t.Error(got)
	}
	if got := told(t, s.answer("kerf-reply", nil, next.RequestState, approves())); got != "s1: q2 once" {
		t.Error(got)
	}
}

// TestASessionDoesOneThingAtATime: another call for it is refused while one is under way.
func TestASessionDoesOneThingAtATime(t *testing.T) {
	s := serve(t, sessionless, byHand())
	held, begun := make(chan bool), make(chan bool, 1)
	s.sessions.play = func(s *session, op protocol.Op) error {
		if in, ok := op.(protocol.UserInput); ok && in.Items[0].Text == "slow" {
			begun <- true
			<-held
		}
		return say(s, op)
	}
	s.agent("kerf", map[string]any{"prompt": "x"})
	slow := make(chan *mcp.CallToolResult, 1)
	go func() {
		r, _ := s.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "kerf-reply", Arguments: map[string]any{"threadId": "s1", "prompt": "slow"}})
		slow <- r
	}()
	<-begun
	if got := s.agent("kerf-reply", map[string]any{"threadId": "s1", "prompt": "y"}); got != "s1! the session is at work for another call" {
		t.Error(got)
	}
	close(held)
	if got := told(t, <-slow); got != "s1: you said slow" {
		t.Error(got)
	}
}

// TestManyQuestionsOfOneTurnComeOneAfterTheOther, and those that are too many are a no.
func TestManyQuestionsOfOneTurnComeOneAfterTheOther(t *testing.T) {
	s := serve(t, sessionless, byHand())
	const more = 3
	asked := make(chan *session, 1)
	s.sessions.play = func(s *session, op protocol.Op) error {
		if _, ok := op.(protocol.UserInput); ok {
			for n := range questionLimit + 1 + more { // one is taken while the others wait, or not yet
				s.tell(protocol.ApprovalRequested{Approval: protocol.Approval{ID: protocol.ApprovalID(fmt.Sprint(n)), Reason: fmt.Sprint("question ", n),
					Command: &protocol.CommandApproval{Command: "make"}}})
			}
			asked <- s
			return nil
		}
		denied, allowed := 0, 0
		for _, op := range s.took() {
			if a, ok := op.(protocol.Answer); ok && a.Decision == protocol.Once {
				allowed++
			} else if ok {
				denied++
				if a.Words != "the question could not be shown to the user: too many questions wait" {
					t.Errorf("%+v", a)
				}
			}
		}
		if denied+allowed == questionLimit+1+more {
			s.tell(protocol.TurnCompleted{LastMessage: fmt.Sprintf("enough were asked: %v", denied == more || denied == more+1)})
		}
		return nil
	}
	r := s.answer("kerf", map[string]any{"prompt": "x"}, "", nil)
	for turn := <-asked; len(turn.took()) < 1+more; { // else one could be answered before the last was asked
		runtime.Gosched()
	}
	last := -1
	for len(r.InputRequests) > 0 {
		n, q := 0, r.InputRequests[askedApproval].(*mcp.ElicitParams)
		if _, rest, _ := strings.Cut(q.Message, "> question "); rest != "" {
			_, _ = fmt.Sscan(rest, &n)
		}
		if n <= last {
			t.Fatalf("behind question %d comes %q", last, q.Message)
		}
		last = n
		r = s.answer("kerf", nil, r.RequestState, approves())
	}
	if got := told(t, r); got != "s1: enough were asked: true" {
		t.Error(got)
	}
}

// request is a call of a client that says its name.
func request(name string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "look", Meta: mcp.Meta{
		mcp.MetaKeyClientInfo: map[string]any{"name": name, "version": "1"}}}}
}

// TestClientsThatAreAwayAreForgotten, the one that was heard of first before the others; none that has a call or a question
// under way. What it had open is closed.
func TestClientsThatAreAwayAreForgotten(t *testing.T) {
	e := &engine{}
	v := newVisitors(Options{Engine: e})
	var known []*visitor
	enter := func(name string) (*visitor, error) { return v.enter(request(name), []string{name}) }
	for n := range visitorLimit {
		k, err := enter(fmt.Sprint(n))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.conn.connect(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		known = append(known, k)
	}
	if k, err := enter("0"); err != nil || k != known[0] {
		t.Errorf("a client that is known is another one: %v", err)
	}
	if _, err := enter("new"); err == nil || err.Error() != "too many clients have calls or questions under way; try again later" {
		t.Errorf("while all have a call under way: %v", err)
	}
	v.forget(known[1])
	e.all()
	for _, k := range known[:4] {
		v.leave(k)
	}
	v.waiting["state"] = &openTurn{visitor: known[1]}
	if _, err := enter("new"); err != nil { // known[0] has another call, known[1] a question
		t.Fatal(err)
	}
	eventually(t, "an engine that is closed", func() bool { return len(v.known) == visitorLimit && known[2].conn.gone() })
	if known[0].conn.gone() || known[1].conn.gone() || known[3].conn.gone() {
		t.Error("another client was forgotten")
	}
	v.forget(known[1])
	if !known[1].conn.gone() || len(v.waiting) != 0 || len(v.known) != visitorLimit-1 {
		t.Errorf("a client that was not heard of: %d are known, %d questions wait", len(v.known), len(v.waiting))
	}
	v.close()
	for n, k := range known {
		if !k.conn.gone() {
			t.Errorf("client %d is remembered at the end", n)
		}
	}
	if _, err := enter("late"); err == nil {
		t.Error("a client enters what is closed")
	}
}

// gone reports whether the connection is over.
func (c *conn) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed && c.engine == nil
}

// TestASessionThatOpensTooLateIsClosed, and no engine is opened for a connection that is over.
func TestASessionThatOpensTooLateIsClosed(t *testing.T) {
	all := &sessions{play: say}
	e := &engine{}
	c := &conn{o: Options{Sessions: all, Engine: e}}
	c.close()
	if _, err := c.open(t.Context(), protocol.OpenOptions{}); err == nil {
		t.Error("a session of a connection that is over")
	}
	<-all.session(1).closed
	if _, err := c.connect(t.Context(), nil); err == nil || len(e.all()) > 0 {
		t.Errorf("an engine of a connection that is over: %v", err)
	}
}
