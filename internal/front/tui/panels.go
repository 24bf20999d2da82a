package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

// entry is a line of a fixed menu.
type entry struct {
	label, detail string
	run           func(m *Model) cmd
}

// menuOf makes a picker that runs what is chosen.
func menuOf(title string, entries []entry) *picker {
	p := &picker{title: title, empty: "nothing to choose"}
	for _, e := range entries {
		p.items = append(p.items, pick{label: e.label, detail: e.detail, value: e.run})
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) { return later(it.value.(func(m *Model) cmd)), false }
	return p
}

// later runs fn once the overlay that asked for it is closed.
func later(fn func(m *Model) cmd) cmd { return func() tea.Msg { return runMsg{fn} } }

// fetch gets something beside the loop and hands it to then, or tells the error.
func fetch[T any](m *Model, get func(context.Context) (T, error), then func(*Model, T) cmd) cmd {
	return do(func(ctx context.Context) tea.Msg {
		v, err := get(ctx)
		return runMsg{func(m *Model) cmd {
			if err != nil {
				m.notice(ink.Bad, err.Error())
				return nil
			}
			return then(m, v)
		}}
	})
}

func (m *Model) missing(what string) cmd {
	m.notice(ink.Warn, what+" is not available here")
	return nil
}

// sessionsPanel finds sessions.
func (m *Model) sessionsPanel() cmd {
	list := m.o.Sessions
	cwd := m.settings.Cwd
	if cwd == "" {
		cwd = m.o.Cwd
	}
	return fetch(m, func(ctx context.Context) ([]protocol.SessionInfo, error) {
		return list.List(ctx, protocol.Filter{Limit: 5000})
	}, func(m *Model, all []protocol.SessionInfo) cmd {
		p := m.sessionPicker(all, cwd, false)
		m.push(p)
		return m.preview(p)
	})
}

func (m *Model) sessionPicker(all []protocol.SessionInfo, cwd string, everywhere bool) *picker {
	p := &picker{title: "Sessions", filter: true, empty: "no session yet", foot: "enter open · ctrl+f fork · ctrl+r rename · ctrl+a all or this directory"}
	for _, s := range all {
		if !everywhere && s.Cwd != cwd || s.Turns == 0 && s.ID != m.id && s.Damage == "" {
			continue
		}
		label := s.Title
		if label == "" {
			label = string(s.ID)
		}
		detail := fmt.Sprintf("%s  %s  %s", ago(m.now().Sub(s.Updated)), plural(s.Turns, "turn"), s.Branch)
		if everywhere {
			detail += "  " + m.home(s.Cwd)
		}
		if s.Damage != "" {
			detail += "  damaged: " + s.Damage
		}
		p.items = append(p.items, pick{label: label, detail: detail, value: s, current: s.ID == m.id})
	}
	if !everywhere {
		p.empty = "no session of this directory; ctrl+a shows all"
	}
	p.preview = func(it pick, width int) []ink.Line { return m.previewRows(it.value.(protocol.SessionInfo), width) }
	p.chosen = func(m *Model, it pick) (cmd, bool) {
		id := string(it.value.(protocol.SessionInfo).ID)
		if m.o.PickFork && m.sess == nil {
			return m.swap(protocol.OpenOptions{Fork: id, Source: m.o.Open.Source}), false
		}
		return m.swap(protocol.OpenOptions{Resume: id, Source: m.o.Open.Source}), false
	}
	p.left = func(m *Model) {
		if m.sess == nil {
			m.exit.closing = true
		}
	}
	p.acts = map[string]func(*Model, pick) (cmd, bool){
		"ctrl+f": func(m *Model, it pick) (cmd, bool) {
			return m.swap(protocol.OpenOptions{Fork: string(it.value.(protocol.SessionInfo).ID), Source: m.o.Open.Source}), false
		},
		"ctrl+r": func(m *Model, it pick) (cmd, bool) { m.renameOther(it.value.(protocol.SessionInfo)); return nil, true },
		"ctrl+a": func(m *Model, _ pick) (cmd, bool) {
			m.push(m.sessionPicker(all, cwd, !everywhere))
			return nil, false
		},
	}
	if len(p.items) == 0 { // acts need a choice; this one must work without
		p.items = append(p.items, pick{label: "all directories", detail: p.empty})
		p.preview = nil
		p.chosen = func(m *Model, _ pick) (cmd, bool) { m.push(m.sessionPicker(all, cwd, true)); return nil, false }
		if everywhere {
			p.items, p.chosen = nil, nil
		}
	}
	return p
}

func (m *Model) previewRows(s protocol.SessionInfo, width int) []ink.Line {
	if m.glimpse == nil {
		m.glimpse = map[protocol.SessionID][]protocol.PastTurn{}
	}
	past, ok := m.glimpse[s.ID]
	if !ok && m.o.Library != nil {
		return []ink.Line{ink.L(ink.Dim, "reading…")}
	}
	d := drawing{width: width, cwd: s.Cwd}
	var rows []ink.Line
	for _, t := range past {
		for _, it := range t.Items {
			switch it.Body.(type) {
			case protocol.UserMessage, protocol.AgentMessage:
				rows = append(rows, d.item(it)...)
			}
		}
	}
	if len(rows) == 0 {
		return []ink.Line{ink.L(ink.Dim, string(s.ID)+"  "+s.Model)}
	}
	return rows
}

