package team

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
)

// Interrupt closes all members, because the parent was stopped. Their own work
// trees are not merged; Leave says where they are.
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

// Merge closes the completed members that have a work tree of their own, merges
// their changes, and describes the result for each.
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

// Leave says where the unmerged work of closed members is. It names each member
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

// News is text for the model about the members that ended and that it was not told
// of yet, or "".
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

// Run opens a member, gives it one task, closes it and returns its last message.
// The member does not count against the limit of Places.
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

// forget drops a member that the model did not start.
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
