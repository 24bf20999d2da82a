package turn

import (
	"fmt"
	"maps"
	"slices"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
)

// askers plays what asks the user beside the calls that wait for leave: running
// calls, background processes, MCP servers and sub-agents.
type askers struct {
	headless bool
	made     int
	waiting  map[Asker]func() // what follows the reply, by asker
	allowed  map[Asker]bool   // by the user
	told     map[protocol.ApprovalID]Asker
	recorded map[protocol.ApprovalID]int // 1: asked, 2: ended
}

func newAskers() askers {
	return askers{waiting: map[Asker]func(){}, allowed: map[Asker]bool{}, told: map[protocol.ApprovalID]Asker{},
		recorded: map[protocol.ApprovalID]int{}}
}

// approvals are questions of each kind.
var approvals = []protocol.Approval{
	{Network: &protocol.NetworkApproval{Host: "example.com", Port: 443, Command: "curl"}},
	{Question: &protocol.Question{Message: "Which colour?"}},
	{Question: &protocol.Question{Server: "db", Message: "Which table?"}},
	{Command: &protocol.CommandApproval{Command: "rm x"}},
}

// askBeside has something ask. then is what follows when it has its answer.
func (w *world) askBeside(call protocol.CallID, agent protocol.SessionID, then func()) {
	w.ask.made++
	from := Asker{Agent: agent, ID: protocol.ApprovalID(fmt.Sprintf("q%d", w.ask.made))}
	a := approvals[w.rng.IntN(len(approvals))]
	a.Call, a.Agent = call, agent
	in := Asked{From: from, Approval: a}
	if agent != "" {
		in.Turn = "turn-of-agent"
	}
	w.ask.waiting[from] = then
	w.todo = append(w.todo, in)
}

// stray has a background process, a server or a sub-agent ask, or one of those
// that ask give up.
func (w *world) stray() {
	if w.closed {
		return
	}
	switch n := w.rng.IntN(4); {
	case n == 0:
		w.askBeside("", "", func() {})
	case n == 1:
		w.askBeside("c1", protocol.SessionID(fmt.Sprintf("agent-%d", w.rng.IntN(3))), func() {})
	default:
		ids := slices.Sorted(maps.Keys(w.ask.told))
		if len(ids) == 0 {
			return
		}
		from := w.ask.told[ids[w.rng.IntN(len(ids))]]
		if then := w.ask.waiting[from]; then != nil {
			delete(w.ask.waiting, from)
			w.give(Withdrawn{From: from})
			then()
		}
	}
}

// replied takes the answer to a question asked beside the calls (L3).
func (w *world) replied(e Reply) {
	then := w.ask.waiting[e.To]
	if e.Answer.Decision.Allows() && !w.ask.allowed[e.To] {
		w.broke("L3", "%v was told %q, which the user did not say to it", e.To, e.Answer.Decision)
	}
	if then == nil {
		w.broke("L12", "%v got an answer that it does not wait for", e.To)
		return
	}
	delete(w.ask.waiting, e.To)
	then()
}

// keepQuestion checks the records of questions (L12).
func (w *world) keepQuestion(rec history.Record) {
	switch rec := rec.(type) {
	case history.QuestionAsked:
		w.ask.recorded[rec.Question]++
	case history.Approval:
		if w.ask.recorded[rec.Question]++; w.ask.recorded[rec.Question] != 2 {
			w.broke("L12", "question %s has an end that is not its first, or no beginning", rec.Question)
		}
		if rec.By == protocol.ByNobody != (w.ask.headless && rec.Decision != protocol.Void) {
			w.broke("L12", "question %s was answered by %q", rec.Question, rec.By)
		}
	}
}

// questionTold checks that a question, or its end, is told after its record (L12).
func (w *world) questionTold(id protocol.ApprovalID, records int) {
	if w.ask.recorded[id] != records {
		w.broke("L12", "question %s is told without its record", id)
	}
	if w.ask.headless {
		w.broke("L3", "question %s is told to nobody", id)
	}
}

// mine reports whether the session itself asked a question that is open.
func (w *world) mine() bool {
	for id := range w.asks {
		if w.ask.told[id].Agent == "" {
			return true
		}
	}
	return false
}

// openAsks are the open questions in a stable order.
func (w *world) openAsks() []protocol.ApprovalID {
	var ids []protocol.ApprovalID
	for id := range w.asks {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// allAnswered checks the end of a schedule: every question ended and was recorded.
func (w *world) allAnswered() {
	for id, n := range w.ask.recorded {
		if n != 2 {
			w.broke("L12", "question %s has no end", id)
		}
	}
	if !w.closed {
		for from, then := range w.ask.waiting {
			if then != nil && from.Agent == "" {
				w.broke("L12", "%v waits for an answer that never comes", from)
			}
		}
	}
}
