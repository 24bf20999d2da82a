package panels

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/style"
)

// Pager shows rows on the whole screen and finds text in them.
type Pager struct {
	Title string
	// Draw makes the rows for a width; it is called again when that changes. Wide asks
	// for the other way to draw, if Toggle names one.
	Draw   func(width int, wide bool) []style.Line
	Toggle string
	// Bottom starts at the end.
	Bottom bool

	rows    []style.Line
	width   int
	top     int
	wide    bool
	find    string
	finding bool // the words to find are being typed
	miss    bool
	page    int
}

func (p *Pager) layout(width int) {
	if p.width == width && p.rows != nil {
		return
	}
	p.width = width
	p.rows = p.Draw(width, p.wide)
	if len(p.rows) == 0 {
		p.rows = []style.Line{style.L(style.Dim, "nothing here")}
	}
	if p.Bottom {
		p.top, p.Bottom = len(p.rows), false
	}
}

// Page says that it takes the whole screen.
func (p *Pager) Page() {}

// Key moves, finds, or closes.
func (p *Pager) Key(k Key) (tea.Cmd, bool) {
	if p.finding {
		p.typeFind(k.Name, k.Text)
		return nil, true
	}
	page := max(p.page-1, 1)
	switch k.Name {
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
		p.finding, p.find, p.miss = true, "", false
	case "n":
		p.seek(1)
	case "shift+n", "N":
		p.seek(-1)
	case "s":
		if p.Toggle != "" {
			p.wide, p.rows = !p.wide, nil
		}
	}
	return nil, true
}

func (p *Pager) typeFind(k, text string) {
	switch {
	case k == "enter":
		p.finding = false
		p.top--
		p.seek(1)
	case k == "esc" || k == "ctrl+c":
		p.finding, p.find = false, ""
	case k == "backspace" && p.find != "":
		r := []rune(p.find)
		p.find = string(r[:len(r)-1])
	default:
		p.find += text
	}
}

// seek goes to the next row with the words, around the end.
func (p *Pager) seek(by int) {
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

// View draws the rows that fit.
func (p *Pager) View(width, height int) View {
	p.layout(width)
	p.page = max(height-2, 1)
	p.top = max(0, min(p.top, len(p.rows)-p.page))
	rows := []style.Line{style.Line{style.Bold(style.Heading, p.Title)}.Cut(width)}
	for i := p.top; i < len(p.rows) && len(rows) <= p.page; i++ {
		rows = append(rows, p.mark(p.rows[i]))
	}
	for len(rows) < height-1 {
		rows = append(rows, nil)
	}
	rows = append(rows, p.footer(width))
	return View{Rows: rows, Y: -1, Full: true}
}

// mark shows a row that has the words that were found.
func (p *Pager) mark(l style.Line) style.Line {
	if p.find == "" || p.finding {
		return l
	}
	text := l.Text()
	i := strings.Index(strings.ToLower(text), strings.ToLower(p.find))
	if i < 0 || i+len(p.find) > len(text) {
		return l
	}
	return style.Line{style.S(style.Plain, text[:i]), style.S(style.Selected, text[i:i+len(p.find)]),
		style.S(style.Plain, text[i+len(p.find):])}
}

func (p *Pager) footer(width int) style.Line {
	if p.finding {
		return style.Line{style.S(style.Accent, "/"), style.S(style.Plain, p.find+"▏")}.Cut(width)
	}
	percent := 100
	if n := len(p.rows) - p.page; n > 0 {
		percent = 100 * p.top / n
	}
	text := fmt.Sprintf("%d%%  ↑↓ pgup pgdown · / find · q back", percent)
	if p.Toggle != "" {
		text += " · s " + p.Toggle
	}
	if p.miss {
		return style.Line{style.S(style.Warn, "not found: "+p.find)}.Cut(width)
	}
	return style.L(style.Dim, text).Cut(width)
}

// Lines are all rows.
func (p *Pager) Lines() []style.Line {
	return append([]style.Line{style.L(style.Heading, p.Title)}, p.Draw(Wide, false)...)
}

// Line does nothing: what was printed needs no answer.
func (p *Pager) Line(string) (c tea.Cmd, stay, again bool) { return nil, false, false }

// DiffPager shows a unified diff.
func DiffPager(title, diff string) *Pager {
	files := diffview.Parse(diff)
	return &Pager{Title: title, Toggle: "side by side",
		Draw: func(width int, wide bool) []style.Line { return diffview.Page(files, width, wide) }}
}
