package tui

import (
	"bytes"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// burstGap is the most time between two keys of a paste that came without brackets.
	burstGap = 10 * time.Millisecond
	// burstKeys is how many keys in a row come faster than anybody types.
	burstKeys = 3
	// burstHold is how long nothing has to come behind a paste until it is over, and
	// linesHold behind one with lines: the next key may be one of its line ends.
	burstHold, linesHold = 40 * time.Millisecond, 120 * time.Millisecond
)

// burst tells pasted text from typed text, where the terminal does not. The first keys of a
// paste are typed as any other; those behind them are gathered and go into the message at
// once. The zero value has seen nothing.
type burst struct {
	head  string // what the keys in a row typed so far
	keys  int
	text  []byte    // what came behind them
	last  time.Time // when the last of it came
	waits bool      // for a burstMsg
}

// burstMsg looks whether a paste is over.
type burstMsg struct{}

// key takes a key of a message, and reports whether it is gathered.
func (b *burst) key(name, text string, now time.Time, since time.Duration) bool {
	if since > burstGap && len(b.text) == 0 {
		*b = burst{waits: b.waits}
	}
	switch {
	case b.keys < burstKeys && text != "":
		b.keys, b.head = b.keys+1, b.head+text
		return false
	case b.keys < burstKeys:
		return false
	case name == "enter" || name == "ctrl+j":
		text = "\n"
	case name == "tab":
		text = "\t"
	}
	b.text, b.last = append(b.text, text...), now
	return text != ""
}

// hold is how long nothing has to come until the paste is over.
func (b *burst) hold() time.Duration {
	if bytes.Contains(b.text, []byte("\n")) {
		return linesHold
	}
	return burstHold
}

// held takes a key that writes into a message, and reports whether it is kept back. What was
// gathered before goes into the message first, unless the key belongs to it.
func held(m *Model, name, text string, since time.Duration) (tea.Cmd, bool) {
	b := &m.burst
	var before tea.Cmd
	writes := text != "" || name == "enter" || name == "tab" || name == "ctrl+j"
	if len(b.text) > 0 && (since > b.hold() || !writes) {
		before = gathered(m)
	}
	if !b.key(name, text, m.now(), since) {
		return before, false
	}
	if b.waits {
		return before, true
	}
	b.waits = true
	return tea.Batch(before, m.later(burstHold, burstMsg{})), true
}

// burstOver puts a paste into the message once nothing more comes.
func burstOver(m *Model) tea.Cmd {
	b := &m.burst
	b.waits = false
	if rest := b.hold() - m.now().Sub(b.last); len(b.text) > 0 && rest > 0 {
		b.waits = true
		return m.later(rest, burstMsg{})
	}
	return gathered(m)
}

// gathered puts what was gathered into the message, with the keys before it, as one paste. One
// line with enter or tab behind it was typed, by a program or while Kerf had no time: these keys
// do what they do.
func gathered(m *Model) tea.Cmd {
	head, text := m.burst.head, string(m.burst.text)
	m.burst = burst{waits: m.burst.waits}
	if text == "" {
		return nil
	}
	c := &m.shown.Composer
	if at := c.Caret(); strings.HasSuffix(c.Text()[:at], head) {
		c.Replace(at-len(head), at, "")
		text = head + text
	}
	last := map[byte]string{'\n': "enter", '\t': "tab"}[text[len(text)-1]]
	line := text[:len(text)-1]
	switch {
	case last != "" && !strings.ContainsAny(line, "\n\t"):
		return tea.Batch(m.input.Paste(line), written(m, m.o.Keymap.Means(last), ""))
	case m.input.AttachFile(text, m.session.Settings.Cwd):
		return nil
	}
	return m.input.Paste(text)
}
