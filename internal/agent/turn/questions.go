package turn

import (
	"slices"
	"strconv"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
)

// Asker names who waits for an answer: something under way in this session, or a
// sub-agent. ID is the name that the asker itself has for its question.
type Asker struct {
	Agent protocol.SessionID // empty: this session
	ID    protocol.ApprovalID
}

// Asked is a question that something under way puts to the user: a running call,
// a background process, an MCP server or a sub-agent. One Reply answers it, unless
// Withdrawn comes first.
type Asked struct {
	From     Asker
	Turn     protocol.TurnID // of the sub-agent; empty for this session
	Approval protocol.Approval
}

// Withdrawn says that an asker does not wait any more.
type Withdrawn struct{ From Asker }

// Reply hands the answer to the asker. The decision is Void when the question was
// withdrawn.
type Reply struct {
	To     Asker
	Answer protocol.Answer // Approval is To.ID
	By     protocol.Answerer
}

func (Asked) input()     {}
func (Withdrawn) input() {}
func (Reply) effect()    {}

// question is one that has no answer yet.
type question struct {
	approval protocol.Approval
	turn     protocol.TurnID
	call     *call // waits for the answer before it runs; nil: from gets a Reply
	from     Asker
	told     bool // to the user
}

// ask records a question and puts it to the user. Where nobody can answer, the
// answer is no, at once.
func (c *Core) ask(q *question) {
	c.askSeq++
	q.approval.ID = protocol.ApprovalID("ask_" + strconv.Itoa(c.askSeq))
	if c.turn != nil && q.from.Agent == "" {
		q.turn = c.turn.id
	}
	a := q.approval
	if c.o.Fault != AskUnrecorded {
		c.record(history.QuestionAsked{Turn: q.turn, Question: a.ID, Kind: a.Kind(), Agent: a.Agent, Call: a.Call,
			Asked: shown(a)})
	}
	c.questions = append(c.questions, q)
	switch {
	case c.o.Fault.allows(q):
		c.settleQuestion(q, protocol.Answer{Decision: protocol.Once}, protocol.ByUser)
	case c.o.Headless:
		c.settleQuestion(q, protocol.Answer{Decision: protocol.Deny, Words: "there is nobody to ask"}, protocol.ByNobody)
	case c.closing, q.from.Agent == "" && c.turn != nil && c.turn.stopping != nil:
		c.void(q)
	default:
		q.told = true
		c.tellOf(q, protocol.ApprovalRequested{Approval: a})
	}
}

// shown is what the user was asked about, for the record.
func shown(a protocol.Approval) string {
	switch {
	case a.Command != nil:
		return a.Command.Command
	case a.Change != nil:
		return a.Change.Diff
	case a.Tool != nil:
		return a.Tool.Server + " " + a.Tool.Tool + " " + a.Tool.Args
	case a.Network != nil:
		return a.Network.Host + ":" + strconv.Itoa(a.Network.Port) + " for " + a.Network.Command
	case a.Question != nil && a.Question.Server != "":
		return a.Question.Server + ": " + a.Question.Message
	case a.Question != nil:
		return a.Question.Message
	}
	return a.Reason
}

// askedBy takes a question of something that is under way.
func (c *Core) askedBy(in Asked) {
	c.ask(&question{approval: in.Approval, turn: in.Turn, from: in.From})
}

// withdrawn closes the question of an asker that does not wait any more.
func (c *Core) withdrawn(in Withdrawn) {
	for _, q := range c.questions {
		if q.call == nil && q.from == in.From {
			c.closeQuestion(q, protocol.Answer{Decision: protocol.Void}, "")
			return
		}
	}
}

// answer takes the user's answer to an open question.
func (c *Core) answer(op protocol.Answer) {
	i := slices.IndexFunc(c.questions, func(q *question) bool { return q.approval.ID == op.Approval })
	if i < 0 || op.Decision == protocol.Void {
		return
	}
	c.settleQuestion(c.questions[i], op, protocol.ByUser)
}

