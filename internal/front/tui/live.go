package tui

import (
	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/markdown"
	"kerf/internal/protocol"
)

// maxOutput bounds the output of a running command that is kept to be shown.
const maxOutput = 64 << 10

// cell is an item that is not over. Its text is given out as it becomes final, so
// that a long answer does not stay in memory.
type cell struct {
	item   protocol.Item
	stream *markdown.Stream
	begun  bool   // its first row is out
	output string // the end of a command's output
	text   int    // bytes of text taken so far
}

func newCell(it protocol.Item, width int) *cell {
	c := &cell{item: it}
	if _, _, ok := textOf(it.Body); ok {
		c.stream = markdown.New(width - 2)
	}
	return c
}

// textOf returns the text of the bodies that are streamed.
func textOf(b protocol.Body) (text string, quiet, ok bool) {
	switch b := b.(type) {
	case protocol.AgentMessage:
		return b.Text, false, true
	case protocol.Reasoning:
		return b.Text, true, true
	case protocol.ProposedPlan:
		return b.Text, false, true
	}
	return "", false, false
}

func (c *cell) resize(width int) {
	if c.stream != nil {
		c.stream.SetWidth(width - 2)
	}
}

// dress gives rows of a streamed text their mark and style.
func (c *cell) dress(rows []ink.Line, first bool) []ink.Line {
	mark := ink.S(ink.Accent, "• ")
	rest := ink.Span{Text: "  "}
	switch c.item.Body.(type) {
	case protocol.Reasoning:
		rows, mark = italic(rows), ink.S(ink.Dim, "· ")
	case protocol.ProposedPlan:
		mark = ink.S(ink.Border, "│ ")
		rest = mark
		if first && len(rows) > 0 {
			head := ink.Line{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Heading), "Proposed plan")}
			return append([]ink.Line{head}, ink.Prefix(rows, mark, rest)...)
		}
	}
	if !first {
		mark = rest
	}
	return ink.Prefix(rows, mark, rest)
}

// rows draws the cell as it is now.
func (c *cell) rows(d drawing) []ink.Line {
	if c.stream != nil {
		tail := c.stream.Tail()
		if len(tail) == 0 && !c.begun {
			return nil
		}
		return c.dress(tail, !c.begun)
	}
	if cmd, ok := c.item.Body.(protocol.Command); ok {
		cmd.Output = c.output
		it := c.item
		it.Body = cmd
		return d.item(it)
	}
	return d.item(c.item)
}

// give puts out rows that are final.
func (m *Model) give(c *cell, rows []ink.Line) {
	if len(rows) == 0 {
		return
	}
	dressed := c.dress(rows, !c.begun)
	if !c.begun {
		m.emit(dressed...)
	} else {
		m.above = append(m.above, dressed...)
	}
	c.begun = true
}

func (m *Model) itemEvent(e protocol.Event) tea.Cmd {
	switch b := e.Msg.(type) {
	case protocol.ItemStarted:
		m.retry = ""
		m.begin(b.Item)
	case protocol.ItemDelta:
		if c := m.cell(b.Item); c != nil {
			m.grow(c, b.Text)
		}
	case protocol.ItemUpdated:
		if c := m.cell(b.Item.ID); c != nil {
			m.update(c, b.Item)
		}
	case protocol.ItemDropped:
		m.drop(b.Item)
	case protocol.ItemCompleted:
		m.complete(e.Turn, b.Item)
	}
	return nil
}

func (m *Model) cell(id protocol.ItemID) *cell {
	for _, c := range m.live {
		if c.item.ID == id {
			return c
		}
	}
	return nil
}

func (m *Model) begin(it protocol.Item) *cell {
	c := newCell(it, m.draw().width)
	m.live = append(m.live, c)
	if text, _, ok := textOf(it.Body); ok && text != "" {
		m.grow(c, text)
	}
	if cmd, ok := it.Body.(protocol.Command); ok {
		c.output = cmd.Output
	}
	return c
}

func (m *Model) grow(c *cell, text string) {
	c.text += len(text)
	if c.stream != nil {
		m.give(c, c.stream.Write(text))
		return
	}
	c.output += text
	if len(c.output) > maxOutput {
		c.output = c.output[len(c.output)-maxOutput/2:]
	}
}

