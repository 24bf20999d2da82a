package conversation

import (
	"fmt"
	"slices"
	"strings"

	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// Transcript keeps the newest items, for reading again.
type Transcript struct {
	items   []protocol.Item
	size    int
	dropped int
}

const (
	maxItems = 20_000
	maxBytes = 16 << 20
	maxItem  = 256 << 10
)

// Add appends an item and returns it as it is kept; the oldest ones go when there are too
// many.
func (t *Transcript) Add(it protocol.Item) protocol.Item {
	it = bounded(it)
	t.items = append(t.items, it)
	t.size += sizeOf(it)
	for len(t.items) > maxItems || t.size > maxBytes {
		t.size -= sizeOf(t.items[0])
		t.items[0] = protocol.Item{}
		t.items = t.items[1:]
		t.dropped++
	}
	return it
}

// bounded cuts what is too long to be kept and drops texts that are not shown.
func bounded(it protocol.Item) protocol.Item {
	cut := func(s string) string {
		if len(s) > maxItem {
			return s[:maxItem/2] + fmt.Sprintf("\n… %d bytes of the middle are not kept here …\n", len(s)-maxItem) +
				s[len(s)-maxItem/2:]
		}
		return s
	}
	switch b := it.Body.(type) {
	case protocol.AgentMessage:
		b.Text = cut(b.Text)
		it.Body = b
	case protocol.Reasoning:
		b.Text = cut(b.Text)
		it.Body = b
	case protocol.Command:
		if len(b.Output) > maxItem {
			b.Lines = max(b.Lines, strings.Count(strings.TrimRight(b.Output, "\n"), "\n")+1)
		}
		b.Output = cut(b.Output)
		it.Body = b
	case protocol.ToolCall:
		b.Output = cut(b.Output)
		it.Body = b
	case protocol.FileChange:
		b.Files, b.Diff = nil, cut(b.Diff)
		it.Body = b
	}
	return it
}

func sizeOf(it protocol.Item) int {
	const base = 200
	switch b := it.Body.(type) {
	case protocol.AgentMessage:
		return base + len(b.Text)
	case protocol.Reasoning:
		return base + len(b.Text)
	case protocol.ProposedPlan:
		return base + len(b.Text)
	case protocol.Command:
		return base + len(b.Output) + len(b.Command)
	case protocol.ToolCall:
		return base + len(b.Output) + len(b.Args)
	case protocol.FileChange:
		return base + len(b.Diff)
	case protocol.UserMessage:
		return base + len(InputText(b.Input))
	case protocol.ReviewResult:
		return base + len(b.Text)
	}
	return base
}

// Rows draws all items.
func (t *Transcript) Rows(f Format) []style.Line {
	var rows []style.Line
	if t.dropped > 0 {
		note := fmt.Sprintf("… %d earlier items are not kept; kerf sessions show has them", t.dropped)
		rows = append(rows, style.L(style.Dim, note))
	}
	for i, it := range t.items {
		if i > 0 {
			rows = append(rows, nil)
		}
		rows = append(rows, f.Item(it)...)
	}
	return rows
}

// LastShortened returns the last item of which f, which is not Whole, draws only a
// part.
func (t *Transcript) LastShortened(f Format) (protocol.Item, bool) {
	whole := f
	whole.Whole = true
	for _, it := range slices.Backward(t.items) {
		if len(whole.Item(it)) > len(f.Item(it)) {
			return it, true
		}
	}
	return protocol.Item{}, false
}

// LastAnswer is the newest text of the model that is no reasoning.
func (t *Transcript) LastAnswer() string {
	for _, it := range slices.Backward(t.items) {
		if _, ok := it.Body.(protocol.Reasoning); ok {
			continue
		}
		if text, _ := Text(it.Body); text != "" {
			return text
		}
	}
	return ""
}

// Markdown writes the items as Markdown.
func (t *Transcript) Markdown(title, cwd string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", strings.TrimSpace("Kerf session "+style.OneLine(title)))
	f := Format{Width: 100, Cwd: cwd, Whole: true}
	for _, it := range t.items {
		switch body := it.Body.(type) {
		case protocol.UserMessage:
			fmt.Fprintf(&b, "\n## You\n\n%s\n", InputText(body.Input))
		case protocol.AgentMessage:
			fmt.Fprintf(&b, "\n## Kerf\n\n%s\n", body.Text)
		case protocol.ProposedPlan:
			fmt.Fprintf(&b, "\n## Plan\n\n%s\n", body.Text)
		case protocol.Reasoning:
		default:
			b.WriteString("\n```text\n")
			for _, l := range f.Item(it) {
				b.WriteString(strings.TrimRight(strings.ReplaceAll(l.Text(), "```", "'''"), " ") + "\n")
			}
			b.WriteString("```\n")
		}
	}
	return b.String()
}

// WeightRows shows what the kept items weigh, by kind. Tokens are estimated from
// bytes.
func (t *Transcript) WeightRows(width int) []style.Line {
	weight := map[string]int{}
	for _, it := range t.items {
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
	var rows []style.Line
	for _, k := range kinds {
		bar := strings.Repeat("█", max(1, weight[k]*max(width-40, 4)/max(sum, 1)))
		rows = append(rows, style.Line{style.S(style.Dim, fmt.Sprintf("%-16s", k)),
			style.S(style.Plain, fmt.Sprintf("~%6s  ", humanize.Tokens(weight[k]))), style.S(style.Accent, bar)}.Cut(width))
	}
	return append(rows, style.L(style.Dim, "estimates from sizes; /compact makes room").Cut(width))
}
