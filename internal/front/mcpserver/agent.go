package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// threadLimit is how many sessions of one client are kept open; older ones are
// closed and opened again when they are named.
const threadLimit = 4

type startArgs struct {
	Prompt   string `json:"prompt"`
	Cwd      string `json:"cwd"`
	Model    string `json:"model"`
	Sandbox  string `json:"sandbox"`
	Approval string `json:"approval-policy"`
}

type replyArgs struct {
	Thread string `json:"threadId"`
	Prompt string `json:"prompt"`
}

const (
	startSchema = `{"type":"object","properties":{
"prompt":{"type":"string","description":"What the agent should do."},
"cwd":{"type":"string","description":"The working directory, absolute. Default: where the server runs."},
"model":{"type":"string","description":"The model, if not the configured one."},
"sandbox":{"type":"string","enum":["read-only","workspace-write","danger-full-access"],"description":"What commands may do."},
"approval-policy":{"type":"string","enum":["untrusted","on-request","on-failure","never","auto-edit","plan"],"description":"What the user is asked about."}},
"required":["prompt"],"additionalProperties":false}`
	replySchema = `{"type":"object","properties":{
"threadId":{"type":"string","description":"The threadId that kerf returned."},
"prompt":{"type":"string","description":"What to say next."}},
"required":["threadId","prompt"],"additionalProperties":false}`
	agentResult = `{"type":"object","properties":{"threadId":{"type":"string"},"content":{"type":"string"}},"required":["threadId","content"]}`
)

func (c *conn) addAgentTools(s *mcp.Server) {
	s.AddTool(&mcp.Tool{Name: "kerf", InputSchema: json.RawMessage(startSchema),
		OutputSchema: json.RawMessage(agentResult),
		Description: "Runs a coding agent on a task in a working directory and returns its last message. Approvals are " +
			"asked by elicitation."}, c.agent((*conn).start))
	s.AddTool(&mcp.Tool{Name: "kerf-reply", InputSchema: json.RawMessage(replySchema),
		OutputSchema: json.RawMessage(agentResult),
		Description:  "Continues a session that kerf started."}, c.agent((*conn).reply))
}

// opening opens the session that a call names, or a new one, and returns it with what is
// said to it; or the result that says why not.
type opening func(*conn, context.Context, *mcp.CallToolRequest) (*thread, string, *mcp.CallToolResult)

// agent is the handler of an agent tool.
func (c *conn) agent(open opening) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if without(r) {
			return c.visitors.agent(ctx, r, func(c *conn) (*thread, string, *mcp.CallToolResult) { return open(c, ctx, r) }), nil
		}
		t, prompt, failed := open(c, ctx, r)
		if failed != nil {
			return failed, nil
		}
		return t.run(ctx, r, prompt), nil
	}
}

func (c *conn) start(ctx context.Context, r *mcp.CallToolRequest) (*thread, string, *mcp.CallToolResult) {
	var a startArgs
	if bad := decode(r.Params.Arguments, &a); bad != nil {
		return nil, "", bad
	}
	if strings.TrimSpace(a.Prompt) == "" {
		return nil, "", said("", "INVALID_ARGUMENTS: prompt is empty; say what the agent should do", true)
	}
	o := c.o.Open
	o.Source, o.Headless = "mcp", !asks(r)
	o.Settings.Cwd = cmp.Or(a.Cwd, o.Settings.Cwd)
	o.Settings.Model = cmp.Or(a.Model, o.Settings.Model)
	o.Settings.Sandbox = cmp.Or(protocol.SandboxMode(a.Sandbox), o.Settings.Sandbox)
	o.Settings.Approval = cmp.Or(protocol.ApprovalPolicy(a.Approval), o.Settings.Approval)
	t, err := c.open(ctx, o)
	if err != nil {
		return nil, "", said("", "the agent could not be started: "+err.Error(), true)
	}
	return t, a.Prompt, nil
}

func (c *conn) reply(ctx context.Context, r *mcp.CallToolRequest) (*thread, string, *mcp.CallToolResult) {
	var a replyArgs
	if bad := decode(r.Params.Arguments, &a); bad != nil {
		return nil, "", bad
	}
	if a.Thread == "" || strings.TrimSpace(a.Prompt) == "" {
		return nil, "", said(a.Thread, "INVALID_ARGUMENTS: threadId and prompt are needed", true)
	}
	t := c.find(protocol.SessionID(a.Thread))
	if t == nil {
		o := c.o.Open
		o.Source, o.Headless, o.Resume = "mcp", !asks(r), a.Thread
		var err error
		if t, err = c.open(ctx, o); err != nil {
			return nil, "", said(a.Thread, "the session could not be opened: "+err.Error(), true)
		}
	}
	return t, a.Prompt, nil
}

func decode(raw json.RawMessage, into any) *mcp.CallToolResult {
	if err := json.Unmarshal(raw, into); err != nil {
		return said("", "INVALID_ARGUMENTS: "+err.Error(), true)
	}
	return nil
}

