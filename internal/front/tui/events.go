package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

// batch bounds how many events are taken at once.
const batch = 512

// listen waits for events and takes those that are there.
func (m *Model) listen() tea.Cmd {
	if m.sess == nil || !m.listening {
		return nil
	}
	ch, gen := m.sess.Events(), m.gen
	return do(func(context.Context) tea.Msg {
		e, ok := <-ch
		if !ok {
			return eventsMsg{gen: gen, closed: true}
		}
		msg := eventsMsg{gen: gen, events: []protocol.Event{e}}
		for len(msg.events) < batch {
			select {
			case e, ok := <-ch:
				if !ok {
					msg.closed = true
					return msg
				}
				msg.events = append(msg.events, e)
			default:
				return msg
			}
		}
		return msg
	})
}

func (m *Model) events(msg eventsMsg) tea.Cmd {
	if msg.gen != m.gen {
		return nil
	}
	var cmds []tea.Cmd
	for _, e := range msg.events {
		cmds = append(cmds, m.event(e))
	}
	if msg.closed {
		if m.exit.closing {
			return tea.Quit
		}
		return tea.Batch(cmds...)
	}
	return tea.Batch(append(cmds, m.listen())...)
}

// event takes one event.
func (m *Model) event(e protocol.Event) tea.Cmd {
	if e.Agent != "" {
		return m.agentEvent(e)
	}
	return m.within("", func() tea.Cmd { return m.ownEvent(e) })
}

// ownEvent takes an event of the session itself.
func (m *Model) ownEvent(e protocol.Event) tea.Cmd {
	switch b := e.Msg.(type) {
	case protocol.ItemStarted, protocol.ItemDelta, protocol.ItemUpdated, protocol.ItemCompleted, protocol.ItemDropped:
		return m.itemEvent(e)
	case protocol.TurnStarted, protocol.TurnCompleted, protocol.TurnFailed, protocol.TurnAborted:
		return m.turnEvent(e)
	case protocol.ApprovalRequested:
		return m.ask(b.Approval, "")
	case protocol.ApprovalResolved:
		m.answered(b.Approval)
	case protocol.SessionStarted:
		m.id, m.settings = b.Session, b.Settings
		m.resumed = b.Resumed
		m.branch = branchOf(m.settings.Cwd)
		m.banner()
	case protocol.SettingsChanged:
		m.settings = b.Settings
	case protocol.TitleChanged:
		m.title = b.Title
	case protocol.TokensUsed:
		m.tokens = b
		m.turn.usage = b.Turn
	case protocol.RateLimits:
		m.limits = b.Values
	case protocol.Retrying:
		m.retry = fmt.Sprintf("retry %d/%d in %s: %s", b.Attempt, b.Max, elapsed(b.Delay), oneLine(b.Cause))
	case protocol.Warning:
		if !m.warned[b.Message] {
			m.warned[b.Message] = true
			m.notice(ink.Warn, b.Message)
		}
	case protocol.TurnDiff:
		m.diff = b
	case protocol.QueueChanged:
		m.queued = b.Waiting
	case protocol.HistoryCompacted:
		m.emit(m.draw().compaction(protocol.Compaction{Before: b.Before, After: b.After})...)
	case protocol.Undone:
		m.undone(b.Report)
	case protocol.Processes:
		m.procs = b.Running
	case protocol.Agents:
		m.agents = b.Agents
	case protocol.Servers:
		m.servers(b.Servers)
	}
	return nil
}

// banner is the first thing a session shows.
func (m *Model) banner() {
	what := "Kerf " + m.o.Version
	l := ink.Line{ink.Styled(ink.Strong(ink.Heading), what), ink.S(ink.Dim, "  "+m.settings.Model)}
	if m.settings.Effort != "" {
		l = append(l, ink.S(ink.Dim, " "+m.settings.Effort))
	}
	l = append(l, ink.S(ink.Dim, "  "+m.home(m.settings.Cwd)))
	rows := ink.Wrap(l, m.draw().width)
	if m.o.Banner != "" {
		rows = append(rows, ink.WrapText(ink.Warn, m.o.Banner, m.draw().width)...)
	}
	if !m.resumed {
		rows = append(rows, ink.Wrap(ink.L(ink.Dim, "/help for commands, @ for files, ! for the shell, ctrl+d to leave"), m.draw().width)...)
	}
	m.emit(rows...)
}

// home shortens a path below the user's home.
func (m *Model) home(path string) string {
	home := m.env("HOME")
	if home == "" {
		return path
	}
	if rel, err := filepath.Rel(home, path); err == nil && !strings.HasPrefix(rel, "..") {
		return strings.TrimSuffix("~/"+filepath.ToSlash(rel), "/.")
	}
	return path
}

func (m *Model) env(name string) string {
	if m.o.Env == nil {
		return ""
	}
	return m.o.Env(name)
}

