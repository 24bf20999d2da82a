package exec

import (
	"fmt"
	"io"
	"strings"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// How much of a running command is on the terminal.
const (
	liveLines = 3
	liveKept  = 16 << 10
)

// live shows the last lines of the command that runs, and for how long, below what was
// printed. They are taken away before anything else is printed. Nil shows nothing.
type live struct {
	w      io.Writer
	paint  paint
	item   protocol.ItemID // empty: none runs
	began  time.Time       // of the first tick
	output string          // the end of what it said
	drawn  string          // what is on the terminal now
	lines  int             // how many lines that is
}

// begin turns to a command.
func (l *live) begin(item protocol.ItemID) {
	if l != nil {
		l.clear()
		*l = live{w: l.w, paint: l.paint, item: item}
	}
}

// feed takes in output of an item.
func (l *live) feed(item protocol.ItemID, text string) {
	if l == nil || item != l.item || item == "" {
		return
	}
	l.output += text
	if over := len(l.output) - liveKept; over > 0 {
		l.output = strings.ToValidUTF8(l.output[over:], "")
	}
}

// end is called when an item is over.
func (l *live) end(item protocol.ItemID) {
	if l != nil && item == l.item {
		l.begin("")
	}
}

// clear takes the lines away.
func (l *live) clear() {
	if l != nil && l.lines > 0 {
		fmt.Fprintf(l.w, "\x1b[%dA\x1b[J", l.lines)
		l.lines = 0
	}
}

// tick draws what is known now. A command that ends within a second is never drawn.
func (l *live) tick(now time.Time) {
	if l == nil || l.item == "" {
		return
	}
	if l.began.IsZero() {
		l.began = now
	}
	ran := now.Sub(l.began)
	if ran < time.Second {
		return
	}
	var rows []string
	if text := strings.TrimRight(l.output, "\r\n"); text != "" {
		rows = strings.Split(text, "\n")
		rows = rows[max(0, len(rows)-liveLines):]
	}
	var b strings.Builder
	b.WriteString("\x1b[?7l") // a long line is cut by the terminal, which knows how wide it is
	for _, row := range rows {
		row = strings.TrimRight(row, "\r")
		row = row[strings.LastIndexByte(row, '\r')+1:] // progress bars write over themselves
		b.WriteString("  " + l.paint.dim(oneLine(visible.ClipRunes(row, 400))) + "\n")
	}
	b.WriteString("  " + l.paint.yellow(fmt.Sprintf("running %s", ran.Truncate(time.Second))) + "\n\x1b[?7h")
	if l.lines > 0 && l.drawn == b.String() {
		return
	}
	l.clear()
	l.drawn = b.String()
	_, _ = io.WriteString(l.w, l.drawn)
	l.lines = len(rows) + 1
}
