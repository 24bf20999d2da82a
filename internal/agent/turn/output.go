package turn

import (
	"strconv"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
)

// output collects what one step asks for.
type output struct {
	ready Ready
	turn  protocol.TurnID // the running turn, to which events belong, or empty
	shown int             // items that were numbered
	notes *history.Notes  // sees every record
}

// take returns what was collected and begins anew.
func (o *output) take() Ready {
	r := o.ready
	o.ready = Ready{}
	return r
}

func (o *output) record(r history.Record) {
	o.ready.Records = append(o.ready.Records, r)
	o.notes.Observe(r)
}

func (o *output) do(e ...Effect) { o.ready.Effects = append(o.ready.Effects, e...) }

// tell tells something about the running turn.
func (o *output) tell(m protocol.Msg) {
	o.ready.Events = append(o.ready.Events, Told{Turn: o.turn, Submission: string(o.turn), Msg: m})
}

// tellOf tells something about a question.
func (o *output) tellOf(q *question, m protocol.Msg) {
	o.ready.Events = append(o.ready.Events,
		Told{Turn: q.turn, Submission: string(q.turn), Agent: q.approval.Agent, Msg: m})
}

// reply tells something that belongs to no turn.
func (o *output) reply(submission string, m protocol.Msg) {
	o.ready.Events = append(o.ready.Events, Told{Submission: submission, Msg: m})
}

// giveBack returns input that came too late to be part of any turn.
func (o *output) giveBack(s Submit) {
	o.reply(s.ID, protocol.TurnAborted{Reason: protocol.AbortInterrupted, Undelivered: s.Op.(protocol.UserInput).Items})
}

// newItem returns the id of the next item.
func (o *output) newItem() protocol.ItemID {
	o.shown++
	return protocol.ItemID("item_" + strconv.Itoa(o.shown))
}

// show starts an item and returns its id.
func (o *output) show(body protocol.Body) protocol.ItemID {
	id := o.newItem()
	o.tell(protocol.ItemStarted{Item: protocol.Item{ID: id, Status: protocol.InProgress, Body: body}})
	return id
}

// update shows what an item has become.
func (o *output) update(id protocol.ItemID, body protocol.Body) {
	o.tell(protocol.ItemUpdated{Item: protocol.Item{ID: id, Status: protocol.InProgress, Body: body}})
}

// complete ends an item.
func (o *output) complete(id protocol.ItemID, status protocol.Status, body protocol.Body) {
	o.tell(protocol.ItemCompleted{Item: protocol.Item{ID: id, Status: status, Body: body}})
}