// preview reads the session that the picker wants to show next.
func (m *Model) preview(p *picker) cmd {
	list := p.shown()
	if m.o.Library == nil || len(list) == 0 {
		return nil
	}
	s, ok := list[max(0, min(p.at, len(list)-1))].value.(protocol.SessionInfo)
	if !ok {
		return nil
	}
	if _, ok := m.glimpse[s.ID]; ok {
		return nil
	}
	lib, id := m.o.Library, s.ID
	return do(func(ctx context.Context) tea.Msg {
		past, err := lib.Transcript(ctx, string(id), 2)
		return runMsg{func(m *Model) cmd {
			if err != nil || m.glimpse == nil {
				past = nil
			}
			if m.glimpse == nil || len(m.glimpse) > 50 {
				m.glimpse = map[protocol.SessionID][]protocol.PastTurn{}
			}
			m.glimpse[id] = past
			return nil
		}}
	})
}

func (m *Model) renameOther(s protocol.SessionInfo) {
	if m.o.Library == nil {
		m.missing("renaming other sessions")
		return
	}
	lib := m.o.Library
	m.push(&asker{title: "New title of " + s.Title, text: s.Title, done: func(m *Model, text string) cmd {
		return do(func(ctx context.Context) tea.Msg {
			if err := lib.Rename(ctx, string(s.ID), text); err != nil {
				return noticeMsg{ink.Bad, err.Error()}
			}
			return noticeMsg{ink.Good, "renamed to " + text}
		})
	}})
}

// ago words how long something is past.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

// rewindPanel goes back to an earlier message.
func (m *Model) rewindPanel() cmd {
	if m.busy() {
		m.notice(ink.Warn, "a turn is running; esc interrupts it first")
		return nil
	}
	p := &picker{title: "Go back to before", empty: "nothing was said yet", filter: true}
	for i := len(m.turns) - 1; i >= 0; i-- {
		t := m.turns[i]
		p.items = append(p.items, pick{label: oneLine(t.text), detail: ago(m.now().Sub(t.at)), value: t})
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) {
		t := it.value.(turnMark)
		back := func(conversation, files bool) func(*Model) cmd {
			return func(m *Model) cmd {
				if conversation {
					m.comp.Set(t.text)
					m.forgetFrom(t.id)
				}
				return m.submit(protocol.Rewind{Turn: t.id, Conversation: conversation, Files: files})
			}
		}
		m.push(menuOf("Go back in what?", []entry{
			{"Conversation and files", "what Kerf changed since is taken back", back(true, true)},
			{"Conversation only", "files stay as they are", back(true, false)},
			{"Files only", "the conversation stays", back(false, true)},
			{"Fork from here", "a new session; this one stays as it is", func(m *Model) cmd { return m.forkBefore(t) }},
		}))
		return nil, false
	}
	m.push(p)
	return nil
}

// forkBefore starts a session with the history up to the turn before t.
func (m *Model) forkBefore(t turnMark) cmd {
	i := slices.IndexFunc(m.turns, func(x turnMark) bool { return x.id == t.id })
	m.comp.Set(t.text)
	if i <= 0 {
		return m.newSession()
	}
	return m.swap(protocol.OpenOptions{Fork: string(m.id), ForkTurn: m.turns[i-1].id, Source: m.o.Open.Source})
}

func (m *Model) forgetFrom(id protocol.TurnID) {
	if i := slices.IndexFunc(m.turns, func(t turnMark) bool { return t.id == id }); i >= 0 {
		m.turns = m.turns[:i]
	}
}

// changesPanel lists the deeds of the session, newest first.
func (m *Model) changesPanel() cmd {
	if m.o.Desk == nil {
		return m.missing("the list of changes")
	}
	desk, id := m.o.Desk, m.id
	return fetch(m, func(ctx context.Context) ([]protocol.Deed, error) { return desk.Changes(ctx, id) },
		func(m *Model, deeds []protocol.Deed) cmd {
			m.push(m.deedPicker(deeds))
			return nil
		})
}

