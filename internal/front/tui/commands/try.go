package commands

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
)

// Tries is what can be done with tries: work that touches nothing until it is kept.
type Tries struct {
	// Inside is the number of the try that Kerf runs in, 0 for none.
	Inside int
	// GoOn says how the session goes on once Kerf has ended here: in a new try ("enter"), or
	// outside of this one, which is kept ("keep"), waits ("leave") or is thrown away
	// ("discard"). Request says what the try is about.
	GoOn func(do, session, request string) error
	// List are the tries of the directory that wait, Compare is the diff that leads from the
	// result of one to that of another, End keeps one or throws it away and says what came of
	// it. They are nil in a try.
	List    func(context.Context) ([]Waiting, error)
	Compare func(ctx context.Context, one, other int) (diff string, err error)
	End     func(ctx context.Context, id int, keep bool) (told string, err error)
}

// Waiting is a try that waits.
type Waiting struct {
	ID             int
	Request        string
	Files          int
	Added, Removed int
	Diff           string
}

// Number is that of the try, 0 for none.
func (t *Tries) Number() int {
	if t == nil {
		return 0
	}
	return t.Inside
}

// Moves reports whether the session goes on elsewhere.
func (c *Commands) Moves() bool { return c.moves }

// try moves the session into a try, or out of it.
func try(c *Commands, words string) tea.Cmd {
	t := c.ui.Tries
	switch {
	case t == nil:
		return c.missing("/try")
	case c.ui.Lines:
		c.ui.Notice(style.Warn, "lines cannot be handed on; leave, then kerf resume --plain --try "+string(c.ui.Session.ID))
		return nil
	case c.ui.Conversation("").Running:
		c.ui.Notice(style.Warn, "a turn is running; esc interrupts it first")
		return nil
	case t.Inside == 0 && words != "":
		c.ui.Notice(style.Warn, "this session is in no try; /try goes on in one")
		return nil
	case t.Inside == 0:
		return c.move("enter")
	}
	switch words {
	case "keep", "leave", "discard":
		return c.move(words)
	case "":
	default:
		c.ui.Notice(style.Warn, "write /try keep, /try leave or /try discard; /diff shows what was changed")
		return nil
	}
	question := menu(fmt.Sprintf("Try %d: nothing of it is in the directory yet", t.Inside), []entry{
		{"Go on in it", "", nothing},
		{"Keep it", "make it real, merged with what was changed there meanwhile; /undo takes it back",
			func(c *Commands) tea.Cmd { return c.move("keep") }},
		{"Leave it", "it waits; go on outside", func(c *Commands) tea.Cmd { return c.move("leave") }},
		{"Throw it away", "for good; go on outside", func(c *Commands) tea.Cmd { return c.move("discard") }},
	})
	question.asks, question.lasting = true, "Throw it away"
	return c.choose(question)
}

// move ends Kerf here, and has the session go on elsewhere.
func (c *Commands) move(do string) tea.Cmd {
	if err := c.ui.Tries.GoOn(do, string(c.ui.Session.ID), c.ui.Session.Title); err != nil {
		c.ui.Notice(style.Bad, err.Error())
		return nil
	}
	c.moves = true
	return c.ui.Quit()
}

// listTries shows the tries that wait, to look at, compare, keep or throw away.
func listTries(c *Commands, _ string) tea.Cmd {
	t := c.ui.Tries
	if t == nil || t.List == nil {
		return c.missing("the list of tries")
	}
	return fetch(c, t.List, func(found []Waiting) tea.Cmd { return c.choose(triesOf(c, found)) })
}

// triesOf is the list of tries. One that c marked is what the next c compares with.
func triesOf(c *Commands, found []Waiting) list {
	var items []panels.Item
	for _, w := range found {
		items = append(items, panels.Item{Label: fmt.Sprintf("try %d  %s  +%d -%d", w.ID, humanize.Count(w.Files, "file"),
			w.Added, w.Removed), Detail: style.OneLine(w.Request), Value: w})
	}
	first := 0
	return list{title: "Tries", empty: "no try of this directory waits; /try or kerf exec --attempts makes some",
		foot: "enter diff · c compare: mark one, then another · k keep · x throw away", items: these(items),
		choose: func(c *Commands, it panels.Item) (tea.Cmd, bool) {
			w := it.Value.(Waiting)
			c.ui.Push(panels.DiffPager(fmt.Sprintf("Try %d", w.ID), w.Diff))
			return nil, true
		},
		preview: func(c *Commands, it panels.Item, width int) []style.Line {
			var rows []style.Line
			if first != 0 {
				rows = append(rows, style.L(style.Accent, fmt.Sprintf("c compares with try %d", first)))
			}
			return append(rows, diffview.Summary(diffview.Parse(it.Value.(Waiting).Diff), width)...)
		},
		keys: map[string]act{
			"c": func(c *Commands, it panels.Item) (tea.Cmd, bool) {
				id := it.Value.(Waiting).ID
				if first == 0 || first == id {
					first = id
					return nil, true
				}
				one := first
				first = 0
				return c.compare(one, id), true
			},
			"k": func(c *Commands, it panels.Item) (tea.Cmd, bool) { return c.endTry(it.Value.(Waiting), true), false },
			"x": func(c *Commands, it panels.Item) (tea.Cmd, bool) { return c.endTry(it.Value.(Waiting), false), false },
		}}
}

// compare shows how the results of two tries differ.
func (c *Commands) compare(one, other int) tea.Cmd {
	return fetch(c, func(ctx context.Context) (string, error) { return c.ui.Tries.Compare(ctx, one, other) },
		func(diff string) tea.Cmd {
			if diff == "" {
				c.ui.Notice(style.Dim, fmt.Sprintf("try %d and try %d have the same result", one, other))
				return nil
			}
			c.ui.Push(panels.DiffPager(fmt.Sprintf("From try %d to try %d", one, other), diff))
			return nil
		})
}

// endTry asks, then keeps a try or throws it away.
func (c *Commands) endTry(w Waiting, keep bool) tea.Cmd {
	title, yes := fmt.Sprintf("Throw try %d away?", w.ID), entry{"Yes", "for good", nil}
	if keep {
		title, yes = fmt.Sprintf("Keep try %d?", w.ID),
			entry{"Yes", "merged with what was changed meanwhile; kerf undo takes it back", nil}
	}
	yes.run = func(c *Commands) tea.Cmd {
		return fetch(c, func(ctx context.Context) (string, error) { return c.ui.Tries.End(ctx, w.ID, keep) },
			func(told string) tea.Cmd {
				c.ui.Notice(style.Good, strings.TrimSpace(told))
				return nil
			})
	}
	question := menu(title, []entry{{"No", "", nothing}, yes})
	question.asks = true
	if !keep {
		question.lasting = "Yes"
	}
	return after(c, func(c *Commands) tea.Cmd { return c.choose(question) })
}
