package tui

import (
	"fmt"
	"strings"
	"time"

	"kerf/internal/front/tui/ink"
)

// picker lets the user choose one of several things.
type picker struct {
	title string
	items []pick
	// empty says what it means that there are none.
	empty string
	// filter can be typed; without it keys in acts need no ctrl.
	filter bool
	words  string
	at     int
	// chosen acts on the choice and says whether the picker stays.
	chosen func(m *Model, p pick) (cmd, bool)
	// acts are further keys on the choice.
	acts map[string]func(m *Model, p pick) (cmd, bool)
	foot string
	// preview draws something about the choice below the list.
	preview func(p pick, width int) []ink.Line
	// search, when set, is asked for other items when the words change.
	search func(m *Model, words string) cmd
	// calm is until when no choice counts: what was being typed must not choose.
	calm time.Time
	// left is called when the picker is closed without a choice.
	left func(m *Model)
}

// pick is one thing to choose.
type pick struct {
	label, detail string
	role          ink.Role
	value         any
	current       bool
}

// shown are the items that have all the words.
func (p *picker) shown() []pick {
	if p.words == "" || p.search != nil {
		return p.items
	}
	var out []pick
	for _, it := range p.items {
		hay := strings.ToLower(it.label + " " + it.detail)
		ok := true
		for w := range strings.FieldsSeq(strings.ToLower(p.words)) {
			ok = ok && strings.Contains(hay, w)
		}
		if ok {
			out = append(out, it)
		}
	}
	return out
}

func (p *picker) key(m *Model, k, text string) (cmd, bool) {
	list := p.shown()
	p.at = max(0, min(p.at, len(list)-1))
	if act := p.acts[k]; act != nil {
		if len(list) == 0 {
			return nil, true
		}
		return act(m, list[p.at])
	}
	if m.now().Before(p.calm) && k != "esc" && k != "ctrl+c" {
		return nil, true
	}
	switch k {
	case "esc", "ctrl+c":
		if p.left != nil {
			p.left(m)
		}
		return nil, false
	case "up", "ctrl+p":
		p.at = max(0, p.at-1)
	case "down", "ctrl+n":
		p.at = min(p.at+1, len(list)-1)
	case "pgup":
		p.at = max(0, p.at-8)
	case "pgdown":
		p.at = min(p.at+8, len(list)-1)
	case "home":
		p.at = 0
	case "end":
		p.at = len(list) - 1
	case "enter":
		if len(list) == 0 || p.chosen == nil {
			return nil, true
		}
		return p.chosen(m, list[p.at])
	case "backspace":
		if r := []rune(p.words); len(r) > 0 {
			return p.look(m, string(r[:len(r)-1])), true
		}
	default:
		switch {
		case p.filter && text != "":
			return p.look(m, p.words+text), true
		case !p.filter && len(text) == 1 && text[0] >= '1' && text[0] <= '9' && int(text[0]-'1') < len(list) && p.chosen != nil:
			p.at = int(text[0] - '1')
			return p.chosen(m, list[p.at])
		case k == "q" && !p.filter:
			return nil, false
		}
	}
	return nil, true
}

func (p *picker) look(m *Model, words string) cmd {
	p.words, p.at = words, 0
	if p.search != nil {
		return p.search(m, words)
	}
	return nil
}

func (p *picker) paste(text string) {
	if p.filter {
		p.words += oneLine(text)
	}
}

func (p *picker) view(m *Model, width, height int) view {
	list := p.shown()
	p.at = max(0, min(p.at, len(list)-1))
	title := ink.Line{ink.Styled(ink.Strong(ink.Heading), p.title)}
	v := view{y: -1}
	if p.filter {
		title = append(title, ink.S(ink.Dim, "  › "), ink.S(ink.Plain, p.words))
		v.x, v.y = min(title.Width(), width-1), 0
	}
	v.rows = append(v.rows, title.Cut(width))
	room := max(height-2, 1)
	var under []ink.Line
	if p.preview != nil && len(list) > 0 && room >= 8 {
		under = p.preview(list[p.at], width)
		keep := room / 2
		if len(under) > keep {
			under = under[:keep]
		}
		room -= len(under) + 1
	}
	if len(list) == 0 {
		v.rows = append(v.rows, ink.WrapText(ink.Dim, "  "+p.empty, width)...)
	}
	v.rows = append(v.rows, p.listRows(list, width, min(room, 14))...)
	if len(under) > 0 {
		v.rows = append(v.rows, ink.L(ink.Border, strings.Repeat("─", width)))
		v.rows = append(v.rows, under...)
	}
	foot := "↑↓ choose · enter take · esc back"
	if p.foot != "" {
		foot = p.foot + " · esc back"
	}
	v.rows = append(v.rows, ink.L(ink.Dim, foot).Cut(width))
	return v
}

func (p *picker) listRows(list []pick, width, room int) []ink.Line {
	top := max(0, min(p.at-room/2, len(list)-room))
	var rows []ink.Line
	for i := top; i < len(list) && len(rows) < room; i++ {
		it := list[i]
		role, mark := it.role, "  "
		if i == p.at {
			role, mark = ink.Accent, "▸ "
		}
		if !p.filter && p.chosen != nil && i < 9 {
			mark += fmt.Sprintf("%d ", i+1)
		}
		l := ink.Line{ink.S(role, mark), ink.S(role, oneLine(it.label))}
		if it.current {
			l = append(l, ink.S(ink.Good, " ✓"))
		}
		if it.detail != "" {
			l = append(l, ink.S(ink.Dim, "  "+oneLine(it.detail)))
		}
		rows = append(rows, l.Cut(width))
	}
	return rows
}

// asker asks for a line of words.
type asker struct {
	title string
	text  string
	done  func(m *Model, text string) cmd
	left  func(m *Model)
}

func (a *asker) key(m *Model, k, text string) (cmd, bool) {
	switch {
	case k == "enter":
		return a.done(m, strings.TrimSpace(a.text)), false
	case k == "esc" || k == "ctrl+c":
		if a.left != nil {
			a.left(m)
		}
		return nil, false
	case k == "ctrl+u":
		a.text = ""
	case k == "backspace":
		if r := []rune(a.text); len(r) > 0 {
			a.text = string(r[:len(r)-1])
		}
	default:
		a.text += text
	}
	return nil, true
}

func (a *asker) paste(text string) { a.text += oneLine(text) }

func (a *asker) view(m *Model, width, height int) view {
	rows := ink.Wrap(ink.Line{ink.Styled(ink.Strong(ink.Heading), a.title)}, width)
	body := ink.Wrap(ink.Line{ink.S(ink.Accent, "› "), ink.S(ink.Plain, a.text)}, width-1)
	x, y := body[len(body)-1].Width(), len(rows)+len(body)-1
	rows = append(rows, body...)
	return view{rows: append(rows, ink.L(ink.Dim, "enter send · esc back").Cut(width)), x: x, y: y}
}
