// Package team keeps the sub-agents of a session.
//
// Every member is a session of its own, with its own loop, history and record. A
// team starts members, passes on what they tell, waits for them and closes them;
// it knows them by their submissions and events only.
//
// Goroutines: one per member, which reads its events until they end. It may block
// on Options.Tell only. Close waits for all of them.
package team

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// The states of a member, as protocol.Agent has them.
const (
	Running     = "running"
	Waiting     = "waiting" // for an answer of the user
	Completed   = "completed"
	Failed      = "failed"
	Interrupted = "interrupted"
	Closed      = "closed"
)

// Role is a kind of sub-agent. Empty fields are as the parent has them.
type Role struct {
	Name         string
	Description  string // for the model that chooses
	Instructions string
	Model        string
	Effort       string
	Tools        []string // the names of those it may use; nil for all
	Sandbox      protocol.SandboxMode
	Isolated     bool
}

// Spawn says which session is to be opened.
type Spawn struct {
	Name          string
	Role          Role
	Model, Effort string // count before the role's
	// Settings are those of the parent's turn: the member gets no more than they
	// allow.
	Settings protocol.Settings
	Isolated bool
	// Resume goes on with the session of a member that was closed.
	Resume protocol.SessionID
}

// Member is an opened session.
type Member struct {
	Session protocol.Session
	// Merge brings the work of a member with a work tree of its own back and says
	// what became of it; nil for the others. It is called once, after the session has
	// ended.
	Merge func(context.Context) string
	// Leave is called instead when nobody merged: it says where the work is, or
	// nothing when there is none.
	Leave func(context.Context) string
}

// Options make a team.
type Options struct {
	// Depth is that of the session whose team it is: 0 for the user's own.
	Depth, MaxDepth int
	// Places are shared by all teams below one user's session.
	Places *Places
	Roles  []Role
	Open   func(context.Context, Spawn) (Member, error)
	// Tell passes an event on. Events of one member come in their order, and so do
	// its questions, which go to Asks and Resolved.
	Tell func(protocol.Event)
	// Asks passes a question of a member on. Answer takes the answer, for the ID that
	// the question has here.
	Asks func(member protocol.SessionID, turn protocol.TurnID, a protocol.Approval)
	// Resolved says that a question of a member needs no answer any more.
	Resolved func(member protocol.SessionID, id protocol.ApprovalID)
	// Spent is told what a member used.
	Spent func(protocol.SessionID, protocol.Usage)
}

// Places bound how many members are open at once. The zero value has none.
type Places struct {
	Most int
	mu   sync.Mutex
	used int
}

func (p *Places) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used >= p.Most {
		return false
	}
	p.used++
	return true
}

func (p *Places) give() {
	p.mu.Lock()
	p.used--
	p.mu.Unlock()
}

// Team is the sub-agents of one session. Its methods may be called by several
// goroutines.
type Team struct {
	o     Options
	pumps sync.WaitGroup

	mu      sync.Mutex // guards what follows, and the members
	members []*member  // in the order in which they were made, closed ones too
	named   map[string]int
	inputs  int           // sent to members so far
	changed chan struct{} // closed, and made anew, whenever a member changed
	shut    bool
}

// member is one sub-agent.
type member struct {
	id         protocol.SessionID
	name, role string
	open       Member
	placed     bool // it takes one of the places
	state      string
	message    string
	tokens     int
	owed       int  // inputs that it has not read yet
	told       bool // the model knows the outcome
	over       chan struct{}
}

// New returns a team without members.
func New(o Options) *Team {
	if o.Places == nil {
		o.Places = &Places{}
	}
	return &Team{o: o, named: map[string]int{}, changed: make(chan struct{})}
}

// Roles are those that are there without being configured.
func Roles() []Role {
	return []Role{
		{Name: "default", Description: "as you are"},
		{Name: "explorer", Description: "reads and answers questions about the code; changes nothing",
			Sandbox: protocol.SandboxReadOnly,
			Instructions: "You explore. Answer the question you were given from what the files say, with paths and line " +
				"numbers. Change nothing."},
		{Name: "worker", Description: "carries out one well-bounded part of the work",
			Instructions: "You carry out one part of a larger piece of work. Others edit the same tree: touch only what your " +
				"task names, " +
				"never take back changes that are not yours, and when a file changed under you, read it again and fit your " +
				"change in. " +
				"End with the list of files you changed."},
	}
}

