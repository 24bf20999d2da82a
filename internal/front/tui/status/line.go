package status

import (
	"fmt"
	"slices"
	"strings"

	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/style"
)

// items are what the status line can tell, in the order in which it does by itself.
var items = []struct {
	name  string
	other []string // what other agents call it
	own   bool     // it is told only when it is asked for
	tell  func(*Session, Shown) (style.Role, string)
}{
	{name: "permissions", tell: func(s *Session, _ Shown) (style.Role, string) { text, role := s.Permissions(); return role, text }},
	{name: "model", other: []string{"model-name", "model-with-reasoning"},
		tell: func(s *Session, _ Shown) (style.Role, string) { return style.Dim, s.model() }},
	{name: "context", other: []string{"context-remaining", "context-used"},
		tell: func(_ *Session, x Shown) (style.Role, string) { return style.Dim, x.Conversation.ContextLeft() }},
	{name: "cost", tell: func(s *Session, x Shown) (style.Role, string) {
		return style.Dim, s.Cost(x.Conversation.Tokens.Total)
	}},
	{name: "directory", other: []string{"current-dir"},
		tell: func(s *Session, _ Shown) (style.Role, string) { return style.Dim, s.ShortHome(s.Settings.Cwd) }},
	{name: "branch", other: []string{"git-branch"},
		tell: func(s *Session, _ Shown) (style.Role, string) { return style.Dim, s.Branch }},
	{name: "tokens", other: []string{"used-tokens"},
		tell: func(_ *Session, x Shown) (style.Role, string) { return style.Dim, tokens(x) }},
	{name: "agents", tell: func(s *Session, _ Shown) (style.Role, string) {
		if len(s.Agents) == 0 {
			return style.Accent, ""
		}
		return style.Accent, humanize.Count(s.runningAgents(), "agent")
	}},
	{name: "title", other: []string{"thread-title"},
		tell: func(s *Session, _ Shown) (style.Role, string) { return style.Dim, style.OneLine(s.Title) }},
	{name: "command", tell: func(s *Session, _ Shown) (style.Role, string) { return style.Dim, s.Said }},
	{name: "session", other: []string{"session-id"}, own: true,
		tell: func(s *Session, _ Shown) (style.Role, string) { return style.Dim, string(s.ID) }},
	{name: "commands", own: true, tell: func(s *Session, _ Shown) (style.Role, string) {
		if len(s.Processes) == 0 {
			return style.Accent, ""
		}
		return style.Accent, fmt.Sprintf("%d in the background", len(s.Processes))
	}},
	{name: "servers", own: true, tell: func(s *Session, _ Shown) (style.Role, string) { return servers(s) }},
}

// Items are the names of what the status line can tell for the names that the user set; nil for
// nil. It is an error if there is no such item.
func Items(set []string) ([]string, error) {
	var names []string
	for _, word := range set {
		i := find(word)
		if i < 0 {
			var all []string
			for _, it := range items {
				all = append(all, it.name)
			}
			return nil, fmt.Errorf("there is no item %q for the status line; there are %s", word, strings.Join(all, ", "))
		}
		if !slices.Contains(names, items[i].name) {
			names = append(names, items[i].name)
		}
	}
	if set != nil && names == nil {
		names = []string{}
	}
	return names, nil
}

func find(word string) int {
	for i, it := range items {
		if it.name == word || slices.Contains(it.other, word) {
			return i
		}
	}
	return -1
}

// Line is the quiet line at the very bottom: what fits, the important first. What changes what
// keys do, and how many questions wait, stands there whatever the user chose.
func (s *Session) Line(x Shown, width int) style.Line {
	var parts []style.Span
	add := func(role style.Role, text string) {
		if text != "" {
			parts = append(parts, style.S(role, text))
		}
	}
	add(style.Accent, x.Vi)
	if x.Agent != "" {
		add(style.Accent, "agent "+x.Agent)
	}
	if s.Try != 0 {
		add(style.Accent, fmt.Sprintf("try %d", s.Try))
	}
	questions := func() {
		if x.Questions > 1 {
			add(style.Warn, fmt.Sprintf("%d questions", x.Questions))
		}
	}
	if s.Items != nil {
		questions()
		for _, name := range s.Items {
			add(items[find(name)].tell(s, x))
		}
		return joined(parts, width)
	}
	for _, it := range items {
		if it.name == "title" {
			questions()
		}
		if !it.own {
			add(it.tell(s, x))
		}
	}
	return joined(parts, width)
}

// joined are the parts that fit into a line.
func joined(parts []style.Span, width int) style.Line {
	l := style.Line{style.Span{Text: "  "}}
	for i, p := range parts {
		if i > 0 {
			if l.Width()+3+style.Width(p.Text) > width {
				continue
			}
			l = append(l, style.S(style.Border, " · "))
		}
		l = append(l, p)
	}
	return l.Cut(width)
}

func tokens(x Shown) string {
	used := x.Conversation.Tokens.Total
	n := used.Total()
	if n == 0 {
		return ""
	}
	text := humanize.Tokens(n) + " tokens"
	if used.Cached > 0 && used.Input > 0 {
		text += fmt.Sprintf(" (%d%% cached)", 100*used.Cached/used.Input)
	}
	return text
}

// servers are the MCP servers: how many are ready, and whether one failed.
func servers(s *Session) (style.Role, string) {
	ready, role := 0, style.Dim
	for _, server := range s.Servers {
		switch server.State {
		case "ready":
			ready++
		case "failed":
			role = style.Warn
		}
	}
	if len(s.Servers) == 0 {
		return role, ""
	}
	return role, fmt.Sprintf("MCP %d/%d", ready, len(s.Servers))
}
