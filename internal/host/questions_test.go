package host

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/history"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
	"kerf/internal/sessions/timeline"
	"kerf/internal/work/sandbox"
)

// approvals are the ends of questions in the record of a session.
func approvals(t *testing.T, h *Host, id protocol.SessionID) (list []history.Approval) {
	t.Helper()
	asked := map[protocol.ApprovalID]bool{}
	for _, r := range recordsOf(t, h, id) {
		switch rec := r.Record.(type) {
		case history.QuestionAsked:
			asked[rec.Question] = true
		case history.Approval:
			if !asked[rec.Question] {
				t.Errorf("question %s has no record before its end", rec.Question)
			}
			rec.Turn, rec.Question, rec.Call = "", "", "" // made up anew each time
			list = append(list, rec)
		}
	}
	return list
}

func recordsOf(t *testing.T, h *Host, id protocol.SessionID) []records.Record {
	t.Helper()
	var list []records.Record
	for r, err := range records.Backward(filepath.Join(h.SessionsDir(), string(id))) {
		if err != nil {
			t.Fatal(err)
		}
		list = append([]records.Record{r}, list...)
	}
	return list
}

// answers are what the transcript of a session shows of its questions.
func answers(t *testing.T, h *Host, id protocol.SessionID) (list []string) {
	t.Helper()
	turns, err := h.Sessions().Transcript(t.Context(), string(id), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, past := range turns {
		for _, i := range past.Items {
			if a, ok := i.Body.(protocol.Answered); ok {
				list = append(list, fmt.Sprintf("%s %s: %s", i.Status, a.Outcome(), a.Detail()))
			}
		}
	}
	return list
}

// TestAResumedSessionShowsWhoAllowedWhichHost: a command reaches for hosts that no
// rule names. Whoever opens the session later sees which of them the user allowed.
func TestAResumedSessionShowsWhoAllowedWhichHost(t *testing.T) {
	if err := sandbox.Probe(t.Context()); err != nil {
		t.Skip(err)
	}
	const line = "curl -s -o /dev/null --noproxy '' http://asked.test/"
	requests := 0
	c := cast{func(context.Context, bool, *model.Request) []*model.Item {
		if requests++; requests > 2 {
			return said("done")
		}
		return callsOf(run(fmt.Sprintf("%s # %d", line, requests)))
	}}
	h := castHost(t, c, "sandbox_mode=workspace-write", "approval_policy=on-request", "default_permissions=p",
		"permissions.p.network.enabled=true",
		`permissions.p.network.domains={"listed.test"="allow"}`)
	s := open(t, h, protocol.OpenOptions{})
	say := []protocol.Decision{protocol.Deny, protocol.ForSession}
	asked := 0
	all := s.turn(input("go"), func(e protocol.Event) {
		if m, ok := e.Msg.(protocol.ApprovalRequested); ok {
			if m.Approval.Network == nil || m.Approval.Network.Host != "asked.test" || asked > 1 {
				t.Fatalf("asked %+v", m.Approval)
			}
			s.submit(protocol.Answer{Approval: m.Approval.ID, Decision: say[asked]})
			asked++
		}
	})
	if asked != 2 {
		t.Fatalf("asked %d times; the last event is %+v", asked, all[len(all)-1])
	}
	shut(t, s)

	s = open(t, h, protocol.OpenOptions{Resume: string(s.ID())})
	host := "asked.test:80 for " + line
	want := []history.Approval{
		{Asked: host + " # 1", Decision: protocol.Deny, Kind: protocol.AskHost, By: protocol.ByUser},
		{Asked: host + " # 2", Decision: protocol.ForSession, Kind: protocol.AskHost, By: protocol.ByUser},
	}
	if d := cmp.Diff(want, approvals(t, h, s.ID())); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	shown := []string{"declined Denied: " + host + " # 1", "completed Allowed for this session: " + host + " # 2"}
	if d := cmp.Diff(shown, answers(t, h, s.ID())); d != "" {
		t.Errorf("transcript (-want +got):\n%s", d)
	}
	log := ""
	for _, l := range timeline.Of(recordsOf(t, h, s.ID())) {
		log += l.Text + "\n"
	}
	if !strings.Contains(log, "decision=session kind=network by=user asked=\"asked.test:80 for ") {
		t.Errorf("the timeline is\n%s", log)
	}
}

// TestQuestionsOfAgentsAreRecordedTwice: by the agent, which asked, and by its
// parent, which passed the question on.
func TestQuestionsOfAgentsAreRecordedTwice(t *testing.T) {
	h := castHost(t, spawning(func(_ context.Context, r *model.Request) []*model.Item {
		if len(outputs(r)) > 0 {
			return said("done")
		}
		return callsOf(run("touch asked.txt"))
	}))
	s := open(t, h, protocol.OpenOptions{Settings: protocol.Settings{Approval: protocol.PolicyUntrusted}})
	var agent protocol.SessionID
	s.turn(input("go"), func(e protocol.Event) {
		if m, ok := e.Msg.(protocol.ApprovalRequested); ok {
			agent = e.Agent
			if m.Approval.Agent != agent {
				t.Errorf("asked by %q, told as of %q", m.Approval.Agent, agent)
			}
			s.submit(protocol.Answer{Approval: m.Approval.ID, Decision: protocol.Deny, Words: "not today"})
		}
	})
	shut(t, s)
	want := history.Approval{Asked: "touch asked.txt", Decision: protocol.Deny, Words: "not today",
		Kind: protocol.AskCommand, By: protocol.ByUser}
	if d := cmp.Diff([]history.Approval{want}, approvals(t, h, agent)); d != "" {
		t.Errorf("the agent's record (-want +got):\n%s", d)
	}
	want.Agent = agent
	if d := cmp.Diff([]history.Approval{want}, approvals(t, h, s.ID())); d != "" {
		t.Errorf("the parent's record (-want +got):\n%s", d)
	}
	shown := []string{"declined Denied: touch asked.txt (asked by sub-agent " + string(agent) + "): not today"}
	if d := cmp.Diff(shown, answers(t, h, s.ID())); d != "" {
		t.Errorf("transcript (-want +got):\n%s", d)
	}
}

// TestWhatTheModelAskedIsRecorded: the answer, the interrupt, and that there was
// nobody to ask.
func TestWhatTheModelAskedIsRecorded(t *testing.T) {
	ask := `{"questions": [{"id": "colour", "question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]}]}`
	c := cast{func(_ context.Context, _ bool, r *model.Request) []*model.Item {
		if len(outputs(r)) > 0 {
			return said("done")
		}
		return callsOf([2]string{"request_user_input", ask})
	}}
	for _, test := range []struct {
		name     string
		headless bool
		answer   protocol.Op
		want     history.Approval
	}{
		{"answered", false, protocol.Answer{Decision: protocol.Once, Content: json.RawMessage(`"red"`)},
			history.Approval{Decision: protocol.Once, By: protocol.ByUser, Content: json.RawMessage(`"red"`)}},
		{"declined", false, protocol.Answer{Decision: protocol.Deny, Words: "you choose"}, history.Approval{Decision: protocol.Deny, By: protocol.ByUser, Words: "you choose"}},
		{"stopped", false, protocol.Answer{Decision: protocol.Abort}, history.Approval{Decision: protocol.Abort, By: protocol.ByUser}},
		{"interrupted", false, protocol.Interrupt{}, history.Approval{Decision: protocol.Void}},
		{"headless", true, nil, history.Approval{Decision: protocol.Deny, By: protocol.ByNobody, Words: "there is nobody to ask"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := castHost(t, c)
			s := open(t, h, protocol.OpenOptions{Headless: test.headless})
			s.turn(input("go"), func(e protocol.Event) {
				if m, ok := e.Msg.(protocol.ApprovalRequested); ok {
					op := test.answer
					if a, ok := op.(protocol.Answer); ok {
						a.Approval = m.Approval.ID
						op = a
					}
					s.submit(op)
				}
			})
			shut(t, s)
			test.want.Asked, test.want.Kind = "Which colour?", protocol.AskUser
			if d := cmp.Diff([]history.Approval{test.want}, approvals(t, h, s.ID())); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
