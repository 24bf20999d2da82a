package exec

import (
	"fmt"
	"strings"

	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// collabItem is a call about sub-agents.
type collabItem struct {
	head
	Tool      string                  `json:"tool"`
	Sender    protocol.SessionID      `json:"sender_thread_id"`
	Receivers []protocol.SessionID    `json:"receiver_thread_ids"`
	Prompt    *string                 `json:"prompt"`
	States    map[string]collabStatus `json:"agents_states"`
	Error     *errorText              `json:"error,omitempty"`
	Status    string                  `json:"status"`
}

type collabStatus struct {
	Status  string  `json:"status"`
	Message *string `json:"message"`
}

func (i collabItem) named(id string) item { i.ID = id; return i }

// reviewItem is the outcome of a review.
type reviewItem struct {
	head
	Text     string             `json:"text"`
	Findings []protocol.Finding `json:"findings"`
}

func (i reviewItem) named(id string) item { i.ID = id; return i }

// collabTools are the tools behind the deeds.
var collabTools = map[string]string{"spawn": "spawn_agent", "send": "send_input", "resume": "resume_agent",
	"wait": "wait", "close": "close_agent", "list": "list_agents"}

// collabStates are the words of this format for the states of agents.
var collabStates = map[string]string{"running": "running", "waiting": "running", "completed": "completed",
	"failed":      "errored",
	"interrupted": "interrupted", "closed": "shutdown"}

func collabPayload(b protocol.SubAgent, status string) item {
	p := collabItem{head: head{Type: "collab_tool_call"}, Tool: collabTools[b.Operation],
		Receivers: []protocol.SessionID{},
		States:    map[string]collabStatus{}, Status: status}
	if p.Tool == "" {
		p.Tool = b.Operation
	}
	if b.Prompt != "" {
		p.Prompt = &b.Prompt
	}
	for _, a := range b.Agents {
		p.Receivers = append(p.Receivers, a.ID)
		s := collabStatus{Status: collabStates[a.State]}
		if s.Status == "" {
			s.Status = a.State
		}
		if a.Message != "" {
			s.Message = &a.Message
		}
		p.States[string(a.ID)] = s
	}
	if b.Error != "" {
		p.Error = &errorText{b.Error}
	}
	return p
}

// payload is the printed form of i with what only the stream knows.
func (l *lines) payload(i protocol.Item, status string) item {
	p := payload(i, status)
	if c, ok := p.(collabItem); ok {
		c.Sender = l.thread
		return c
	}
	return p
}

// agent shows nothing: an agent's items are in its own record, and its states in the
// calls about it.
func (l *lines) agent(string, protocol.Event) {}

// agent shows what a sub-agent did, a line each.
func (t *text) agent(name string, e protocol.Event) {
	switch m := e.Msg.(type) {
	case protocol.Warning:
		t.tagged(name, "warning: "+m.Message)
	case protocol.ApprovalRequested:
		t.tagged(name, "declined "+asked(m.Approval))
	case protocol.ItemCompleted:
		switch b := m.Item.Body.(type) {
		case protocol.AgentMessage:
			t.tagged(name, b.Text)
		case protocol.Command:
			end := ""
			if b.ExitCode != nil {
				end = fmt.Sprintf(" (exit %d)", *b.ExitCode)
			}
			t.tagged(name, "$ "+b.Command+end)
		case protocol.FileChange:
			var names []string
			for _, c := range b.Changes {
				names = append(names, t.short(c.Path))
			}
			what := "changed "
			if m.Item.Status != protocol.Completed {
				what = "did not change "
			}
			t.tagged(name, what+strings.Join(names, ", "))
		}
	}
}

// agentShown bounds a line about a sub-agent, in characters.
const agentShown = 200

func (t *text) tagged(name, s string) {
	t.say("%s %s", t.paint.dim("["+oneLine(name)+"]"), oneLine(visible.ClipRunes(s, agentShown)))
}

// collab shows a call about sub-agents.
func (t *text) collab(b protocol.SubAgent) {
	head := t.paint.cyan("agents") + " " + oneLine(b.Operation)
	if b.Prompt != "" {
		head += " " + t.paint.dim(oneLine(visible.ClipRunes(b.Prompt, agentShown)))
	}
	if b.Error != "" {
		head += "\n  " + t.paint.red(oneLine(b.Error))
	}
	t.say("%s", head)
	for _, a := range b.Agents {
		line := "  " + oneLine(a.Name) + ": " + a.State
		if a.Message != "" && a.State != "running" {
			line += ": " + oneLine(a.Message)
		}
		t.say("%s", line)
	}
}

// agentName is what a sub-agent is called.
func (r *runner) agentName(id protocol.SessionID) string {
	for _, a := range r.agents {
		if a.ID == id && a.Name != "" {
			return a.Name
		}
	}
	return string(id[:min(8, len(id))])
}

// hear takes an event of a sub-agent. In a review the reviewer's work is shown like
// the session's own, but for the object that it ends with.
func (r *runner) hear(e protocol.Event) {
	if a, ok := e.Msg.(protocol.ApprovalRequested); ok {
		r.take(a) // refused like any other
		return
	}
	if _, review := r.o.Op.(protocol.Review); !review {
		r.printer.agent(r.agentName(e.Agent), e)
		return
	}
	switch m := e.Msg.(type) {
	case protocol.ItemStarted:
		m.Item.ID = "agent/" + m.Item.ID
		r.printer.show(m)
	case protocol.ItemUpdated:
		m.Item.ID = "agent/" + m.Item.ID
		r.printer.show(m)
	case protocol.ItemCompleted:
		switch m.Item.Body.(type) {
		case protocol.AgentMessage, protocol.UserMessage:
			return
		}
		m.Item.ID = "agent/" + m.Item.ID
		r.printer.show(m)
	case protocol.ItemDropped:
		m.Item = "agent/" + m.Item
		r.printer.show(m)
	case protocol.Retrying:
		r.printer.show(m)
	}
}
