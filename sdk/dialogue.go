package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// DialogueOptions say how a dialogue runs.
type DialogueOptions struct {
	// Dir is the working directory; empty means that of this process. AddDirs are
	// further writable directories.
	Dir     string
	AddDirs []string
	// Mode is ask (the default: every change of files is asked for, and commands as
	// configured), auto-edit, plan or full.
	Mode string
	// Resume goes on with a session, named by its whole id.
	Resume string
	// Approve answers what is asked; nil rejects everything. It may be called by
	// several goroutines, and ctx is done when the answer is no longer needed.
	Approve func(ctx context.Context, q Question) Decision
	// Hear is told what happens, in order, by one goroutine; nil is fine.
	Hear func(Update)
}

// Decision answers a question.
type Decision string

// The decisions. The zero value rejects.
const (
	Allow           Decision = "allow_once"
	AllowForSession Decision = "allow_always"
	Reject          Decision = "reject_once"
)

// Question asks whether something may be done. It has the whole command or the
// whole texts before and after.
type Question struct {
	Title string // one line
	Kind  string // edit, delete, execute, fetch or other
	Text  string // the command, arguments and reasons, as Markdown
	Diffs []Diff
	// Offered are the decisions that can be given.
	Offered []Decision
}

// Diff is a file before and after. Old is nil when there was none.
type Diff struct {
	Path string
	Old  *string
	New  string
}

// Update is what a dialogue tells: Said, Thought, Called or Planned.
type Update interface{ update() }

type (
	// Said is a part of what the model says to the user.
	Said struct{ Text string }
	// Thought is a part of the summary of its thoughts, and warnings.
	Thought struct{ Text string }
	// Called tells of a call as it is now. Status is pending, in_progress,
	// completed or failed; empty fields did not change.
	Called struct {
		ID, Title, Kind, Status string
		Text                    string
		Diffs                   []Diff
	}
	// Planned is the model's plan of work: what is to be done, and whether it is
	// pending, in_progress or completed.
	Planned struct {
		Steps []Step
	}
	// Step is one step of a plan.
	Step struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
)

func (Said) update()    {}
func (Thought) update() {}
func (Called) update()  {}
func (Planned) update() {}

// Reply is the end of a turn. Stop is end_turn, cancelled, max_tokens or
// max_turn_requests.
type Reply struct {
	Text string
	Stop string
}

// Dialogue is a session whose process stays. Its methods may be called by several
// goroutines; turns run one after the other.
type Dialogue struct {
	o    DialogueOptions
	id   string
	cmd  *exec.Cmd
	in   io.WriteCloser
	peer *peer
	said tail
	over chan struct{} // closed when the program has ended

	turn sync.Mutex // held while a turn runs
	mu   sync.Mutex
	text strings.Builder
}

// Open starts a dialogue. The caller must close it.
func (c *Client) Open(ctx context.Context, o DialogueOptions) (*Dialogue, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	d := &Dialogue{o: o, cmd: c.command("acp"), over: make(chan struct{})}
	d.cmd.Dir = dir
	d.cmd.Stderr = &d.said
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start kerf: %w", err)
	}
	d.peer = &peer{out: d.in, answer: d.answer, told: d.told, waiting: map[int]chan message{}}
	go func() {
		defer close(d.over)
		d.peer.read(context.WithoutCancel(ctx), out)
		_ = d.cmd.Wait()
	}()
	if err := d.greet(ctx); err != nil {
		_ = d.Close()
		return nil, d.cause(err)
	}
	return d, nil
}

// cause is what the program said when it ended instead of answering.
func (d *Dialogue) cause(err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	<-d.over
	return &ExitError{d.cmd.ProcessState.ExitCode(), d.said.String()}
}

// greet opens the session.
func (d *Dialogue) greet(ctx context.Context) error {
	err := d.peer.call(ctx, "initialize",
		map[string]any{"protocolVersion": 1, "clientInfo": map[string]string{"name": "kerf-sdk", "version": "1"}}, nil)
	if err != nil {
		return err
	}
	place := map[string]any{"cwd": d.o.Dir, "mcpServers": []any{}}
	if len(d.o.AddDirs) > 0 {
		place["additionalDirectories"] = d.o.AddDirs
	}
	method := "session/new"
	if d.o.Resume != "" {
		method, place["sessionId"] = "session/resume", d.o.Resume
	}
	var opened struct {
		ID string `json:"sessionId"`
	}
	if err := d.peer.call(ctx, method, place, &opened); err != nil {
		return err
	}
	if d.id = opened.ID; d.id == "" {
		d.id = d.o.Resume
	}
	if d.o.Mode == "" {
		return nil
	}
	return d.peer.call(ctx, "session/set_mode", map[string]any{"sessionId": d.id, "modeId": d.o.Mode}, nil)
}

