package turn

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"kerf/internal/agent/history"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// state is a point in the life of a turn: the inputs that lead there, after the
// turn t1 was submitted.
type state struct {
	name  string
	steps []Input
	// answers are what the effects that are under way answer once they are told to
	// stop, or come to their end.
	answers []Input
}

func begun(more ...Input) []Input { return append([]Input{Gathered{Turn: "t1"}}, more...) }

var toolCall = Chunk{1, model.ItemDone{Index: 0,
	Item: &model.Item{Kind: model.Call, CallID: "c1", Name: "x", Style: model.Function, Input: "{}"}}}

// states are all the states in which something is under way.
func states() []state {
	prepared := Prepared{Call: "c1", Body: protocol.Command{Call: "c1", Command: "sleep 9"}}
	ask := Prepared{Call: "c1", Body: prepared.Body, Verdict: Ask,
		Approval: &protocol.Approval{Command: &protocol.CommandApproval{Command: "sleep 9"}}}
	finished := Finished{Call: "c1", Outcome: Outcome{Text: "aborted", Body: prepared.Body}}
	done := []Input{Chunk{1, model.Done{Usage: &model.Usage{Input: 5, Output: 1}}}, StreamEnded{Round: 1}}
	tools := func(in ...Input) []Input { return begun(append(append([]Input{toolCall}, done...), in...)...) }
	full := []Input{toolCall, Chunk{1, model.Done{Usage: &model.Usage{Input: 99, Output: 1}}}, StreamEnded{Round: 1},
		Prepared{Call: "c1", Outcome: &Outcome{Text: "ok", Success: true}}}
	return []state{
		{"gathering", nil, []Input{Gathered{Turn: "t1"}}},
		{"waiting for the model", begun(), []Input{StreamEnded{Round: 1, Err: errStopped}}},
		{"mid-stream", begun(Chunk{1, model.TextDelta{Index: 0, Text: "half a"}}), []Input{StreamEnded{Round: 1, Err: errStopped}}},
		{"preparing a call", tools(), []Input{prepared, finished}},
		{"in an approval", tools(ask), nil},
		{"in a tool", tools(prepared), []Input{finished}},
		{"in a tool, streaming", begun(toolCall, prepared), []Input{StreamEnded{Round: 1, Err: errStopped}, finished}},
		{"in a retry sleep", begun(StreamEnded{Round: 1, Err: &model.Error{Kind: model.Server, Message: "busy"}}), []Input{Elapsed{Timer: 1}}},
		{"in a compaction", begun(full...), []Input{StreamEnded{Round: 2, Err: errStopped}}},
		{"after a summary", begun(append(full, Chunk{2, summary}, Chunk{2, model.Done{}}, StreamEnded{Round: 2})...), []Input{Gathered{Turn: "t1", Again: 1}}},
		{"in a user's command", begun(Submit{ID: "s1", Op: protocol.Shell{Command: "make"}}), []Input{StreamEnded{Round: 1, Err: errStopped}, ShellDone{Call: "shell_s1"}}},
	}
}

var summary = model.ItemDone{Item: &model.Item{Kind: model.Message, Role: "assistant",
	Content: []model.Part{{Text: "What happened so far."}}}}

var errStopped = fmt.Errorf("stopped")

// operation is something a user does at such a point.
type operation struct {
	name   string
	ops    []protocol.Op
	reason protocol.AbortReason // how t1 ends
	next   bool                 // another turn follows by itself
	end    bool                 // the session ends
}

func operations() []operation {
	return []operation{
		{"interrupt", []protocol.Op{protocol.Interrupt{}}, protocol.AbortInterrupted, false, false},
		{"interrupt twice", []protocol.Op{protocol.Interrupt{}, protocol.Interrupt{}}, protocol.AbortInterrupted, false, false},
		{"replace", []protocol.Op{protocol.UserInput{Items: []protocol.Input{{Text: "other"}}, Replace: true}}, protocol.AbortReplaced, true, false},
		{"steer, interrupt", []protocol.Op{say("steered"), protocol.Interrupt{}}, protocol.AbortInterrupted, false, false},
		{"queue, interrupt", []protocol.Op{protocol.UserInput{Items: []protocol.Input{{Text: "queued"}}, Queue: true}, protocol.Interrupt{}}, protocol.AbortInterrupted, false, false},
		{"shut down", []protocol.Op{protocol.Shutdown{}}, protocol.AbortInterrupted, false, true},
	}
}