func (m *Model) turnEvent(e protocol.Event) tea.Cmd {
	switch b := e.Msg.(type) {
	case protocol.TurnStarted:
		m.turn = turnState{id: e.Turn, running: true, since: m.now()}
		m.retry, m.diff = "", protocol.TurnDiff{}
		return m.startClock()
	case protocol.TurnCompleted:
		m.flushLive(protocol.Completed)
		m.finish(b.Usage, b.Duration.Seconds() > 0, elapsed(b.Duration))
		if m.proposed && m.viewing == "" && m.settings.Approval == protocol.PolicyPlan {
			m.planned()
		}
		m.proposed = false
		return m.over(e.Agent, "done", b.LastMessage)
	case protocol.TurnFailed:
		m.flushLive(protocol.Failed)
		text := b.Error.Message
		if b.Error.Hint != "" {
			text += "\n" + b.Error.Hint
		}
		m.emit(m.draw().note(ink.Bad, "✗ ", text)...)
		return m.over(e.Agent, "failed", b.Error.Message)
	case protocol.TurnAborted:
		m.flushLive(protocol.Failed)
		words := map[protocol.AbortReason]string{protocol.AbortInterrupted: "Interrupted. Tell Kerf what to do differently.",
			protocol.AbortReplaced: "Replaced by a new request.", protocol.AbortBudget: "Stopped: the budget is used up."}[b.Reason]
		m.emit(m.draw().note(ink.Warn, "■ ", words)...)
		m.giveBack(b.Undelivered)
		return m.over(e.Agent, "interrupted", words)
	}
	return nil
}

// over ends the running turn.
func (m *Model) over(agent protocol.SessionID, how, words string) tea.Cmd {
	m.turn.running, m.retry = false, ""
	if agent != "" {
		return nil // the session tells how its agents did
	}
	m.branch = branchOf(m.settings.Cwd)
	return m.notify("Kerf: "+how, words)
}

// giveBack returns input that the model never saw to the composer.
func (m *Model) giveBack(lost []protocol.Input) {
	var parts []string
	for _, in := range lost {
		if in.Text != "" {
			parts = append(parts, in.Text)
		}
	}
	if len(parts) == 0 {
		return
	}
	if !m.comp.Empty() {
		parts = append(parts, m.comp.Text())
	}
	m.comp.Set(strings.Join(parts, "\n"))
}

// finish writes the line that closes a turn: what changed, tokens, time.
func (m *Model) finish(u protocol.Usage, timed bool, took string) {
	var parts []string
	if m.diff.Diff != "" {
		files := parseDiff(m.diff.Diff)
		a, r := 0, 0
		for _, f := range files {
			a, r = a+f.added, r+f.removed
		}
		s := fmt.Sprintf("%s changed +%d -%d", plural(len(files), "file"), a, r)
		if !m.diff.Exact {
			s += " (not exact)"
		}
		parts = append(parts, s)
	}
	if m.diff.Outside != "" {
		parts = append(parts, plural(len(parseDiff(m.diff.Outside)), "file")+" changed by others")
	}
	if timed {
		parts = append(parts, took)
	}
	if n := u.Total(); n > 0 {
		parts = append(parts, tokensText(n)+" tokens")
	}
	if c := m.cost(u); c != "" {
		parts = append(parts, c)
	}
	if len(parts) > 0 {
		m.emit(ink.Wrap(ink.L(ink.Dim, "─ "+strings.Join(parts, " · ")), m.draw().width)...)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// undone tells what an undo did.
func (m *Model) undone(r protocol.UndoReport) {
	verb := "Undid"
	switch {
	case r.Redo && r.DryRun:
		verb = "Would redo"
	case r.DryRun:
		verb = "Would undo"
	case r.Redo:
		verb = "Redid"
	}
	if r.Problem != "" {
		m.emit(m.draw().note(ink.Bad, "✗ ", r.Problem)...)
		m.emitOutcomes(r)
		return
	}
	m.emit(m.draw().head(protocol.Completed, verb, " "+r.What)...)
	m.emitOutcomes(r)
	if r.DryRun && r.Diff != "" {
		d := m.draw()
		m.above = append(m.above, d.hunks(parseDiff(r.Diff))...)
	}
}

func (m *Model) emitOutcomes(r protocol.UndoReport) {
	for _, f := range r.Files {
		role := ink.Dim
		if f.Outcome == "conflict" || f.Outcome == "missing" {
			role = ink.Bad
		}
		text := m.draw().path(f.Path) + "  " + f.Outcome
		if f.Note != "" {
			text += ": " + f.Note
		}
		m.above = append(m.above, m.draw().said(ink.WrapText(role, text, m.draw().width-4), ink.S(ink.Border, "  └ "))...)
	}
}

// servers keeps the state of the MCP servers and tells each failure once.
func (m *Model) servers(list []protocol.Server) {
	m.mcp = list
	for _, s := range list {
		key := "mcp " + s.Name + s.Error
		if s.State == "failed" && !m.warned[key] {
			m.warned[key] = true
			m.notice(ink.Warn, "MCP server "+s.Name+": "+s.Error)
		}
	}
}

// agentEvent takes an event of a sub-agent in its lane; only its questions show at
// once.
func (m *Model) agentEvent(e protocol.Event) tea.Cmd {
	switch b := e.Msg.(type) {
	case protocol.ApprovalRequested:
		return m.ask(b.Approval, m.agentLabel(e.Agent))
	case protocol.ApprovalResolved:
		m.answered(b.Approval)
		return nil
	}
	return m.within(e.Agent, func() tea.Cmd {
		switch e.Msg.(type) {
		case protocol.ItemStarted, protocol.ItemDelta, protocol.ItemUpdated, protocol.ItemCompleted, protocol.ItemDropped,
			protocol.TurnStarted, protocol.TurnCompleted, protocol.TurnFailed, protocol.TurnAborted, protocol.TokensUsed,
			protocol.Retrying, protocol.Warning, protocol.TurnDiff, protocol.QueueChanged, protocol.HistoryCompacted:
			return m.ownEvent(e)
		}
		return nil
	})
}

func (m *Model) agentLabel(id protocol.SessionID) string {
	for _, a := range m.agents {
		if a.ID == id {
			return agentName(a)
		}
	}
	return string(id[:min(8, len(id))])
}
