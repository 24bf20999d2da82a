package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// burstGap is the most time between two keys of a paste that came without brackets.
	burstGap = 10 * time.Millisecond
	// burstKeys is how many keys in a row come faster than anybody types.
	burstKeys = 3
	// burstHold is how long enter is held back after them: when more follows, it was one
	// of the pasted line ends.
	burstHold = 40 * time.Millisecond
)

// burst tells pasted text from typed text, where the terminal does not. The zero value has
// seen nothing.
type burst struct {
	keys  int // that came in a row
	lines int // line ends among them
	held  int // counts the times that enter was held back; 0 when it is not
	times int
}

// burstMsg ends the time for which enter was held back.
type burstMsg struct{ times int }

// key takes a key that writes. It reports whether enter is to be held back, and whether a
// line end comes before the key.
func (b *burst) key(name, text string, since time.Duration) (hold, line bool) {
	switch line = b.held > 0; {
	case line:
		b.held = 0
		b.lines++
	case since > burstGap:
		b.keys, b.lines = 0, 0
	}
	if name == "enter" && b.keys >= burstKeys {
		b.times++
		b.held = b.times
		return true, line
	}
	if text != "" || name == "enter" || name == "tab" {
		b.keys++
	}
	return false, line
}

// over ends the holding back of enter. It reports whether enter sends, or, after pasted
// lines, is one more line end.
func (b *burst) over(msg burstMsg) (sends, line bool) {
	if b.held == 0 || b.held != msg.times {
		return false, false
	}
	b.held = 0
	return b.lines == 0, b.lines > 0
}

// held takes a key that writes into a message, and reports whether it is kept back.
func held(m *Model, name, text string, since time.Duration) (tea.Cmd, bool) {
	hold, line := m.burst.key(name, text, since)
	if line {
		m.shown.Composer.Insert("\n")
	}
	if hold {
		return m.later(burstHold, burstMsg{m.burst.times}), true
	}
	return nil, false
}
