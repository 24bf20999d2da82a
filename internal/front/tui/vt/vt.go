// Package vt is a small terminal for tests: bytes in, the screen out. It knows
// the sequences that Kerf may write and lists any other in Strange.
package vt

import (
	"fmt"
	"strings"

	"kerf/internal/front/tui/style"
)

// Cell is one place of the screen. The second half of a wide character has an
// empty Text.
type Cell struct {
	Text string
	SGR  string
}

// Terminal is a screen with scrollback. Only one goroutine may use it.
type Terminal struct {
	// Strange lists sequences and control bytes that are not known.
	Strange []string
	// Title is the window's title, Clipboard what was put there, Bells the number
	// of bells, Notes the notifications.
	Title, Clipboard string
	Bells            int
	Notes            []string
	CursorHidden     bool
	Modes            map[string]bool
	// Bytes counts what was written.
	Bytes int

	width, height int
	scrollback    []row
	rows, other   []row
	full          bool
	x, y          int
	ox, oy        int
	pending       bool // the cursor waits behind the last column
	sgr           string
	rest          string
}

// row is a row of cells; soft rows go on in the next one.
type row struct {
	cells []Cell
	soft  bool
}

// New returns an empty terminal.
func New(width, height int) *Terminal {
	t := &Terminal{width: width, height: height, Modes: map[string]bool{}}
	t.rows = make([]row, height)
	return t
}

// Write takes what a program prints.
func (t *Terminal) Write(p []byte) (int, error) {
	t.Bytes += len(p)
	s := t.rest + string(p)
	t.rest = ""
	for s != "" {
		n := t.step(s)
		if n == 0 {
			t.rest = s
			break
		}
		s = s[n:]
	}
	return len(p), nil
}

// step takes one character or sequence off s; 0 means that more is needed.
func (t *Terminal) step(s string) int {
	switch c := s[0]; {
	case c == 0x1b:
		return t.escape(s)
	case c == '\r':
		t.x, t.pending = 0, false
	case c == '\n':
		t.feed(false)
	case c == 0x07:
		t.Bells++
	case c < 0x20 || c == 0x7f:
		t.Strange = append(t.Strange, fmt.Sprintf("%#x", c))
	case c == 0xc2 && len(s) > 1 && s[1] < 0xa0:
		t.Strange = append(t.Strange, fmt.Sprintf("U+%04X", s[1]))
		return 2
	default:
		cluster, w, rest := style.Next(s)
		t.put(cluster, w)
		return len(s) - len(rest)
	}
	return 1
}

func (t *Terminal) put(cluster string, w int) {
	if w == 0 {
		return
	}
	if wraps, said := t.Modes["?7"]; said && !wraps && (t.pending || t.x+w > t.width) {
		t.x, t.pending = max(0, t.width-w), false // the last column is written over
	}
	if t.pending || t.x+w > t.width {
		t.rows[t.y].soft = true
		t.x = 0
		t.feed(true)
	}
	r := &t.rows[t.y]
	for len(r.cells) < t.x+w {
		r.cells = append(r.cells, Cell{Text: " "})
	}
	r.cells[t.x] = Cell{cluster, t.sgr}
	for i := 1; i < w; i++ {
		r.cells[t.x+i] = Cell{"", t.sgr}
	}
	if t.x += w; t.x >= t.width {
		t.x, t.pending = t.width-1, true
	}
}

func (t *Terminal) feed(soft bool) {
	t.pending = false
	if t.y < t.height-1 {
		t.y++
		return
	}
	if !t.full {
		t.scrollback = append(t.scrollback, t.rows[0])
	}
	t.rows = append(t.rows[1:len(t.rows):len(t.rows)], row{})
}

// escape takes a sequence.
func (t *Terminal) escape(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				t.csi(s[2:i], s[i])
				return i + 1
			}
		}
		return 0
	case ']':
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				t.osc(s[2:i])
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				t.osc(s[2:i])
				return i + 2
			}
		}
		return 0
	}
	t.Strange = append(t.Strange, fmt.Sprintf("%q", s[:2]))
	return 2
}

func (t *Terminal) osc(s string) {
	kind, rest, _ := strings.Cut(s, ";")
	switch kind {
	case "0", "2":
		t.Title = rest
	case "9", "777":
		t.Notes = append(t.Notes, rest)
	case "52":
		t.Clipboard = rest
	case "11", "10":
		if rest != "?" {
			t.Strange = append(t.Strange, fmt.Sprintf("OSC %q", s))
		}
	default:
		t.Strange = append(t.Strange, fmt.Sprintf("OSC %q", s))
	}
}

