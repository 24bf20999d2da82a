package tui

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

func (m *Model) configure(s protocol.Settings) cmd {
	if s.Model != "" {
		m.settings.Model = s.Model
	}
	if s.Effort != "" {
		m.settings.Effort = s.Effort
	}
	if s.Approval != "" {
		m.settings.Approval = s.Approval
	}
	if s.Sandbox != "" {
		m.settings.Sandbox = s.Sandbox
	}
	return m.submit(protocol.Configure{Settings: s})
}

// modelPanel chooses the model, then its effort.
func (m *Model) modelPanel(words string) cmd {
	if f := strings.Fields(words); len(f) > 0 {
		s := protocol.Settings{Model: f[0]}
		if len(f) > 1 {
			s.Effort = f[1]
		}
		return m.configure(s)
	}
	byName := &asker{title: "Model", text: m.settings.Model, done: func(m *Model, text string) cmd {
		if text == "" {
			return nil
		}
		return m.modelPanel(text)
	}}
	if m.o.Desk == nil {
		m.push(byName)
		return nil
	}
	return fetch(m, m.o.Desk.Models, func(m *Model, list []protocol.ModelInfo) cmd {
		p := &picker{title: "Model", filter: true, empty: "the provider lists none; /model NAME takes any"}
		for _, x := range list {
			detail := x.Description
			if x.Window > 0 {
				detail = strings.TrimSpace(tokensText(x.Window) + " window  " + detail)
			}
			p.items = append(p.items, pick{label: x.Name, detail: detail, value: x, current: x.Name == m.settings.Model})
		}
		if len(list) == 0 {
			m.push(byName)
			return nil
		}
		p.chosen = func(m *Model, it pick) (cmd, bool) {
			x := it.value.(protocol.ModelInfo)
			if len(x.Efforts) == 0 {
				return m.configure(protocol.Settings{Model: x.Name}), false
			}
			m.push(m.effortPicker(x))
			return nil, false
		}
		m.push(p)
		return nil
	})
}

func (m *Model) effortPicker(x protocol.ModelInfo) *picker {
	p := &picker{title: "Effort of " + oneLine(x.Name), at: max(0, slices.Index(x.Efforts, m.settings.Effort))}
	for _, e := range x.Efforts {
		p.items = append(p.items, pick{label: e, value: e, current: e == m.settings.Effort})
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) {
		return m.configure(protocol.Settings{Model: x.Name, Effort: it.value.(string)}), false
	}
	return p
}

// policyPanel chooses what commands may reach and what is asked.
func (m *Model) policyPanel() cmd {
	type preset struct {
		name, about string
		s           protocol.Settings
	}
	presets := []preset{
		{"Read only", "reads and answers; asks for every change", protocol.Settings{Sandbox: protocol.SandboxReadOnly, Approval: protocol.PolicyOnRequest}},
		{"Ask", "works in the workspace; asks before it changes files or leaves the sandbox", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyUntrusted}},
		{"Default", "works in the workspace; asks before a command leaves the sandbox", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyOnRequest}},
		{"Auto edit", "edits in the workspace unasked; asks for commands", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyAutoEdit}},
		{"Plan", "changes nothing; makes a plan", protocol.Settings{Approval: protocol.PolicyPlan}},
		{"Never ask", "works in the workspace; what would be asked is refused", protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyNever}},
		{"Full access", "no sandbox, no questions: it can do all that you can", protocol.Settings{Sandbox: protocol.SandboxFull, Approval: protocol.PolicyNever}},
	}
	p := &picker{title: "What may Kerf do?"}
	for i, x := range presets {
		now := x.s.Approval == m.settings.Approval && (x.s.Sandbox == "" || x.s.Sandbox == m.settings.Sandbox)
		it := pick{label: x.name, detail: x.about, value: x.s, current: now}
		if x.s.Sandbox == protocol.SandboxFull {
			it.role = ink.Bad
		}
		if now {
			p.at = i
		}
		p.items = append(p.items, it)
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) {
		s := it.value.(protocol.Settings)
		if s.Sandbox == protocol.SandboxFull {
			m.push(menuOf("Full access: commands run without a sandbox and without questions.", []entry{
				{"No, keep what is set", "", func(*Model) cmd { return nil }},
				{"Yes, full access in this session", "", func(m *Model) cmd { return m.configure(s) }},
			}))
			return nil, false
		}
		return m.configure(s), false
	}
	m.push(p)
	return nil
}

