package team

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
)

// Interrupt closes all members: whoever stops the parent stops what it started.
// What a closed member leaves in a work tree of its own is not merged; Leave names
// it.
func (t *Team) Interrupt() { t.closeAll() }

// Close closes all members and waits for them. No member joins any more.
func (t *Team) Close() {
	t.mu.Lock()
	t.shut = true
	t.mu.Unlock()
	t.closeAll()
	t.pumps.Wait()
}

func (t *Team) closeAll() {
	t.mu.Lock()
	var open []*member
	for _, m := range t.members {
		if m.state != Closed {
			open = append(open, m)
		}
	}
	t.mu.Unlock()
	var closing sync.WaitGroup
	for _, m := range open {
		closing.Go(func() {
			_ = m.open.Session.Close()
			<-m.over
		})
	}
	closing.Wait()
}

// Busy returns the members that are not done.
func (t *Team) Busy() []protocol.Agent {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []protocol.Agent
	for _, m := range t.members {
		if !m.final() {
			list = append(list, m.agent())
		}
	}
	return list
}

// Settle waits until no member is busy, or ctx is done, and returns all members.
func (t *Team) Settle(ctx context.Context) []protocol.Agent {
	for {
		t.mu.Lock()
		busy, changed, list := false, t.changed, t.list()
		for _, m := range t.members {
			busy = busy || !m.final()
		}
		t.mu.Unlock()
		if !busy {
			return list
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return list
		}
	}
}

// Merge merges what done members with work trees of their own made, and says for
// each what became of it. They are closed.
func (t *Team) Merge(ctx context.Context) []string {
	t.mu.Lock()
	var done []*member
	for _, m := range t.members {
		if m.open.Merge != nil && m.state == Completed {
			done = append(done, m)
		}
	}
	t.mu.Unlock()
	var told []string
	for _, m := range done {
		t.mu.Lock()
		merge := m.open.Merge
		m.open.Merge = nil
		t.mu.Unlock()
		_ = m.open.Session.Close()
		<-m.over
		if merge != nil {
			told = append(told, m.name+": "+merge(ctx))
		}
	}
	return told
}

// Leave says where the work of closed members is that nobody merged. Each is told
// once.
func (t *Team) Leave(ctx context.Context) []string {
	t.mu.Lock()
	var left []*member
	for _, m := range t.members {
		if m.open.Merge != nil && m.open.Leave != nil && m.state == Closed {
			m.open.Merge = nil
			left = append(left, m)
		}
	}
	t.mu.Unlock()
	var told []string
	for _, m := range left {
		if words := m.open.Leave(ctx); words != "" {
			told = append(told, m.name+": "+words)
		}
	}
	return told
}

// News tells the model of members that came to an end since it heard of them, or
// nothing. Each end is told once.
func (t *Team) News() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, m := range t.members {
		if m.told || !m.final() {
			continue
		}
		m.told = true
		fmt.Fprintf(&b, "<subagent_notification agent_id=%q name=%q state=%q>\n%s\n</subagent_notification>\n",
			m.id, m.name, m.state,
			strings.ReplaceAll(m.message, "</subagent_notification", "<\\/subagent_notification"))
	}
	return strings.TrimSpace(b.String())
}

// Run opens a member that takes no place, has it do one task, closes it and
// returns its last message.
func (t *Team) Run(ctx context.Context, s Spawn, message string) (string, error) {
	m, err := t.open(ctx, s, false)
	if err != nil {
		return "", err
	}
	defer func() {
		_ = m.open.Session.Close()
		<-m.over
		t.forget(m)
	}()
	if err := t.say(ctx, m, message, false); err != nil {
		return "", err
	}
	for {
		done, changed := t.done([]*member{m})
		if done > 0 {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	if state, text := t.state(m), t.message(m); state != Completed {
		return "", tool.Refuse("FAILED", "%s", text)
	}
	return t.message(m), nil
}

// forget drops a member that was none of the model's.
func (t *Team) forget(gone *member) {
	t.mu.Lock()
	for i, m := range t.members {
		if m == gone {
			t.members = append(t.members[:i:i], t.members[i+1:]...)
			break
		}
	}
	t.mu.Unlock()
	t.note()
}
