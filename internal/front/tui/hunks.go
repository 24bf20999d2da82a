package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
	"kerf/internal/text/diff"
)

// hunks lets the user take some of a change and leave the rest.
type hunks struct {
	title, foot string
	of          *approval // the question, when the change is a proposed one
	list        []hunk
	at          int
	take        func(m *Model) (cmd, bool)
}

// hunk is one edit of a file, or a file as a whole where there is no choice
// inside it.
type hunk struct {
	file  int // in ChangeApproval.Files
	edit  int // in the file's edits, -1 for the whole file
	label string
	rows  []ink.Line
	off   bool
	fixed bool // it cannot be left out
}

func chooseHunks(m *Model, a *approval) (cmd, bool) {
	h := &hunks{of: a, title: "Choose what to take", foot: "space take or leave · enter accept what is taken · esc back"}
	h.take = h.accept
	for i, f := range a.a.Change.Files {
		h.list = append(h.list, hunksOf(i, f, m.draw().path(f.Path))...)
	}
	m.push(h)
	return nil, true
}

func hunksOf(i int, f protocol.FileText, name string) []hunk {
	switch {
	case f.Old == nil:
		return []hunk{{file: i, edit: -1, label: name + "  new file", fixed: true}}
	case f.New == nil:
		return []hunk{{file: i, edit: -1, label: name + "  deleted"}}
	}
	var out []hunk
	old := []byte(*f.Old)
	for k, e := range diff.Lines(old, []byte(*f.New)) {
		h := hunk{file: i, edit: k, label: fmt.Sprintf("%s:%d", name, 1+strings.Count(string(old[:e.Start]), "\n"))}
		h.rows = append(h.rows, editRows('-', string(old[e.Start:e.End]))...)
		h.rows = append(h.rows, editRows('+', string(e.New))...)
		out = append(out, h)
	}
	return out
}

func editRows(kind byte, text string) []ink.Line {
	if text == "" {
		return nil
	}
	role := ink.Added
	if kind == '-' {
		role = ink.Removed
	}
	var rows []ink.Line
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		rows = append(rows, ink.Line{{Text: string(kind) + ink.Exact(l), Style: ink.As(role)}})
	}
	return rows
}

func (h *hunks) key(m *Model, k, text string) (cmd, bool) {
	switch k {
	case "esc", "ctrl+c", "q":
		return nil, false
	case "up", "k":
		h.at = max(0, h.at-1)
	case "down", "j":
		h.at = min(h.at+1, len(h.list)-1)
	case "space", "x":
		if !h.list[h.at].fixed {
			h.list[h.at].off = !h.list[h.at].off
		}
	case "enter":
		return h.take(m)
	}
	return nil, true
}

// accept answers the question.
func (h *hunks) accept(m *Model) (cmd, bool) {
	ans, ok := h.answer()
	if !ok {
		return nil, true
	}
	return h.of.reply(m, ans), false
}

// answer makes the texts that hold only the chosen edits.
func (h *hunks) answer() (protocol.Answer, bool) {
	edited := map[string]string{}
	kept := 0
	for i, f := range h.of.a.Change.Files {
		var off []int
		for _, x := range h.list {
			if x.file == i && x.off {
				off = append(off, x.edit)
			} else if x.file == i {
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

func (h *hunks) view(m *Model, width, height int) view {
	rows := []ink.Line{ink.L(ink.Heading, h.title).Cut(width)}
	room := max(height-2, 2)
	list := min(len(h.list), max(room/2, 1))
	top := max(0, min(h.at-list/2, len(h.list)-list))
	for i := top; i < len(h.list) && i < top+list; i++ {
		x := h.list[i]
		box, role := "[x] ", ink.Plain
		if x.off {
			box = "[ ] "
		}
		if x.fixed {
			box = "[=] "
		}
		mark := "  "
		if i == h.at {
			mark, role = "▸ ", ink.Accent
		}
		rows = append(rows, ink.Line{ink.S(role, mark+box), {Text: ink.Exact(x.label), Style: ink.As(role)}}.Cut(width))
	}
	if h.at < len(h.list) {
		for _, l := range h.list[h.at].rows {
			if len(rows) >= height-1 {
				break
			}
			rows = append(rows, append(ink.Line{{Text: "    "}}, l...).Cut(width))
		}
	}
	return view{rows: append(rows, ink.L(ink.Dim, h.foot).Cut(width)), y: -1}
}

// field is a value that a question's schema asks for.
type field struct {
	name, about, kind string
	enum              []string
	required          bool
}

// schemaFields reads the flat object schemas that questions may have.
func schemaFields(schema json.RawMessage) []field {
	var s struct {
		Properties map[string]struct {
			Type, Title, Description string
			Enum                     []string
		}
		Required []string
	}
	if len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var out []field
	for name, p := range s.Properties {
		about := p.Title
		if p.Description != "" {
			about = strings.TrimSpace(about + " " + p.Description)
		}
		out = append(out, field{name, about, p.Type, p.Enum, slices.Contains(s.Required, name)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

// fillIn asks for the fields one after the other and then answers.
func fillIn(m *Model, a *approval, fields []field, got map[string]any) {
	if len(fields) == 0 {
		return
	}
	f := fields[0]
	title := f.name
	if f.about != "" {
		title += ": " + f.about
	}
	if len(f.enum) > 0 {
		title += " (" + strings.Join(f.enum, ", ") + ")"
	} else if f.kind != "" && f.kind != "string" {
		title += " (" + f.kind + ")"
	}
	m.push(&asker{title: title, done: func(m *Model, text string) cmd {
		v, err := f.value(text)
		switch {
		case err != nil:
			m.notice(ink.Warn, f.name+": "+err.Error())
			fillIn(m, a, fields, got)
			return nil
		case v != nil:
			got[f.name] = v
		}
		if len(fields) > 1 {
			fillIn(m, a, fields[1:], got)
			return nil
		}
		content, _ := json.Marshal(got)
		return a.reply(m, protocol.Answer{Decision: protocol.Once, Content: content})
	}})
}

func (f field) value(text string) (any, error) {
	if text == "" {
		if f.required {
			return nil, fmt.Errorf("this is needed")
		}
		return nil, nil
	}
	switch f.kind {
	case "integer":
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("a whole number is needed")
		}
		return n, nil
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("a number is needed")
		}
		return n, nil
	case "boolean":
		switch strings.ToLower(text) {
		case "y", "yes", "true":
			return true, nil
		case "n", "no", "false":
			return false, nil
		}
		return nil, fmt.Errorf("yes or no is needed")
	}
	if len(f.enum) > 0 && !slices.Contains(f.enum, text) {
		return nil, fmt.Errorf("one of %s is needed", strings.Join(f.enum, ", "))
	}
	return text, nil
}