// themePanel chooses the colours; the list shows each at once.
func (m *Model) themePanel(words string) cmd {
	set := func(m *Model, name string) {
		m.theme = name
		m.paletteNow()
	}
	if words != "" {
		if !slices.Contains(m.themes(), words) {
			m.notice(ink.Warn, "there is no theme "+words+"; there are "+strings.Join(m.themes(), ", "))
			return nil
		}
		set(m, words)
		return nil
	}
	before := m.theme
	p := &picker{title: "Theme", left: func(m *Model) { set(m, before) }}
	for i, name := range m.themes() {
		if name == before || name == "auto" && before == "" {
			p.at = i
		}
		p.items = append(p.items, pick{label: name, value: name, current: name == before})
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) { set(m, it.value.(string)); return nil, false }
	p.preview = func(it pick, width int) []ink.Line {
		set(m, it.value.(string))
		return themeSample(width)
	}
	m.push(p)
	return nil
}

// themes are the names of the themes: those built in, then the user's own.
func (m *Model) themes() []string {
	return append(ink.Themes(), slices.Sorted(maps.Keys(m.o.Themes))...)
}

func themeSample(width int) []ink.Line {
	d := drawing{width: width}
	files := parseDiff("--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n func half(n int) int {\n-\treturn n / 3 // wrong\n+\treturn n / 2\n")
	rows := []ink.Line{
		{ink.S(ink.Accent, "• "), ink.Styled(ink.Strong(ink.Plain), "Ran "), ink.S(ink.Code, "go test ./..."), ink.S(ink.Bad, "  exit 1")},
		{ink.S(ink.Good, "good "), ink.S(ink.Warn, "warning "), ink.S(ink.Bad, "bad "), ink.S(ink.Dim, "quiet "), ink.S(ink.Link, "link")},
	}
	return append(rows, d.hunks(files)...)
}

// planned offers to carry out a plan that was just proposed.
func (m *Model) planned() {
	const goOn = "Carry out the plan."
	do := func(p protocol.ApprovalPolicy) func(*Model) cmd {
		return func(m *Model) cmd {
			return tea.Batch(m.configure(protocol.Settings{Approval: p}), m.say(goOn, nil, false))
		}
	}
	m.push(menuOf("Carry out this plan?", []entry{
		{"Yes, and edit files unasked", "auto-edit", do(protocol.PolicyAutoEdit)},
		{"Yes, and ask as before", "", func(m *Model) cmd {
			p := m.beforePlan
			if p == "" {
				p = protocol.PolicyOnRequest
			}
			return do(p)(m)
		}},
		{"No, go on planning", "say what to change", func(*Model) cmd { return nil }},
	}))
}

func (m *Model) doctor() cmd {
	if m.o.Desk == nil {
		return m.missing("the check")
	}
	return fetch(m, func(ctx context.Context) ([]protocol.Check, error) { return m.o.Desk.Check(ctx) },
		func(m *Model, list []protocol.Check) cmd {
			m.push(&pager{title: "Doctor", draw: func(width int, _ bool) []ink.Line {
				var rows []ink.Line
				for _, c := range list {
					l := ink.Line{ink.S(stateRole(c.State), fmt.Sprintf("%-5s", c.State)), ink.Styled(ink.Strong(ink.Plain), c.Name), ink.S(ink.Plain, "  "+oneLine(c.Detail))}
					rows = append(rows, ink.Wrap(l, width)...)
					if c.Hint != "" {
						rows = append(rows, ink.Prefix(ink.WrapText(ink.Dim, c.Hint, width-6), ink.Span{Text: "      "}, ink.Span{Text: "      "})...)
					}
				}
				return rows
			}})
			return nil
		})
}
