package web

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/protocol"
)

// played is a running session whose events are given.
type played struct {
	state  string
	turn   protocol.TurnID
	events []protocol.Event
}

func (p played) List(context.Context) ([]LiveSession, error) {
	return []LiveSession{{ID: "s1", State: p.state}}, nil
}

func (p played) Join(context.Context, protocol.SessionID) (protocol.Session, error) {
	all := make(chan protocol.Event, len(p.events))
	for _, e := range p.events {
		all <- e
	}
	close(all)
	return playedFace{all, p.turn}, nil
}

type playedFace struct {
	events chan protocol.Event
	turn   protocol.TurnID
}

func (playedFace) ID() protocol.SessionID                            { return "s1" }
func (f playedFace) Events() <-chan protocol.Event                   { return f.events }
func (playedFace) Close() error                                      { return nil }
func (playedFace) Submit(context.Context, protocol.Submission) error { return nil }
func (f playedFace) Running() protocol.TurnID                        { return f.turn }

// states are the words of the state that a browser is sent, in order.
func states(t *testing.T, live Live) (list []string, all string) {
	t.Helper()
	s, err := New(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, Options{Data: fixed{}, Live: live,
		Log: func(line string) { t.Error(line) }})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/now/s1/events?last=t1", nil)
	r.SetPathValue("id", "s1")
	if err := s.events(w, r); err != nil {
		t.Fatal(err)
	}
	for event := range strings.SplitSeq(w.Body.String(), "\n\n") {
		if text, ok := strings.CutPrefix(event, "event: state\ndata: "); ok {
			var d struct{ Text string }
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				t.Fatal(err)
			}
			list = append(list, d.Text)
		}
	}
	return list, w.Body.String()
}

// TestOnlyATurnThatRunsHasTokens joins a session that rests, whose last tokens are told to
// everybody who joins, and one whose turn ends: neither is said to run.
func TestOnlyATurnThatRunsHasTokens(t *testing.T) {
	used := protocol.Event{Msg: protocol.TokensUsed{Turn: protocol.Usage{Input: 7}}}
	got, all := states(t, played{state: "running", events: []protocol.Event{used}}) // the list is older than the end
	if d := cmp.Diff([]string{"idle"}, got); d != "" {
		t.Error(d)
	}
	if strings.Contains(all, `"turns"`) || !strings.HasSuffix(all, "event: end\ndata: {\"text\":\"the session has ended\"}\n\n") {
		t.Errorf("it is sent %s", all)
	}
	got, _ = states(t, played{state: "waiting", turn: "t2", events: []protocol.Event{{Turn: "t2", Msg: protocol.TurnStarted{}}, used,
		{Turn: "t2", Agent: "a", Msg: protocol.TurnCompleted{}}, used, {Turn: "t2", Msg: protocol.TurnAborted{Reason: "stopped"}}, used}})
	if d := cmp.Diff([]string{"running", "running", "running · 7 tokens in this turn", "running · 7 tokens in this turn",
		"idle · stopped"}, got); d != "" {
		t.Error(d)
	}
}

// TestAQuestionIsTheState joins a session that asks: until the answers it waits.
func TestAQuestionIsTheState(t *testing.T) {
	ask := func(id protocol.ApprovalID) protocol.Event {
		return protocol.Event{Turn: "t2", Msg: protocol.ApprovalRequested{Approval: protocol.Approval{ID: id}}}
	}
	answer := func(id protocol.ApprovalID) protocol.Event {
		return protocol.Event{Turn: "t2", Msg: protocol.ApprovalResolved{Approval: id}}
	}
	used := protocol.Event{Msg: protocol.TokensUsed{Turn: protocol.Usage{Input: 7}}}
	got, _ := states(t, played{state: "waiting", turn: "t2", events: []protocol.Event{ask("a"), used, ask("b"), answer("a"), answer("b"), used}})
	wait := "waiting for an answer"
	if d := cmp.Diff([]string{"running", wait, wait, wait, "running", "running · 7 tokens in this turn"}, got); d != "" {
		t.Error(d)
	}
}