func (t *Terminal) csi(params string, final byte) {
	n := 1
	fmt.Sscanf(params, "%d", &n)
	switch {
	case final == 'm' && !strings.HasPrefix(params, ">"):
		t.sgr = params
		if params == "0" {
			t.sgr = ""
		}
	case final == 'A':
		t.y, t.pending = max(0, t.y-n), false
	case final == 'B':
		t.y, t.pending = min(t.height-1, t.y+n), false
	case final == 'C':
		t.x, t.pending = min(t.width-1, t.x+n), false
	case final == 'K':
		t.eraseLine(params)
	case final == 'J':
		t.eraseScreen(params)
	case final == 'H':
		y, x := 1, 1
		fmt.Sscanf(params, "%d;%d", &y, &x)
		t.y, t.x, t.pending = min(max(y-1, 0), t.height-1), min(max(x-1, 0), t.width-1), false
	case final == 'h' || final == 'l':
		t.mode(params, final == 'h')
	case final == 'u' || final == 'm' || final == 'p' || final == 'n' || final == 'c':
	default:
		t.Strange = append(t.Strange, fmt.Sprintf("CSI %s%c", params, final))
	}
}

func (t *Terminal) eraseLine(params string) {
	if r := &t.rows[t.y]; len(r.cells) > t.x { // also behind the last column, as terminals do
		r.cells = r.cells[:t.x]
	}
	t.rows[t.y].soft = false
}

func (t *Terminal) eraseScreen(params string) {
	if params == "2" {
		t.rows = make([]row, t.height)
		return
	}
	t.eraseLine("")
	for i := t.y + 1; i < t.height; i++ {
		t.rows[i] = row{}
	}
}

func (t *Terminal) mode(params string, on bool) {
	t.Modes[params] = on
	switch params {
	case "?25":
		t.CursorHidden = !on
	case "?1049":
		if on == t.full {
			return
		}
		t.full = on
		if on {
			t.other, t.ox, t.oy = t.rows, t.x, t.y
			t.rows = make([]row, t.height)
			return
		}
		t.rows, t.x, t.y = t.other, t.ox, t.oy
	}
}

// Resize changes the size as a terminal does that wraps its rows anew. The alternate
// screen is cut.
func (t *Terminal) Resize(width, height int) {
	if !t.full {
		t.rows, t.x, t.y = t.reflow(t.rows, t.x, t.y, width, height)
	} else {
		t.other, t.ox, t.oy = t.reflow(t.other, t.ox, t.oy, width, height)
		rows := make([]row, height)
		copy(rows, t.rows)
		for i := range rows {
			rows[i].cells = rows[i].cells[:min(len(rows[i].cells), width)]
			rows[i].soft = false
		}
		t.rows, t.x, t.y = rows, min(t.x, width-1), min(t.y, height-1)
	}
	t.width, t.height, t.pending = width, height, false
}

// reflow wraps scrollback and rows for a new size, and tells where the cursor is then.
func (t *Terminal) reflow(old []row, ox, oy, width, height int) (screen []row, x, y int) {
	var lines [][]Cell
	cy, cx := -1, 0
	var now []Cell
	for i, r := range append(append([]row{}, t.scrollback...), old...) {
		if i == len(t.scrollback)+oy {
			cy, cx = len(lines), len(now)+ox
		}
		now = append(now, r.cells...)
		if !r.soft {
			lines, now = append(lines, now), nil
		}
	}
	var rows []row
	last := 0
	for i, l := range lines {
		if i == cy {
			y, x = len(rows)+cx/width, cx%width
		}
		for len(l) > width {
			n := width
			if l[n].Text == "" { // the second half of a wide character
				n--
			}
			rows = append(rows, row{l[:n:n], true})
			l = l[n:]
		}
		rows = append(rows, row{cells: l})
		if len(l) > 0 || i <= cy {
			last = len(rows)
		}
	}
	for len(rows) <= y {
		rows = append(rows, row{})
	}
	rows = rows[:max(last, y+1)]
	top := min(max(0, len(rows)-height), y) // the cursor stays; what does not fit below it goes
	t.scrollback, rows = rows[:top:top], rows[top:min(len(rows), top+height)]
	for len(rows) < height {
		rows = append(rows, row{})
	}
	return rows, x, y - top
}

// Screen returns the rows of the screen, without blanks at their ends.
func (t *Terminal) Screen() string { return text(t.rows) }

// All returns scrollback and screen.
func (t *Terminal) All() string { return text(append(append([]row{}, t.scrollback...), t.rows...)) }

// Scrollback tells how many rows scrolled away.
func (t *Terminal) Scrollback() int { return len(t.scrollback) }

// Cursor tells column and row, from 0.
func (t *Terminal) Cursor() (x, y int) { return t.x, t.y }

// Full reports whether the alternate screen is shown.
func (t *Terminal) Full() bool { return t.full }

func text(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		var line strings.Builder
		for _, c := range r.cells {
			line.WriteString(c.Text)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Styled returns the screen with every change of style as ‹codes›.
func (t *Terminal) Styled() string {
	var b strings.Builder
	for _, r := range t.rows {
		now := ""
		var line strings.Builder
		for _, c := range r.cells {
			if c.SGR != now {
				line.WriteString("‹" + c.SGR + "›")
				now = c.SGR
			}
			line.WriteString(c.Text)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Forget drops the scrollback.
func (t *Terminal) Forget() { t.scrollback = nil }