// ID is the id of the session.
func (d *Dialogue) ID() string { return d.id }

// Say runs a turn to its end. When ctx is done the turn is cancelled, and Say
// returns its error once it is over.
func (d *Dialogue) Say(ctx context.Context, text string) (Reply, error) {
	d.turn.Lock()
	defer d.turn.Unlock()
	d.mu.Lock()
	d.text.Reset()
	d.mu.Unlock()
	prompt := map[string]any{"sessionId": d.id, "prompt": []any{map[string]string{"type": "text", "text": text}}}
	stop := context.AfterFunc(ctx, func() { _ = d.peer.notify("session/cancel", map[string]string{"sessionId": d.id}) })
	defer stop()
	var end struct {
		Stop string `json:"stopReason"`
	}
	err := d.peer.call(context.WithoutCancel(ctx), "session/prompt", prompt, &end)
	d.mu.Lock()
	reply := Reply{Text: d.text.String(), Stop: end.Stop}
	d.mu.Unlock()
	switch {
	case ctx.Err() != nil && (err != nil || end.Stop == "cancelled"):
		return reply, ctx.Err()
	case err != nil:
		return reply, d.cause(err)
	}
	return reply, nil
}

// Close ends the program and waits for it.
func (d *Dialogue) Close() error {
	_ = d.in.Close()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-d.over:
		return nil
	case <-timer.C:
		_ = d.cmd.Process.Kill()
		<-d.over
		return errors.New("kerf did not end and was killed")
	}
}

// call is a call as the protocol tells it.
type call struct {
	ID      string `json:"toolCallId"`
	Title   string `json:"title"`
	Kind    string `json:"kind"`
	Status  string `json:"status"`
	Content []struct {
		Type    string  `json:"type"`
		Path    string  `json:"path"`
		OldText *string `json:"oldText"`
		NewText string  `json:"newText"`
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"content"`
}

func (c call) shown() (text string, diffs []Diff) {
	var parts []string
	for _, part := range c.Content {
		switch part.Type {
		case "diff":
			diffs = append(diffs, Diff{part.Path, part.OldText, part.NewText})
		case "content":
			parts = append(parts, part.Content.Text)
		}
	}
	return strings.Join(parts, "\n\n"), diffs
}

// answer answers the one request that is understood.
func (d *Dialogue) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if method != "session/request_permission" {
		return nil, fmt.Errorf("%s is not offered", method)
	}
	var r struct {
		Call    call `json:"toolCall"`
		Options []struct {
			ID   string   `json:"optionId"`
			Kind Decision `json:"kind"`
		} `json:"options"`
	}
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, err
	}
	decision := Reject
	if d.o.Approve != nil {
		q := Question{Title: r.Call.Title, Kind: r.Call.Kind}
		q.Text, q.Diffs = r.Call.shown()
		for _, o := range r.Options {
			q.Offered = append(q.Offered, o.Kind)
		}
		decision = d.o.Approve(ctx, q)
	}
	for _, want := range []Decision{decision, Reject} {
		for _, o := range r.Options {
			if o.Kind == want {
				return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": o.ID}}, nil
			}
		}
	}
	return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}, nil
}

// told hears what happens.
func (d *Dialogue) told(method string, params json.RawMessage) {
	var n struct {
		Update struct {
			Kind    string          `json:"sessionUpdate"`
			Content json.RawMessage `json:"content"`
			Entries []Step          `json:"entries"`
		} `json:"update"`
	}
	if method != "session/update" || json.Unmarshal(params, &n) != nil {
		return
	}
	var whole struct {
		Update call `json:"update"`
	}
	switch n.Update.Kind {
	case "agent_message_chunk":
		text := textOf(n.Update.Content)
		d.mu.Lock()
		d.text.WriteString(text)
		d.mu.Unlock()
		d.hear(Said{text})
	case "agent_thought_chunk":
		d.hear(Thought{textOf(n.Update.Content)})
	case "tool_call", "tool_call_update":
		if json.Unmarshal(params, &whole) != nil {
			return
		}
		c := whole.Update
		text, diffs := c.shown()
		d.hear(Called{ID: c.ID, Title: c.Title, Kind: c.Kind, Status: c.Status, Text: text, Diffs: diffs})
	case "plan":
		d.hear(Planned{n.Update.Entries})
	}
}

func (d *Dialogue) hear(u Update) {
	if d.o.Hear != nil {
		d.o.Hear(u)
	}
}

func textOf(content json.RawMessage) string {
	var c struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &c) != nil {
		return ""
	}
	return c.Text
}
