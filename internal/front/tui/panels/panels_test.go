package panels

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"kerf/internal/front/tui/style"
)

func press(p Panel, names ...string) (stay bool) {
	for _, n := range names {
		k := Key{Name: n, At: time.Now()}
		if len([]rune(n)) == 1 {
			k.Text = n
		}
		_, stay = p.Key(k)
	}
	return stay
}

func text(rows []style.Line) string {
	var b strings.Builder
	for _, l := range rows {
		b.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
	}
	return b.String()
}

// fruits is a picker that notes what is chosen.
func fruits(filter bool) (*Picker, *[]string) {
	var got []string
	note := func(how string) func(Item) (tea.Cmd, bool) {
		return func(it Item) (tea.Cmd, bool) { got = append(got, how+it.Value.(string)); return nil, how != "" }
	}
	p := &Picker{Title: "Fruits", Filter: filter, Empty: "none", Choose: note(""),
		Keys: map[string]func(Item) (tea.Cmd, bool){"ctrl+x": note("cut ")}}
	for _, f := range []string{"apple", "banana", "cherry"} {
		p.Items = append(p.Items, Item{Label: f, Detail: "a fruit", Value: f, Current: f == "banana"})
	}
	return p, &got
}

func TestPickerKeys(t *testing.T) {
	for _, x := range []struct {
		keys   []string
		filter bool
		want   []string
		stay   bool
	}{
		{keys: []string{"down", "enter"}, want: []string{"banana"}},
		{keys: []string{"3"}, want: []string{"cherry"}},
		{keys: []string{"9"}, stay: true},
		{keys: []string{"q"}},
		{keys: []string{"end", "ctrl+x"}, want: []string{"cut cherry"}, stay: true},
		{filter: true, keys: []string{"n", "a", "enter"}, want: []string{"banana"}},
		{filter: true, keys: []string{"q", "enter"}, stay: true},
		{filter: true, keys: []string{"q", "backspace", "up", "enter"}, want: []string{"apple"}},
		{filter: true, keys: []string{"esc"}},
	} {
		p, got := fruits(x.filter)
		if stay := press(p, x.keys...); stay != x.stay || !cmp.Equal(*got, x.want) && len(*got)+len(x.want) > 0 {
			t.Errorf("%v: chose %v, want %v; stays %v", x.keys, *got, x.want, stay)
		}
	}
}

// TestPickerIsCalm: what was being typed when it came up chooses nothing.
func TestPickerIsCalm(t *testing.T) {
	p, got := fruits(false)
	p.Held, p.Since = true, time.Now().Add(time.Hour)
	if !press(p, "1", "enter") || len(*got) > 0 {
		t.Errorf("chose %v", *got)
	}
	if p.Takes(Key{Name: "1", Text: "1", At: p.Since.Add(2 * Settle), Last: p.Since.Add(2 * Settle)}) {
		t.Error("a key is taken behind another one")
	}
	if !press(p, "q") {
		t.Error("q, the beginning of a word, leaves a question")
	}
	left := false
	p.Left = func() { left = true }
	if press(p, "esc") || !left {
		t.Error("esc does not leave")
	}
}

func TestPickerView(t *testing.T) {
	p, _ := fruits(true)
	p.Preview = func(it Item, _ int) []style.Line { return []style.Line{style.L(style.Plain, "about "+it.Label)} }
	press(p, "b")
	v := p.View(40, 12)
	want := "Fruits  › b\n▸ banana ✓  a fruit\n" + strings.Repeat("─", 40) +
		"\nabout banana\n↑↓ choose · enter take · esc back\n"
	if d := cmp.Diff(want, text(v.Rows)); d != "" || v.Y != 0 || v.X != 11 {
		t.Errorf("cursor %d,%d %s", v.X, v.Y, d)
	}
	press(p, "z")
	if got := text(p.View(40, 12).Rows); !strings.Contains(got, "none") {
		t.Errorf("nothing fits: %s", got)
	}
}

func TestPickerInPlainMode(t *testing.T) {
	p, got := fruits(false)
	if d := cmp.Diff("Fruits\n1. apple  a fruit\n2. banana  a fruit\n3. cherry  a fruit\n"+
		"Type a number, a letter and a number, or an empty line to go back.\n", text(p.Lines())); d != "" {
		t.Error(d)
	}
	for _, x := range []struct {
		line        string
		stay, again bool
	}{{"2", false, false}, {"ctrl+x 3", true, false}, {"4", true, true}, {"what", true, true}, {"", false, false}} {
		if _, stay, again := p.Line(x.line); stay != x.stay || again != x.again {
			t.Errorf("%q: stays %v, again %v", x.line, stay, again)
		}
	}
	if d := cmp.Diff([]string{"banana", "cut cherry"}, *got); d != "" {
		t.Error(d)
	}
}

func TestInput(t *testing.T) {
	got := ""
	a := &Input{Title: "Name", Done: func(s string) tea.Cmd { got = s; return nil }}
	press(a, "x", "ctrl+u", "a", "b", "backspace")
	a.Paste("c\nd ")
	v := a.View(40, 5)
	if d := cmp.Diff("Name\n› ac ⏎ d\nenter send · esc back\n", text(v.Rows)); d != "" || v.Y != 1 {
		t.Errorf("cursor in row %d %s", v.Y, d)
	}
	if press(a, "enter") || got != "ac ⏎ d" {
		t.Errorf("took %q", got)
	}
	if _, stay, _ := a.Line(" typed "); stay || got != "typed" {
		t.Errorf("took %q", got)
	}
}

func TestPager(t *testing.T) {
	drawn := 0
	p := &Pager{Title: "Rows", Bottom: true, Toggle: "wide", Draw: func(_ int, wide bool) []style.Line {
		drawn++
		var rows []style.Line
		for i := range 50 {
			rows = append(rows, style.L(style.Plain, fmt.Sprintf("row %d %v", i, wide)))
		}
		return rows
	}}
	shows := func(what string) {
		t.Helper()
		if got := text(p.View(40, 10).Rows); !strings.Contains(got, what) {
			t.Errorf("no %q in\n%s", what, got)
		}
	}
	shows("row 49 false")
	press(p, "home")
	shows("row 0 false")
	press(p, "/", "3", "3", "enter")
	shows("row 33")
	press(p, "s")
	shows("row 33 true")
	press(p, "end")
	shows("row 49 true")
	press(p, "/", "x", "y", "enter")
	shows("not found: xy")
	if drawn != 2 {
		t.Errorf("drawn %d times, want once for each way", drawn)
	}
	if press(p, "q") {
		t.Error("q does not close")
	}
	if n := len(p.Lines()); n != 51 {
		t.Errorf("%d lines in plain mode", n)
	}
}