// update replaces what is known of an item. Text that grew is taken as more text.
func (m *Model) update(c *cell, it protocol.Item) {
	if text, _, ok := textOf(it.Body); ok && c.stream != nil {
		if len(text) > c.text {
			m.grow(c, text[c.text:])
		}
		c.item.Status = it.Status
		return
	}
	c.item = it
	if cmd, ok := it.Body.(protocol.Command); ok && cmd.Output != "" {
		c.output = cmd.Output[max(0, len(cmd.Output)-maxOutput):]
	}
}

// drop withdraws an item; rows that are out already are marked as void.
func (m *Model) drop(id protocol.ItemID) {
	c := m.cell(id)
	if c == nil {
		return
	}
	m.remove(c)
	if c.begun {
		m.above = append(m.above, ink.L(ink.Warn, "  ⤺ the stream broke; the model starts this again"))
	}
}

func (m *Model) remove(c *cell) {
	for i, x := range m.live {
		if x == c {
			m.live = append(m.live[:i:i], m.live[i+1:]...)
			return
		}
	}
}

func (m *Model) complete(turn protocol.TurnID, it protocol.Item) {
	c := m.cell(it.ID)
	m.store.add(it)
	if _, ok := it.Body.(protocol.ProposedPlan); ok {
		m.proposed = true
	}
	if u, ok := it.Body.(protocol.UserMessage); ok {
		m.turns = append(m.turns, turnMark{turn, inputText(u.Input), m.now()})
	}
	if c != nil {
		m.remove(c)
	}
	if c == nil || c.stream == nil {
		m.emitItem(it)
		return
	}
	if text, _, ok := textOf(it.Body); ok && len(text) > c.text {
		m.grow(c, text[c.text:])
	}
	m.give(c, c.stream.Close())
}

// emitItem writes a finished item. Calls that only look stand together.
func (m *Model) emitItem(it protocol.Item) {
	rows := m.draw().item(it)
	_, tool := it.Body.(protocol.ToolCall)
	quiet := tool && len(rows) == 1
	if quiet && m.looked {
		m.gap = false
	}
	m.emit(rows...)
	m.looked = quiet
}

// flushLive closes what a turn left open.
func (m *Model) flushLive(st protocol.Status) {
	for len(m.live) > 0 {
		c := m.live[0]
		m.remove(c)
		if c.stream != nil {
			m.give(c, c.stream.Close())
			continue
		}
		c.item.Status = st
		m.emit(c.rows(m.draw())...)
	}
}

// inputText is the text of a message, images as a word.
func inputText(in []protocol.Input) string {
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

// transcript keeps the newest items, for reading again.
type transcript struct {
	items   []protocol.Item
	size    int
	dropped int
}

const (
	maxItems = 20_000
	maxBytes = 16 << 20
	maxItem  = 256 << 10
)

func (t *transcript) add(it protocol.Item) {
	it = bounded(it)
	t.items = append(t.items, it)
	t.size += sizeOf(it)
	for len(t.items) > maxItems || t.size > maxBytes {
		t.size -= sizeOf(t.items[0])
		t.items[0] = protocol.Item{}
		t.items = t.items[1:]
		t.dropped++
	}
}

// bounded cuts what is too long to be kept and drops texts that are not shown.
func bounded(it protocol.Item) protocol.Item {
	cut := func(s string) string {
		if len(s) > maxItem {
			return s[:maxItem/2] + "\n… cut …\n" + s[len(s)-maxItem/2:]
		}
		return s
	}
	switch b := it.Body.(type) {
	case protocol.AgentMessage:
		b.Text = cut(b.Text)
		it.Body = b
	case protocol.Reasoning:
		b.Text = cut(b.Text)
		it.Body = b
	case protocol.Command:
		b.Output = cut(b.Output)
		it.Body = b
	case protocol.ToolCall:
		b.Output = cut(b.Output)
		it.Body = b
	case protocol.FileChange:
		b.Files, b.Diff = nil, cut(b.Diff)
		it.Body = b
	}
	return it
}

func sizeOf(it protocol.Item) int {
	const base = 200
	switch b := it.Body.(type) {
	case protocol.AgentMessage:
		return base + len(b.Text)
	case protocol.Reasoning:
		return base + len(b.Text)
	case protocol.ProposedPlan:
		return base + len(b.Text)
	case protocol.Command:
		return base + len(b.Output) + len(b.Command)
	case protocol.ToolCall:
		return base + len(b.Output) + len(b.Args)
	case protocol.FileChange:
		return base + len(b.Diff)
	case protocol.UserMessage:
		return base + len(inputText(b.Input))
	case protocol.ReviewResult:
		return base + len(b.Text)
	}
	return base
}
