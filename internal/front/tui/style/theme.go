package style

import (
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Theme is a theme of the user's own: a built-in one in which some roles look
// different.
type Theme struct {
	base  string
	tints map[Role]tint
}

// roleNames are the roles as a theme names them.
func roleNames() []string {
	return []string{"plain", "dim", "accent", "good", "bad", "warn", "heading", "code", "link", "user", "border",
		"selected",
		"added", "removed", "added_word", "removed_word", "keyword", "string", "number", "comment", "name", "type"}
}

// ParseTheme reads a theme: the name of the built-in one that it begins with, "dark"
// when that is empty, and by role how it is drawn: words in any order out of
// #rrggbb, bold, faint, italic, underline, reverse, and "on #rrggbb" for the
// background.
func ParseTheme(base string, roles map[string]string) (Theme, error) {
	t := Theme{base: base, tints: map[Role]tint{}}
	if t.base == "" {
		t.base = "dark"
	}
	if t.base == "auto" || !slices.Contains(Themes(), t.base) {
		return t, fmt.Errorf("base %q: use dark, light, contrast or mono", base)
	}
	names := roleNames()
	for name, words := range roles {
		i := slices.Index(names, name)
		if i < 0 {
			return t, fmt.Errorf("there is no role %q; there are %s", name, strings.Join(names, ", "))
		}
		look, err := parseTint(words)
		if err != nil {
			return t, fmt.Errorf("%s: %w", name, err)
		}
		t.tints[Role(i)] = look
	}
	return t, nil
}

func parseTint(words string) (tint, error) {
	t := tint{base: -1}
	var attrs []string
	on := false
	for w := range strings.FieldsSeq(strings.ToLower(words)) {
		n := slices.Index([]string{"bold", "faint", "italic", "underline", "", "", "reverse"}, w)
		switch {
		case w == "on":
			on = true
			continue
		case n >= 0 && !on:
			attrs = append(attrs, strconv.Itoa(n+1))
		default:
			rgb, err := strconv.ParseUint(strings.TrimPrefix(w, "#"), 16, 24)
			if err != nil || len(w) != 7 || w[0] != '#' {
				return t, fmt.Errorf("%q: use #rrggbb, on #rrggbb, bold, faint, italic, underline or reverse", w)
			}
			if on {
				t.back = uint32(rgb)
			} else {
				t.rgb = uint32(rgb)
				t.base = nearest16(uint32(rgb))
			}
		}
		on = false
	}
	if t.back != 0 && t.base < 0 {
		return t, fmt.Errorf("%q: a background needs a colour before it", words)
	}
	t.attr = strings.Join(attrs, ";")
	t.noAttr = t.attr
	return t, nil
}

// nearest16 is the one of 16 colours that is nearest.
func nearest16(rgb uint32) int {
	return int(ansi.Convert16(color.RGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 0xff}))
}

// Palette makes the palette of the theme.
func (t Theme) Palette(d Depth) *Palette {
	p := New(t.base, d)
	for r, look := range t.tints {
		p.set(r, look)
	}
	return p
}
