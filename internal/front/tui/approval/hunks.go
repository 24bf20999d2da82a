package approval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
	"kerf/internal/text/diff"
)

// Hunks lets the user take some parts of a change and leave the rest.
type Hunks struct {
	Title, Foot string
	List        []Hunk
	// Accept acts on the choice and says whether the list stays.
	Accept func() (tea.Cmd, bool)
	at     int
}

// Hunk is one edit of a file, or a file as a whole where there is no choice inside it.
type Hunk struct {
	File  int // its number in the change
	Edit  int // in the file's edits, -1 for the whole file
	Label string
	Rows  []style.Line
	Off   bool
	Fixed bool // it cannot be left out
}

func chooseHunks(q *Question) (tea.Cmd, bool) {
	h := &Hunks{Title: "Choose what to take", Foot: "space take or leave · enter accept what is taken · esc back"}
	h.Accept = func() (tea.Cmd, bool) {
		a, ok := partly(q.Approval.Change.Files, h.List)
		if !ok {
			return nil, true
		}
		return q.reply(a), false
	}
	for i, f := range q.Approval.Change.Files {
		h.List = append(h.List, hunksOf(i, f, q.do.Path(f.Path))...)
	}
	q.do.Open(h)
	return nil, true
}

func hunksOf(i int, f protocol.FileText, name string) []Hunk {
	switch {
	case f.Old == nil:
		return []Hunk{{File: i, Edit: -1, Label: name + "  new file", Fixed: true}}
	case f.New == nil:
		return []Hunk{{File: i, Edit: -1, Label: name + "  deleted"}}
	}
	var out []Hunk
	old := []byte(*f.Old)
	for k, e := range diff.Lines(old, []byte(*f.New)) {
		h := Hunk{File: i, Edit: k, Label: fmt.Sprintf("%s:%d", name, 1+strings.Count(string(old[:e.Start]), "\n"))}
		h.Rows = append(h.Rows, diffview.EditRows('-', string(old[e.Start:e.End]))...)
		h.Rows = append(h.Rows, diffview.EditRows('+', string(e.New))...)
		out = append(out, h)
	}
	return out
}

// Key marks, takes or leaves.
func (h *Hunks) Key(k panels.Key) (tea.Cmd, bool) {
	switch k.Name {
	case "esc", "ctrl+c", "q":
		return nil, false
	case "up", "k":
		h.at = max(0, h.at-1)
	case "down", "j":
		h.at = min(h.at+1, len(h.List)-1)
	case "space", "x":
		if !h.List[h.at].Fixed {
			h.List[h.at].Off = !h.List[h.at].Off
		}
	case "enter":
		return h.Accept()
	}
	return nil, true
}

// partly is the answer that takes only the chosen edits of files.
func partly(files []protocol.FileText, list []Hunk) (protocol.Answer, bool) {
	edited := map[string]string{}
	kept := 0
	for i, f := range files {
		var off []int
		for _, x := range list {
			if x.File == i && x.Off {
				off = append(off, x.Edit)
			} else if x.File == i {
				kept++
			}
		}
		if len(off) == 0 || f.Old == nil {
			continue
		}
		if f.New == nil {
			edited[f.Path] = *f.Old
			continue
		}
		var edits []diff.Edit
		for k, e := range diff.Lines([]byte(*f.Old), []byte(*f.New)) {
			if !slices.Contains(off, k) {
				edits = append(edits, e)
			}
		}
		text, err := diff.Apply([]byte(*f.Old), edits)
		if err != nil { // edits of a text apply to it
			return protocol.Answer{}, false
		}
		edited[f.Path] = string(text)
	}
	if kept == 0 {
		return protocol.Answer{Decision: protocol.Deny, Words: "The user left out every part of this change."}, true
	}
	if len(edited) == 0 {
		edited = nil
	}
	return protocol.Answer{Decision: protocol.Once, Edited: edited}, true
}

// View draws the parts around the marked one, and the lines of that.
func (h *Hunks) View(width, height int) panels.View {
	rows := []style.Line{style.L(style.Heading, h.Title).Cut(width)}
	room := max(height-2, 2)
	list := min(len(h.List), max(room/2, 1))
	top := max(0, min(h.at-list/2, len(h.List)-list))
	for i := top; i < len(h.List) && i < top+list; i++ {
		x := h.List[i]
		box, role := "[x] ", style.Plain
		if x.Off {
			box = "[ ] "
		}
		if x.Fixed {
			box = "[=] "
		}
		mark := "  "
		if i == h.at {
			mark, role = "▸ ", style.Accent
		}
		rows = append(rows, style.Line{style.S(role, mark+box), style.Exactly(role, x.Label)}.Cut(width))
	}
	if h.at < len(h.List) {
		for _, l := range h.List[h.at].Rows {
			if len(rows) >= height-1 {
				break
			}
			rows = append(rows, append(style.Line{{Text: "    "}}, l...).Cut(width))
		}
	}
	return panels.View{Rows: append(rows, style.L(style.Dim, h.Foot).Cut(width)), Y: -1}
}

// Lines are the numbered parts.
func (h *Hunks) Lines() []style.Line {
	var rows []style.Line
	for i, x := range h.List {
		mark := "taken"
		if x.Off {
			mark = "left out"
		}
		rows = append(rows, style.L(style.Plain, fmt.Sprintf("%d. %s  %s", i+1, style.Exact(x.Label), mark)))
		rows = append(rows, x.Rows...)
	}
	how := "Type a number to take or leave a part, ok to accept, or an empty line to go back."
	return append(rows, style.L(style.Dim, how))
}

// Line takes the number of a part, or ok.
func (h *Hunks) Line(text string) (c tea.Cmd, stay, again bool) {
	switch text = strings.TrimSpace(text); text {
	case "":
		return nil, false, false
	case "ok":
		c, stay = h.Accept()
		return c, stay, false
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(h.List) {
		h.at = n - 1
		h.Key(panels.Key{Name: "space"})
	}
	return nil, true, true
}