func (m *Model) deedPicker(deeds []protocol.Deed) *picker {
	p := &picker{title: "Changes", empty: "nothing was changed yet",
		foot: "enter diff · undo: u call, t turn, f file, h hunks · r redo"}
	for i := len(deeds) - 1; i >= 0; i-- {
		p.items = append(p.items, m.deedPick(deeds[i]))
	}
	p.preview = func(it pick, width int) []ink.Line {
		return drawing{width: width, cwd: m.settings.Cwd}.hunks(parseDiff(it.value.(protocol.Deed).Diff))
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) {
		m.push(diffPager("Change", it.value.(protocol.Deed).Diff))
		return nil, true
	}
	undo := func(op func(d protocol.Deed) protocol.Op) func(*Model, pick) (cmd, bool) {
		return func(m *Model, it pick) (cmd, bool) {
			d := it.value.(protocol.Deed)
			if d.Cause == "outside" {
				m.notice(ink.Warn, "this change was made by neither tool nor command; Kerf does not undo it")
				return nil, false
			}
			return m.submit(op(d)), false
		}
	}
	p.acts = map[string]func(*Model, pick) (cmd, bool){
		"u": undo(func(d protocol.Deed) protocol.Op { return protocol.Undo{Turn: d.Turn, Call: d.Call} }),
		"t": undo(func(d protocol.Deed) protocol.Op { return protocol.Undo{Turn: d.Turn} }),
		"r": undo(func(protocol.Deed) protocol.Op { return protocol.Undo{Redo: true} }),
		"h": func(m *Model, it pick) (cmd, bool) {
			d := it.value.(protocol.Deed)
			return later(func(m *Model) cmd { return m.unpick(d) }), false
		},
		"f": func(m *Model, it pick) (cmd, bool) { m.push(m.filePicker(it.value.(protocol.Deed))); return nil, true },
	}
	return p
}

func (m *Model) filePicker(d protocol.Deed) *picker {
	p := &picker{title: "Undo which file?", filter: true, empty: "no files"}
	for _, c := range d.Changes {
		p.items = append(p.items, pick{label: m.draw().path(c.Path), detail: string(c.Kind), value: c.Path})
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) {
		return m.submit(protocol.Undo{Turn: d.Turn, Call: d.Call, Paths: []string{it.value.(string)}}), false
	}
	return p
}

func (m *Model) deedPick(d protocol.Deed) pick {
	a, r := 0, 0
	for _, f := range parseDiff(d.Diff) {
		a, r = a+f.added, r+f.removed
	}
	who := d.Cause
	if d.Tool != "" {
		who = d.Tool
	}
	it := pick{label: fmt.Sprintf("%-12s %s", who, m.draw().paths(d.Changes)), value: d,
		detail: fmt.Sprintf("+%d -%d  %s", a, r, ago(m.now().Sub(d.Time)))}
	if d.Cause == "outside" {
		it.role = ink.Warn
	}
	if d.Undone {
		it.role, it.detail = ink.Dim, it.detail+"  undone"
	}
	return it
}

// processPanel lists the background processes.
func (m *Model) processPanel() cmd {
	p := &picker{title: "Background processes", empty: "none is running", foot: "enter output · k end it"}
	for _, x := range m.procs {
		p.items = append(p.items, pick{label: fmt.Sprintf("#%d  %s", x.ID, oneLine(x.Command)), detail: elapsed(m.now().Sub(x.Since)), value: x})
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) {
		m.push(m.processPager(it.value.(protocol.Process)))
		return nil, true
	}
	p.acts = map[string]func(*Model, pick) (cmd, bool){
		"k": func(m *Model, it pick) (cmd, bool) {
			return m.submit(protocol.Kill{Process: it.value.(protocol.Process).ID}), false
		},
	}
	m.push(p)
	return nil
}

func (m *Model) processPager(x protocol.Process) *pager {
	return &pager{title: fmt.Sprintf("Process #%d  %s", x.ID, oneLine(x.Command)), bottom: true, draw: func(width int, _ bool) []ink.Line {
		for _, c := range m.live {
			if b, ok := c.item.Body.(protocol.Command); ok && b.Process == x.ID {
				return ink.WrapText(ink.Plain, ink.Output(c.output), width)
			}
		}
		for i := len(m.store.items) - 1; i >= 0; i-- {
			if b, ok := m.store.items[i].Body.(protocol.Command); ok && b.Process == x.ID {
				return ink.WrapText(ink.Plain, ink.Output(b.Output), width)
			}
		}
		return nil
	}}
}

// serversPanel lists the MCP servers.
func (m *Model) serversPanel() cmd {
	p := &picker{title: "MCP servers", empty: "none is configured; kerf mcp add NAME -- COMMAND adds one", foot: "enter tools"}
	for _, s := range m.mcp {
		detail := plural(len(s.Tools), "tool")
		if s.Error != "" {
			detail = s.Error
		}
		p.items = append(p.items, pick{label: s.Name + "  " + s.State, role: stateRole(s.State), detail: detail, value: s})
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) {
		s := it.value.(protocol.Server)
		m.push(&pager{title: "MCP server " + oneLine(s.Name), draw: func(width int, _ bool) []ink.Line {
			rows := ink.WrapText(ink.Bad, s.Error, width)
			for _, t := range s.Tools {
				rows = append(rows, ink.WrapText(ink.Plain, t, width)...)
			}
			return rows
		}})
		return nil, true
	}
	m.push(p)
	return nil
}

func (m *Model) skillsPanel() cmd {
	p := &picker{title: "Skills", filter: true, empty: "none; put them below skills/ in KERF_HOME"}
	for _, s := range m.prompts() {
		if s.Skill {
			p.items = append(p.items, pick{label: s.Name, detail: s.Description, value: s.Name})
		}
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) { m.comp.Insert("$" + it.value.(string) + " "); return nil, false }
	m.push(p)
	return nil
}