// settleQuestion closes a question and hands the answer to whoever waits for it.
func (c *Core) settleQuestion(q *question, a protocol.Answer, by protocol.Answerer) {
	c.closeQuestion(q, a, by)
	if q.call != nil {
		c.decided(q, a, by)
		return
	}
	to := q.from
	if c.o.Fault == CrossAnswers && len(c.questions) > 0 {
		to = c.questions[0].from
	}
	a.Approval = to.ID
	c.do(Reply{To: to, Answer: a, By: by})
	if a.Decision == protocol.Abort && q.from.Agent == "" {
		c.stop(ending{reason: protocol.AbortInterrupted})
	}
}

// closeQuestion records and tells the end of a question.
func (c *Core) closeQuestion(q *question, answer protocol.Answer, by protocol.Answerer) {
	c.questions = slices.DeleteFunc(c.questions, func(other *question) bool { return other == q })
	a := q.approval
	end := history.Approval{Turn: q.turn, Call: a.Call, Asked: shown(a), Decision: answer.Decision, Words: answer.Words,
		Question: a.ID, Kind: a.Kind(), Agent: a.Agent, By: by}
	if end.Kind == protocol.AskUser {
		end.Content = answer.Content
	}
	if c.o.Fault != AnswerUnrecorded {
		c.record(end)
	}
	if q.told {
		c.tellOf(q, protocol.ApprovalResolved{Approval: a.ID, Decision: answer.Decision})
	}
}

// void closes a question that needs no answer any more. A call that waits for
// the answer is finished by the caller; a sub-agent withdraws its question itself.
func (c *Core) void(q *question) {
	void := protocol.Answer{Approval: q.from.ID, Decision: protocol.Void, Words: "the question was withdrawn"}
	c.closeQuestion(q, protocol.Answer{Decision: protocol.Void}, "")
	if q.call == nil && q.from.Agent == "" {
		c.do(Reply{To: q.from, Answer: void})
	}
}

// withdrawOpen withdraws the open questions of the sub-agents, or those of the
// session that no call waits for.
func (c *Core) withdrawOpen(agents bool) {
	if c.o.Fault == LeaveAsking {
		return
	}
	for _, q := range slices.Clone(c.questions) {
		if q.call == nil && (q.from.Agent != "") == agents {
			c.void(q)
		}
	}
}

// withdrawCall withdraws the question that a call waits for.
func (c *Core) withdrawCall(k *call) {
	for _, q := range slices.Clone(c.questions) {
		if q.call == k {
			c.void(q)
		}
	}
}

// decided goes on with a call whose question was answered.
func (c *Core) decided(q *question, a protocol.Answer, by protocol.Answerer) {
	k := q.call
	switch {
	case a.Decision.Allows():
		k.state = running
		c.do(Run{Call: k.call.ID, Proposal: k.proposal, Decision: a.Decision, Answer: a, Try: k.tries})
	case a.Decision == protocol.Abort:
		c.finish(k, unallowed(k, "rejected by the user, who ended the turn", ""))
		c.stop(ending{reason: protocol.AbortInterrupted})
	case by == protocol.ByNobody:
		text := unanswerable(q.approval.Reason)
		k.body = withError(k.body, text)
		c.over(k, unallowed(k, text, ""))
	default:
		said := ""
		if a.Words != "" {
			said = " The user says: " + a.Words
		}
		text := "rejected by the user; it was not run"
		if said != "" {
			text += "." + said
		}
		c.over(k, unallowed(k, text, "\nThe user did not allow more."+said))
	}
}

// unallowed is the outcome of a call that was not allowed: text or, if a part of it
// ran before the user was asked again, the outcome of that part and more.
func unallowed(k *call, text, more string) Outcome {
	if k.prior == nil {
		return Outcome{Text: text, Declined: true, Body: k.body}
	}
	o := *k.prior
	o.Text += more
	return o
}

// unanswerable tells the model that nobody can be asked here.
func unanswerable(reason string) string {
	return "not run: it needs the user's approval (" + reason + ") and this run has nobody to ask. " +
		"Find a way that needs no approval, or tell the user to allow it: run with another --sandbox or approval policy"
}

// withError adds to a body why its call did not run.
func withError(b protocol.Body, text string) protocol.Body {
	switch b := b.(type) {
	case protocol.ToolCall:
		b.Error = text
		return b
	case protocol.FileChange:
		b.Error = text
		return b
	}
	return b
}
