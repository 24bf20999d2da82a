package input

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
	"kerf/internal/text/order"
)

// menu is the list of completions below the text.
type menu struct {
	mark  byte   // what is completed: '/', '@' or '$'
	word  string // what stands behind the mark
	start int    // where the mark is
	items []Choice
	at    int
	off   string // the word for which the user closed it
}

// Choice is one completion. Group is the heading that it stands below, if any.
type Choice struct{ Text, Detail, Group string }

func (u *menu) open() bool { return len(u.items) > 0 }

// MaxChoices is how many files are found for a completion.
const MaxChoices = 8

// Completing reports whether completions are shown.
func (in *Input) Completing() bool { return in.menu.open() }

// awaited reports whether nothing is shown yet while files are looked for.
func (in *Input) awaited() bool { return in.finding && in.menu.mark == '@' && !in.menu.open() }

// Complete looks for completions of the word at the caret.
func (in *Input) Complete() tea.Cmd {
	mark, word, start, ok := in.text.Word("/@$")
	if ok && mark == '/' && start != 0 {
		ok = false
	}
	if !ok || string(mark)+word == in.menu.off {
		in.menu = menu{off: in.menu.off}
		return nil
	}
	in.menu = menu{mark: mark, word: word, start: start, items: in.menu.items}
	switch mark {
	case '/':
		in.menu.items = in.Commands(word)
	case '$':
		in.menu.items = in.skills(word)
	case '@':
		return in.find(word)
	}
	return nil
}

// find asks for files, one word at a time; the newest word follows.
func (in *Input) find(word string) tea.Cmd {
	in.menu.items = in.resources(word)
	if in.menu.open() {
		in.menu.at = min(in.menu.at, len(in.menu.items)-1)
	}
	if in.o.Files == nil || in.finding {
		return nil
	}
	in.finding = true
	return in.o.Files(word)
}

// headings are those above what was found as something else than a file.
var headings = map[protocol.MentionKind]string{protocol.MentionSymbol: "Definitions",
	protocol.MentionSession: "Changed by sessions"}

// Found takes what was found for a word, or the error.
func (in *Input) Found(word string, found []protocol.Mention, err error) tea.Cmd {
	in.finding = false
	switch {
	case in.menu.mark != '@':
	case in.menu.word != word:
		return in.find(in.menu.word)
	case err == nil:
		marked := ""
		if in.menu.open() && in.menu.at > 0 {
			marked = in.menu.items[in.menu.at].Text
		}
		in.menu.items = nil
		for _, f := range found {
			in.menu.items = append(in.menu.items, Choice{Text: f.Text, Detail: f.Detail, Group: headings[f.Of]})
		}
		in.menu.items = append(in.menu.items, in.resources(word)...)
		if i := slices.IndexFunc(in.menu.items, func(c Choice) bool { return c.Text == marked }); i >= 0 {
			in.menu.at = i
		}
		in.menu.at = min(in.menu.at, max(0, len(in.menu.items)-1))
	}
	return nil
}

// maxResources is how many resources are proposed beside files.
const maxResources = 5

// resources are those of MCP servers that contain a word; without a word none.
func (in *Input) resources(word string) (out []Choice) {
	for _, r := range in.Resources {
		if word != "" && len(out) < maxResources && strings.Contains(strings.ToLower(r), strings.ToLower(word)) {
			out = append(out, Choice{Text: r, Detail: "of an MCP server", Group: "Resources"})
		}
	}
	return out
}

// Commands are the commands that begin with a word, then those that contain it, then those
// whose description does. Those of a group stand together, the group of the best first.
func (in *Input) Commands(word string) []Choice {
	var ranks [3][]Choice
	add := func(c Choice) {
		switch {
		case strings.HasPrefix(c.Text, word):
			ranks[0] = append(ranks[0], c)
		case strings.Contains(c.Text, word):
			ranks[1] = append(ranks[1], c)
		case len(word) > 2 && strings.Contains(strings.ToLower(c.Detail), word):
			ranks[2] = append(ranks[2], c)
		}
	}
	for _, c := range in.o.Commands {
		add(c)
	}
	for _, p := range in.Prompts {
		if !p.Skill {
			add(Choice{Text: p.Name, Detail: p.Description, Group: "Your commands"})
		}
	}
	for _, c := range in.Remote {
		c.Group = "MCP servers"
		add(c)
	}
	all := slices.Concat(ranks[:]...)
	first := map[string]int{}
	for i, c := range all {
		if _, ok := first[c.Group]; !ok {
			first[c.Group] = i
		}
	}
	order.Stably(all, func(a, b Choice) int { return first[a.Group] - first[b.Group] })
	return all
}

