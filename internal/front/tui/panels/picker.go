package panels

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/style"
)

// Picker lets the user choose one of several items.
type Picker struct {
	Title string
	Items []Item
	// Empty says what it means that there are none.
	Empty string
	// Filter has typed text filter the items; without it digits choose one, and keys
	// in Keys need no ctrl.
	Filter bool
	// At is the item that is marked.
	At int
	// Choose acts on an item and says whether the picker stays; nil when there is
	// nothing to choose.
	Choose func(Item) (tea.Cmd, bool)
	// Keys are further keys and what they do to the marked item.
	Keys map[string]func(Item) (tea.Cmd, bool)
	Foot string
	// Leave is what esc does, in a word; empty for back.
	Leave string
	// Preview draws something about the marked item below the list.
	Preview func(it Item, width int) []style.Line
	// Held makes it an [Asker]: what was being typed chooses nothing. Since is when it came up.
	Held  bool
	Since time.Time
	// Left is called when the picker is closed without a choice.
	Left func()

	words string
	calm  bool // a Held one was up long enough
	armed bool // the marked item waits for enter
}

// Item is one thing to choose.
type Item struct {
	Label, Detail string
	Role          style.Role
	Value         any
	Current       bool
	// Lasting is chosen by two keys: its number, then enter.
	Lasting bool
}

// Asks reports whether typing must not choose.
func (p *Picker) Asks() bool { return p.Held }

// Takes reports whether a key that types something chooses, now that nobody types.
func (p *Picker) Takes(k Key) bool {
	return p.settled(k) && !p.armed && p.answers(k.Text) >= 0
}

// Typing has the picker wait for a second without keys again.
func (p *Picker) Typing() string {
	first := ""
	if p.armed {
		first = strconv.Itoa(p.At + 1)
	}
	p.calm, p.armed = false, false
	return first
}

// settled reports whether keys count by now.
func (p *Picker) settled(k Key) bool {
	p.calm = p.calm || k.At.Sub(p.Since) >= Settle && k.At.Sub(k.Last) >= Settle
	return p.calm || !p.Held
}

// answers is the index of the item that a typed text chooses, or -1.
func (p *Picker) answers(text string) int {
	list := p.shown()
	switch {
	case p.Filter || p.Choose == nil || len(text) != 1:
	case text[0] >= '1' && text[0] <= '9' && int(text[0]-'1') < len(list):
		return int(text[0] - '1')
	case (text == "y" || text == "n") && len(list) == 2: // a question
		word := map[string]string{"y": "Yes", "n": "No"}[text]
		return slices.IndexFunc(list, func(it Item) bool { return it.Label == word })
	}
	return -1
}

// shown are the items that have all the words.
func (p *Picker) shown() []Item {
	if p.words == "" {
		return p.Items
	}
	var out []Item
	for _, it := range p.Items {
		text := strings.ToLower(it.Label + " " + it.Detail)
		ok := true
		for w := range strings.FieldsSeq(strings.ToLower(p.words)) {
			ok = ok && strings.Contains(text, w)
		}
		if ok {
			out = append(out, it)
		}
	}
	return out
}

// Marked is the item that is marked; false when there is none.
func (p *Picker) Marked() (Item, bool) {
	list := p.shown()
	if len(list) == 0 {
		return Item{}, false
	}
	return list[max(0, min(p.At, len(list)-1))], true
}

// Key moves the mark, filters, or chooses.
func (p *Picker) Key(k Key) (tea.Cmd, bool) {
	list := p.shown()
	p.At = max(0, min(p.At, len(list)-1))
	if do := p.Keys[k.Name]; do != nil {
		if len(list) == 0 {
			return nil, true
		}
		return do(list[p.At])
	}
	chooses := k.Name == "enter" || k.Text != ""
	if chooses && !p.settled(k) {
		return nil, true
	}
	if p.armed && k.Name == "enter" && k.At.Sub(k.Last) < Rest {
		return nil, true // not a key of its own
	}
	p.armed = false
	switch k.Name {
	case "esc", "ctrl+c":
		if p.Left != nil {
			p.Left()
		}
		return nil, false
	case "up", "ctrl+p":
		p.At = max(0, p.At-1)
	case "down", "ctrl+n":
		p.At = min(p.At+1, len(list)-1)
	case "pgup":
		p.At = max(0, p.At-8)
	case "pgdown":
		p.At = min(p.At+8, len(list)-1)
	case "home":
		p.At = 0
	case "end":
		p.At = len(list) - 1
	case "enter":
		if len(list) == 0 || p.Choose == nil {
			return nil, true
		}
		return p.Choose(list[p.At])
	case "backspace":
		if r := []rune(p.words); len(r) > 0 {
			p.words, p.At = string(r[:len(r)-1]), 0
		}
	default:
		return p.typed(k, list)
	}
	return nil, true
}

// typed takes a key that types text.
func (p *Picker) typed(k Key, list []Item) (tea.Cmd, bool) {
	i := p.answers(k.Text)
	switch {
	case p.Filter && k.Text != "":
		p.words, p.At = p.words+k.Text, 0
	case p.Filter:
	case i >= 0 && list[i].Lasting:
		p.At, p.armed = i, true
	case i >= 0:
		p.At = i
		return p.Choose(list[i])
	case k.Name == "q" && !p.Held:
		return nil, false
	}
	return nil, true
}

