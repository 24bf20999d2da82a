package turn

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/text/order"
)

// round is one request with its response and the calls in it.
type round struct {
	out         *output
	turn        *turn  // that it belongs to
	plan        string // that it proposed, in plan mode
	number      int
	streamOver  bool
	done        bool // a Done chunk came
	failure     *model.Error
	calledTools bool
	left        unfinished
	repeated    bool          // a message was one that was shown before the answer broke off
	texts       map[int]*text // assistant messages and reasoning under way, by index
	closed      map[int]bool  // indexes whose item is done
	parts       []part
	calls       []*call // in the order of the response
	recorded    int     // calls whose tool_call record is written
}

// part is one whole item of the response.
type part struct {
	index int
	item  *model.Item
	call  *call // its call, if it is one that runs or is answered
}

// text is a message or reasoning that is streaming. In plan mode item is empty
// until something is said beside the plans.
type text struct {
	item  protocol.ItemID
	body  []byte
	kind  model.Kind
	plans *plans
	echo  echo // what it may repeat
}

func newRound(n int, t *turn, out *output) *round {
	return &round{number: n, turn: t, out: out, texts: map[int]*text{}, closed: map[int]bool{}}
}

// over reports whether the stream ended and every call has its outcome.
func (r *round) over() bool {
	if !r.streamOver {
		return false
	}
	for _, k := range r.calls {
		if k.state != finished {
			return false
		}
	}
	return true
}

// current returns the round if n is the one whose stream is open.
func (t *turn) current(n int) *round {
	if t == nil || t.phase != sampling || t.round.number != n || t.round.streamOver {
		return nil
	}
	return t.round
}

func (c *Core) chunk(in Chunk) {
	if c.turn.summarizing(in.Round) {
		c.summaryChunk(in.Chunk)
		return
	}
	r := c.turn.current(in.Round)
	if r == nil || r.done {
		return
	}
	switch ch := in.Chunk.(type) {
	case model.ItemAdded:
		if ch.Item != nil && ch.Item.Kind == model.Message {
			r.open(ch.Index, model.Message)
		}
	case model.TextDelta:
		r.grow(ch.Index, model.Message, ch.Text)
	case model.ReasoningDelta:
		r.grow(ch.Index, model.Reasoning, ch.Text)
	case model.ItemDone:
		c.itemDone(r, ch)
	case model.Limits:
		c.tell(protocol.RateLimits{Values: ch.Values})
	case model.Notice:
		c.tell(protocol.Warning{Message: ch.Text})
	case model.Searched:
		c.complete(c.newItem(), protocol.Completed, protocol.WebSearch{Query: ch.Query})
	case model.Done:
		r.done = true
		c.model = c.turn.settings.Model
		c.countTokens(ch.Usage, r.number, c.size)
		r.stopped(ch)
	}
}

// open starts a streaming item; a second start of the same index is ignored.
func (r *round) open(index int, kind model.Kind) *text {
	if r.closed[index] {
		return nil
	}
	if t := r.texts[index]; t != nil {
		return t
	}
	t := &text{kind: kind}
	r.texts[index] = t
	if kind == model.Message && r.turn.settings.Mode().Plans() {
		t.plans = &plans{}
		return t
	}
	if kind == model.Message && len(r.turn.before) > 0 {
		return t // it may be one that was shown already
	}
	r.begun(t)
	return t
}

// begun shows that t begins.
func (r *round) begun(t *text) {
	t.item = r.out.show(t.show(""))
}

func (r *round) grow(index int, kind model.Kind, s string) {
	if s == "" {
		return
	}
	t := r.open(index, kind)
	switch {
	case t == nil:
	case t.plans != nil:
		t.body = append(t.body, s...)
		r.grownPlan(t, t.plans.parser.Write(s))
	case t.item == "":
		t.body = append(t.body, s...)
		if t.echo.repeats(r.turn.before, t.body) {
			return
		}
		r.begun(t)
		r.out.tell(protocol.ItemDelta{Item: t.item, Text: string(t.body)})
	default:
		t.body = append(t.body, s...)
		r.out.tell(protocol.ItemDelta{Item: t.item, Text: s})
	}
}

func (t *text) show(s string) protocol.Body {
	if t.kind == model.Reasoning {
		return protocol.Reasoning{Text: s}
	}
	return protocol.AgentMessage{Text: s}
}

// itemDone takes a whole item. The first one of an index counts.
func (c *Core) itemDone(r *round, d model.ItemDone) {
	if d.Item == nil || r.closed[d.Index] {
		return
	}
	r.closed[d.Index] = true
	switch d.Item.Kind {
	case model.Message:
		r.message(d.Index, d.Item, false)
	case model.Reasoning:
		r.reasoning(d.Index, d.Item)
	case model.Call:
		c.called(r, d.Index, d.Item)
	}
}

func (r *round) message(index int, it *model.Item, partial bool) {
	m := history.AssistantMessage{Turn: r.turn.id, Round: r.number, Index: index, Text: it.Text(),
		ItemID: it.ID, Partial: partial}
	said := m.Text
	if r.turn.settings.Mode().Plans() {
		if said, m.Plan = r.closePlans(index, m.Text); m.Plan != "" && !partial {
			r.plan = m.Plan // one that was cut off is no proposal
		}
	}
	if !partial && r.turn.repeated(m.Text) {
		r.closeText(index, model.Message, "")
		r.turn.last, r.repeated = said, true
		return
	}
	r.closeText(index, model.Message, said)
	if strings.TrimSpace(m.Text) == "" {
		return
	}
	if said != "" {
		r.turn.last = r.turn.carried + said
		r.turn.carried = ""
	}
	r.out.record(m)
	r.parts = append(r.parts, part{index, m.Item(), nil})
}

