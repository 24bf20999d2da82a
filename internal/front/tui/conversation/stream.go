package conversation

import (
	"slices"
	"strings"
	"time"

	"kerf/internal/front/tui/markdown"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

const (
	// maxOutput bounds the output of a running command that is kept to be shown.
	maxOutput = 64 << 10
	// maxEntries bounds what is kept to be drawn again.
	maxEntries = 4000
	// maxWaiting bounds what is written at once of a conversation that nobody looked at.
	maxWaiting = 400
)

// entry is one thing of the stream: an item, a group of calls that only looked, or words
// of Kerf's own. Entries stand in the order in which they began, and are written to the
// terminal in that order, each once.
type entry struct {
	item  protocol.Item
	calls []protocol.Item             // of a group
	draw  func(f Format) []style.Line // words of Kerf's own
	open  bool                        // under way
	since time.Time                   // when it began
	tight bool                        // no empty row before what follows

	// Of a text that is written as it comes.
	stream *markdown.Stream
	text   strings.Builder
	fresh  []style.Line // final rows that are not written yet
	begun  bool         // its first row is written
	broken bool         // the model starts it again

	output string // the end of what a command printed
}

// streams reports whether rows of a body are written while its text grows.
func streams(b protocol.Body) bool {
	switch b.(type) {
	case protocol.AgentMessage, protocol.ProposedPlan:
		return true
	}
	return false
}

// Text returns the text of the bodies that grow by it.
func Text(b protocol.Body) (text string, ok bool) {
	switch b := b.(type) {
	case protocol.AgentMessage:
		return b.Text, true
	case protocol.Reasoning:
		return b.Text, true
	case protocol.ProposedPlan:
		return b.Text, true
	}
	return "", false
}

// rows draws an entry whole, as it is now.
func (e *entry) rows(f Format) []style.Line {
	f.Since = e.since
	switch b := e.item.Body.(type) {
	case nil:
		if e.draw != nil {
			return e.draw(f)
		}
		return f.explored(e.calls)
	case protocol.Command:
		if e.open {
			b.Output = e.output
		}
		return f.Item(protocol.Item{ID: e.item.ID, Status: e.item.Status, Body: b})
	case protocol.Reasoning:
		if e.open {
			return f.thinking(e.text.String())
		}
	}
	if e.broken {
		s := markdown.New(f.Width - 2)
		rows := f.marked(e.item.Body, s.Write(e.text.String()), true)
		return append(rows, style.L(style.Warn, "  ⤺ the stream broke; the model starts this again").Cut(f.Width))
	}
	return f.Item(e.item)
}

// grow takes more text of an entry that streams; its final rows become fresh.
func (e *entry) grow(f Format, text string) {
	e.text.WriteString(text)
	e.add(f, e.stream.Write(text))
}

func (e *entry) add(f Format, rows []style.Line) {
	if len(rows) > 0 {
		e.fresh = append(e.fresh, f.marked(e.item.Body, rows, !e.begun && len(e.fresh) == 0)...)
	}
}

// tail are the rows of a streamed text that are not written yet.
func (e *entry) tail(f Format) []style.Line {
	rows := slices.Clip(e.fresh)
	if e.stream == nil {
		return rows
	}
	return append(rows, f.marked(e.item.Body, e.stream.Tail(), !e.begun && len(rows) == 0)...)
}

// lay draws a streamed text again for another width: all its final rows are fresh.
func (e *entry) lay(f Format) {
	if !e.open && !e.begun {
		e.fresh = nil // it is drawn from its item
	}
	if e.stream != nil {
		e.stream, e.fresh = markdown.New(f.Width-2), nil
		begun := e.begun
		e.begun = false
		e.add(f, e.stream.Write(e.text.String()))
		e.begun = begun
	}
}

// put appends an entry.
func (c *Conversation) put(e *entry) *entry {
	e.since = c.o.Now()
	c.entries = append(c.entries, e)
	if n := len(c.entries); n > maxEntries+maxEntries/4 {
		cut := n - maxEntries
		if c.done < cut {
			c.missed = true
		}
		c.entries, c.done = slices.Clone(c.entries[cut:]), max(0, c.done-cut)
	}
	return e
}

// Write adds words of Kerf's own; draw makes their rows.
func (c *Conversation) Write(draw func(f Format) []style.Line) { c.put(&entry{draw: draw}) }

// Note writes a text with a mark before it.
func (c *Conversation) Note(role style.Role, mark, text string) {
	c.Write(func(f Format) []style.Line { return f.Note(role, mark, text) })
}

// Blank adds n empty rows; what is above them is not drawn again.
func (c *Conversation) Blank(n int) {
	c.above = append(c.Take(), make([]style.Line, n)...)
	c.entries, c.done, c.gap = c.entries[c.done:], 0, false
}

// find returns the entry under way with an item, and the item in its group, or -1.
func (c *Conversation) find(id protocol.ItemID) (*entry, int) {
	for _, e := range slices.Backward(c.entries[c.done:]) {
		if e.item.Body != nil && e.item.ID == id && e.open {
			return e, -1
		}
		i := slices.IndexFunc(e.calls, func(it protocol.Item) bool { return it.ID == id })
		if i >= 0 && e.calls[i].Status == protocol.InProgress {
			return e, i
		}
	}
	return nil, -1
}

// begin takes an item: it stands where it begins, wherever it ends.
func (c *Conversation) begin(it protocol.Item) *entry {
	if call, ok := it.Body.(protocol.ToolCall); ok && looks(call) && !failed(it) {
		return c.look(it)
	}
	e := c.put(&entry{item: it, open: true})
	if streams(it.Body) {
		e.stream = markdown.New(c.o.Format().Width - 2)
	}
	if cmd, ok := it.Body.(protocol.Command); ok {
		e.output = cmd.Output
	}
	if text, ok := Text(it.Body); ok && text != "" {
		c.grow(e, text)
	}
	return e
}

// look puts a call that only looks into the group at the end, or begins one.
func (c *Conversation) look(it protocol.Item) *entry {
	it = looked(it)
	if n := len(c.entries); n > c.done {
		if e := c.entries[n-1]; len(e.calls) > 0 && len(e.calls) < maxGroup {
			e.calls = append(e.calls, it)
			return e
		}
	}
	return c.put(&entry{calls: []protocol.Item{it}})
}

func (c *Conversation) grow(e *entry, text string) {
	switch e.item.Body.(type) {
	case protocol.Reasoning:
		e.text.WriteString(text)
	case protocol.Command:
		e.output += text
		if len(e.output) > maxOutput {
			e.output = e.output[len(e.output)-maxOutput/2:]
		}
	default:
		if e.stream != nil {
			e.grow(c.o.Format(), text)
		}
	}
}

// update replaces what is known of an item. Text that grew is taken as more text.
func (c *Conversation) update(e *entry, i int, it protocol.Item) {
	if i >= 0 {
		e.calls[i] = it
		return
	}
	if text, ok := Text(it.Body); ok {
		if n := e.text.Len(); len(text) > n {
			c.grow(e, text[n:])
		}
		e.item.Status = it.Status
		return
	}
	e.item = it
	if cmd, ok := it.Body.(protocol.Command); ok && cmd.Output != "" {
		e.output = cmd.Output[max(0, len(cmd.Output)-maxOutput):]
	}
}

// drop withdraws an item; when rows of it are written, they are marked as void.
func (c *Conversation) drop(e *entry) {
	if e.begun {
		e.fresh = append(e.fresh, style.L(style.Warn, "  ⤺ the stream broke; the model starts this again"))
		e.open, e.broken, e.stream = false, true, nil
		return
	}
	if i := slices.Index(c.entries, e); i >= 0 {
		c.entries = slices.Delete(c.entries, i, i+1)
	}
}

// complete takes an item that is over.
func (c *Conversation) complete(turn protocol.TurnID, it protocol.Item) {
	it = c.Transcript.Add(it)
	switch b := it.Body.(type) {
	case protocol.ProposedPlan:
		c.Proposed = true
	case protocol.UserMessage:
		c.Turns = append(c.Turns, Mark{turn, InputText(b.Input), c.o.Now()})
	}
	e, i := c.find(it.ID)
	switch {
	case i >= 0:
		e.calls[i] = looked(it)
		return
	case e == nil:
		e = c.begin(it)
		if len(e.calls) > 0 {
			return
		}
	}
	if text, ok := Text(it.Body); ok && e.stream != nil {
		if n := e.text.Len(); len(text) > n {
			c.grow(e, text[n:])
		}
	}
	e.item = it
	c.shut(e)
}

// shut ends an entry; what is left of its text becomes final.
func (c *Conversation) shut(e *entry) {
	e.open = false
	if e.stream != nil {
		e.add(c.o.Format(), e.stream.Close())
		e.stream = nil
	}
	e.text.Reset() // it is drawn from its item now
	e.output = ""
}

// CloseLive finishes what a turn left open.
func (c *Conversation) CloseLive(st protocol.Status) {
	for _, e := range c.entries[c.done:] {
		for i := range e.calls {
			if e.calls[i].Status == protocol.InProgress {
				e.calls[i].Status = st
			}
		}
		if !e.open {
			continue
		}
		switch b := e.item.Body.(type) {
		case protocol.Command:
			b.Output = e.output
			e.item.Body = b
		case protocol.Reasoning:
			b.Text = e.text.String()
			e.item.Body = b
		case protocol.AgentMessage:
			b.Text = e.text.String()
			e.item.Body = b
		case protocol.ProposedPlan:
			b.Text = e.text.String()
			e.item.Body = b
		}
		e.item.Status = st
		c.shut(e)
	}
}

// waits reports whether an entry at the end may still change, though nothing of it is
// under way: another call may join its group.
func (c *Conversation) waits(i int) bool {
	e := c.entries[i]
	if len(e.calls) == 0 {
		return false
	}
	return slices.ContainsFunc(e.calls, func(it protocol.Item) bool { return it.Status == protocol.InProgress }) ||
		c.Running && i == len(c.entries)-1
}

// Take returns the rows that became final since it was called last: those of the entries
// that are over, up to the first one that is not, and the final ones of that.
func (c *Conversation) Take() []style.Line {
	rows := c.above
	c.above = nil
	f := c.format()
	if n := len(c.entries); n-c.done > maxWaiting || c.missed {
		c.done, c.missed = max(c.done, n-maxWaiting), false
		rows = append(rows, style.L(style.Dim, "… earlier rows are not kept here (ctrl+t shows them)").Cut(f.Width))
	}
	for ; c.done < len(c.entries); c.done++ {
		e := c.entries[c.done]
		if e.open && e.stream == nil || c.waits(c.done) {
			break
		}
		out := e.fresh
		if len(out) == 0 && !e.begun && !e.open {
			out = e.rows(f)
		}
		e.fresh = nil
		if len(out) > 0 {
			if c.gap && !e.begun {
				rows = append(rows, nil)
			}
			rows = append(rows, out...)
			c.gap, e.begun = !e.tight, true
		}
		if e.open {
			break
		}
	}
	return rows
}

// Again draws for the width that Format tells now: it returns rows of what was written,
// from the beginning of an entry on, at least n where there are so many, and all that was
// not written yet.
func (c *Conversation) Again(n int) []style.Line {
	f := c.format()
	c.Take()
	end := c.done
	if end < len(c.entries) && c.entries[end].begun {
		end++
	}
	for _, e := range c.entries[c.done:] {
		e.lay(f)
	}
	var parts [][]style.Line
	have, from := 0, end
	for from > 0 && have < n {
		from--
		e := c.entries[from]
		var rows []style.Line
		if e.open {
			rows = e.fresh
			e.fresh = nil
		} else {
			rows = e.rows(f)
		}
		if len(rows) == 0 {
			continue
		}
		if len(parts) > 0 && !e.tight {
			rows = append(slices.Clip(rows), nil)
		}
		parts = append(parts, rows)
		have += len(rows)
	}
	var rows []style.Line
	for _, p := range slices.Backward(parts) {
		rows = append(rows, p...)
	}
	return rows
}

// LiveRows draws the items under way, the newest rows of them when there are more
// than room.
func (c *Conversation) LiveRows(width, room int) []style.Line {
	if room <= 0 {
		return nil
	}
	f := c.format()
	f.Width = width
	var rows []style.Line
	gap := c.gap
	for i, e := range c.entries[c.done:] {
		var drawn []style.Line
		if e.stream != nil || len(e.fresh) > 0 {
			drawn = e.tail(f)
		} else {
			drawn = e.rows(f)
		}
		if len(drawn) == 0 {
			continue
		}
		if gap && !(i == 0 && e.begun) {
			rows = append(rows, nil)
		}
		rows = append(rows, drawn...)
		gap = !e.tight
	}
	if len(rows) > room {
		rows = rows[len(rows)-room:]
	}
	return rows
}

// InputText is the text of a message, images as a word.
func InputText(in []protocol.Input) string {
	s := ""
	for _, i := range in {
		if i.ImageURL != "" {
			s += "[image] "
			continue
		}
		s += i.Text
	}
	return s
}
