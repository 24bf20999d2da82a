package style

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Depth is how many colours a terminal has.
type Depth uint8

// The depths.
const (
	NoColor Depth = iota
	Color16
	Color256
	TrueColor
)

// Palette turns styles into escape sequences. It is immutable.
type Palette struct {
	start [roles]string
	back  [roles]string // the background of a role, empty for none
	depth Depth
}

// tint is a role's look: the number of one of 16 colours, the colour itself, and
// what stands for it without colour.
type tint struct {
	base   int // 0 to 15, -1 for the terminal's own
	rgb    uint32
	back   uint32 // background, 0 for none
	attr   string // SGR attributes, also with colour
	noAttr string // SGR attributes without colour
}

// Themes lists the names of the themes.
func Themes() []string { return []string{"auto", "dark", "light", "contrast", "mono"} }

// New makes a palette for a theme: "dark", "light", "contrast" or "mono".
func New(theme string, depth Depth) *Palette {
	p := &Palette{depth: depth}
	table := dark
	switch theme {
	case "light":
		table = light
	case "contrast":
		table = contrast
	case "mono":
		p.depth = NoColor
	}
	for r := range roles {
		p.set(r, table(r))
	}
	return p
}

func (p *Palette) set(r Role, t tint) {
	p.start[r], p.back[r] = t.sgr(p.depth), ""
	if t.back != 0 && p.depth >= Color256 {
		p.back[r] = deep(48, t.back, p.depth)
	}
}

// Depth tells how many colours the palette uses.
func (p *Palette) Depth() Depth { return p.depth }

func (t tint) sgr(d Depth) string {
	var codes []string
	if t.attr != "" {
		codes = append(codes, t.attr)
	}
	switch {
	case d == NoColor:
		codes = codes[:0]
		if t.noAttr != "" {
			codes = append(codes, t.noAttr)
		}
	case t.base < 0:
	case d == Color16:
		codes = append(codes, base16(t.base))
	default:
		codes = append(codes, deep(38, t.rgb, d))
		if t.back != 0 {
			codes = append(codes, deep(48, t.back, d))
		}
	}
	return strings.Join(codes, ";")
}

func base16(n int) string {
	if n < 8 {
		return fmt.Sprint(30 + n)
	}
	return fmt.Sprint(90 + n - 8)
}

func deep(kind int, rgb uint32, d Depth) string {
	c := color.RGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 0xff}
	if d == Color256 {
		return fmt.Sprintf("%d;5;%d", kind, uint8(ansi.Convert256(c)))
	}
	return fmt.Sprintf("%d;2;%d;%d;%d", kind, c.R, c.G, c.B)
}

func dark(r Role) tint {
	switch r {
	case Dim, Border:
		return tint{8, 0x8a8f98, 0, "", "2"}
	case Comment:
		return tint{8, 0x7f848e, 0, "3", "2"}
	case Accent:
		return tint{14, 0x7dcfff, 0, "", ""}
	case Good:
		return tint{10, 0x9ece6a, 0, "", ""}
	case Bad:
		return tint{9, 0xf7768e, 0, "", "1"}
	case Warn, Number:
		return tint{11, 0xe0af68, 0, "", "1"}
	case Heading:
		return tint{14, 0x7dcfff, 0, "1", "1"}
	case Code, String:
		return tint{10, 0xa3d98f, 0, "", ""}
	case Link:
		return tint{12, 0x82aaff, 0, "4", "4"}
	case User:
		return tint{15, 0xf0f0f0, 0x303036, "", "1"}
	case Selected:
		return tint{14, 0x7dcfff, 0, "7", "7"}
	case Added:
		return tint{2, 0x9ece6a, 0x12361f, "", ""}
	case Removed:
		return tint{1, 0xf7768e, 0x4a1a20, "", ""}
	case AddedWord:
		return tint{10, 0xe2ffd0, 0x1f7a34, "1", "1;4"}
	case RemovedWord:
		return tint{9, 0xffdbe0, 0x8c2330, "1", "1;4"}
	case Keyword:
		return tint{13, 0xc099ff, 0, "", "1"}
	case Name:
		return tint{12, 0x82aaff, 0, "", ""}
	case Type:
		return tint{14, 0x65bcff, 0, "", ""}
	}
	return tint{-1, 0, 0, "", ""}
}

func light(r Role) tint {
	t := dark(r)
	swap := map[Role]tint{
		Dim: {8, 0x6b7078, 0, "", "2"}, Border: {8, 0x6b7078, 0, "", "2"}, Comment: {8, 0x6b7078, 0, "3", "2"},
		Accent: {4, 0x0b5fa5, 0, "", ""}, Good: {2, 0x1b7f3b, 0, "", ""}, Bad: {1, 0xb3142b, 0, "", "1"},
		Warn: {3, 0x8a5a00, 0, "", "1"}, Number: {3, 0x8a5a00, 0, "", ""}, Heading: {4, 0x0b5fa5, 0, "1", "1"},
		Code: {2, 0x1f6f43, 0, "", ""}, String: {2, 0x1f6f43, 0, "", ""}, Link: {4, 0x1a4fb4, 0, "4", "4"},
		User: {0, 0x111111, 0xeceff3, "", "1"}, Selected: {4, 0x0b5fa5, 0, "7", "7"},
		Added: {2, 0x14692f, 0xdff5e3, "", ""}, Removed: {1, 0xa01226, 0xfbe3e6, "", ""},
		AddedWord: {2, 0x083c19, 0xa3e0b1, "1", "1;4"}, RemovedWord: {1, 0x5e0814, 0xf2aab3, "1", "1;4"}, Keyword: {5, 0x7b2fa8, 0, "", "1"},
		Name: {4, 0x1a4fb4, 0, "", ""}, Type: {6, 0x0a6a72, 0, "", ""},
	}
	if s, ok := swap[r]; ok {
		return s
	}
	return t
}

func contrast(r Role) tint {
	t := dark(r)
	t.rgb |= 0x404040
	if r == Dim || r == Border || r == Comment {
		return tint{-1, 0, 0, "", ""}
	}
	if t.attr == "" && t.base >= 0 {
		t.attr = "1"
	}
	return t
}

// Render writes a line with its escape sequences. Whatever a span holds, no
// control byte of it gets out.
func (p *Palette) Render(l Line) string {
	var b strings.Builder
	for _, s := range l {
		text := s.Text
		if !printable(text) {
			text = Prose(text)
		}
		codes := p.codes(s.Style)
		if codes == "" {
			b.WriteString(text)
			continue
		}
		b.WriteString("\x1b[" + codes + "m" + text + "\x1b[m")
	}
	return b.String()
}

func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == 0x7f || c == 0xc2 && i+1 < len(s) && s[i+1] < 0xa0 {
			return false
		}
	}
	return true
}

func (p *Palette) codes(st Style) string {
	codes := ""
	if st.Role < roles {
		codes = p.start[st.Role]
	}
	add := func(on bool, c string) {
		if on && codes != "" {
			codes += ";" + c
		} else if on {
			codes = c
		}
	}
	if st.Back != Plain && st.Back < roles && p.back[st.Back] != "" && (st.Role == st.Back || p.back[st.Role] == "") {
		add(st.Role != st.Back, p.back[st.Back])
	}
	add(st.Bold, "1")
	add(st.Italic, "3")
	add(st.Underline, "4")
	add(st.Strike, "9")
	return codes
}
