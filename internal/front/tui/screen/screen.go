// Package screen draws frames on a terminal without leaving its scrollback:
// finished rows are written once and scroll away; of the rows below them those that
// changed are written again.
package screen

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Frame is what the terminal shall show.
type Frame struct {
	// Above are finished rows, written once above the live ones. Like Rows they
	// leave the last column free: what clears the rest of a row clears that, too.
	Above []string
	// Rows are the live rows, at most as many as the terminal is high. They hold
	// no control characters but SGR sequences, and end in the default style.
	Rows []string
	// X and Y place the cursor in Rows; a negative Y hides it.
	X, Y int
	// Full draws Rows on the alternate screen. Above then waits until the next
	// frame that is not Full.
	Full bool
	// Anew draws over all that was drawn and is still on the screen: Above begins with
	// what was written before.
	Anew bool
	// Title is the terminal's title; it is written when it changes.
	Title string
}

// Screen writes frames to a terminal. Only one goroutine may use it.
type Screen struct {
	w             io.Writer
	width, height int
	// Reflows tells that the terminal wraps rows anew when its width changes, as
	// most do.
	reflows bool

	rows     []string
	x, y     int   // where the cursor is, in rows
	wide     []int // cells of the finished rows written last, those of rows not on the screen before them
	above    bool  // there are more of them above
	stale    bool  // drawn for another size
	full     bool
	waiting  []string
	title    string
	started  bool
	shown    bool
	saved    saved  // of the normal screen, while the other is shown
	drawnFor [2]int // the size for which the alternate screen is drawn
}

type saved struct {
	rows []string
	x, y int
}

// New returns a screen on w.
func New(w io.Writer, reflows bool) *Screen { return &Screen{w: w, reflows: reflows} }

// Modes that are on while Kerf has the terminal: bracketed paste, focus reports
// and unambiguous keys (kitty's and xterm's way).
const (
	enter = "\x1b[?2004h\x1b[?1004h\x1b[>4;1m\x1b[>1u"
	leave = "\x1b[<1u\x1b[>4;0m\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[m"
	// repair undoes what a killed program may have left, before anything is drawn.
	// The alternate screen is left by 47, not by 1049, which would move the cursor.
	repair = "\x1b[?47l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2026l\x1b[?7h\x1b[m"
	begin  = "\x1b[?2026h\x1b[?25l"
	end    = "\x1b[?2026l"
)

// Start takes the terminal.
func (s *Screen) Start() error {
	s.started = true
	s.rows, s.x, s.y, s.full = nil, 0, 0, false
	s.wide, s.above, s.stale = nil, false, false
	_, err := io.WriteString(s.w, repair+"\r"+enter)
	return err
}

// Stop gives the terminal back with the cursor below the live rows, or, with
// erase set, in their place.
func (s *Screen) Stop(erase bool) error {
	if !s.started {
		return nil
	}
	var b strings.Builder
	b.WriteString(end)
	s.leaveFull(&b)
	if erase {
		s.home(&b)
		b.WriteString("\x1b[J")
	} else if len(s.rows) > 0 {
		s.to(&b, len(s.rows)-1)
		b.WriteString("\r\n")
	}
	if s.title != "" {
		b.WriteString(ansi.SetWindowTitle(""))
		s.title = ""
	}
	b.WriteString(leave)
	s.started, s.rows, s.x, s.y = false, nil, 0, 0
	_, err := io.WriteString(s.w, b.String())
	return err
}

// maxWide is how many finished rows are remembered: more than any screen has.
const maxWide = 1000

// Resize takes the terminal's new size. What was drawn for another one is Stale then.
func (s *Screen) Resize(width, height int) {
	s.stale = s.stale || s.width != 0
	s.width, s.height = width, height
}

// Fresh tells that the frames are for the new size, without one that is Anew.
func (s *Screen) Fresh() { s.stale = false }

// Redraw has the next frame drawn anew.
func (s *Screen) Redraw() { s.stale = true }

// Stale reports whether what is on the screen was drawn for another size: the next frame
// that is not Full has to be one that is Anew.
func (s *Screen) Stale() bool { return s.stale }

// erase clears all that was drawn and is on the screen, which the terminal may have
// wrapped anew, and leaves the cursor where it began.
func (s *Screen) erase(b *strings.Builder) {
	up := s.y
	if s.reflows {
		up = max(s.x, 0) / max(s.width, 1)
		for _, r := range s.rows[:min(s.y, len(s.rows))] {
			up += s.takes(ansi.StringWidth(r))
		}
	}
	most := max(s.height-1, 0)
	for i := len(s.wide) - 1; i >= 0 && up <= most; i-- {
		up += s.takes(s.wide[i])
	}
	if s.above && up < most {
		up = most
	}
	below := -1 // the row of the cursor, of which all that is wrapped counts
	for _, r := range s.rows[min(s.y, len(s.rows)):] {
		below += s.takes(ansi.StringWidth(r))
	}
	s.above = s.above || up+below > most // the terminal may have scrolled some away
	up = min(up, most)
	b.WriteByte('\r')
	if up > 0 {
		fmt.Fprintf(b, "\x1b[%dA", up)
	}
	b.WriteString("\x1b[J")
	s.rows, s.x, s.y, s.wide, s.stale = nil, 0, 0, nil, false
}

// takes is how many rows of the screen a row of so many cells takes.
func (s *Screen) takes(cells int) int {
	if !s.reflows || s.width <= 0 {
		return 1
	}
	return max(1, (cells+s.width-1)/s.width)
}

