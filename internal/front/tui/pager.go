package tui

import (
	"fmt"
	"strings"

	"kerf/internal/front/tui/ink"
)

// pager shows rows on the whole screen and finds text in them.
type pager struct {
	title string
	// draw makes the rows for a width; it is called again when that changes.
	draw   func(width int, wide bool) []ink.Line
	rows   []ink.Line
	width  int
	top    int
	bottom bool // start at the end
	wide   bool // the other way to draw, if there is one
	toggle string
	// acts are further keys: what they do, and a word for the foot.
	acts  map[string]func(m *Model) (cmd, bool)
	foot  string
	find  string
	typed bool // the words to find are being typed
	miss  bool
	page  int
}

func (p *pager) layout(width int) {
	if p.width == width && p.rows != nil {
		return
	}
	p.width = width
	p.rows = p.draw(width, p.wide)
	if len(p.rows) == 0 {
		p.rows = []ink.Line{ink.L(ink.Dim, "nothing here")}
	}
	if p.bottom {
		p.top, p.bottom = len(p.rows), false
	}
}

func (p *pager) key(m *Model, k, text string) (cmd, bool) {
	if p.typed {
		p.typeFind(k, text)
		return nil, true
	}
	if act := p.acts[k]; act != nil {
		return act(m)
	}
	page := max(p.page-1, 1)
	switch k {
	case "q", "esc", "ctrl+c", "ctrl+t":
		return nil, false
	case "down", "j", "enter":
		p.top++
	case "up", "k":
		p.top--
	case "pgdown", "space", "ctrl+f":
		p.top += page
	case "pgup", "b", "ctrl+b":
		p.top -= page
	case "ctrl+d":
		p.top += page / 2
	case "ctrl+u":
		p.top -= page / 2
	case "home", "g":
		p.top = 0
	case "end", "shift+g", "G":
		p.top = len(p.rows)
	case "/":
		p.typed, p.find, p.miss = true, "", false
	case "n":
		p.seek(1)
	case "shift+n", "N":
		p.seek(-1)
	case "s":
		if p.toggle != "" {
			p.wide, p.rows = !p.wide, nil
		}
	}
	return nil, true
}

func (p *pager) typeFind(k, text string) {
	switch {
	case k == "enter":
		p.typed = false
		p.top--
		p.seek(1)
	case k == "esc" || k == "ctrl+c":
		p.typed, p.find = false, ""
	case k == "backspace" && p.find != "":
		r := []rune(p.find)
		p.find = string(r[:len(r)-1])
	default:
		p.find += text
	}
}

// seek goes to the next row with the words, around the end.
func (p *pager) seek(by int) {
	if p.find == "" {
		return
	}
	want := strings.ToLower(p.find)
	for i := 1; i <= len(p.rows); i++ {
		at := (p.top + i*by + 2*len(p.rows)) % len(p.rows)
		if strings.Contains(strings.ToLower(p.rows[at].Text()), want) {
			p.top, p.miss = at, false
			return
		}
	}
	p.miss = true
}

func (p *pager) view(m *Model, width, height int) view {
	p.layout(width)
	p.page = max(height-2, 1)
	p.top = max(0, min(p.top, len(p.rows)-p.page))
	rows := []ink.Line{ink.Line{ink.Styled(ink.Strong(ink.Heading), p.title)}.Cut(width)}
	for i := p.top; i < len(p.rows) && len(rows) <= p.page; i++ {
		rows = append(rows, p.mark(p.rows[i]))
	}
	for len(rows) < height-1 {
		rows = append(rows, nil)
	}
	rows = append(rows, p.footer(width))
	return view{rows: rows, y: -1, full: true}
}

// mark shows a row that has the words that were found.
func (p *pager) mark(l ink.Line) ink.Line {
	if p.find == "" || p.typed {
		return l
	}
	text := l.Text()
	i := strings.Index(strings.ToLower(text), strings.ToLower(p.find))
	if i < 0 || i+len(p.find) > len(text) {
		return l
	}
	return ink.Line{ink.S(ink.Plain, text[:i]), ink.S(ink.Selected, text[i:i+len(p.find)]), ink.S(ink.Plain, text[i+len(p.find):])}
}

func (p *pager) footer(width int) ink.Line {
	if p.typed {
		return ink.Line{ink.S(ink.Accent, "/"), ink.S(ink.Plain, p.find+"▏")}.Cut(width)
	}
	percent := 100
	if n := len(p.rows) - p.page; n > 0 {
		percent = 100 * p.top / n
	}
	text := fmt.Sprintf("%d%%  ↑↓ pgup pgdown · / find · q back", percent)
	if p.toggle != "" {
		text += " · s " + p.toggle
	}
	if p.foot != "" {
		text += " · " + p.foot
	}
	if p.miss {
		return ink.Line{ink.S(ink.Warn, "not found: "+p.find)}.Cut(width)
	}
	return ink.L(ink.Dim, text).Cut(width)
}
