// Package now draws what is going on at the moment: the plan, what runs, what waits for
// the user, what waits for the model. It stands below the stream and above the composer.
package now

import (
	"cmp"
	"fmt"
	"time"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/status"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// Shown is what is going on.
type Shown struct {
	Conversation *conversation.Conversation // that is looked at
	Session      *status.Session
	// Of finds the conversation of a sub-agent, nil when nothing is known of it.
	Of        func(protocol.SessionID) *conversation.Conversation
	Questions int           // that wait for the user
	Asked     time.Duration // how long the first one waits
	Spin      int           // which picture of the moving mark, -1 when nothing moves
	Now       time.Time
	Format    conversation.Format
	// Back is the key that takes back what waits, empty for none.
	Back string
}

const (
	// tall is the room from which on lists are drawn, not only counts.
	tall = 20
	// most is how many entries of a list are drawn.
	most = 3
)

// Rows draws it, at most width cells wide, where the screen below the stream has so much
// room. The first row is empty when there is room for it.
func (x Shown) Rows(width, room int) []style.Line {
	var rows []style.Line
	add := func(more []style.Line) { rows = append(rows, more...) }
	long := room >= tall
	add(x.plan(width, room))
	if l := x.work(); l != nil {
		add([]style.Line{l})
	}
	if long {
		add(x.background())
		add(x.agents())
	} else if l := x.counts(); l != nil {
		add([]style.Line{l})
	}
	add(x.waiting())
	for i, l := range rows {
		rows[i] = l.Cut(width)
	}
	if len(rows) > 0 && room >= 8 {
		rows = append([]style.Line{nil}, rows...)
	}
	return rows
}

// plan is the plan that the model keeps: its steps, or the one under way.
func (x Shown) plan(width, room int) []style.Line {
	p := x.Conversation.Plan
	if len(p.Steps) == 0 {
		return nil
	}
	f := x.Format
	f.Width = width
	if rows := f.Plan(p); len(rows) <= room/3 {
		return rows
	}
	done, at := 0, ""
	for _, s := range p.Steps {
		switch {
		case s.Status == "completed":
			done++
		case at == "" || s.Status == "in_progress":
			at = s.Step
		}
	}
	l := style.Line{style.S(style.Accent, "• "), style.Bold(style.Plain, "Plan"),
		style.S(style.Dim, fmt.Sprintf("  %d of %d done", done, len(p.Steps)))}
	if at != "" {
		l = append(l, style.S(style.Accent, "  ▸ "), style.S(style.Plain, style.OneLine(at)))
	}
	return []style.Line{l}
}

// work is what the turn does, or whom it waits for.
func (x Shown) work() style.Line {
	c := x.Conversation
	if x.Questions > 0 {
		l := style.Line{style.S(style.Warn, "? "), style.Bold(style.Warn, "Waiting for you"),
			style.S(style.Dim, "  "+humanize.Duration(x.Asked))}
		if x.Questions > 1 {
			l = append(l, style.S(style.Warn, "  "+humanize.Count(x.Questions, "question")))
		}
		return l
	}
	if !c.Running {
		return nil
	}
	mark := "• "
	if x.Spin >= 0 {
		mark = []string{"◐ ", "◓ ", "◑ ", "◒ "}[x.Spin%4]
	}
	l := style.Line{style.S(style.Accent, mark)}
	step, since := c.Step()
	if step != "" {
		const words = 60
		l = append(l, style.Line{style.Bold(style.Plain, step)}.Cut(words)...)
		l = append(l, style.S(style.Dim, "  "+humanize.Duration(x.Now.Sub(since))))
	} else {
		l = append(l, style.Bold(style.Plain, "Working"))
		since = time.Time{}
	}
	took := humanize.Duration(x.Now.Sub(c.Since))
	if !since.IsZero() && since.Sub(c.Since) < time.Second {
		took = ""
	} else if !since.IsZero() {
		took = "turn " + took
	}
	if took != "" {
		took += " • "
	}
	l = append(l, style.S(style.Dim, " ("+took+"esc to interrupt)"))
	if c.Retry != "" {
		l = append(l, style.S(style.Warn, "  "+c.Retry))
	}
	return l
}

// head is the first row of a list.
func head(what string, n int, how string) style.Line {
	return style.Line{style.S(style.Accent, "• "), style.Bold(style.Plain, what), style.S(style.Dim, fmt.Sprintf(" (%d)  %s", n, how))}
}

func more(n int) style.Line { return style.L(style.Dim, fmt.Sprintf("    and %d more", n)) }

// background are the commands that run in the background.
func (x Shown) background() []style.Line {
	list := x.Session.Processes
	if len(list) == 0 {
		return nil
	}
	rows := []style.Line{head("In background", len(list), "/ps shows output")}
	for i, p := range list {
		if i == most {
			return append(rows, more(len(list)-most))
		}
		when := "since " + p.Since.Format("15:04")
		if x.Conversation.Running {
			when = humanize.Duration(x.Now.Sub(p.Since))
		}
		rows = append(rows, style.Line{style.S(style.Dim, fmt.Sprintf("  #%d ", p.ID)),
			style.S(style.Code, style.OneLine(p.Command)), style.S(style.Dim, "  "+when)})
	}
	return rows
}

// working are the sub-agents that are not done.
func (x Shown) working() []protocol.Agent {
	var list []protocol.Agent
	for _, a := range x.Session.Agents {
		if a.State == "running" || a.State == "waiting" {
			list = append(list, a)
		}
	}
	return list
}

func (x Shown) agents() []style.Line {
	list := x.working()
	if len(list) == 0 {
		return nil
	}
	rows := []style.Line{head("Agents", len(list), "alt+a looks at them")}
	for i, a := range list {
		if i == most {
			return append(rows, more(len(list)-most))
		}
		step := ""
		if c := x.Of(a.ID); c != nil {
			step, _ = c.Step()
		}
		rows = append(rows, style.Line{style.S(conversation.StateRole(a.State), "  "+conversation.AgentName(a)+" "),
			style.S(style.Dim, a.State+"  "), style.S(style.Plain, style.OneLine(cmp.Or(step, a.Message)))})
	}
	return rows
}

// counts is what the lists would say, in one row.
func (x Shown) counts() style.Line {
	l := style.Line{}
	if n := len(x.Session.Processes); n > 0 {
		l = append(l, style.S(style.Dim, fmt.Sprintf("  %d in background (/ps)", n)))
	}
	if n := len(x.working()); n > 0 {
		l = append(l, style.S(style.Dim, fmt.Sprintf("  %s at work (/agents)", humanize.Count(n, "agent"))))
	}
	if len(l) == 0 {
		return nil
	}
	return l
}

// waiting is the input that waits for the model.
func (x Shown) waiting() []style.Line {
	var rows []style.Line
	c := x.Conversation
	n := len(c.Joining) + len(c.Queued)
	for i, in := range append(c.Joining[:len(c.Joining):len(c.Joining)], c.Queued...) {
		if i == most {
			rows = append(rows, more(n-most))
			break
		}
		when := "next turn: "
		if i < len(c.Joining) {
			when = "joins this turn: "
		}
		rows = append(rows, style.Line{style.S(style.Accent, "  ↳ "), style.S(style.Dim, when),
			style.S(style.Plain, style.OneLine(conversation.InputText(in)))})
	}
	if n > 0 && x.Back != "" {
		rows = append(rows, style.L(style.Dim, "    "+x.Back+" takes back what waits, to edit it"))
	}
	return rows
}
