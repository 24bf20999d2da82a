package hub

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kerf/internal/protocol"
	"kerf/internal/text/order"
)

// log holds the events of a session for those who come later. Numbers rise, with gaps.
//
// It keeps about limit bytes. What is older goes, but for what a front end must know to
// join: the latest word on each thing, items and questions that are still open, and
// the text so far of what is still being said. Texts that grew are forgotten when
// their item is complete, which says it all.
type log struct {
	limit   int
	entries []entry
	size    int // of entries, in bytes
	dead    int // of that, in what no longer counts
	first   uint64
	last    uint64
	// pins are the entries that stay, by what they are about; done are the complete
	// items whose growth is still in entries.
	pins map[pin]entry
	done map[pin]bool
}

type entry struct {
	event protocol.Event
	size  int
}

// pin names what an event is about, as far as later events replace or end it.
type pin struct{ kind, agent, id string }

func newLog(limit int) *log {
	return &log{limit: limit, first: 1, pins: map[pin]entry{}, done: map[pin]bool{}}
}

// put adds the next event.
func (l *log) put(e protocol.Event) {
	en := entry{event: e, size: sizeOf(e)}
	l.entries = append(l.entries, en)
	l.size += en.size
	l.last = e.Seq
	l.pinned(en)
	if l.size > l.limit || l.dead > l.limit/2 {
		l.trim()
	}
}

// pinned keeps account of what an event opens, replaces and ends.
func (l *log) pinned(en entry) {
	agent := string(en.event.Agent)
	switch m := en.event.Msg.(type) {
	case protocol.SessionStarted:
		l.pins[pin{kind: "session"}] = en
	case protocol.SettingsChanged:
		l.pins[pin{"settings", agent, ""}] = en
	case protocol.TitleChanged:
		l.pins[pin{"title", agent, ""}] = en
	case protocol.Agents:
		l.pins[pin{"agents", agent, ""}] = en
	case protocol.Processes:
		l.pins[pin{"processes", agent, ""}] = en
	case protocol.Servers:
		l.pins[pin{"servers", agent, ""}] = en
	case protocol.QueueChanged:
		l.pins[pin{"queue", agent, ""}] = en
	case protocol.TokensUsed:
		l.pins[pin{"tokens", agent, ""}] = en
	case protocol.TurnStarted:
		l.pins[pin{"turn", agent, string(en.event.Turn)}] = en
	case protocol.TurnCompleted, protocol.TurnFailed, protocol.TurnAborted:
		delete(l.pins, pin{"turn", agent, string(en.event.Turn)})
	case protocol.ItemStarted:
		l.pins[pin{"item", agent, string(m.Item.ID)}] = en
	case protocol.ItemUpdated:
		l.pins[pin{"update", agent, string(m.Item.ID)}] = en
	case protocol.ItemCompleted:
		l.itemEnded(agent, m.Item.ID)
	case protocol.ItemDropped:
		l.itemEnded(agent, m.Item)
	case protocol.ApprovalRequested:
		l.pins[pin{"question", agent, string(m.Approval.ID)}] = en
	case protocol.ApprovalResolved:
		delete(l.pins, pin{"question", agent, string(m.Approval)})
	}
}

// itemEnded forgets what an item needs while it is open.
func (l *log) itemEnded(agent string, id protocol.ItemID) {
	if _, started := l.pins[pin{"item", agent, string(id)}]; !started {
		return // so nothing of it grew
	}
	for _, kind := range []string{"item", "update", "growth"} {
		delete(l.pins, pin{kind, agent, string(id)})
	}
	grown := pin{"growth", agent, string(id)}
	for _, en := range slices.Backward(l.entries) {
		if started, ok := en.event.Msg.(protocol.ItemStarted); ok && growthOf(en.event, started.Item.ID) == grown {
			break
		}
		if d, ok := en.event.Msg.(protocol.ItemDelta); ok && growthOf(en.event, d.Item) == grown {
			l.done[grown] = true
			l.dead += en.size
		}
	}
}

func growthOf(e protocol.Event, id protocol.ItemID) pin {
	return pin{"growth", string(e.Agent), string(id)}
}

// trim forgets the growth of complete items, then the oldest entries until half of
// the limit is left.
func (l *log) trim() {
	l.entries = slices.DeleteFunc(l.entries, func(en entry) bool {
		d, ok := en.event.Msg.(protocol.ItemDelta)
		gone := ok && l.done[growthOf(en.event, d.Item)]
		if gone {
			l.size -= en.size
		}
		return gone
	})
	clear(l.done)
	l.dead = 0
	if l.size <= l.limit {
		return
	}
	n, open := 0, l.growing()
	for ; n < len(l.entries)-1 && l.size > l.limit/2; n++ {
		en := l.entries[n]
		l.size -= en.size
		if d, ok := en.event.Msg.(protocol.ItemDelta); ok {
			open.add(growthOf(en.event, d.Item), en.event, d)
		}
	}
	for p, e := range open.events() {
		l.pins[p] = entry{e, sizeOf(e)}
	}
	l.first = l.entries[n].event.Seq
	l.entries = slices.Clone(l.entries[n:])
}

// growths are the texts so far of items that are open. They are put together at the end, since
// a text may have come in a hundred thousand parts.
type growths map[pin]*growth

type growth struct {
	last protocol.Event
	text strings.Builder
}

// growing are the texts so far that were kept when what they came in went.
func (l *log) growing() growths {
	all := growths{}
	for p, en := range l.pins {
		if d, ok := en.event.Msg.(protocol.ItemDelta); ok {
			all.add(p, en.event, d)
		}
	}
	return all
}

