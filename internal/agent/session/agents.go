package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

// Agents say which sub-agents a session may have. The zero value has none.
type Agents struct {
	// Depth is 0 for a session of the user's own.
	Depth, MaxDepth int
	// Places are shared by all agents below one session of the user.
	Places *team.Places
	Roles  []team.Role
	// Open opens the session of a sub-agent of parent.
	Open func(ctx context.Context, parent *Session, s team.Spawn) (Agent, error)
	// Only, when not nil, names the tools that this session may use.
	Only []string
	// Parent is the session whose sub-agent this one is, or nil.
	Parent *Session
}

// Agent is the opened session of a sub-agent.
type Agent struct {
	Session protocol.Session
	// Tree is set when it has a work tree of its own.
	Tree *WorkTree
}

// family is what the hands of a session and of its sub-agents know of each other:
// they work in one tree, and what one of them does there is no outside change to the
// others.
type family struct {
	team *team.Team

	// scanning is held while the scanner is used: sub-agents note changes in it.
	scanning sync.Mutex

	famMu sync.Mutex // guards what follows
	kin   []*Hands   // of the sub-agents in the same tree
	now   protocol.TurnID
	// merged are the changes of merged work trees that no outcome has told yet.
	merged []history.FileChange
}

// Hands are what the session works with.
func (s *Session) Hands() *Hands { return s.o.Hands }

// enlist makes the team of s, and makes s known to its parent.
func (s *Session) enlist() {
	a, h := s.o.Agents, s.o.Hands
	o := team.Options{Depth: a.Depth, MaxDepth: a.MaxDepth, Places: a.Places, Roles: a.Roles, Open: s.openAgent,
		Tell: func(e protocol.Event) { s.post(message{event: &e}) },
		Spent: func(id protocol.SessionID, u protocol.Usage) {
			s.post(message{in: turn.Spent{Agent: id, Usage: u}})
		}}
	h.team = team.New(o)
	if a.Parent != nil && h.o.Above != nil {
		up := h.o.Above
		up.famMu.Lock()
		up.kin = append(up.kin, h)
		up.famMu.Unlock()
	}
	if a.Parent != nil && h.remote == nil {
		h.remote, h.borrowed = a.Parent.o.Hands.remote, true
	}
}

// leave makes h unknown to its parent.
func (h *Hands) leave() {
	if up := h.o.Above; up != nil {
		up.famMu.Lock()
		up.kin = slices.DeleteFunc(up.kin, func(k *Hands) bool { return k == h })
		up.famMu.Unlock()
	}
}

// post hands the loop something; after its end it goes nowhere.
func (s *Session) post(m message) {
	select {
	case s.inputs <- m:
	case <-s.ctx.Done():
	}
}

// openAgent opens the session of a sub-agent.
func (s *Session) openAgent(ctx context.Context, sp team.Spawn) (team.Member, error) {
	if s.o.Agents.Open == nil {
		return team.Member{}, errors.New("this session can have none")
	}
	a, err := s.o.Agents.Open(ctx, s, sp)
	if err != nil {
		return team.Member{}, err
	}
	m := team.Member{Session: a.Session}
	if a.Tree != nil {
		m.Merge = func(ctx context.Context) string { return s.mergeTree(ctx, a.Tree, sp) }
		m.Leave = func(ctx context.Context) string { return a.Tree.leave(ctx) }
	}
	return m, nil
}

