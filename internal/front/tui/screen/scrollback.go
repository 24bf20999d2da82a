package screen

import "github.com/charmbracelet/x/ansi"

// maxScrollback bounds the rows that the alternate screen can scroll back to.
const maxScrollback = 20_000

// Scrollback is what can be scrolled back to on the alternate screen, which keeps
// nothing of its own. The zero value is empty.
type Scrollback struct {
	rows []string
	up   int // how many rows are scrolled back
}

// Set replaces the rows.
func (s *Scrollback) Set(rows []string) { s.rows = rows }

// Add appends finished rows.
func (s *Scrollback) Add(rows []string) {
	if s.up > 0 {
		s.up += len(rows) // what is looked at stays
	}
	s.rows = append(s.rows, rows...)
	if len(s.rows) > maxScrollback+maxScrollback/4 {
		s.rows = append([]string(nil), s.rows[len(s.rows)-maxScrollback:]...)
	}
}

// Last returns the n rows before the place that is scrolled to.
func (s *Scrollback) Last(n, width int) []string {
	out := make([]string, max(n, 0))
	s.up = max(0, min(s.up, len(s.rows)-len(out)))
	end := max(len(s.rows)-s.up, 0)
	for i := range out {
		if at := end - len(out) + i; at >= 0 && at < len(s.rows) {
			out[i] = ansi.Truncate(s.rows[at], width, "")
		}
	}
	return out
}

// Scroll goes up (or down, when by is negative) by rows. It reports whether more rows are
// needed than there are.
func (s *Scrollback) Scroll(by, height int) (more int) {
	s.up = max(0, s.up+by)
	if want := s.up + height; want > len(s.rows) && by > 0 {
		return 2 * want
	}
	return 0
}
