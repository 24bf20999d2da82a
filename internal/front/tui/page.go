package tui

import "github.com/charmbracelet/x/ansi"

// maxPage bounds the rows that the alternate screen can scroll back to.
const maxPage = 20_000

// page is the scrollback of the alternate screen, which has none of its own.
type page struct{ rows []string }

func (p *page) add(rows []string) {
	p.rows = append(p.rows, rows...)
	if len(p.rows) > maxPage+maxPage/4 {
		p.rows = append([]string(nil), p.rows[len(p.rows)-maxPage:]...)
	}
}

// last returns the n rows that end up rows before the last one.
func (p *page) last(n, up, width int) []string {
	out := make([]string, max(n, 0))
	end := max(len(p.rows)-up, 0)
	for i := range out {
		if at := end - len(out) + i; at >= 0 && at < len(p.rows) {
			out[i] = ansi.Truncate(p.rows[at], width, "")
		}
	}
	return out
}

// turnPage scrolls the alternate screen.
func (m *Model) turnPage(key string) {
	by := max(m.height/2, 1)
	if key == "pgdown" {
		by = -by
	}
	m.pageUp = max(0, min(m.pageUp+by, max(0, len(m.page.rows)-m.height/2)))
}
