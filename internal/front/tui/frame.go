package tui

import (
	"fmt"
	"strings"

	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/screen"
	"kerf/internal/protocol"
)

// view is a part of the screen: rows, and the cursor in them; Y below 0 hides it.
type view struct {
	rows []ink.Line
	x, y int
	full bool // it wants the whole screen
}

// overlay is something that takes the keys until it is closed.
type overlay interface {
	// key takes a key press and says whether the overlay stays.
	key(m *Model, k string, text string) (cmd cmd, stay bool)
	// view draws it into at most height rows. What it returns is shown: an
	// approval takes it that the user saw it.
	view(m *Model, width, height int) view
}

// frame makes what the screen shall show.
func (m *Model) frame() screen.Frame {
	w, h := max(m.width-1, 1), max(m.height, 1)
	f := screen.Frame{Title: m.windowTitle(), Y: -1}
	v := m.body(w, h)
	for _, l := range m.above {
		f.Above = append(f.Above, m.pal.Render(l))
	}
	if m.o.AltScreen {
		m.page.add(f.Above)
		f.Above = nil
	}
	m.above = nil
	rows := make([]string, 0, len(v.rows))
	for _, l := range v.rows {
		rows = append(rows, m.pal.Render(l.Cut(w)))
	}
	if m.o.AltScreen && !v.full {
		rows = append(m.page.last(h-len(rows), m.pageUp, w), rows...)
		if v.y >= 0 {
			v.y += len(rows) - len(v.rows)
		}
		v.full = true
	}
	f.Rows, f.X, f.Y, f.Full = rows, min(v.x, w), v.y, v.full
	return f
}

// body draws everything below the finished rows.
func (m *Model) body(w, h int) view {
	if p, ok := m.top().(*pager); ok {
		return p.view(m, w, h)
	}
	bottom := m.bottom(w, h)
	room := h - len(bottom.rows)
	rows := m.liveRows(w, room)
	bottom.rows = append(rows, bottom.rows...)
	if bottom.y >= 0 {
		bottom.y += len(rows)
	}
	return bottom
}

func (m *Model) top() overlay {
	if len(m.overlays) > 0 {
		return m.overlays[len(m.overlays)-1]
	}
	if len(m.asking) > 0 {
		return m.asking[0]
	}
	return nil
}

// liveRows draws the items under way, the newest rows of them if they are too
// many.
func (m *Model) liveRows(w, room int) []ink.Line {
	if room <= 0 {
		return nil
	}
	var rows []ink.Line
	for _, c := range m.live {
		drawn := c.rows(drawing{width: w, cwd: m.settings.Cwd})
		if len(drawn) > 0 && (m.gap || len(rows) > 0) && !c.begun {
			rows = append(rows, nil)
		}
		rows = append(rows, drawn...)
	}
	if len(rows) > room {
		rows = rows[len(rows)-room:]
	}
	return rows
}

// bottom draws what stays at the foot: state, queue, overlay or composer, status.
func (m *Model) bottom(w, h int) view {
	tall := h >= 8
	var rows []ink.Line
	if l := m.working(w); l != nil {
		if tall {
			rows = append(rows, nil)
		}
		rows = append(rows, l)
	}
	rows = append(rows, m.queueRows(w)...)
	status := m.status(w)
	if o := m.top(); o != nil {
		v := o.view(m, w, max(h-len(rows)-len(status)-1, 3))
		if tall {
			rows = append(rows, ink.L(ink.Border, strings.Repeat("─", w)))
		}
		if v.y >= 0 {
			v.y += len(rows)
		}
		v.rows = append(rows, v.rows...)
		return v
	}
	if tall {
		rows = append(rows, ink.L(ink.Border, strings.Repeat("─", w)))
	}
	v := m.composerView(w, max(1, h/2-2))
	v.y += len(rows)
	rows = append(rows, v.rows...)
	rows = append(rows, m.menuRows(w, max(0, min(8, h-len(rows)-2)))...)
	if tall && !m.menu.open() {
		rows = append(rows, ink.L(ink.Border, strings.Repeat("─", w)))
	}
	if h >= 4 {
		rows = append(rows, status...)
	}
	v.rows = rows
	return v
}

// composerView draws the composer, at most height rows of it around the caret.
func (m *Model) composerView(w, height int) view {
	rows, x, y := m.comp.Rows(w - 3)
	top := 0
	if len(rows) > height {
		top = min(max(0, y-height+1), len(rows)-height)
		rows = rows[top : top+height]
	}
	mark := ink.Styled(ink.Strong(ink.Accent), "› ")
	if strings.HasPrefix(m.comp.Text(), "!") {
		mark = ink.Styled(ink.Strong(ink.Warn), "! ")
	}
	if m.comp.Empty() {
		rows = []ink.Line{ink.L(ink.Dim, m.hint())}
	}
	return view{rows: ink.Prefix(rows, mark, ink.Span{Text: "  "}), x: x + 2, y: y - top}
}

// hint is what an empty composer says.
func (m *Model) hint() string {
	switch {
	case m.armed.key != "" && m.now().Before(m.armed.until):
		return map[string]string{"ctrl+c": "Press ctrl+c again to leave", "esc": m.escHint()}[m.armed.key]
	case m.sess == nil && len(m.early) > 0:
		return "Opening… what you wrote is sent then"
	case m.sess == nil:
		return "Opening…"
	case m.viewing != "":
		return "Tell agent " + m.agentLabel(m.viewing) + " something; /back returns to the session"
	case m.busy():
		if key := m.o.Keymap.first("queue"); key != "" {
			return "Enter adds to this turn, " + key + " queues for the next"
		}
		return "Enter adds to this turn"
	case m.settings.Approval == protocol.PolicyPlan:
		return "Plan mode: nothing will be changed"
	}
	return "Ask Kerf to do something"
}

