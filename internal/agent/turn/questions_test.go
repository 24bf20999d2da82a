package turn

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
)

// asksCase is one kind of question with the record of it.
type asksCase struct {
	name   string
	in     Input // asks, while call c1 is prepared or runs
	record history.QuestionAsked
}

// asksCases has the five kinds. The id of the question is always ask_1.
func asksCases() []asksCase {
	beside := func(name string, from Asker, a protocol.Approval, want history.QuestionAsked) asksCase {
		in := Asked{From: from, Approval: a}
		want.Turn, want.Question = "t1", "ask_1"
		if from.Agent != "" {
			in.Turn, want.Turn = "t9", "t9"
		}
		return asksCase{name, in, want}
	}
	command := protocol.CommandApproval{Command: "rm x"}
	own := Asker{ID: "question_1"}
	return []asksCase{
		{"tool approval", Prepared{Call: "c1", Verdict: Ask, Body: protocol.Command{Call: "c1", Command: "rm x"}, Approval: &protocol.Approval{Command: &command}},
			history.QuestionAsked{Turn: "t1", Question: "ask_1", Kind: protocol.AskCommand, Call: "c1", Asked: "rm x"}},
		beside("network host", own, protocol.Approval{Call: "c1",
			Network: &protocol.NetworkApproval{Host: "example.com", Port: 443, Command: "curl"}},
			history.QuestionAsked{Kind: protocol.AskHost, Call: "c1", Asked: "example.com:443 for curl"}),
		beside("elicitation", own, protocol.Approval{Question: &protocol.Question{Server: "db", Message: "Which table?"}},
			history.QuestionAsked{Kind: protocol.AskServer, Asked: "db: Which table?"}),
		beside("question of the model", own,
			protocol.Approval{Call: "c1", Question: &protocol.Question{Message: "Which colour?"}},
			history.QuestionAsked{Kind: protocol.AskUser, Call: "c1", Asked: "Which colour?"}),
		beside("sub-agent", Asker{Agent: "a1", ID: "ask_7"},
			protocol.Approval{ID: "ask_7", Agent: "a1", Call: "c8", Command: &command},
			history.QuestionAsked{Kind: protocol.AskCommand, Agent: "a1", Call: "c8", Asked: "rm x"}),
	}
}

// ends are how a question ends, with the record of it.
var ends = []struct {
	name     string
	op       protocol.Op // nil: at once
	decision protocol.Decision
	by       protocol.Answerer
}{
	{"allowed", protocol.Answer{Approval: "ask_1", Decision: protocol.ForSession, Content: json.RawMessage(`"red"`)}, protocol.ForSession, protocol.ByUser},
	{"denied", protocol.Answer{Approval: "ask_1", Decision: protocol.Deny, Words: "never"}, protocol.Deny, protocol.ByUser},
	{"stopped", protocol.Answer{Approval: "ask_1", Decision: protocol.Abort}, protocol.Abort, protocol.ByUser},
	{"interrupted", protocol.Interrupt{}, protocol.Void, ""},
	{"shut down", protocol.Shutdown{}, protocol.Void, ""},
	{"headless", nil, protocol.Deny, protocol.ByNobody},
}

// asksAt returns a core in which call c1 is being prepared or, for questions that
// are asked beside the calls, runs.
func asksAt(t *testing.T, k asksCase, headless bool) *Core {
	t.Helper()
	c := New(Options{Headless: headless}, nil)
	drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"}, toolCall)
	if _, beside := k.in.(Asked); beside {
		drive(c, Prepared{Call: "c1", Body: protocol.Command{Call: "c1", Command: "make"}})
	}
	return c
}

// TestEveryKindOfQuestion asks each kind of question and ends it in each way: it is
// recorded, told, and whoever asked gets the answer.
func TestEveryKindOfQuestion(t *testing.T) {
	for _, k := range asksCases() {
		for _, end := range ends {
			t.Run(k.name+"/"+end.name, func(t *testing.T) {
				c := asksAt(t, k, end.op == nil)
				r := c.Step(k.in)
				if end.op != nil {
					requested(t, k, r)
					last := c.Step(Submit{ID: "op", Op: end.op})
					resolved(t, last, k, end.decision)
					r = Ready{append(r.Records, last.Records...), nil, last.Effects}
				} else if len(eventsOf[protocol.ApprovalRequested](r)) > 0 {
					t.Error("a headless session asks")
				}
				want := history.Approval{Turn: k.record.Turn, Call: k.record.Call, Asked: k.record.Asked, Question: "ask_1",
					Kind:  k.record.Kind,
					Agent: k.record.Agent, Decision: end.decision, By: end.by}
				if a, ok := end.op.(protocol.Answer); ok {
					want.Words = a.Words
					if k.record.Kind == protocol.AskUser {
						want.Content = a.Content
					}
				}
				if end.by == protocol.ByNobody {
					want.Words = "there is nobody to ask"
				}
				if d := cmp.Diff([]history.Record{k.record, want}, questionRecords(t, r)); d != "" {
					t.Errorf("records (-want +got):\n%s", d)
				}
				answeredAs(t, k, r, end.decision)
				if len(c.questions) > 0 {
					t.Errorf("%d questions are still open", len(c.questions))
				}
			})
		}
	}
}

