package team

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
)

// Result is the outcome of an operation: a JSON object for the model, and the
// members that the operation was about.
type Result struct {
	Text   string
	Agents []protocol.Agent
}

// Do carries out an operation. An error is a *tool.Error.
func (t *Team) Do(ctx context.Context, d tool.Delegate, set protocol.Settings) (Result, error) {
	switch d.Operation {
	case "spawn":
		return t.spawn(ctx, d, set)
	case "list":
		return t.tellAll(), nil
	case "wait":
		return t.wait(ctx, d)
	case "send", "resume", "close":
	default:
		return Result{}, tool.Refuse(tool.InvalidArguments, "there is no operation %q", d.Operation)
	}
	if len(d.Targets) != 1 {
		return Result{}, tool.Refuse(tool.InvalidArguments, "name one agent as target")
	}
	if d.Operation == "resume" {
		return t.resume(ctx, d, set)
	}
	m, err := t.find(d.Targets[0])
	if err != nil {
		return Result{}, err
	}
	if d.Operation == "close" {
		return t.close(ctx, m)
	}
	return t.send(ctx, m, d)
}

// mayGrow takes a place for one more member, or returns why there is none.
func (t *Team) mayGrow() error {
	if t.o.Depth >= t.o.MaxDepth {
		return tool.Refuse(tool.Denied, "depth limit: an agent at depth %d starts no agents of its own (agents.max_depth "+
			"is %d). Do the task yourself", t.o.Depth, t.o.MaxDepth)
	}
	if !t.o.Places.take() {
		return tool.Refuse(tool.Denied, "agent limit: %d sub-agents are open, as many as there may be "+
			"(agents.max_threads). Close one that is done with close_agent, or do the task yourself", t.o.Places.Most)
	}
	return nil
}

func (t *Team) spawn(ctx context.Context, d tool.Delegate, set protocol.Settings) (Result, error) {
	if strings.TrimSpace(d.Message) == "" {
		return Result{}, tool.Refuse(tool.InvalidArguments,
			"spawn_agent: message is empty; say what the agent is to do, with all it needs to know")
	}
	role, err := t.role(d.Role)
	if err != nil {
		return Result{}, err
	}
	if err := t.mayGrow(); err != nil {
		return Result{}, err
	}
	s := Spawn{Name: t.name(role.Name), Role: role, Model: d.Model, Effort: d.Effort, Settings: set,
		Isolated: d.Isolated || role.Isolated}
	m, err := t.open(ctx, s, true)
	if err != nil {
		return Result{}, err
	}
	if err := t.say(ctx, m, d.Message, false); err != nil {
		return Result{}, tool.Refuse("FAILED", "the agent took no message: %v", err)
	}
	text := map[string]any{"agent_id": m.id, "name": m.name, "agent_type": role.Name, "state": Running}
	if m.open.Merge != nil {
		text["isolation"] = "it works in a work tree of its own; close_agent merges its changes back"
	}
	return t.result(text, m), nil
}

// open opens a session and makes it a member. placed says that a place was taken
// for it.
func (t *Team) open(ctx context.Context, s Spawn, placed bool) (*member, error) {
	opened, err := t.o.Open(ctx, s)
	if err == nil {
		m := &member{id: opened.Session.ID(), name: s.Name, role: s.Role.Name, open: opened, placed: placed,
			state: Completed, told: true, over: make(chan struct{})}
		if t.join(m) {
			return m, nil
		}
		go drain(opened.Session) // ends with the session
		_ = opened.Session.Close()
		err = fmt.Errorf("the session ends")
	}
	if placed {
		t.o.Places.give()
	}
	return nil, tool.Refuse("FAILED", "the agent could not be started: %v", err)
}

func drain(s protocol.Session) {
	for range s.Events() {
	}
}

// send gives a member more to do. Input joins the turn that runs, or starts one.
func (t *Team) send(ctx context.Context, m *member, d tool.Delegate) (Result, error) {
	if strings.TrimSpace(d.Message) == "" {
		return Result{}, tool.Refuse(tool.InvalidArguments, "send_input: message is empty")
	}
	if t.state(m) == Closed {
		return Result{}, tool.Refuse(tool.NotFound, "agent %s is closed; resume_agent opens it again", m.id)
	}
	if err := t.say(ctx, m, d.Message, d.Interrupt); err != nil {
		return Result{}, tool.Refuse("FAILED", "agent %s took no message: %v", m.id, err)
	}
	return t.result(map[string]any{"agent_id": m.id, "state": Running}, m), nil
}