func (m *Model) escHint() string {
	if m.viewing != "" {
		return "Press esc again to go back to the session"
	}
	return "Press esc again to go back to an earlier message"
}

// working is the line of a running turn.
func (m *Model) working(w int) ink.Line {
	if !m.busy() {
		return nil
	}
	mark := "• "
	if !m.o.ReducedMotion {
		mark = []string{"◐ ", "◓ ", "◑ ", "◒ "}[m.spin%4]
	}
	l := ink.Line{ink.S(ink.Accent, mark), ink.Styled(ink.Strong(ink.Plain), "Working"),
		ink.S(ink.Dim, " ("+elapsed(m.now().Sub(m.turn.since))+" • esc to interrupt)")}
	if m.retry != "" {
		l = append(l, ink.S(ink.Warn, "  "+m.retry))
	}
	if n := len(m.procs); n > 0 {
		l = append(l, ink.S(ink.Dim, fmt.Sprintf("  %s (/ps)", plural(n, "process"))))
	}
	return l.Cut(w)
}

// queueRows lists input that waits.
func (m *Model) queueRows(w int) []ink.Line {
	var rows []ink.Line
	for i, in := range m.queued {
		if i == 3 {
			return append(rows, ink.L(ink.Dim, fmt.Sprintf("  ↳ and %d more", len(m.queued)-3)))
		}
		rows = append(rows, ink.Line{ink.S(ink.Dim, "  ↳ next: "), ink.S(ink.Plain, oneLine(inputText(in)))}.Cut(w))
	}
	return rows
}

// status is the quiet line at the very bottom: what fits, the important first.
func (m *Model) status(w int) []ink.Line {
	var parts []ink.Span
	add := func(role ink.Role, s string) {
		if s != "" {
			parts = append(parts, ink.S(role, s))
		}
	}
	if m.o.Vi {
		add(ink.Accent, map[bool]string{true: "NORMAL", false: "INSERT"}[m.vi.Normal])
	}
	if m.viewing != "" {
		add(ink.Accent, "agent "+m.agentLabel(m.viewing))
	}
	policy, role := m.policy()
	add(role, policy)
	add(ink.Dim, strings.TrimSpace(m.settings.Model+" "+m.settings.Effort))
	add(ink.Dim, m.contextLeft())
	add(ink.Dim, m.cost(m.tokens.Total))
	add(ink.Dim, m.home(m.settings.Cwd))
	add(ink.Dim, m.branch)
	if n := m.tokens.Total.Total(); n > 0 {
		s := tokensText(n) + " tokens"
		if c := m.tokens.Total.Cached; c > 0 && m.tokens.Total.Input > 0 {
			s += fmt.Sprintf(" (%d%% cached)", 100*c/m.tokens.Total.Input)
		}
		add(ink.Dim, s)
	}
	if len(m.agents) > 0 {
		add(ink.Accent, plural(m.runningAgents(), "agent"))
	}
	if len(m.asking) > 1 {
		add(ink.Warn, fmt.Sprintf("%d questions", len(m.asking)))
	}
	add(ink.Dim, oneLine(m.title))
	l := ink.Line{ink.Span{Text: "  "}}
	for i, p := range parts {
		if i > 0 {
			if l.Width()+3+ink.Width(p.Text) > w {
				continue
			}
			l = append(l, ink.S(ink.Border, " · "))
		}
		l = append(l, p)
	}
	return []ink.Line{l.Cut(w)}
}

func (m *Model) runningAgents() int {
	n := 0
	for _, a := range m.agents {
		if a.State == "running" || a.State == "waiting" {
			n++
		}
	}
	return n
}

// policy words what may happen unasked.
func (m *Model) policy() (string, ink.Role) {
	s := m.settings
	switch {
	case s.Approval == "" && s.Sandbox == "":
		return "", ink.Dim
	case s.Approval == protocol.PolicyPlan:
		return "plan", ink.Accent
	case s.Sandbox == protocol.SandboxFull && s.Approval == protocol.PolicyNever:
		return "full access, asks nothing", ink.Bad
	case s.Sandbox == protocol.SandboxFull:
		return "full access, " + string(s.Approval), ink.Warn
	}
	return string(s.Sandbox) + ", " + string(s.Approval), ink.Dim
}

// contextLeft tells how much of the model's window is free.
func (m *Model) contextLeft() string {
	if m.tokens.Window <= 0 {
		return ""
	}
	used := m.tokens.Last.Total()
	return fmt.Sprintf("%d%% context left", max(0, 100-100*used/m.tokens.Window))
}

// cost is what tokens cost, where prices are known.
func (m *Model) cost(u protocol.Usage) string {
	if m.o.Price == nil || u.Total() == 0 {
		return ""
	}
	c, ok := m.o.Price(m.settings.Model, u)
	switch {
	case !ok:
		return ""
	case c < 0.1:
		return fmt.Sprintf("$%.3f", c)
	}
	return fmt.Sprintf("$%.2f", c)
}

// windowTitle is the terminal's title.
func (m *Model) windowTitle() string {
	name := m.title
	if name == "" {
		name = lastElement(m.settings.Cwd)
	}
	mark := ""
	switch {
	case len(m.asking) > 0:
		mark = "? "
	case m.busy():
		mark = "● "
	}
	if name == "" {
		return mark + "kerf"
	}
	l := ink.Line{ink.S(ink.Plain, mark+oneLine(name)+" – kerf")}
	return l.Cut(80).Text()
}

func lastElement(p string) string {
	p = strings.TrimRight(strings.ReplaceAll(p, `\`, "/"), "/")
	return p[strings.LastIndexByte(p, '/')+1:]
}
