package mcpserver

//lint:file-ignore SA1019 roots are deprecated from the newest revision on, which still has them

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/protocol"
)

// sessionless is the first revision without connections: each request says who sends it,
// and what the client is asked is asked by the result of a call, which is then made again.
const sessionless = "2026-07-28"

// visitorLimit is how many clients without a connection are remembered at a time.
const visitorLimit = 8

// What the results of calls ask for, by the names that the answers come under.
const (
	askedRoots    = "roots"
	askedApproval = "approval"
)

// errBusy says that no further client can be remembered.
var errBusy = errors.New("too many clients have calls or questions under way; try again later")

// visitors are the clients of revisions without connections. One is told from another by
// its name and its roots; what it saw, changed and runs is remembered until it was not heard
// of for a while. Its methods may be called by several goroutines.
type visitors struct {
	o Options

	mu      sync.Mutex
	closed  bool
	known   []*visitor           // the one heard of last is last
	waiting map[string]*openTurn // by the state that the client sends back
}

// visitor is one of them.
type visitor struct {
	conn  *conn
	key   string
	calls int // under way; guarded by the visitors' mu
	idle  *time.Timer
}

// openTurn is a turn of the agent that outlives the call that began it: it waits for the
// answer to a question.
type openTurn struct {
	thread    *thread
	visitor   *visitor
	watcher   *watcher
	done      chan *mcp.CallToolResult
	questions chan protocol.Approval
	asked     protocol.Approval // what the client was asked last
}

// questionLimit is how many questions of one turn may wait; more are answered with no.
const questionLimit = 64

func newVisitors(o Options) *visitors { return &visitors{o: o, waiting: map[string]*openTurn{}} }

// without reports whether a request is of a revision without connections.
func without(r *mcp.CallToolRequest) bool { return r.ProtocolVersion() >= sessionless }

// enter finds the client of a request, or makes it known; leave ends its call.
func (v *visitors) enter(r *mcp.CallToolRequest, roots []string) (*visitor, error) {
	name := "mcp"
	if info := r.ClientInfo(); info != nil {
		name = cmp.Or(info.Name, name)
	}
	key := name + "\x00" + strings.Join(roots, "\x00")
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, context.Canceled
	}
	i := slices.IndexFunc(v.known, func(k *visitor) bool { return k.key == key })
	if i < 0 {
		if err := v.makeRoom(); err != nil {
			return nil, err
		}
		k := &visitor{key: key, conn: &conn{o: v.o, visitors: v, name: name, roots: roots}}
		k.idle = time.AfterFunc(idle, func() { v.forget(k) })
		v.known, i = append(v.known, k), len(v.known)
	}
	k := v.known[i]
	v.known = append(slices.Delete(v.known, i, i+1), k)
	k.calls++
	k.idle.Stop()
	return k, nil
}

// makeRoom forgets the client that was not heard of for the longest time.
func (v *visitors) makeRoom() error {
	if len(v.known) < visitorLimit {
		return nil
	}
	i := slices.IndexFunc(v.known, func(k *visitor) bool { return k.calls == 0 && !v.waits(k) })
	if i < 0 {
		return errBusy
	}
	k := v.known[i]
	k.idle.Stop()
	v.known = slices.Delete(v.known, i, i+1)
	go k.conn.close() // ends by itself
	return nil
}

// waits reports whether a question to the client is open.
func (v *visitors) waits(k *visitor) bool {
	for _, t := range v.waiting {
		if t.visitor == k {
			return true
		}
	}
	return false
}

func (v *visitors) leave(k *visitor) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if k.calls--; k.calls == 0 && !v.closed {
		k.idle.Reset(idle)
	}
}

// forget ends all that is remembered of a client without calls.
func (v *visitors) forget(k *visitor) {
	v.mu.Lock()
	i := slices.Index(v.known, k)
	if i < 0 || k.calls > 0 {
		v.mu.Unlock()
		return
	}
	v.known = slices.Delete(v.known, i, i+1)
	for state, t := range v.waiting {
		if t.visitor == k {
			delete(v.waiting, state)
		}
	}
	v.mu.Unlock()
	k.conn.close()
}

// close forgets all. It may be called more than once.
func (v *visitors) close() {
	v.mu.Lock()
	known := v.known
	v.closed, v.known, v.waiting = true, nil, map[string]*openTurn{}
	v.mu.Unlock()
	for _, k := range known {
		k.idle.Stop()
		k.conn.close()
	}
}

