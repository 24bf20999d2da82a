package proc

import (
	"context"
	"errors"
	"slices"
	"sync"
)

const (
	// firstID is the id of the first process of a table.
	firstID = 1000
	// MaxProcesses is how many running processes a table holds.
	MaxProcesses = 64
)

// ErrTableFull says that MaxProcesses processes of a table are running.
var ErrTableFull = errors.New("64 processes are running; end one first")

// Table holds the background processes of one session. The zero value is
// empty and ready; its methods may be called by several goroutines.
type Table struct {
	mu     sync.Mutex // guards what follows
	token  string     // marks what was started through the table
	next   int
	byID   map[int]*Process
	closed bool
}

// Entry is one process of a table.
type Entry struct {
	ID      int
	Process *Process
}

// Start is [Start], and lets CloseAll find whatever the process leaves behind
// (Spec.Linger), also when the process was never added.
func (t *Table) Start(ctx context.Context, spec Spec) (*Process, error) {
	t.mu.Lock()
	if t.token == "" {
		t.token = newToken()
	}
	token, closed := t.token, t.closed
	t.mu.Unlock()
	if closed {
		return nil, errors.New("run: the session is over")
	}
	return start(ctx, spec, token)
}

// Add gives p an id. When the table is full of running processes the error is
// [ErrTableFull]; the oldest ended one makes room otherwise.
func (t *Table) Add(p *Process) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID, t.next = make(map[int]*Process), firstID
	}
	if len(t.byID) >= MaxProcesses && !t.forgetOldest() {
		return 0, ErrTableFull
	}
	id := t.next
	t.next++
	t.byID[id] = p
	return id, nil
}

func (t *Table) forgetOldest() bool {
	for _, id := range t.ids() {
		if t.byID[id].Wait(0) {
			delete(t.byID, id)
			return true
		}
	}
	return false
}

func (t *Table) ids() []int {
	ids := make([]int, 0, len(t.byID))
	for id := range t.byID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Get returns the process with an id, if the table has it.
func (t *Table) Get(id int) (*Process, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, ok := t.byID[id]
	return p, ok
}

// Remove forgets a process; it does not end it.
func (t *Table) Remove(id int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

// List returns the processes, oldest first.
func (t *Table) List() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []Entry
	for _, id := range t.ids() {
		list = append(list, Entry{id, t.byID[id]})
	}
	return list
}

// CloseAll kills every process of the table and all that was started through
// it. It returns when they are gone; nothing can be started afterwards.
func (t *Table) CloseAll() {
	t.mu.Lock()
	t.closed = true
	all, token := t.byID, t.token
	t.byID = nil
	t.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(p.Kill)
	}
	wg.Wait()
	if token != "" {
		sweepToken(token)
	}
}