// requested checks that a question is told, by its own id.
func requested(t *testing.T, k asksCase, r Ready) {
	t.Helper()
	asked := eventsOf[protocol.ApprovalRequested](r)
	if len(asked) != 1 || asked[0].Approval.ID != "ask_1" || asked[0].Approval.Agent != k.record.Agent {
		t.Fatalf("told %+v", asked)
	}
}

// resolved checks that the end of a question is told once.
func resolved(t *testing.T, r Ready, k asksCase, d protocol.Decision) {
	t.Helper()
	want := []protocol.ApprovalResolved{{Approval: "ask_1", Decision: d}}
	if diff := cmp.Diff(want, eventsOf[protocol.ApprovalResolved](r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, e := range r.Events {
		if _, ok := e.Msg.(protocol.ApprovalResolved); ok && e.Agent != k.record.Agent {
			t.Errorf("told as of agent %q", e.Agent)
		}
	}
}

// answeredAs checks what follows: the call runs only when it was allowed, and an
// asker hears the decision.
func answeredAs(t *testing.T, k asksCase, r Ready, d protocol.Decision) {
	t.Helper()
	ran, replies := false, []Reply(nil)
	for _, e := range r.Effects {
		switch e := e.(type) {
		case Run:
			ran = true
		case Reply:
			replies = append(replies, e)
		}
	}
	asked, beside := k.in.(Asked)
	switch {
	case !beside:
		if ran != d.Allows() {
			t.Errorf("after %q: the call ran: %t", d, ran)
		}
	case asked.From.Agent != "" && d == protocol.Void: // the sub-agent withdraws it, too
		if len(replies) > 0 {
			t.Errorf("replies %+v", replies)
		}
	case len(replies) != 1 || replies[0].To != asked.From || replies[0].Answer.Approval != asked.From.ID ||
		replies[0].Answer.Decision != d:
		t.Errorf("after %q: replies %+v", d, replies)
	}
}

// eventsOf are the events of one type.
func eventsOf[M protocol.Msg](r Ready) (list []M) {
	for _, e := range r.Events {
		if m, ok := e.Msg.(M); ok {
			list = append(list, m)
		}
	}
	return list
}

// questionRecords are the records about questions, as they are read back.
func questionRecords(t *testing.T, r Ready) (list []history.Record) {
	t.Helper()
	for _, rec := range r.Records {
		switch rec.(type) {
		case history.QuestionAsked, history.Approval:
			b, err := json.Marshal(rec)
			if err != nil {
				t.Fatal(err)
			}
			back, err := history.Line{Type: rec.Type(), JSON: b}.Decode()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, back)
		}
	}
	return list
}

// TestAWithdrawnQuestionIsOver: whoever asked has given up, and an answer that
// comes then is late.
func TestAWithdrawnQuestionIsOver(t *testing.T) {
	for _, k := range asksCases()[1:] {
		c := asksAt(t, k, false)
		c.Step(k.in)
		r := c.Step(Withdrawn{From: k.in.(Asked).From})
		resolved(t, r, k, protocol.Void)
		if len(r.Records) != 1 || len(r.Effects) != 0 {
			t.Errorf("%s: %+v", k.name, r)
		}
		for _, late := range []Input{Withdrawn{From: k.in.(Asked).From},
			Submit{Op: protocol.Answer{Approval: "ask_1", Decision: protocol.Once}}} {
			if r := c.Step(late); !r.Empty() {
				t.Errorf("%s: a late %T had effects: %+v", k.name, late, r)
			}
		}
	}
}

// TestWhatAsksInAStoppingTurnIsTurnedAway: nobody is asked any more.
func TestWhatAsksInAStoppingTurnIsTurnedAway(t *testing.T) {
	for _, k := range asksCases()[1:4] {
		c := asksAt(t, k, false)
		c.Step(Submit{ID: "stop", Op: protocol.Interrupt{}})
		r := c.Step(k.in)
		if len(eventsOf[protocol.ApprovalRequested](r)) > 0 || len(r.Records) != 2 {
			t.Errorf("%s: %+v", k.name, r)
		}
		answeredAs(t, k, r, protocol.Void)
	}
}