// rootsOf are the client's roots; ask is the result that asks for them.
func rootsOf(r *mcp.CallToolRequest) (roots []string, ask *mcp.CallToolResult) {
	can := r.ClientCapabilities()
	if can == nil || can.RootsV2 == nil {
		return nil, nil
	}
	list, ok := r.Params.InputResponses[askedRoots].(*mcp.ListRootsResult)
	if !ok {
		return nil, &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{askedRoots: &mcp.ListRootsParams{}}}
	}
	return rootPaths(list), nil
}

// file runs one call of a file tool for a client without a connection.
func (v *visitors) file(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	roots, ask := rootsOf(r)
	if ask != nil {
		return ask, nil
	}
	k, err := v.enter(r, roots)
	if err != nil {
		return failure("CONNECTION", err.Error()), nil
	}
	defer v.leave(k)
	return k.conn.file(ctx, r)
}

// agent runs a call of an agent tool: call begins a turn; a request that brings the answer
// to a question goes on with its turn.
func (v *visitors) agent(ctx context.Context, r *mcp.CallToolRequest, call func(*conn) (*thread, string,
	*mcp.CallToolResult)) *mcp.CallToolResult {
	k, err := v.enter(r, nil)
	if err != nil {
		return said("", err.Error(), true)
	}
	defer v.leave(k)
	if state := r.Params.RequestState; state != "" {
		t := v.take(k, func(s string, _ *openTurn) bool { return s == state })
		if t == nil {
			return said("", "this question is not open any more", true)
		}
		t.watcher.serve(ctx, r)
		answer, ok := r.Params.InputResponses[askedApproval].(*mcp.ElicitResult)
		if !ok {
			return v.ask(t)
		}
		t.watcher.answer(t.asked, answer, nil)
		return v.follow(ctx, t)
	}
	th, prompt, failed := call(k.conn)
	if failed != nil {
		return failed
	}
	id := string(th.session.ID())
	if old := v.take(k, func(_ string, t *openTurn) bool { return t.thread == th }); old != nil {
		old.end() // the client gave its question up
	}
	if !th.turn.TryLock() {
		return said(id, "the session is at work for another call", true)
	}
	t := &openTurn{thread: th, visitor: k, done: make(chan *mcp.CallToolResult, 1),
		questions: make(chan protocol.Approval, questionLimit)}
	t.watcher = &watcher{thread: th, done: t.done, questions: t.questions}
	t.watcher.serve(ctx, r)
	th.listen(t.watcher.hear)
	if err := th.submit(ctx, prompt); err != nil {
		t.over()
		return said(id, "the session took no input: "+err.Error(), true)
	}
	return v.follow(ctx, t)
}

// take finds a turn of the client that waits, and has it wait no more.
func (v *visitors) take(k *visitor, is func(state string, t *openTurn) bool) *openTurn {
	v.mu.Lock()
	defer v.mu.Unlock()
	for state, t := range v.waiting {
		if t.visitor == k && is(state, t) {
			delete(v.waiting, state)
			return t
		}
	}
	return nil
}

// follow waits for the end of the turn or for its next question.
func (v *visitors) follow(ctx context.Context, t *openTurn) *mcp.CallToolResult {
	select {
	case r := <-t.done:
		t.over()
		return r
	case t.asked = <-t.questions:
		return v.ask(t)
	case <-ctx.Done():
		return t.end()
	case <-t.thread.over:
		t.over()
		return said(string(t.thread.session.ID()), "the session ended", true)
	}
}

// ask is the result that puts the turn's question to the client.
func (v *visitors) ask(t *openTurn) *mcp.CallToolResult {
	state := rand.Text()
	v.mu.Lock()
	maps.DeleteFunc(v.waiting, func(_ string, t *openTurn) bool { return t.thread.ended() })
	v.waiting[state] = t
	v.mu.Unlock()
	return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{askedApproval: form(t.asked)}}
}

// end interrupts the turn and waits for its end.
func (t *openTurn) end() *mcp.CallToolResult {
	defer t.over()
	_ = t.thread.session.Submit(context.Background(), protocol.Submission{Op: protocol.Interrupt{}})
	select {
	case r := <-t.done:
		return r
	case <-t.thread.over:
		return said(string(t.thread.session.ID()), "the session ended", true)
	}
}

// over lets the next turn of the session begin.
func (t *openTurn) over() {
	t.thread.listen(nil)
	t.thread.turn.Unlock()
}
