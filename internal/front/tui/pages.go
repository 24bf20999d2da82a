package tui

import (
	"fmt"
	"slices"
	"strings"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

// show pushes a page of rows.
func (m *Model) show(title string, rows func(width int) []ink.Line) cmd {
	m.push(&pager{title: title, draw: func(width int, _ bool) []ink.Line { return rows(width) }})
	return nil
}

// fact is a line of a name and what is known of it.
func fact(width int, name, value string) []ink.Line {
	if value == "" {
		return nil
	}
	head := fmt.Sprintf("%-16s", name)
	return ink.Prefix(ink.WrapText(ink.Plain, value, width-16), ink.S(ink.Dim, head), ink.Span{Text: strings.Repeat(" ", 16)})
}

func (m *Model) statusRows(width int) []ink.Line {
	policy, _ := m.policy()
	var rows []ink.Line
	for _, f := range [][2]string{{"Version", m.o.Version}, {"Session", string(m.id)}, {"Title", m.title}, {"Directory", m.settings.Cwd},
		{"Branch", m.branch}, {"Model", strings.TrimSpace(m.settings.Model + " " + m.settings.Effort)}, {"May do", policy}, {"Context", m.contextLeft()}} {
		rows = append(rows, fact(width, f[0], f[1])...)
	}
	rows = append(rows, m.usageRows(width)...)
	var names []string
	for name := range m.limits {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, n := range names {
		rows = append(rows, fact(width, oneLine(n), m.limits[n])...)
	}
	for _, s := range m.mcp {
		rows = append(rows, fact(width, "MCP "+s.Name, strings.TrimSpace(s.State+" "+s.Error))...)
	}
	return rows
}

func (m *Model) usageRows(width int) []ink.Line {
	var rows []ink.Line
	line := func(name string, u protocol.Usage) {
		if u == (protocol.Usage{}) {
			return
		}
		rows = append(rows, fact(width, name, fmt.Sprintf("%s in (%s cached), %s out (%s reasoning)",
			tokensText(u.Input), tokensText(u.Cached), tokensText(u.Output), tokensText(u.Reasoning)))...)
	}
	line("This turn", m.tokens.Turn)
	line("This session", m.tokens.Total)
	if u := m.tokens.Total; u.Input > 0 {
		rows = append(rows, fact(width, "Cache hits", fmt.Sprintf("%d%%", 100*u.Cached/u.Input))...)
	}
	if turn, all := m.cost(m.tokens.Turn), m.cost(m.tokens.Total); all != "" {
		rows = append(rows, fact(width, "Cost", strings.TrimPrefix(turn+" this turn, ", " this turn, ")+all+" this session")...)
	}
	if len(rows) == 0 {
		rows = fact(width, "Tokens", "none used yet")
	}
	return rows
}

// contextRows shows what the kept items weigh, by kind; tokens are estimated from
// bytes, the total is the provider's.
func (m *Model) contextRows(width int) []ink.Line {
	rows := fact(width, "Last request", fmt.Sprintf("%s tokens of %s, %s", tokensText(m.tokens.Last.Total()), tokensText(m.tokens.Window), m.contextLeft()))
	weight := map[string]int{}
	for _, it := range m.store.items {
		kind := "other"
		switch it.Body.(type) {
		case protocol.UserMessage:
			kind = "your messages"
		case protocol.AgentMessage, protocol.ProposedPlan:
			kind = "answers"
		case protocol.Reasoning:
			kind = "reasoning"
		case protocol.Command:
			kind = "commands"
		case protocol.FileChange:
			kind = "changes"
		case protocol.ToolCall:
			kind = "tool calls"
		}
		weight[kind] += sizeOf(it) / 4
	}
	var kinds []string
	sum := 0
	for k, n := range weight {
		kinds = append(kinds, k)
		sum += n
	}
	slices.SortFunc(kinds, func(a, b string) int { return weight[b] - weight[a] })
	for _, k := range kinds {
		bar := strings.Repeat("█", max(1, weight[k]*max(width-40, 4)/max(sum, 1)))
		rows = append(rows, ink.Line{ink.S(ink.Dim, fmt.Sprintf("%-16s", k)), ink.S(ink.Plain, fmt.Sprintf("~%6s  ", tokensText(weight[k]))), ink.S(ink.Accent, bar)}.Cut(width))
	}
	return append(rows, ink.L(ink.Dim, "estimates from sizes; /compact makes room").Cut(width))
}

// showDiff shows what was changed, by whom.
func (m *Model) showDiff(words string) cmd {
	if words == "turn" || m.o.Desk == nil {
		text := m.diff.Diff
		if m.diff.Outside != "" {
			text += m.diff.Outside
		}
		m.push(diffPager("Changes of the last turn", text))
		return nil
	}
	return fetch(m, m.changed, func(m *Model, deeds []protocol.Deed) cmd {
		m.push(m.deedsPager(deeds))
		return nil
	})
}

// deedsPager shows the deeds one after the other, with who did them.
func (m *Model) deedsPager(deeds []protocol.Deed) *pager {
	return &pager{title: "Changes of this session", toggle: "side by side", draw: func(width int, wide bool) []ink.Line {
		var rows []ink.Line
		for _, d := range deeds {
			who := d.Cause
			if d.Tool != "" {
				who += " " + d.Tool
			}
			if d.Undone {
				who += ", undone"
			}
			rows = append(rows, ink.Line{ink.Styled(ink.Strong(ink.Heading), who), ink.S(ink.Dim, "  "+d.Time.Format("15:04:05"))})
			rows = append(rows, fileRows(parseDiff(d.Diff), width, wide)...)
			rows = append(rows, nil)
		}
		return rows
	}}
}

func fileRows(files []diffFile, width int, wide bool) []ink.Line {
	var rows []ink.Line
	for _, f := range files {
		l := ink.Line{ink.Styled(ink.Strong(ink.Plain), f.title()+" ")}
		if f.note == "new" || f.note == "deleted" {
			l = append(l, ink.S(ink.Warn, f.note+" "))
		}
		rows = append(rows, append(l, counts(f.added, f.removed)...))
		if wide {
			rows = append(rows, sideBySide(f, width)...)
		} else {
			rows = append(rows, diffRows(f, width, 0)...)
		}
		rows = append(rows, nil)
	}
	return rows
}

// diffPager shows a unified diff.
func diffPager(title, text string) *pager {
	files := parseDiff(text)
	return &pager{title: title, toggle: "side by side", draw: func(width int, wide bool) []ink.Line { return fileRows(files, width, wide) }}
}

func (t *transcript) rows(d drawing) []ink.Line {
	var rows []ink.Line
	if t.dropped > 0 {
		rows = append(rows, ink.L(ink.Dim, fmt.Sprintf("… %d earlier items are not kept; kerf sessions show has them", t.dropped)))
	}
	for i, it := range t.items {
		if i > 0 {
			rows = append(rows, nil)
		}
		rows = append(rows, d.item(it)...)
	}
	return rows
}

// transcriptPager shows everything whole.
func (m *Model) transcriptPager() *pager {
	items := m.store // the items are never changed, only added
	return &pager{title: "Transcript", bottom: true, draw: func(width int, _ bool) []ink.Line {
		return items.rows(drawing{width: width, cwd: m.settings.Cwd, whole: true})
	}}
}

// lastPager shows the last item that was shortened, whole.
func (m *Model) lastPager() *pager {
	cwd := m.settings.Cwd
	for i := len(m.store.items) - 1; i >= 0; i-- {
		it := m.store.items[i]
		d := drawing{width: max(m.width-1, 8), cwd: cwd}
		short := len(d.item(it))
		d.whole = true
		if len(d.item(it)) > short {
			return &pager{title: "Whole", draw: func(width int, _ bool) []ink.Line {
				return drawing{width: width, cwd: cwd, whole: true}.item(it)
			}}
		}
	}
	return &pager{title: "Whole", draw: func(width int, _ bool) []ink.Line { return ink.WrapText(ink.Dim, "nothing was shortened", width) }}
}

// keyTable lists the keys, in groups.
func keyTable() [][2]string {
	return [][2]string{
		{"", "Writing"},
		{"enter", "send; while a turn runs: add to it"}, {"tab", "while a turn runs: queue for the next"},
		{"shift+enter, ctrl+j, \\ enter", "new line"}, {"@", "mention a file"}, {"/", "command"}, {"$", "skill"}, {"!", "run a shell command"},
		{"↑ ↓", "move, at the edge: earlier messages"}, {"ctrl+r", "search earlier messages"}, {"ctrl+g", "write in $VISUAL or $EDITOR"},
		{"ctrl+v", "paste an image"}, {"ctrl+_ alt+/", "undo, redo"}, {"ctrl+a ctrl+e", "start, end of line"},
		{"alt+b alt+f", "word left, right"}, {"ctrl+w alt+d", "delete word before, after"}, {"ctrl+u ctrl+k ctrl+y", "delete to start, to end; put back"},
		{"", "Acting"},
		{"esc", "interrupt; twice: go back to an earlier message"}, {"ctrl+c", "clear; twice: leave"}, {"ctrl+d", "leave"},
		{"shift+tab", "plan mode on or off"}, {"ctrl+t", "transcript, whole and searchable"}, {"ctrl+o", "the last shortened item, whole"},
		{"alt+a", "look at the next sub-agent, then at the session again"}, {"ctrl+l", "draw again"}, {"ctrl+z", "suspend"}, {"f1", "this help"},
		{"", "Questions"},
		{"y s a", "yes: once, in this session, always"}, {"n", "no, with words for the model"}, {"esc", "no, and stop the turn"},
		{"h e d", "choose hunks, edit, whole diff"}, {"↑ ↓ pgup pgdown", "read all of what is asked"},
	}
}

func (m *Model) helpPager() *pager {
	prompts := m.prompts()
	return &pager{title: "Help", draw: func(width int, _ bool) []ink.Line {
		var rows []ink.Line
		line := func(a, b string, pad int) {
			l := ink.Line{ink.S(ink.Accent, a)}.Pad(pad, ink.As(ink.Plain))
			body := ink.WrapText(ink.Plain, b, max(width-pad-1, 10))
			rows = append(rows, ink.Prefix(body, ink.Span{}, ink.Span{Text: strings.Repeat(" ", pad+1)})...)
			i := len(rows) - len(body)
			rows[i] = append(append(l, ink.Span{Text: " "}), rows[i]...)
		}
		for _, k := range keyTable() {
			if k[0] == "" {
				if len(rows) > 0 {
					rows = append(rows, nil)
				}
				rows = append(rows, ink.L(ink.Heading, k[1]))
				continue
			}
			line(k[0], k[1], min(30, width/2))
		}
		rows = append(rows, nil, ink.L(ink.Heading, "Commands"))
		for _, c := range slashTable() {
			line(strings.TrimSpace("/"+c.name+" "+c.args), c.help, min(30, width/2))
		}
		for _, p := range prompts {
			if !p.Skill {
				line("/"+p.Name, p.Description, min(30, width/2))
			}
		}
		return rows
	}}
}

// searchHistory finds an earlier message.
func (m *Model) searchHistory() *picker {
	p := &picker{title: "Earlier messages", filter: true, empty: "nothing was said yet"}
	seen := map[string]bool{}
	for i := len(m.past) - 1; i >= 0; i-- {
		if !seen[m.past[i]] {
			seen[m.past[i]] = true
			p.items = append(p.items, pick{label: oneLine(m.past[i]), value: m.past[i]})
		}
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) { m.comp.Set(it.value.(string)); return nil, false }
	return p
}
