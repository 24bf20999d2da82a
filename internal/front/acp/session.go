package acp

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// session is one session of the editor.
type session struct {
	agent *agent
	base  protocol.Settings // as the session began, what modes start from
	id    sdk.SessionId
	under protocol.Session
	over  chan struct{} // closed when the events have ended

	prompting  sync.Mutex // held while a turn runs
	cancelling atomic.Bool

	mu       sync.Mutex
	mode     sdk.SessionModeId
	settings protocol.Settings
	waits    *waiting                                   // the editor's own prompt, or nil
	asking   map[protocol.ApprovalID]context.CancelFunc // permission requests that are open
	calls    map[sdk.ToolCallId]bool
	spoken   map[protocol.ItemID]bool // items whose text was told as it came
	output   map[protocol.ItemID]*strings.Builder
	item     map[protocol.ItemID]protocol.Item
	diff     string // of the last turn that changed something
	title    bool
}

// outcome is how a turn ended.
type outcome struct {
	reason sdk.StopReason
	usage  protocol.Usage
	err    error
}

// start learns how the session began. Before is told before what happens from then on.
func (s *session) start(under protocol.Session, before func() error) error {
	s.under, s.id, s.over, s.mode = under, sdk.SessionId(under.ID()), make(chan struct{}), modeAsk
	s.calls, s.spoken = map[sdk.ToolCallId]bool{}, map[protocol.ItemID]bool{}
	s.output, s.item = map[protocol.ItemID]*strings.Builder{}, map[protocol.ItemID]protocol.Item{}
	s.asking = map[protocol.ApprovalID]context.CancelFunc{}
	for e := range under.Events() {
		s.hear(e)
		if started, ok := e.Msg.(protocol.SessionStarted); ok && e.Agent == "" {
			s.base, s.mode = started.Settings, beginning(started.Settings)
			break
		}
	}
	err := before()
	go func() {
		defer close(s.over)
		for e := range under.Events() {
			s.hear(e)
		}
	}()
	return err
}

func (s *session) close() {
	_ = s.under.Close()
	<-s.over
}

func (s *session) submit(ctx context.Context, op protocol.Op) error {
	return s.under.Submit(ctx, protocol.Submission{Op: op})
}

// update tells the editor something. An editor that is gone hears nothing.
func (s *session) update(u sdk.SessionUpdate) {
	_ = s.agent.conn.SessionUpdate(context.Background(), sdk.SessionNotification{SessionId: s.id, Update: u})
}

// prompt runs a turn, or a command of the editor's, and waits for its end.
func (s *session) prompt(ctx context.Context, blocks []sdk.ContentBlock) (sdk.PromptResponse, error) {
	s.prompting.Lock()
	defer s.prompting.Unlock()
	input, err := inputOf(blocks)
	if err != nil {
		return sdk.PromptResponse{}, invalid("%s", err)
	}
	if name, rest, ok := commandOf(input); ok {
		return s.command(ctx, name, rest)
	}
	s.entitle(input)
	return s.turn(ctx, protocol.UserInput{Items: input})
}

// turn submits an op that starts a task and waits until it is over.
func (s *session) turn(ctx context.Context, op protocol.Op) (sdk.PromptResponse, error) {
	w := newWaiting(op)
	s.await(w)
	defer s.await(nil)
	if err := s.under.Submit(ctx, protocol.Submission{ID: w.id, Op: w.op}); err != nil {
		return sdk.PromptResponse{}, requestError(err)
	}
	cancelled := ctx.Done()
	for {
		select {
		case o := <-w.done:
			if o.err != nil {
				return sdk.PromptResponse{}, o.err
			}
			return sdk.PromptResponse{StopReason: o.reason, Usage: usageOf(o.usage)}, nil
		case <-cancelled:
			cancelled = nil
			if !s.agent.gone() { // then the session is left: others may go on with it
				s.cancel(context.WithoutCancel(ctx))
			}
		case <-s.over:
			return sdk.PromptResponse{}, &sdk.RequestError{Code: codeInternal, Message: "the session ended"}
		}
	}
}

func usageOf(u protocol.Usage) *sdk.Usage {
	return &sdk.Usage{InputTokens: u.Input, OutputTokens: u.Output, CachedReadTokens: &u.Cached,
		CachedWriteTokens: &u.CacheWrite,
		ThoughtTokens:     &u.Reasoning, TotalTokens: u.Total()}
}

// entitle names the session after its first prompt, as the rollout does.
func (s *session) entitle(input []protocol.Input) {
	s.mu.Lock()
	first := !s.title
	s.title = true
	s.mu.Unlock()
	if !first || len(input) == 0 {
		return
	}
	line, _, _ := strings.Cut(strings.TrimSpace(input[0].Text), "\n")
	if line != "" {
		s.update(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{SessionUpdate: "session_info_update",
			Title: &line}})
	}
}

func (s *session) configure(ctx context.Context, set protocol.Settings) error {
	if err := s.submit(ctx, protocol.Configure{Settings: set}); err != nil {
		return requestError(err)
	}
	return nil
}