func (r *round) reasoning(index int, it *model.Item) {
	rec := history.Reasoning{Turn: r.turn.id, Round: r.number, Index: index, Summary: it.Summary,
		Encrypted: it.Encrypted, ItemID: it.ID}
	joined := ""
	for i, s := range it.Summary {
		if i > 0 {
			joined += "\n\n"
		}
		joined += s
	}
	r.closeText(index, model.Reasoning, joined)
	r.out.record(rec)
	r.parts = append(r.parts, part{index, rec.Item(), nil})
}

// closeText completes the streaming item at index; an empty one is dropped, and
// one that never streamed is completed at once.
func (r *round) closeText(index int, kind model.Kind, whole string) {
	t := r.texts[index]
	delete(r.texts, index)
	switch {
	case whole == "" && (t == nil || t.item == ""):
		return
	case t == nil || t.item == "":
		t = &text{item: r.out.newItem(), kind: kind}
	case whole == "":
		r.out.tell(protocol.ItemDropped{Item: t.item})
		return
	}
	t.kind = kind
	r.out.complete(t.item, protocol.Completed, t.show(whole))
}

// keepPartial keeps the text of messages that an interrupt cut off.
func (r *round) keepPartial() {
	for _, i := range sortedKeys(r.texts) {
		t := r.texts[i]
		r.closed[i] = true
		if t.kind == model.Message && !t.echo.repeats(r.turn.before, t.body) {
			r.message(i, &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: string(t.body)}}}, true)
			continue
		}
		r.closeText(i, t.kind, "")
	}
}

// dropPartial withdraws what was streaming when the stream broke.
func (r *round) dropPartial() {
	for _, i := range sortedKeys(r.texts) {
		r.withdraw(r.texts[i])
		delete(r.texts, i)
	}
}

func sortedKeys(m map[int]*text) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (c *Core) streamEnded(in StreamEnded) {
	if c.turn.summarizing(in.Round) {
		c.summaryEnded(in.Err)
		return
	}
	r := c.turn.current(in.Round)
	if r == nil {
		return
	}
	r.streamOver = true
	if !r.done {
		r.failure = asModelError(in.Err)
	}
	if c.o.Fault != LeaveItemOpen {
		r.dropPartial()
	}
	c.advance()
}

func asModelError(err error) *model.Error {
	var me *model.Error
	if errors.As(err, &me) {
		return me
	}
	if err == nil {
		return &model.Error{Kind: model.Broken, Message: "stream closed before the response was complete", Began: true}
	}
	return &model.Error{Kind: model.Network, Message: err.Error(), Err: err}
}

// closeRound appends the response to the history: its items in order, then the
// outputs in the order of their calls.
func (c *Core) closeRound() {
	r := c.turn.round
	order.Stably(r.parts, func(x, y part) int { return cmp.Compare(x.index, y.index) })
	for _, p := range r.parts {
		c.add(p.item)
		c.idle = false
	}
	for _, p := range r.parts {
		if p.call != nil {
			if c.o.Fault == LoseOutput {
				continue
			}
			c.add(p.call.output)
			if c.o.Fault == OutputTwice {
				c.add(p.call.output)
			}
		}
	}
	r.parts = nil
	if r.plan != "" {
		c.plan = r.plan
	}
}

// called takes a whole call. What a response says twice, or says again after the
// stream broke, runs only once; a provider that uses an id anew means a new call.
func (c *Core) called(r *round, index int, it *model.Item) {
	if it.Name == "" {
		r.left.nameless = true
		return
	}
	id := protocol.CallID(it.CallID)
	if c.turn.chain[id] && c.o.Fault != RunTwice {
		r.calledTools = true // its output is there, and the model is to go on
		return
	}
	for id == "" || c.used[id] && c.o.Fault != RunTwice {
		c.callSeq++
		id = protocol.CallID("call_" + strconv.Itoa(r.number) + "_" + strconv.Itoa(c.callSeq))
	}
	c.used[id] = true
	if c.turn.chain == nil {
		c.turn.chain = map[protocol.CallID]bool{}
	}
	c.turn.chain[id] = true
	if it.CallID != "" {
		c.turn.chain[protocol.CallID(it.CallID)] = true
	}
	args, _ := history.SplitInput(it.Style, it.Input)
	k := &call{index: index, style: it.Style, itemID: it.ID, input: it.Input,
		call: tool.Call{ID: id, Name: it.Name, Args: json.RawMessage(args)}}
	k.parallel = c.o.Parallel(k.call)
	r.calledTools = true
	r.calls = append(r.calls, k)
	item := *it
	item.CallID = string(id)
	r.parts = append(r.parts, part{index, &item, k})
	if len(r.calls) > c.o.MaxCalls {
		c.finish(k, Outcome{Text: "not run: at most " + strconv.Itoa(c.o.MaxCalls) +
			" calls of one response are run; make the rest in the next one", Declined: true})
		return
	}
	c.schedule()
}

// countTokens takes the usage of the response to request round, whose items were
// estimated at sent tokens. Without a report the estimate counts.
func (c *Core) countTokens(u *model.Usage, round, sent int) {
	t := c.turn
	t.requests, t.streams = 0, 0
	if u == nil {
		c.context = sent + c.extra
		return
	}
	last := protocol.Usage(*u)
	t.usage, c.total = t.usage.Add(last), c.total.Add(last)
	c.measured(last, sent)
	c.spent.add(&c.o, c.model, last)
	window, _ := c.o.limits(c.model)
	c.record(history.TokenUsage{Turn: t.id, Round: round, Usage: last})
	c.tell(protocol.TokensUsed{Last: last, Turn: t.usage, Total: c.total, Window: window})
}