// Paste takes pasted text as words to filter by.
func (p *Picker) Paste(text string) {
	if p.Filter {
		p.words += style.OneLine(text)
	}
}

// View draws the items around the marked one.
func (p *Picker) View(width, height int) View {
	list := p.shown()
	p.At = max(0, min(p.At, len(list)-1))
	title := style.Line{style.Bold(style.Heading, p.Title)}
	v := View{Y: -1}
	if p.Filter {
		title = append(title, style.S(style.Dim, "  › "), style.S(style.Plain, p.words))
		v.X, v.Y = min(title.Width(), width-1), 0
	}
	v.Rows = append(v.Rows, title.Cut(width))
	room := max(height-2, 1)
	var under []style.Line
	if p.Preview != nil && len(list) > 0 && room >= 8 {
		under = p.Preview(list[p.At], width)
		under = under[:min(len(under), room/2)]
		room -= len(under) + 1
	}
	if len(list) == 0 {
		v.Rows = append(v.Rows, style.WrapText(style.Dim, "  "+p.Empty, width)...)
	}
	v.Rows = append(v.Rows, p.listRows(list, width, min(room, 14))...)
	if len(under) > 0 {
		v.Rows = append(v.Rows, style.L(style.Border, strings.Repeat("─", width)))
		v.Rows = append(v.Rows, under...)
	}
	foot := cmp.Or(p.Foot, "↑↓ choose · enter take") + " · esc " + cmp.Or(p.Leave, "back")
	v.Rows = append(v.Rows, style.L(style.Dim, foot).Cut(width))
	return v
}

func (p *Picker) listRows(list []Item, width, room int) []style.Line {
	top := max(0, min(p.At-room/2, len(list)-room))
	var rows []style.Line
	for i := top; i < len(list) && len(rows) < room; i++ {
		it := list[i]
		role, mark := it.Role, "  "
		if i == p.At {
			role, mark = style.Accent, "▸ "
		}
		if !p.Filter && p.Choose != nil && i < 9 {
			mark += fmt.Sprintf("%d ", i+1)
		}
		l := style.Line{style.S(role, mark), style.S(role, style.OneLine(it.Label))}
		if i == p.At && p.armed {
			l = append(l, style.S(style.Warn, "  enter confirms"))
		}
		if it.Current {
			l = append(l, style.S(style.Good, " ✓"))
		}
		if it.Detail != "" {
			l = append(l, style.S(style.Dim, "  "+style.OneLine(it.Detail)))
		}
		rows = append(rows, l.Cut(width))
	}
	return rows
}

// Lines are the numbered items.
func (p *Picker) Lines() []style.Line {
	rows := []style.Line{style.L(style.Heading, p.Title)}
	for i, it := range p.shown() {
		text := fmt.Sprintf("%d. %s  %s", i+1, style.OneLine(it.Label), style.OneLine(it.Detail))
		rows = append(rows, style.L(style.Plain, text))
	}
	how := strings.TrimSpace("Type a number, a letter and a number, or an empty line to go back. " + p.Foot)
	return append(rows, style.L(style.Dim, how))
}

// Line takes a number, or a key and a number.
func (p *Picker) Line(text string) (c tea.Cmd, stay, again bool) {
	key, rest := "enter", strings.TrimSpace(text)
	if rest == "" {
		c, stay = p.Key(Key{Name: "esc"})
		return c, stay, false
	}
	if f := strings.Fields(rest); len(f) == 2 && p.Keys[f[0]] != nil {
		key, rest = f[0], f[1]
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 || n > len(p.shown()) {
		return nil, true, true
	}
	p.At = n - 1
	p.calm = true // a whole line is no slip of a finger
	c, stay = p.Key(Key{Name: key})
	return c, stay, false
}

// Input asks for a line of words.
type Input struct {
	Title string
	Text  string
	// Done takes the words.
	Done func(text string) tea.Cmd
}

// Key edits the words, or hands them over.
func (a *Input) Key(k Key) (tea.Cmd, bool) {
	switch {
	case k.Name == "enter":
		return a.Done(strings.TrimSpace(a.Text)), false
	case k.Name == "esc" || k.Name == "ctrl+c":
		return nil, false
	case k.Name == "ctrl+u":
		a.Text = ""
	case k.Name == "backspace":
		if r := []rune(a.Text); len(r) > 0 {
			a.Text = string(r[:len(r)-1])
		}
	default:
		a.Text += k.Text
	}
	return nil, true
}

// Paste adds pasted text.
func (a *Input) Paste(text string) { a.Text += style.OneLine(text) }

// View draws the title and the words.
func (a *Input) View(width, _ int) View {
	rows := style.Wrap(style.Line{style.Bold(style.Heading, a.Title)}, width)
	body := style.Wrap(style.Line{style.S(style.Accent, "› "), style.S(style.Plain, a.Text)}, width-1)
	x, y := body[len(body)-1].Width(), len(rows)+len(body)-1
	rows = append(rows, body...)
	return View{Rows: append(rows, style.L(style.Dim, "enter send · esc back").Cut(width)), X: x, Y: y}
}

// Lines are the title.
func (a *Input) Lines() []style.Line { return []style.Line{style.L(style.Heading, a.Title)} }

// Line takes the words.
func (a *Input) Line(text string) (c tea.Cmd, stay, again bool) {
	a.Text = text
	c, stay = a.Key(Key{Name: "enter"})
	return c, stay, false
}