// said is a result of the agent tools.
func said(thread, content string, failed bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: failed,
		StructuredContent: map[string]string{"threadId": thread, "content": content},
		Content:           []mcp.Content{&mcp.TextContent{Text: content}}}
}

// asks reports whether the client can put questions to its user.
func asks(r *mcp.CallToolRequest) bool {
	can := r.ClientCapabilities()
	return can != nil && can.Elicitation != nil
}

// open opens a session. It outlives the call.
func (c *conn) open(ctx context.Context, o protocol.OpenOptions) (*thread, error) {
	s, err := c.o.Sessions.Open(context.WithoutCancel(ctx), o)
	if err != nil {
		return nil, err
	}
	t := &thread{session: s, over: make(chan struct{})}
	go t.pump()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		go t.close()
		return nil, context.Canceled
	}
	c.threads = append(c.threads, t)
	if len(c.threads) > threadLimit {
		go c.threads[0].close()
		c.threads = slices.Delete(c.threads, 0, 1)
	}
	return t, nil
}

func (c *conn) find(id protocol.SessionID) *thread {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.threads {
		if t.session.ID() == id {
			return t
		}
	}
	return nil
}

// thread is one session of the agent. Turns run one after the other.
type thread struct {
	session protocol.Session
	turn    sync.Mutex // held while a turn runs
	over    chan struct{}

	mu   sync.Mutex
	hear func(protocol.Event) // what listens at present, or nil
}

// pump drains the session's events for as long as it lives.
func (t *thread) pump() {
	defer close(t.over)
	for e := range t.session.Events() {
		t.mu.Lock()
		hear := t.hear
		t.mu.Unlock()
		if hear != nil {
			hear(e)
		}
	}
}

// ended reports whether the session is over.
func (t *thread) ended() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}

func (t *thread) listen(hear func(protocol.Event)) {
	t.mu.Lock()
	t.hear = hear
	t.mu.Unlock()
}

func (t *thread) close() {
	_ = t.session.Close()
	<-t.over
}

// submit begins a turn.
func (t *thread) submit(ctx context.Context, prompt string) error {
	return t.session.Submit(ctx, protocol.Submission{Op: protocol.UserInput{Items: []protocol.Input{{Text: prompt}}}})
}

// run runs one turn and returns its last message. When the client cancels the
// call, the turn is interrupted first.
func (t *thread) run(ctx context.Context, r *mcp.CallToolRequest, prompt string) *mcp.CallToolResult {
	t.turn.Lock()
	defer t.turn.Unlock()
	id := string(t.session.ID())
	done := make(chan *mcp.CallToolResult, 1)
	w := &watcher{thread: t, done: done}
	w.serve(ctx, r)
	t.listen(w.hear)
	defer t.listen(nil)
	if err := t.submit(ctx, prompt); err != nil {
		return said(id, "the session took no input: "+err.Error(), true)
	}
	cancelled := ctx.Done()
	for {
		select {
		case res := <-done:
			return res
		case <-cancelled:
			cancelled = nil
			_ = t.session.Submit(context.WithoutCancel(ctx), protocol.Submission{Op: protocol.Interrupt{}})
		case <-t.over:
			return said(id, "the session ended", true)
		}
	}
}

// watcher turns the events of one turn into answers for the client.
type watcher struct {
	thread *thread
	done   chan<- *mcp.CallToolResult
	// questions gets what the user is asked; nil asks the client by a request.
	questions chan<- protocol.Approval
	steps     float64 // of the pump's goroutine

	mu      sync.Mutex
	request *mcp.CallToolRequest // the one that waits now
	ctx     context.Context      // of that request
}

// serve has the watcher work for a request.
func (w *watcher) serve(ctx context.Context, r *mcp.CallToolRequest) {
	w.mu.Lock()
	w.ctx, w.request = ctx, r
	w.mu.Unlock()
}

func (w *watcher) serves() (context.Context, *mcp.CallToolRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ctx, w.request
}

func (w *watcher) hear(e protocol.Event) {
	id := string(w.thread.session.ID())
	if _, question := e.Msg.(protocol.ApprovalRequested); e.Agent != "" && !question {
		return // of a sub-agent
	}
	switch m := e.Msg.(type) {
	case protocol.ApprovalRequested:
		if w.questions == nil {
			go w.ask(m.Approval)
			return
		}
		select {
		case w.questions <- m.Approval:
		default:
			go w.answer(m.Approval, nil, errors.New("too many questions wait"))
		}
	case protocol.ItemCompleted:
		w.progress(m.Item)
	case protocol.TurnCompleted:
		w.finish(said(id, m.LastMessage, false))
	case protocol.TurnFailed:
		w.finish(said(id, strings.TrimSpace(m.Error.Message+"\n"+m.Error.Hint), true))
	case protocol.TurnAborted:
		w.finish(said(id, "the turn was "+string(m.Reason), true))
	}
}

func (w *watcher) finish(r *mcp.CallToolResult) {
	select {
	case w.done <- r:
	default: // the turn is answered already
	}
}