// TestInterruptMatrix ends a turn at every point in every way.
func TestInterruptMatrix(t *testing.T) {
	for _, s := range states() {
		for _, d := range operations() {
			t.Run(s.name+"/"+d.name, func(t *testing.T) {
				steps := interruptAt(t, s, d)
				t.Logf("%-22s %-17s -> %s after %d answers", s.name, d.name, d.reason, steps)
			})
		}
	}
}

func limits100(string) (int, int) { return 110, 100 }

func interruptAt(t *testing.T, s state, d operation) int {
	c := New(Options{RequestRetries: 3, StreamRetries: 3, Limits: limits100}, nil)
	tape := &tape{t: t, core: c}
	tape.play(Submit{ID: "t1", Op: say("first")})
	tape.play(s.steps...)
	tape.requests = 0
	for i, op := range d.ops {
		tape.play(Submit{ID: fmt.Sprintf("op%d", i), Op: op})
	}
	// What was under way answers, however late; only then, and at once, it ends.
	tape.play(s.answers...)
	tape.play(Settled{Turn: "t1"})
	if tape.ended["t1"] != 1 || tape.reason != d.reason {
		t.Fatalf("turn t1 ended %d times, reason %q; want once, %q", tape.ended["t1"], tape.reason, d.reason)
	}
	if tape.requests != 0 {
		t.Errorf("%d requests were made after the interrupt", tape.requests)
	}
	if msg := pairing(c.items); msg != "" {
		t.Error(msg)
	}
	if len(tape.open) > 0 {
		t.Errorf("items left open: %v", tape.open)
	}
	for _, word := range []string{"first", "steered", "queued", "other"} {
		if strings.Contains(tape.said, word) && !tape.knows(word) && !(word == "other" && d.next) {
			t.Errorf("%q is neither in the history nor returned", word)
		}
	}
	if s.name == "mid-stream" && !tape.knows("half a") {
		t.Error("the text that was streamed is lost")
	}
	switch {
	case d.end:
		if !tape.over {
			t.Error("the session did not end")
		}
		return len(s.answers)
	case d.next:
		tape.play(Gathered{Turn: "op0"})
	default:
		tape.play(Submit{ID: "t2", Op: say("again")}, Gathered{Turn: "t2"})
	}
	if tape.requests != 1 {
		t.Errorf("the next turn made %d requests, want 1", tape.requests)
	}
	tape.rebuilt()
	return len(s.answers)
}

// TestSteeringMatrix says something at every point: it reaches the model with the
// next request of the turn, once.
func TestSteeringMatrix(t *testing.T) {
	for _, s := range states() {
		t.Run(s.name, func(t *testing.T) {
			c := New(Options{RequestRetries: 3, StreamRetries: 3, Limits: limits100}, nil)
			tape := &tape{t: t, core: c}
			tape.play(Submit{ID: "t1", Op: say("first")})
			tape.play(s.steps...)
			tape.play(Submit{ID: "s2", Op: say("steered")})
			tape.finish()
			if n := strings.Count(tape.last, "steered"); n != 1 {
				t.Errorf("the last request has the steered words %d times, want once:\n%s", n, tape.last)
			}
			if strings.Index(tape.last, "first") > strings.Index(tape.last, "steered") {
				t.Errorf("the words are out of order:\n%s", tape.last)
			}
			if tape.ended["t1"] != 1 || tape.reason != "" {
				t.Errorf("turn t1 ended %d times, reason %q", tape.ended["t1"], tape.reason)
			}
			tape.rebuilt()
			t.Logf("%-22s steered words reach the model with request %d", s.name, c.rounds)
		})
	}
}

// tape plays inputs into a core and notes what comes out.
type tape struct {
	t        *testing.T
	core     *Core
	due      []Input
	lines    []history.Line
	requests int
	last     string
	said     string
	returned string
	reason   protocol.AbortReason
	ended    map[protocol.TurnID]int
	open     map[protocol.ItemID]bool
	over     bool
	prepared map[protocol.CallID]int
	failed   *protocol.Trouble
	answer   func(CallModel) []Input // nil: a short message
	outcome  func(Prepare) Outcome   // nil: ok
}

