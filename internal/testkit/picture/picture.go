// Package picture draws what a terminal shows as a page for a browser, and makes pictures of it
// small.
package picture

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strconv"
	"strings"
)

// The size of a character in pixels.
const (
	CharWidth  = 8
	CharHeight = 17
)

// themes are the colours of the two terminals: background, text, and the first 16 of the palette.
var themes = map[bool][]string{
	true: {"#1c1e22", "#d6d8db", "#1c1e22", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d6d8db",
		"#7f848e", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#ffffff"},
	false: {"#fdfdfb", "#26282c", "#26282c", "#b4232c", "#2c7a2c", "#8a6100", "#1f5fb0", "#8b2fa3", "#0f7480", "#d9d9d6",
		"#6a6e75", "#b4232c", "#2c7a2c", "#8a6100", "#1f5fb0", "#8b2fa3", "#0f7480", "#fdfdfb"},
}

// Page is the page that shows rows with their SGR sequences, as tmux captures them.
func Page(rows []string, columns int, dark bool) string {
	var b strings.Builder
	t := themes[dark]
	fmt.Fprintf(&b, `<!DOCTYPE html><meta charset="utf-8"><style>body{margin:0;background:%s;color:%s}
div{white-space:pre;height:%dpx;line-height:%dpx;font:13px/%dpx "DejaVu Sans Mono",monospace;width:%dpx;overflow:hidden;
letter-spacing:calc(%dpx - 7.826px)}span{display:inline-block;height:%dpx}</style>`, t[0], t[1], CharHeight, CharHeight,
		CharHeight, columns*CharWidth, CharWidth, CharHeight)
	var s look
	for _, row := range rows {
		b.WriteString("<div>")
		for row != "" {
			text, rest, found := strings.Cut(row, "\x1b[")
			if text != "" {
				fmt.Fprintf(&b, `<span style="%s">%s</span>`, s.css(t), html.EscapeString(text))
			}
			row = rest
			if !found {
				break
			}
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= 0x40 && r <= 0x7e })
			if end < 0 {
				break
			}
			if rest[end] == 'm' {
				s.take(rest[:end])
			}
			row = rest[end+1:]
		}
		b.WriteString("</div>\n")
	}
	return b.String()
}

// look is what a character looks like.
type look struct {
	bold, faint, italic, underline, reverse, struck bool
	front, back                                     string // "" or #rrggbb, or a number of the palette
}

// take changes the look by the numbers of an SGR sequence.
func (s *look) take(params string) {
	list := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(list) == 0 {
		*s = look{}
	}
	for i := 0; i < len(list); i++ {
		n, _ := strconv.Atoi(list[i])
		switch {
		case n == 0:
			*s = look{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.faint = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.underline = true
		case n == 7:
			s.reverse = true
		case n == 9:
			s.struck = true
		case n == 22:
			s.bold, s.faint = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.underline = false
		case n == 27:
			s.reverse = false
		case n == 29:
			s.struck = false
		case n == 39:
			s.front = ""
		case n == 49:
			s.back = ""
		case n >= 30 && n <= 37:
			s.front = strconv.Itoa(n - 30)
		case n >= 90 && n <= 97:
			s.front = strconv.Itoa(n - 82)
		case n >= 40 && n <= 47:
			s.back = strconv.Itoa(n - 40)
		case n >= 100 && n <= 107:
			s.back = strconv.Itoa(n - 92)
		case n == 38 || n == 48:
			c, used := extended(list[i+1:])
			i += used
			if n == 38 {
				s.front = c
			} else {
				s.back = c
			}
		}
	}
}

// extended is the colour of 38 or 48, and how many numbers it took.
func extended(list []string) (string, int) {
	switch {
	case len(list) >= 4 && list[0] == "2":
		var rgb [3]int
		for i := range rgb {
			rgb[i], _ = strconv.Atoi(list[i+1])
		}
		return fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2]), 4
	case len(list) >= 2 && list[0] == "5":
		n, _ := strconv.Atoi(list[1])
		switch {
		case n < 16:
			return list[1], 2
		case n < 232:
			step := func(v int) int { return min(v, 1) * (55 + 40*v) }
			return fmt.Sprintf("#%02x%02x%02x", step((n-16)/36), step((n-16)/6%6), step((n-16)%6)), 2
		}
		return fmt.Sprintf("#%02[1]x%02[1]x%02[1]x", 8+10*(n-232)), 2
	}
	return "", 0
}

// css is the look in words of a style sheet.
func (s look) css(theme []string) string {
	value := func(c, other string) string {
		if n, err := strconv.Atoi(c); err == nil {
			return theme[2+n]
		}
		return cmp.Or(c, other)
	}
	front, back := value(s.front, theme[1]), value(s.back, "")
	if s.reverse {
		front, back = cmp.Or(back, theme[0]), front
	}
	css := "color:" + front
	if back != "" {
		css += ";background:" + back
	}
	for words, on := range map[string]bool{";font-weight:bold": s.bold, ";opacity:.65": s.faint, ";font-style:italic": s.italic,
		";text-decoration:underline": s.underline, ";text-decoration:line-through": s.struck} {
		if on {
			css += words
		}
	}
	return css
}

// Small makes a picture smaller: it keeps the colours that occur most, and takes the nearest of
// them for each of the others.
func Small(b []byte, colours int) ([]byte, error) {
	m, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	size := m.Bounds()
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(m.At(x, y)).(color.RGBA) }
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	all := make([]color.RGBA, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var palette color.Palette
	for _, c := range all[:min(colours, len(all))] {
		palette = append(palette, c)
	}
	small := image.NewPaletted(size, palette)
	nearest := map[color.RGBA]uint8{}
	for _, c := range all {
		nearest[c] = uint8(palette.Index(c))
	}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}