// progress tells a client that wants to know what was done.
func (w *watcher) progress(item protocol.Item) {
	ctx, request := w.serves()
	token := request.Params.GetProgressToken()
	if token == nil {
		return
	}
	w.steps++
	p := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: w.steps, Message: headline(item)}
	_ = request.Session.NotifyProgress(ctx, p)
}

// headline is an item in a few words.
func headline(item protocol.Item) string {
	switch b := item.Body.(type) {
	case protocol.Command:
		return clip("ran " + b.Command)
	case protocol.FileChange:
		paths := make([]string, len(b.Changes))
		for i, ch := range b.Changes {
			paths[i] = ch.Path
		}
		return clip("changed " + strings.Join(paths, ", "))
	case protocol.AgentMessage:
		return clip(b.Text)
	case protocol.ToolCall:
		return clip("called " + b.Tool)
	}
	return ""
}

func clip(s string) string {
	return visible.OneLine(s, 200)
}

// decisions are what the form of an approval offers.
var decisions = map[string]protocol.Decision{"approve": protocol.Once, "approve_for_session": protocol.ForSession,
	"deny": protocol.Deny, "abort": protocol.Abort}

const approvalForm = `{"type":"object","properties":{"decision":{"type":"string","title":"Decision",
"enum":["approve","approve_for_session","deny","abort"],"default":"approve"}}}`

// form is what the client's user is shown of an approval.
func form(a protocol.Approval) *mcp.ElicitParams {
	p := &mcp.ElicitParams{Mode: "form", Message: question(a), RequestedSchema: json.RawMessage(approvalForm)}
	if a.Question != nil && len(a.Question.Schema) > 0 {
		p.RequestedSchema = a.Question.Schema
	}
	return p
}

// ask puts one approval to the client's user.
func (w *watcher) ask(a protocol.Approval) {
	ctx, request := w.serves()
	res, err := request.Session.Elicit(ctx, form(a))
	w.answer(a, res, err)
}

// answer passes on what the user said. Whatever is not an acceptance keeps the action from
// running.
func (w *watcher) answer(a protocol.Approval, res *mcp.ElicitResult, err error) {
	answer := protocol.Answer{Approval: a.ID, Decision: protocol.Deny, Words: "the user declined"}
	switch {
	case err != nil:
		answer.Words = "the question could not be shown to the user: " + err.Error()
	case res.Action == "accept":
		answer.Decision, answer.Words = accepted(res.Content), ""
		if a.Question != nil {
			answer.Content = json.RawMessage("{}") // a form that nothing was put into is left out
			if len(res.Content) > 0 {
				answer.Content, _ = json.Marshal(res.Content)
			}
		}
	}
	_ = w.thread.session.Submit(context.Background(), protocol.Submission{Op: answer})
}

// accepted is the decision in an accepted form; without one it is a yes.
func accepted(content map[string]any) protocol.Decision {
	chosen, ok := content["decision"].(string)
	if !ok {
		return protocol.Once
	}
	if d, known := decisions[chosen]; known {
		return d
	}
	return protocol.Deny
}

// question is an approval in words, the whole of what will happen.
func question(a protocol.Approval) string {
	var b strings.Builder
	switch {
	case a.Command != nil:
		fmt.Fprintf(&b, "Run this command in %s?\n\n%s\n", visible.Line(a.Command.Cwd), quoted(a.Command.Command))
		if a.Command.Unsandboxed {
			b.WriteString("\nIt would run outside the sandbox.\n")
		}
	case a.Change != nil:
		fmt.Fprintf(&b, "Make this change?\n\n%s\n", quoted(a.Change.Diff))
	case a.Tool != nil:
		fmt.Fprintf(&b, "Call %s of the MCP server %s with these arguments?\n\n%s\n", visible.Line(a.Tool.Tool),
			visible.Line(a.Tool.Server), quoted(a.Tool.Args))
		if a.Tool.Changed != "" {
			b.WriteString("\nThe tool changed since it was last allowed:\n\n" + quoted(a.Tool.Changed) + "\n")
		}
	case a.Network != nil:
		fmt.Fprintf(&b, "May this command reach %s:%d?\n\n%s\n", visible.Line(a.Network.Host), a.Network.Port,
			quoted(a.Network.Command))
	case a.Question != nil:
		b.WriteString("A question:\n")
		if a.Question.URL != "" {
			b.WriteString("\n\nIt asks you to visit " + visible.Line(a.Question.URL))
		}
	}
	if a.Command != nil && a.Command.Covers != "" {
		b.WriteString("\nAlways would allow " + visible.Line(a.Command.Covers) + ".\n")
	}
	if a.Reason != "" {
		b.WriteString("\nKerf asks because:\n" + quoted(a.Reason) + "\n")
	}
	for _, q := range a.Quotes() {
		b.WriteString("\n" + visible.Line(q.Who) + " says:\n" + quoted(q.Text) + "\n")
	}
	return b.String()
}

// quoted is a text of others, each line behind a mark that Kerf's own lines do not have.
func quoted(text string) string {
	return "> " + strings.ReplaceAll(visible.String(strings.TrimRight(text, "\n")), "\n", "\n> ")
}