func (p *tape) play(inputs ...Input) {
	if p.ended == nil {
		p.ended, p.open, p.prepared = map[protocol.TurnID]int{}, map[protocol.ItemID]bool{}, map[protocol.CallID]int{}
	}
	for _, in := range inputs {
		if s, ok := in.(Submit); ok {
			if u, ok := s.Op.(protocol.UserInput); ok {
				p.said += u.Items[0].Text + "\n"
			}
		}
		r := p.core.Step(in)
		for _, rec := range r.Records {
			b, err := json.Marshal(rec)
			if err != nil {
				p.t.Fatal(err)
			}
			p.lines = append(p.lines, history.Line{Type: rec.Type(), JSON: b})
		}
		for _, e := range r.Events {
			p.event(e)
		}
		for _, e := range r.Effects {
			p.effect(e)
		}
	}
}

func (p *tape) event(e Told) {
	switch m := e.Msg.(type) {
	case protocol.ItemStarted:
		p.open[m.Item.ID] = true
	case protocol.ItemCompleted:
		delete(p.open, m.Item.ID)
	case protocol.ItemDropped:
		delete(p.open, m.Item)
	case protocol.TurnCompleted:
		p.ended[e.Turn]++
	case protocol.TurnFailed:
		p.ended[e.Turn]++
		p.failed = &m.Error
	case protocol.TurnAborted:
		p.ended[e.Turn]++
		p.reason = m.Reason
		for _, in := range m.Undelivered {
			p.returned += in.Text + "\n"
		}
	case protocol.SessionEnded:
		p.over = true
	}
}

// effect notes what is due; finish answers it.
func (p *tape) effect(e Effect) {
	switch e := e.(type) {
	case CallModel:
		p.requests++
		p.last = ""
		for _, it := range e.Items {
			p.last += it.Text() + "\n"
		}
		if p.answer != nil {
			p.due = append(p.due, p.answer(e)...)
			return
		}
		p.due = append(p.due, Chunk{e.Round,
			model.ItemDone{Index: 9, Item: &model.Item{Kind: model.Message, Role: "assistant",
				Content: []model.Part{{Text: "done"}}}}},
			Chunk{e.Round, model.Done{Usage: &model.Usage{Input: 5, Output: 1}}}, StreamEnded{Round: e.Round})
	case Gather:
		p.due = append(p.due, Gathered{Turn: e.Turn, Again: e.Again})
	case Prepare:
		p.prepared[e.Call.ID]++
		o := Outcome{Text: "ok", Success: true}
		if p.outcome != nil {
			o = p.outcome(e)
		}
		p.due = append(p.due, Prepared{Call: e.Call.ID, Outcome: &o})
	case Run:
		p.due = append(p.due, Finished{Call: e.Call, Outcome: Outcome{Text: "ok", Success: true}})
	case Wait:
		p.due = append(p.due, Elapsed{Timer: e.Timer})
	case RunShell:
		p.due = append(p.due, ShellDone{Call: e.Call, Outcome: Outcome{Text: "ok", Success: true}})
	case Settle:
		p.due = append(p.due, Settled{Turn: e.Turn})
	}
}

// finish answers everything that is due, late answers included.
func (p *tape) finish() {
	for _, k := range p.asking() {
		p.play(Submit{ID: "yes", Op: protocol.Answer{Approval: k, Decision: protocol.Once}})
	}
	for n := 0; len(p.due) > 0 && n < 1000; n++ {
		in := p.due[0]
		p.due = p.due[1:]
		p.play(in)
	}
}

func (p *tape) asking() (ids []protocol.ApprovalID) {
	for _, q := range p.core.questions {
		ids = append(ids, q.approval.ID)
	}
	return ids
}

// knows reports whether word is in the history or came back.
func (p *tape) knows(word string) bool {
	for _, it := range p.core.items {
		if strings.Contains(it.Text(), word) {
			return true
		}
	}
	return strings.Contains(p.returned, word)
}

func (p *tape) rebuilt() {
	p.t.Helper()
	got, _ := json.Marshal(history.Rebuild(p.lines).Items)
	want, _ := json.Marshal(p.core.items)
	if string(got) != string(want) {
		p.t.Errorf("the records give\n%s\nthe core has\n%s", got, want)
	}
}