func (g growths) add(p pin, e protocol.Event, d protocol.ItemDelta) {
	if g[p] == nil {
		g[p] = &growth{}
	}
	g[p].last = e
	g[p].text.WriteString(d.Text)
}

// events has an event for each text, with the number of its last part.
func (g growths) events() map[pin]protocol.Event {
	all := make(map[pin]protocol.Event, len(g))
	for p, one := range g {
		e, d := one.last, one.last.Msg.(protocol.ItemDelta)
		d.Text = one.text.String()
		e.Msg = d
		all[p] = e
	}
	return all
}

// after returns the kept events with numbers above seq, oldest first, at most n of
// them and those that must be known to join. Of what is below first it returns only
// those; who had seen a part of it is told so.
func (l *log) after(seq uint64, n int) []protocol.Event {
	var out []protocol.Event
	if seq+1 < l.first {
		for p, en := range l.pins {
			if s := en.event.Seq; s > seq && s < l.first && (seq == 0 || p.kind != "growth") {
				out = append(out, en.event)
			}
		}
		order.By(out, func(a, b protocol.Event) int { return cmp.Compare(a.Seq, b.Seq) })
		if seq > 0 {
			out = l.missed(out, seq)
			n = max(n, len(out))
		}
	}
	at, _ := slices.BinarySearchFunc(l.entries, seq+1,
		func(en entry, s uint64) int { return cmp.Compare(en.event.Seq, s) })
	for _, en := range l.entries[at:] {
		if len(out) >= n {
			break
		}
		if d, ok := en.event.Msg.(protocol.ItemDelta); ok && l.done[growthOf(en.event, d.Item)] {
			continue
		}
		out = append(out, en.event)
	}
	return out
}

// join returns what must be known to join at the running turn: the latest word on each
// thing, and the events of the turn so far. Without one it is the former alone.
func (l *log) join() []protocol.Event {
	from := l.last + 1
	for p, en := range l.pins {
		if p.kind == "turn" && p.agent == "" {
			from = min(from, en.event.Seq)
		}
	}
	from = max(from, l.first)
	out := l.growthBefore(from)
	for p, en := range l.pins {
		if en.event.Seq < from && p.kind != "growth" {
			out = append(out, en.event)
		}
	}
	order.By(out, func(a, b protocol.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	for i, e := range out {
		if m, ok := e.Msg.(protocol.SessionStarted); ok {
			m.Resumed = true
			out[i].Msg = m
		}
	}
	return append(out, l.after(from-1, len(l.entries))...)
}

// growthBefore returns the texts so far of the items that are open, below from.
func (l *log) growthBefore(from uint64) []protocol.Event {
	texts := l.growing()
	for _, en := range l.entries {
		d, ok := en.event.Msg.(protocol.ItemDelta)
		p := growthOf(en.event, d.Item)
		if _, open := l.pins[pin{"item", p.agent, p.id}]; ok && open && en.event.Seq < from {
			texts.add(p, en.event, d)
		}
	}
	return slices.Collect(maps.Values(texts.events()))
}

// missed adds the warning that something between seq and first is not there any more, if
// so, with the number of the first of that.
func (l *log) missed(pins []protocol.Event, seq uint64) []protocol.Event {
	at := 0
	for at < len(pins) && pins[at].Seq == seq+1+uint64(at) {
		at++
	}
	gap := seq + 1 + uint64(at)
	if gap >= l.first {
		return pins
	}
	return order.Insert(pins, at, protocol.Event{Seq: gap, Time: l.entries[0].event.Time, Msg: protocol.Warning{
		Message: fmt.Sprintf("some events from %d to %d were not kept for this front end; the transcript of the session has "+
			"what they told", gap, l.first-1)}})
}

// sizeOf is about what an event takes in memory, in bytes.
func sizeOf(e protocol.Event) int {
	const bare = 256
	switch m := e.Msg.(type) {
	case protocol.ItemDelta:
		return bare + len(m.Text)
	case protocol.ItemStarted:
		return bare + bodySize(m.Item.Body)
	case protocol.ItemUpdated:
		return bare + bodySize(m.Item.Body)
	case protocol.ItemCompleted:
		return bare + bodySize(m.Item.Body)
	case protocol.TurnDiff:
		return bare + len(m.Diff) + len(m.Outside)
	case protocol.ApprovalRequested:
		if c := m.Approval.Change; c != nil {
			return bare + len(c.Diff) + textSize(c.Files)
		}
	case protocol.Undone:
		return bare + len(m.Report.Diff)
	case protocol.TurnCompleted:
		return bare + len(m.LastMessage)
	}
	return bare
}

func bodySize(b protocol.Body) int {
	switch b := b.(type) {
	case protocol.UserMessage:
		n := 0
		for _, in := range b.Input {
			n += len(in.Text) + len(in.ImageURL)
		}
		return n
	case protocol.AgentMessage:
		return len(b.Text)
	case protocol.Reasoning:
		return len(b.Text)
	case protocol.ProposedPlan:
		return len(b.Text)
	case protocol.Command:
		return len(b.Command) + len(b.Output)
	case protocol.FileChange:
		return len(b.Diff) + textSize(b.Files)
	case protocol.ToolCall:
		n := len(b.Args) + len(b.Output) + len(b.Structured)
		for _, url := range b.Images {
			n += len(url)
		}
		return n
	}
	return 0
}

func textSize(files []protocol.FileText) int {
	n := 0
	for _, f := range files {
		for _, text := range []*string{f.Old, f.New} {
			if text != nil {
				n += len(*text)
			}
		}
	}
	return n
}
