package conversation

import (
	"kerf/internal/front/tui/markdown"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// maxOutput bounds the output of a running command that is kept to be shown.
const maxOutput = 64 << 10

// liveItem is an item that is not over. Rows of its text are written as they become
// final, so that a long answer does not stay in memory.
type liveItem struct {
	item   protocol.Item
	stream *markdown.Stream
	begun  bool   // its first row is written
	output string // the end of a command's output
	text   int    // bytes of text taken so far
}

func newLiveItem(it protocol.Item, width int) *liveItem {
	l := &liveItem{item: it}
	if _, ok := Text(it.Body); ok {
		l.stream = markdown.New(width - 2)
	}
	return l
}

// Text returns the text of the bodies that are streamed.
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

func (l *liveItem) resize(width int) {
	if l.stream != nil {
		l.stream.SetWidth(width - 2)
	}
}

// mark gives rows of a streamed text their mark and style.
func (l *liveItem) mark(rows []style.Line, first bool) []style.Line {
	mark := style.S(style.Accent, "• ")
	rest := style.Span{Text: "  "}
	switch l.item.Body.(type) {
	case protocol.Reasoning:
		rows, mark = italic(rows), style.S(style.Dim, "· ")
	case protocol.ProposedPlan:
		mark = style.S(style.Border, "│ ")
		rest = mark
		if first && len(rows) > 0 {
			head := style.Line{style.S(style.Accent, "• "), style.Bold(style.Heading, "Proposed plan")}
			return append([]style.Line{head}, style.Prefix(rows, mark, rest)...)
		}
	}
	if !first {
		mark = rest
	}
	return style.Prefix(rows, mark, rest)
}

// rows draws what is not written yet.
func (l *liveItem) rows(f Format) []style.Line {
	if l.stream != nil {
		tail := l.stream.Tail()
		if len(tail) == 0 && !l.begun {
			return nil
		}
		return l.mark(tail, !l.begun)
	}
	if c, ok := l.item.Body.(protocol.Command); ok {
		c.Output = l.output
		it := l.item
		it.Body = c
		return f.Item(it)
	}
	return f.Item(l.item)
}

// write puts out rows of a live item that are final.
func (c *Conversation) write(l *liveItem, rows []style.Line) {
	if len(rows) == 0 {
		return
	}
	marked := l.mark(rows, !l.begun)
	if !l.begun {
		c.Write(marked...)
	} else {
		c.rows = append(c.rows, marked...)
	}
	l.begun = true
}

func (c *Conversation) find(id protocol.ItemID) *liveItem {
	for _, l := range c.live {
		if l.item.ID == id {
			return l
		}
	}
	return nil
}

func (c *Conversation) begin(it protocol.Item) {
	l := newLiveItem(it, c.o.Format().Width)
	c.live = append(c.live, l)
	if text, ok := Text(it.Body); ok && text != "" {
		c.grow(l, text)
	}
	if cmd, ok := it.Body.(protocol.Command); ok {
		l.output = cmd.Output
	}
}

func (c *Conversation) grow(l *liveItem, text string) {
	l.text += len(text)
	if l.stream != nil {
		c.write(l, l.stream.Write(text))
		return
	}
	l.output += text
	if len(l.output) > maxOutput {
		l.output = l.output[len(l.output)-maxOutput/2:]
	}
}

// update replaces what is known of an item. Text that grew is taken as more text.
func (c *Conversation) update(l *liveItem, it protocol.Item) {
	if text, ok := Text(it.Body); ok && l.stream != nil {
		if len(text) > l.text {
			c.grow(l, text[l.text:])
		}
		l.item.Status = it.Status
		return
	}
	l.item = it
	if cmd, ok := it.Body.(protocol.Command); ok && cmd.Output != "" {
		l.output = cmd.Output[max(0, len(cmd.Output)-maxOutput):]
	}
}

// drop withdraws an item; rows that are written already are marked as void.
func (c *Conversation) drop(id protocol.ItemID) {
	l := c.find(id)
	if l == nil {
		return
	}
	c.remove(l)
	if l.begun {
		c.rows = append(c.rows, style.L(style.Warn, "  ⤺ the stream broke; the model starts this again"))
	}
}

func (c *Conversation) remove(l *liveItem) {
	for i, x := range c.live {
		if x == l {
			c.live = append(c.live[:i:i], c.live[i+1:]...)
			return
		}
	}
}

func (c *Conversation) complete(turn protocol.TurnID, it protocol.Item) {
	l := c.find(it.ID)
	c.Transcript.Add(it)
	if _, ok := it.Body.(protocol.ProposedPlan); ok {
		c.Proposed = true
	}
	if u, ok := it.Body.(protocol.UserMessage); ok {
		c.Turns = append(c.Turns, Mark{turn, InputText(u.Input), c.o.Now()})
	}
	if l != nil {
		c.remove(l)
	}
	if l == nil || l.stream == nil {
		c.writeItem(it)
		return
	}
	if text, ok := Text(it.Body); ok && len(text) > l.text {
		c.grow(l, text[l.text:])
	}
	c.write(l, l.stream.Close())
}

// writeItem writes a finished item. Calls that only look stand together.
func (c *Conversation) writeItem(it protocol.Item) {
	rows := c.o.Format().Item(it)
	_, tool := it.Body.(protocol.ToolCall)
	quiet := tool && len(rows) == 1
	if quiet && c.looked {
		c.gap = false
	}
	c.Write(rows...)
	c.looked = quiet
}

// CloseLive finishes what a turn left open.
func (c *Conversation) CloseLive(st protocol.Status) {
	for len(c.live) > 0 {
		l := c.live[0]
		c.remove(l)
		if l.stream != nil {
			c.write(l, l.stream.Close())
			continue
		}
		l.item.Status = st
		c.Write(l.rows(c.o.Format())...)
	}
}

// LiveRows draws the items under way, the newest rows of them when there are more
// than room.
func (c *Conversation) LiveRows(width, room int) []style.Line {
	if room <= 0 {
		return nil
	}
	f := c.o.Format()
	f.Width = width
	var rows []style.Line
	for _, l := range c.live {
		drawn := l.rows(f)
		if len(drawn) > 0 && (c.gap || len(rows) > 0) && !l.begun {
			rows = append(rows, nil)
		}
		rows = append(rows, drawn...)
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