// role finds a role; an empty name is the default one.
func (t *Team) role(name string) (Role, error) {
	if name == "" {
		name = "default"
	}
	var names []string
	for _, r := range t.o.Roles {
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return Role{}, tool.Refuse(tool.InvalidArguments, "spawn_agent: there is no agent_type %q; the types are %s", name,
		strings.Join(names, ", "))
}

// join makes a member of an opened session and starts to listen to it.
func (t *Team) join(m *member) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut {
		return false
	}
	t.members = slices.DeleteFunc(t.members, func(old *member) bool { return old.id == m.id })
	t.members = append(t.members, m)
	t.pumps.Go(func() { t.pump(m) })
	return true
}

// name makes a name out of a role.
func (t *Team) name(role string) string {
	if role == "default" {
		role = "agent"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.named[role]++
	return fmt.Sprintf("%s-%d", role, t.named[role])
}

// say submits a message to a member.
func (t *Team) say(ctx context.Context, m *member, text string, replace bool) error {
	return t.hand(ctx, m, protocol.UserInput{Items: []protocol.Input{{Text: text}}, Replace: replace})
}

// hand gives a member input that it owes an answer to.
func (t *Team) hand(ctx context.Context, m *member, in protocol.UserInput) error {
	t.mu.Lock()
	t.inputs++
	id := fmt.Sprintf("parent-%d", t.inputs)
	before := *m
	m.owed++
	m.state, m.message, m.told = Running, "", false
	t.mu.Unlock()
	err := m.open.Session.Submit(ctx, protocol.Submission{ID: id, Op: in})
	t.mu.Lock()
	if err != nil {
		m.owed, m.state, m.message, m.told = before.owed, before.state, before.message, before.told
	}
	t.mu.Unlock()
	t.note()
	return err
}

// note wakes those who wait and tells the front end that a member changed.
func (t *Team) note() {
	t.mu.Lock()
	close(t.changed)
	t.changed = make(chan struct{})
	list := t.list()
	t.mu.Unlock()
	t.o.Tell(protocol.Event{Msg: protocol.Agents{Agents: list}})
}

// list is called with the lock held.
func (t *Team) list() []protocol.Agent {
	list := make([]protocol.Agent, len(t.members))
	for i, m := range t.members {
		list[i] = m.agent()
	}
	return list
}

func (m *member) agent() protocol.Agent {
	return protocol.Agent{ID: m.id, Name: m.name, Role: m.role, State: m.state, Message: short(m.message),
		Tokens: m.tokens}
}

// shown bounds the messages in lists, in bytes.
const shown = 200

func short(s string) string {
	return visible.Clip(strings.Join(strings.Fields(s), " "), shown)
}

// final reports whether a member is done until it gets more input.
func (m *member) final() bool { return m.state != Running && m.state != Waiting }

// find returns the member that a target names: by id, by the unique beginning of
// one, or by name.
func (t *Team) find(target string) (*member, error) {
	target = strings.TrimSpace(target)
	t.mu.Lock()
	defer t.mu.Unlock()
	var hits []*member
	var all []string
	for _, m := range t.members {
		if string(m.id) == target || m.name == target {
			return m, nil
		}
		if len(target) >= 4 && strings.HasPrefix(string(m.id), strings.ToLower(target)) {
			hits = append(hits, m)
		}
		all = append(all, fmt.Sprintf("%s (%s)", m.id, m.name))
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) > 1:
		return nil, tool.Refuse(tool.Ambiguous, "%d agents begin with %q: give the whole id", len(hits), target)
	case len(all) == 0:
		return nil, tool.Refuse(tool.NotFound, "no agent %q: this session has no sub-agents; start one with spawn_agent",
			target)
	}
	return nil, tool.Refuse(tool.NotFound, "no agent %q; there are %s", target, strings.Join(all, ", "))
}
