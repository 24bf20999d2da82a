package tui

import (
	"strings"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/now"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/screen"
	"kerf/internal/front/tui/status"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// frame makes what the screen shall show.
func (m *Model) frame() screen.Frame {
	w, h := max(m.width-1, 1), max(m.height, 1)
	f := screen.Frame{Title: m.session.WindowTitle(m.status()), Y: -1}
	_, paged := m.top().(panels.Page)
	var above []style.Line
	switch {
	case m.scr.Stale() && m.o.AltScreen && !m.exit.closing:
		m.reload(2 * h)
	case m.scr.Stale() && !paged:
		above, f.Anew = m.shown.Again(h), true
	default:
		above = m.shown.Take()
	}
	v := m.body(w, h) // what is live is less by what was taken
	for _, l := range above {
		f.Above = append(f.Above, m.pal.Render(l.Cut(w)))
	}
	if m.o.AltScreen && !m.exit.closing {
		m.scrollback.Add(f.Above)
		f.Above = nil
	}
	rows := make([]string, 0, len(v.Rows))
	for _, l := range v.Rows {
		rows = append(rows, m.pal.Render(l.Cut(w)))
	}
	if m.o.AltScreen && !m.exit.closing && !v.Full {
		rows = append(m.scrollback.Last(h-len(rows), w), rows...)
		if v.Y >= 0 {
			v.Y += len(rows) - len(v.Rows)
		}
		v.Full = true
	}
	f.Rows, f.X, f.Y, f.Full = rows, min(v.X, w), v.Y, v.Full
	return f
}

// reload draws at least n rows of the alternate screen's scrollback again.
func (m *Model) reload(n int) {
	var rows []string
	for _, l := range m.shown.Again(n) {
		rows = append(rows, m.pal.Render(l.Cut(max(m.width-1, 1))))
	}
	m.scrollback.Set(rows)
	m.scr.Fresh()
}

// scroll scrolls the alternate screen by rows.
func (m *Model) scroll(by int) {
	if more := m.scrollback.Scroll(by, m.height); more > 0 {
		m.reload(more)
	}
}

// body draws everything below the finished rows.
func (m *Model) body(w, h int) panels.View {
	if p, ok := m.top().(panels.Page); ok {
		return p.View(w, h)
	}
	v := m.bottom(w, h)
	rows := m.shown.LiveRows(w, h-len(v.Rows))
	v.Rows = append(rows, v.Rows...)
	if v.Y >= 0 {
		v.Y += len(rows)
	}
	return v
}

// top is the panel that takes the keys; nil when a message is written. A question is
// above every page but those that belong to it.
func (m *Model) top() panels.Panel {
	if len(m.questions) > 0 {
		if n := len(m.over); n > 0 {
			return m.over[n-1]
		}
		return m.questions[0]
	}
	if n := len(m.panels); n > 0 {
		return m.panels[n-1]
	}
	return nil
}

// bottom draws what stays at the foot: state, queue, panel or composer, status.
func (m *Model) bottom(w, h int) panels.View {
	tall := h >= 8
	rule := style.L(style.Border, strings.Repeat("─", w))
	room := h
	if m.top() != nil {
		room = min(h, 10)
	}
	rows := m.going().Rows(w, room)
	line := m.session.Line(m.status(), w)
	if p := m.top(); p != nil {
		message := m.begun(p, w, h)
		v := p.View(w, max(h-len(rows)-len(message.Rows)-2, 3))
		if tall {
			rows = append(rows, rule)
		}
		if v.Y >= 0 {
			v.Y += len(rows)
		}
		v.Rows = append(rows, v.Rows...)
		if len(message.Rows) > 0 {
			if message.Y >= 0 {
				v.X, v.Y = message.X, message.Y+len(v.Rows)
			}
			v.Rows = append(v.Rows, message.Rows...)
		}
		return v
	}
	if tall {
		rows = append(rows, rule)
	}
	v := m.input.View(max(1, h/2-2), m.hint())
	v.Y += len(rows)
	rows = append(rows, v.Rows...)
	rows = append(rows, m.input.CompletionRows(w, max(0, min(12, h/2, h-len(rows)-2)))...)
	if tall && !m.input.Completing() {
		rows = append(rows, rule)
	}
	if h >= 4 {
		rows = append(rows, line)
	}
	v.Rows = rows
	return v
}

// begun is the message that is written while a question is up.
func (m *Model) begun(p panels.Panel, w, h int) panels.View {
	_, asks := panels.Asks(p)
	words := "You write a message; ctrl+c empties it, then keys answer after a second"
	v := panels.View{Y: -1}
	switch {
	case !asks:
		return v
	case !m.shown.Composer.Empty():
		v = m.input.View(max(1, h/4), "")
	case len(m.early) > 0:
		words = humanize.Count(len(m.early), "message") + " of yours will be sent once the session is open"
	default:
		return v
	}
	v.Rows = append([]style.Line{style.L(style.Warn, words).Cut(w)}, v.Rows...)
	if v.Y >= 0 {
		v.Y++
	}
	return v
}

// hint is what an empty composer says.
func (m *Model) hint() string {
	switch {
	case m.armed.key == "ctrl+c" && m.now().Before(m.armed.until):
		return "Press ctrl+c again to leave"
	case m.armed.key == "esc" && m.now().Before(m.armed.until) && m.viewing != "":
		return "Press esc again to go back to the session"
	case m.armed.key == "esc" && m.now().Before(m.armed.until):
		return "Press esc again to go back to an earlier message"
	case m.sess == nil && len(m.early) > 0:
		return "Opening… your message is sent after that"
	case m.sess == nil:
		return "Opening…"
	case m.viewing != "":
		return "Tell agent " + m.session.AgentName(m.viewing) + " something; /back returns to the session"
	case m.shown.Running:
		if key := m.o.Keymap.First("queue"); key != "" {
			return "Enter adds to this turn, " + key + " queues for the next"
		}
		return "Enter adds to this turn"
	case m.session.Settings.Approval == protocol.PolicyPlan:
		return "Plan mode: nothing will be changed"
	}
	return "Ask Kerf to do something"
}

// going is what is going on.
func (m *Model) going() now.Shown {
	x := now.Shown{Conversation: m.shown, Session: &m.session, Questions: len(m.questions), Spin: m.spin, Now: m.now(),
		Of:     func(id protocol.SessionID) *conversation.Conversation { return m.conversations[id] },
		Format: m.format()}
	if len(m.shown.Queued)+len(m.shown.Joining) > 0 {
		x.Back = m.o.Keymap.First("take-back")
	}
	if m.o.ReducedMotion {
		x.Spin = -1
	}
	if len(m.questions) > 0 {
		x.Asked = x.Now.Sub(m.waits)
	}
	return x
}

// status is what the status line tells beside the session.
func (m *Model) status() status.Shown {
	x := status.Shown{Conversation: m.shown, Vi: m.input.Mode(), Questions: len(m.questions)}
	if m.viewing != "" {
		x.Agent = m.session.AgentName(m.viewing)
	}
	return x
}