// relay lets an event of a sub-agent out, or one about them.
func (s *Session) relay(e protocol.Event) {
	s.seq++
	e.Seq = s.seq
	if e.Agent == "" {
		e.Turn = s.turnID
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	s.outbox.put(e)
}

// heed does what an input means for the sub-agents, before the core has it: an
// answer may be theirs, and whoever stops the session stops them. It reports whether
// the input is done with.
func (s *Session) heed(in turn.Input) bool {
	sub, ok := in.(turn.Submit)
	if !ok {
		return false
	}
	switch op := sub.Op.(type) {
	case protocol.Answer:
		if strings.Contains(string(op.Approval), "/") {
			s.tasks.Go(func() { s.o.Hands.team.Answer(s.ctx, op) })
			return true
		}
	case protocol.Address:
		s.tasks.Go(func() {
			if err := s.o.Hands.team.Address(s.ctx, op.Agent, op.Op); err != nil {
				s.post(message{told: protocol.Warning{Message: err.Error()}})
			}
		})
		return true
	case protocol.Interrupt, protocol.Shutdown:
		s.tasks.Go(func() {
			s.o.Hands.team.Interrupt()
			s.tellLeft()
		})
	}
	return false
}

// tellLeft tells where the work of closed agents is that was not merged.
func (s *Session) tellLeft() {
	for _, words := range s.o.Hands.team.Leave(context.WithoutCancel(s.ctx)) {
		s.post(message{told: protocol.Warning{Message: words}})
	}
}

// lastWords waits for the sub-agents at the end of a turn of a session that nobody
// goes on with: what they were asked to do is done or ended before the turn is over,
// and told either way.
func (s *Session) lastWords(ctx context.Context, e turn.Settle) {
	t := s.o.Hands.team
	if !s.o.Headless || s.o.Agents.Parent != nil {
		return
	}
	if e.Done && len(t.Busy()) > 0 {
		if wall := s.o.Budget.Wall; wall > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, wall)
			defer cancel()
		}
		s.post(message{told: protocol.Warning{Message: "waiting for sub-agents that still work: " + named(t.Busy())}})
		all := t.Settle(ctx)
		s.post(message{told: protocol.ItemCompleted{Item: protocol.Item{ID: protocol.ItemID("agents_" + string(e.Turn)), Status: protocol.Completed,
			Body: protocol.SubAgent{Deed: "wait", Agents: all}}}})
	}
	if e.Done {
		for _, words := range t.Merge(ctx) {
			s.post(message{told: protocol.Warning{Message: "merged the work of sub-agent " + words}})
		}
	}
	for _, a := range t.Busy() {
		s.post(message{told: protocol.Warning{Message: fmt.Sprintf("sub-agent %s was still running when the turn ended; it is closed", a.Name)}})
	}
	t.Interrupt()
	s.tellLeft()
}

func named(list []protocol.Agent) string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.Name
	}
	return strings.Join(names, ", ")
}

// news is what the model is told of sub-agents that came to an end.
func (s *Session) news() []*model.Item {
	if text := s.o.Hands.team.News(); text != "" {
		return []*model.Item{model.UserText(text)}
	}
	return nil
}

// endNews is the same at the end of a turn after which the process may end: then it
// has to be in the record.
func (s *Session) endNews() string {
	if !s.o.Headless {
		return ""
	}
	return s.o.Hands.team.News()
}

// delegate carries out a deed about sub-agents.
func (h *Hands) delegate(ctx context.Context, id protocol.CallID, a tool.Delegate, m Manner) turn.Outcome {
	body := protocol.SubAgent{Call: id, Deed: a.Deed, Prompt: a.Message}
	if h.team == nil {
		return turn.Outcome{Text: "there are no sub-agents here", Body: body}
	}
	r, err := h.team.Do(ctx, a, m.Settings)
	if err != nil {
		text := err.Error()
		body.Error = text
		var refused *tool.Error
		if errors.As(err, &refused) {
			text, body.Error = Render(tool.Fail(refused)), refused.Message
		}
		return turn.Outcome{Text: text, Body: body}
	}
	body.Agents = r.Agents
	return turn.Outcome{Text: r.Text, Success: true, Body: body, Changes: h.takeMerged()}
}

// allowedTool keeps a role to its tools.
func (s *Session) allowedTool(name string) error {
	if only := s.o.Agents.Only; only != nil && !slices.Contains(only, name) {
		return tool.Refuse(tool.Denied, "%s is not among your tools: %s", name, strings.Join(only, ", "))
	}
	return nil
}

// begun notes the turn that runs, for the ledger entries of sub-agents.
func (h *Hands) begun(t protocol.TurnID) {
	h.famMu.Lock()
	h.now = t
	h.famMu.Unlock()
}

// rooted is an origin as the ledger has it: what a sub-agent does belongs to the turn
// of the user's session that it works for, so that the turn's diff and undo have it
// all.
func (h *Hands) rooted(session, turn, call string) (string, string, string) {
	up := h.o.Above
	if up == nil {
		return session, turn, call
	}
	up.famMu.Lock()
	now := up.now
	up.famMu.Unlock()
	if call != "" {
		call = h.o.Origin.Client + "/" + call
	}
	return up.rooted(up.o.Origin.Session, string(now), call)
}

// shareChange tells the others of the family what h did: it is part of what the parent's
// turn changed, and an outside change to nobody.
func (h *Hands) shareChange(set delta.Set, outside bool) {
	h.noteKin(set, nil)
	up := h.o.Above
	if up == nil || len(set) == 0 {
		return
	}
	for _, c := range set {
		up.note(c.Path, c.Post)
	}
	up.noteKin(set, h)
	up.keepChange(set, outside)
}

// noteKin tells the scanners of the sub-agents, but for one, of changes.
func (h *Hands) noteKin(set delta.Set, but *Hands) {
	h.famMu.Lock()
	kin := slices.Clone(h.kin)
	h.famMu.Unlock()
	for _, k := range kin {
		if k == but {
			continue
		}
		for _, c := range set {
			k.note(c.Path, c.Post)
		}
	}
}
