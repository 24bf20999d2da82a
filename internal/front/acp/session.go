package acp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// session is one session of the editor.
type session struct {
	agent *agent
	base  protocol.Settings // as configured, what modes start from
	id    sdk.SessionId
	under protocol.Session
	over  chan struct{} // closed when the events have ended

	prompting  sync.Mutex // held while a turn runs
	cancelling atomic.Bool

	mu       sync.Mutex
	mode     sdk.SessionModeId
	settings protocol.Settings
	done     chan outcome // where the end of the running turn is told
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

func (s *session) start(under protocol.Session) {
	s.under, s.id, s.over, s.mode = under, sdk.SessionId(under.ID()), make(chan struct{}), modeAsk
	s.calls, s.spoken = map[sdk.ToolCallId]bool{}, map[protocol.ItemID]bool{}
	s.output, s.item = map[protocol.ItemID]*strings.Builder{}, map[protocol.ItemID]protocol.Item{}
	go func() {
		defer close(s.over)
		for e := range under.Events() {
			s.hear(e)
		}
	}()
}

func (s *session) close() {
	_ = s.under.Close()
	<-s.over
}

func (s *session) submit(ctx context.Context, op protocol.Op) error {
	return s.under.Submit(ctx, protocol.Submission{Op: op})
}

// cancel interrupts the running turn; without one it does nothing.
func (s *session) cancel(ctx context.Context) { _ = s.submit(ctx, protocol.Interrupt{}) }

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
		return sdk.PromptResponse{}, sdk.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	if name, rest, ok := commandOf(input); ok {
		return s.command(ctx, name, rest)
	}
	s.entitle(input)
	return s.turn(ctx, protocol.UserInput{Items: input})
}

// turn submits an op that starts a task and waits until it is over.
func (s *session) turn(ctx context.Context, op protocol.Op) (sdk.PromptResponse, error) {
	done := make(chan outcome, 1)
	s.mu.Lock()
	s.done = done
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.done = nil
		s.mu.Unlock()
	}()
	if err := s.submit(ctx, op); err != nil {
		return sdk.PromptResponse{}, requestError(err)
	}
	cancelled := ctx.Done()
	for {
		select {
		case o := <-done:
			if o.err != nil {
				return sdk.PromptResponse{}, o.err
			}
			return sdk.PromptResponse{StopReason: o.reason, Usage: usageOf(o.usage)}, nil
		case <-cancelled:
			cancelled = nil
			s.cancel(context.WithoutCancel(ctx))
		case <-s.over:
			return sdk.PromptResponse{}, sdk.NewInternalError(map[string]any{"error": "the session ended"})
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

// The modes. Ask asks for edits and leaves commands to the configured policy.
const (
	modeAsk      sdk.SessionModeId = "ask"
	modeAutoEdit sdk.SessionModeId = "auto-edit"
	modePlan     sdk.SessionModeId = "plan"
	modeFull     sdk.SessionModeId = "full"
)

func (s *session) modes() *sdk.SessionModeState {
	words := func(id sdk.SessionModeId, name, description string) sdk.SessionMode {
		return sdk.SessionMode{Id: id, Name: name, Description: &description}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &sdk.SessionModeState{CurrentModeId: s.mode, AvailableModes: []sdk.SessionMode{
		words(modeAsk, "Ask", "Every change of files is shown first; commands follow the configured policy"),
		words(modeAutoEdit, "Auto-edit", "Files in the workspace are changed without asking; every change can be undone"),
		words(modePlan, "Plan", "Nothing is changed; the agent reads and proposes a plan"),
		words(modeFull, "Full access", "Kerf asks nothing and commands run without a sandbox"),
	}}
}

func (s *session) setMode(ctx context.Context, id sdk.SessionModeId) error {
	set := protocol.Settings{Approval: s.base.Approval, Sandbox: s.base.Sandbox, Edits: protocol.EditsFree}
	if set.Approval == "" {
		set.Approval = protocol.PolicyOnRequest
	}
	if set.Sandbox == "" {
		set.Sandbox = protocol.SandboxWorkspace
	}
	switch id {
	case modeAsk:
		set.Edits = protocol.EditsAsk
	case modeAutoEdit:
	case modePlan:
		set.Approval = protocol.PolicyPlan
	case modeFull:
		set.Approval, set.Sandbox = protocol.PolicyNever, protocol.SandboxFull
	default:
		return sdk.NewInvalidParams(map[string]any{"error": fmt.Sprintf("no mode %q; the modes are ask, auto-edit, plan "+
			"and full", id)})
	}
	if err := s.configure(ctx, set); err != nil {
		return err
	}
	s.mu.Lock()
	s.mode = id
	s.mu.Unlock()
	s.update(sdk.SessionUpdate{CurrentModeUpdate: &sdk.SessionCurrentModeUpdate{SessionUpdate: "current_mode_update",
		CurrentModeId: id}})
	return nil
}

func (s *session) configure(ctx context.Context, set protocol.Settings) error {
	if err := s.submit(ctx, protocol.Configure{Settings: set}); err != nil {
		return requestError(err)
	}
	return nil
}
