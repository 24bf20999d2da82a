package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

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
func (q *Question) fillIn(fields []field, got map[string]any) {
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
	q.do.Open(&panels.Input{Title: title, Done: func(text string) tea.Cmd {
		v, err := f.value(text)
		switch {
		case err != nil:
			q.do.Notice(style.Warn, f.name+": "+err.Error())
			q.fillIn(fields, got)
			return nil
		case v != nil:
			got[f.name] = v
		}
		if len(fields) > 1 {
			q.fillIn(fields[1:], got)
			return nil
		}
		content, _ := json.Marshal(got)
		return q.reply(protocol.Answer{Decision: protocol.Once, Content: content})
	}})
}

func (f field) value(text string) (any, error) {
	if text == "" {
		if f.required {
			return nil, fmt.Errorf("fill this in")
		}
		return nil, nil
	}
	switch f.kind {
	case "integer":
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("enter a whole number")
		}
		return n, nil
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("enter a number")
		}
		return n, nil
	case "boolean":
		switch strings.ToLower(text) {
		case "y", "yes", "true":
			return true, nil
		case "n", "no", "false":
			return false, nil
		}
		return nil, fmt.Errorf("enter yes or no")
	}
	if len(f.enum) > 0 && !slices.Contains(f.enum, text) {
		return nil, fmt.Errorf("enter one of %s", strings.Join(f.enum, ", "))
	}
	return text, nil
}