func (in *Input) skills(word string) []Choice {
	var out []Choice
	for _, p := range in.Prompts {
		if p.Skill && strings.Contains(strings.ToLower(p.Name), strings.ToLower(word)) {
			out = append(out, Choice{Text: p.Name, Detail: p.Description})
		}
	}
	return out
}

// CompletionKey takes a key while completions are shown, or are looked for: what moves the mark
// then moves it in the list that comes. It says whether the key was for them, and whether the text
// that stands there now is to be sent.
func (in *Input) CompletionKey(name string) (done, send bool) {
	u := &in.menu
	if !u.open() {
		by := map[string]int{"up": -1, "ctrl+p": -1, "down": 1, "ctrl+n": 1}[name]
		if by == 0 || !in.awaited() {
			return false, false
		}
		u.at = max(0, u.at+by)
		return true, false
	}
	switch name {
	case "up", "ctrl+p":
		u.at = (u.at + len(u.items) - 1) % len(u.items)
	case "down", "ctrl+n":
		u.at = (u.at + 1) % len(u.items)
	case "tab":
		in.take()
	case "enter":
		if u.mark != '/' {
			in.take()
			return true, false
		}
		if slices.ContainsFunc(u.items, func(c Choice) bool { return c.Text == u.word }) {
			return false, false
		}
		chosen := u.items[u.at].Text
		in.take()
		return true, chosen != in.o.NeedsWords
	case "esc":
		in.menu = menu{off: string(u.mark) + u.word}
	default:
		return false, false
	}
	return true, false
}

// take puts the marked completion into the text.
func (in *Input) take() {
	u := in.menu
	text := u.items[u.at].Text
	if strings.ContainsAny(text, " \t") {
		text = `"` + text + `"`
	}
	in.text.Replace(u.start, in.text.Caret(), string(u.mark)+text+" ")
	in.menu = menu{}
}

// OpenCompletions shows completions again after they were closed.
func (in *Input) OpenCompletions() tea.Cmd {
	in.menu.off = ""
	return in.Complete()
}

// CloseCompletions hides the completions until the text changes.
func (in *Input) CloseCompletions() { in.menu = menu{} }

// CompletionRows draws the completions around the marked one, below their groups.
func (in *Input) CompletionRows(w, height int) []style.Line {
	u := in.menu
	if !u.open() || height <= 0 {
		return nil
	}
	all, at := u.rows(w, height >= 4)
	foot := len(all) > height && height > 2
	if foot {
		height--
	}
	top := max(0, min(at-height/2, len(all)-height))
	rows := slices.Clone(all[top:min(top+height, len(all))])
	if foot {
		text := fmt.Sprintf("  %d of %d · type to narrow", u.at+1, len(u.items))
		rows = append(rows, style.L(style.Dim, text).Cut(w))
	}
	return rows
}

// rows are all rows of the list, and which of them is marked.
func (u *menu) rows(w int, headings bool) (rows []style.Line, marked int) {
	name, count := 0, map[string]int{}
	for _, c := range u.items {
		name = max(name, min(style.Width(c.Text), w*2/3))
		count[c.Group]++
	}
	group := ""
	for i, c := range u.items {
		if headings && c.Group != group {
			group = c.Group
			head := style.Line{style.Bold(style.Heading, group), style.S(style.Dim, fmt.Sprintf(" (%d)", count[group]))}
			rows = append(rows, head.Cut(w))
		}
		role, mark := style.Plain, "  "
		if i == u.at {
			role, mark, marked = style.Accent, "▸ ", len(rows)
		}
		l := style.Line{style.S(role, mark), style.S(role, string(u.mark)+style.Prose(c.Text))}.Cut(name + 3)
		l = append(l.Pad(name+5, style.As(style.Plain)), style.S(style.Dim, style.OneLine(c.Detail)))
		rows = append(rows, l.Cut(w))
	}
	return rows, marked
}