// Draw shows f. It writes only what differs from the frame before.
func (s *Screen) Draw(f Frame) error {
	if s.height > 0 && len(f.Rows) > s.height {
		cut := len(f.Rows) - s.height
		f.Rows, f.Y = f.Rows[cut:], f.Y-cut
	}
	var b strings.Builder
	if f.Title != s.title {
		s.title = f.Title
		b.WriteString(ansi.SetWindowTitle(f.Title))
	}
	if f.Full {
		s.waiting = append(s.waiting, f.Above...)
		s.drawFull(&b, f)
	} else {
		s.leaveFull(&b)
		if f.Anew {
			s.waiting = nil
			s.erase(&b)
		}
		s.waiting = append(s.waiting, f.Above...)
		s.drawInline(&b, f)
	}
	if b.Len() == 0 {
		return nil
	}
	show := ""
	if f.Y >= 0 {
		show = "\x1b[?25h"
	}
	_, err := io.WriteString(s.w, begin+b.String()+show+end)
	return err
}

func (s *Screen) drawInline(b *strings.Builder, f Frame) {
	switch {
	case len(s.waiting) > 0:
		s.home(b)
		for _, l := range s.waiting {
			b.WriteString(l + "\x1b[K\r\n")
			s.wide = append(s.wide, ansi.StringWidth(l))
		}
		if n := len(s.wide); n > maxWide {
			s.wide, s.above = append([]int(nil), s.wide[n-maxWide/2:]...), true
		}
		s.waiting = nil
		s.rows = nil
		s.write(b, f.Rows, 0)
	default:
		s.differ(b, f.Rows)
	}
	s.place(b, f)
}

// differ rewrites the rows that changed.
func (s *Screen) differ(b *strings.Builder, rows []string) {
	first := 0
	for first < len(rows) && first < len(s.rows) && rows[first] == s.rows[first] {
		first++
	}
	if first == len(rows) && first == len(s.rows) {
		return
	}
	if len(rows) != len(s.rows) {
		s.to(b, min(first, max(len(s.rows)-1, 0)))
		if first > 0 && first >= len(s.rows) {
			b.WriteString("\r\n")
			s.y++
		}
		s.write(b, rows, first)
		return
	}
	for i := first; i < len(rows); i++ {
		if rows[i] != s.rows[i] {
			s.to(b, i)
			b.WriteString("\r" + rows[i] + "\x1b[K")
		}
	}
	s.rows = rows
	s.x = -1
}

// write writes the rows from the given one on, from the cursor's row on, and
// clears what is below.
func (s *Screen) write(b *strings.Builder, rows []string, from int) {
	b.WriteByte('\r')
	for i := from; i < len(rows); i++ {
		if i > from {
			b.WriteString("\r\n")
		}
		b.WriteString(rows[i] + "\x1b[K")
	}
	if from >= len(rows) && from > 0 { // rows were only taken away
		if s.y >= len(rows) {
			b.WriteString("\x1b[J")
			s.y = from
		}
	} else {
		if len(rows) > 0 {
			s.y = len(rows) - 1
		}
		b.WriteString("\x1b[J")
	}
	s.rows = rows
	s.x = -1
}

// home goes to the first live row.
func (s *Screen) home(b *strings.Builder) {
	s.to(b, 0)
	b.WriteByte('\r')
	s.x, s.y = 0, 0
}

// to goes to a live row.
func (s *Screen) to(b *strings.Builder, row int) {
	switch {
	case row < s.y:
		fmt.Fprintf(b, "\x1b[%dA", s.y-row)
	case row > s.y:
		fmt.Fprintf(b, "\x1b[%dB", row-s.y)
	}
	s.y = row
}

// place puts the cursor where the frame wants it.
func (s *Screen) place(b *strings.Builder, f Frame) {
	y, x := f.Y, f.X
	if y < 0 {
		if s.shown {
			b.WriteString("\x1b[?25l")
		}
		s.shown = false
		return
	}
	if y == s.y && x == s.x && s.shown && b.Len() == 0 {
		return
	}
	s.to(b, max(min(y, len(s.rows)-1), 0))
	b.WriteByte('\r')
	if x > 0 {
		fmt.Fprintf(b, "\x1b[%dC", x)
	}
	s.x, s.shown = x, true
}

func (s *Screen) drawFull(b *strings.Builder, f Frame) {
	if !s.full {
		s.saved = saved{s.rows, s.x, s.y}
		s.full, s.rows = true, nil
		b.WriteString("\x1b[?1049h")
		s.drawnFor = [2]int{}
	}
	if s.drawnFor != [2]int{s.width, s.height} {
		b.WriteString("\x1b[H\x1b[2J")
		s.rows, s.drawnFor = nil, [2]int{s.width, s.height}
	}
	for i := range s.height {
		row := ""
		if i < len(f.Rows) {
			row = f.Rows[i]
		}
		if i < len(s.rows) && s.rows[i] == row || s.rows == nil && row == "" {
			continue
		}
		fmt.Fprintf(b, "\x1b[%d;1H%s\x1b[K", i+1, row)
	}
	s.rows = make([]string, s.height)
	copy(s.rows, f.Rows)
	if f.Y >= 0 {
		fmt.Fprintf(b, "\x1b[%d;%dH", f.Y+1, f.X+1)
	}
	s.shown = f.Y >= 0
}

func (s *Screen) leaveFull(b *strings.Builder) {
	if !s.full {
		return
	}
	b.WriteString("\x1b[?1049l")
	s.full = false
	s.rows, s.x, s.y = s.saved.rows, s.saved.x, s.saved.y
	s.saved = saved{}
}