// resume opens the session of a member that was closed, or that an earlier run of
// the parent had.
func (t *Team) resume(ctx context.Context, d tool.Delegate, set protocol.Settings) (Result, error) {
	id, name, role := protocol.SessionID(d.Targets[0]), "", Role{Name: "default"}
	if m, err := t.find(d.Targets[0]); err == nil {
		if t.state(m) != Closed {
			return t.wake(ctx, m, d)
		}
		id, name = m.id, m.name
		if role, err = t.role(m.role); err != nil {
			return Result{}, err
		}
	}
	if err := t.mayGrow(); err != nil {
		return Result{}, err
	}
	if name == "" {
		name = t.name(role.Name)
	}
	m, err := t.open(ctx, Spawn{Name: name, Role: role, Settings: set, Resume: id}, true)
	if err != nil {
		return Result{}, err
	}
	return t.wake(ctx, m, d)
}

// wake sends the message of a resumption, if it has one.
func (t *Team) wake(ctx context.Context, m *member, d tool.Delegate) (Result, error) {
	if strings.TrimSpace(d.Message) != "" {
		return t.send(ctx, m, d)
	}
	return t.result(map[string]any{"agent_id": m.id, "name": m.name, "state": t.state(m)}, m), nil
}

// close ends a member and merges its own work tree, if it has one.
func (t *Team) close(ctx context.Context, m *member) (Result, error) {
	t.mu.Lock()
	before, merge := m.state, m.open.Merge
	m.open.Merge, m.told = nil, true
	t.mu.Unlock()
	_ = m.open.Session.Close()
	<-m.over
	text := map[string]any{"agent_id": m.id, "previous_state": before, "state": Closed}
	if message := t.message(m); message != "" {
		text["message"] = message
	}
	if merge != nil {
		text["merge"] = merge(ctx)
	}
	return t.result(text, m), nil
}

// tellAll lists the members.
func (t *Team) tellAll() Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([]map[string]any, len(t.members))
	for i, m := range t.members {
		rows[i] = map[string]any{"agent_id": m.id, "name": m.name, "agent_type": m.role, "state": m.state, "tokens": m.tokens}
		if m.message != "" {
			rows[i]["message"] = short(m.message)
		}
	}
	return Result{Text: object(map[string]any{"agents": rows}), Agents: t.list()}
}

// linger is how long a wait goes on after the first member is done. Members that are
// done by then are in the same answer, which saves a request each.
const linger = 500 * time.Millisecond

// wait waits until one of the targets, or all, are final, or time is up.
func (t *Team) wait(ctx context.Context, d tool.Delegate) (Result, error) {
	targets, err := t.targets(d.Targets)
	if err != nil {
		return Result{}, err
	}
	timer := time.NewTimer(d.Timeout)
	defer timer.Stop()
	var lingering <-chan time.Time
	for {
		done, changed := t.done(targets)
		if done == len(targets) {
			return t.outcome(targets, false), nil
		}
		if done > 0 && !d.All && lingering == nil {
			short := time.NewTimer(linger)
			defer short.Stop()
			lingering = short.C
		}
		select {
		case <-changed:
		case <-lingering:
			return t.outcome(targets, false), nil
		case <-timer.C:
			done, _ := t.done(targets)
			return t.outcome(targets, done == 0 || d.All && done < len(targets)), nil
		case <-ctx.Done():
			return Result{}, tool.Refuse(tool.Aborted, "aborted by the user")
		}
	}
}

// targets are the members that a wait is about.
func (t *Team) targets(names []string) ([]*member, error) {
	var list []*member
	for _, name := range names {
		m, err := t.find(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	if len(names) > 0 {
		return list, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.state != Closed {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil, tool.Refuse(tool.NotFound, "there is no open sub-agent to wait for")
	}
	return list, nil
}

// done counts the members that are final. The channel is closed at the next change.
func (t *Team) done(list []*member) (int, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, m := range list {
		if m.final() {
			n++
		}
	}
	return n, t.changed
}

// outcome lists the states of members and the last messages of the final ones.
func (t *Team) outcome(list []*member, late bool) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	status := map[string]any{}
	r := Result{}
	for _, m := range list {
		row := map[string]any{"name": m.name, "state": m.state}
		if m.final() {
			m.told = true
			row["message"] = m.message
		}
		status[string(m.id)] = row
		r.Agents = append(r.Agents, m.agent())
	}
	r.Text = object(map[string]any{"status": status, "timed_out": late})
	return r
}

func (t *Team) state(m *member) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return m.state
}

func (t *Team) message(m *member) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return m.message
}

func (t *Team) result(text map[string]any, m *member) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Result{Text: object(text), Agents: []protocol.Agent{m.agent()}}
}

// object is v as the model reads it, its members in the order of their names.
func object(v map[string]any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // strings, numbers and maps of them
	}
	return string(b)
}
