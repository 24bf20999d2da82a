package acp

import (
	"context"
	"crypto/rand"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// waiting is a prompt of this editor whose end is awaited. Other front ends may use the
// session as well, so it is known by the id of its submission, which is that of its turn.
type waiting struct {
	id     string
	op     protocol.Op
	done   chan outcome // of one
	queued bool         // behind a turn of others
	begun  bool
	shown  bool // the editor's own message, which it knows

	cancelled bool
}

func newWaiting(op protocol.Op) *waiting {
	if in, ok := op.(protocol.UserInput); ok {
		in.Queue = true // a prompt has a turn of its own; without another one it begins at once
		op = in
	}
	return &waiting{id: "acp-" + rand.Text(), op: op, done: make(chan outcome, 1)}
}

// hear tells how the prompt ended, once an event says so.
func (w *waiting) hear(e protocol.Event) (outcome, bool) {
	own := e.Submission == w.id
	lost := w.queued && !w.begun // what takes the queue away takes the prompt with it
	switch m := e.Msg.(type) {
	case protocol.TurnStarted:
		if _, compact := w.op.(protocol.Compact); compact && !own {
			return outcome{reason: sdk.StopReasonEndTurn}, true // it is done after that turn, as part of none
		}
		w.begun = w.begun || own
	case protocol.QueueChanged:
		if own && len(m.Waiting) > 0 {
			w.queued = true
		} else if lost && len(m.Taken) > 0 {
			return outcome{reason: sdk.StopReasonCancelled}, true
		}
	case protocol.Warning: // it is why there is no turn
		return outcome{reason: sdk.StopReasonEndTurn}, own && !w.begun
	case protocol.Undone:
		return outcome{reason: sdk.StopReasonEndTurn}, own
	case protocol.TurnCompleted:
		return outcome{reason: sdk.StopReasonEndTurn, usage: m.Usage}, own
	case protocol.TurnAborted:
		reason := sdk.StopReasonCancelled
		if m.Reason == protocol.AbortBudget {
			reason = sdk.StopReasonMaxTurnRequests
		}
		return outcome{reason: reason}, own || lost && m.Reason != protocol.AbortReplaced
	case protocol.TurnFailed:
		return failed(m.Error), own || lost
	}
	return outcome{}, false
}

// failed is how a turn ended that had trouble.
func failed(t protocol.Trouble) outcome {
	text := strings.TrimSpace(t.Message + "\n" + t.Hint)
	switch t.Kind {
	case protocol.TroubleContext:
		return outcome{reason: sdk.StopReasonMaxTokens}
	case protocol.TroubleAuth:
		return outcome{err: &sdk.RequestError{Code: codeAuthRequired, Message: text}}
	}
	return outcome{err: &sdk.RequestError{Code: codeInternal, Message: text}}
}

// await has the session's events tell the end of w.
func (s *session) await(w *waiting) {
	s.mu.Lock()
	s.waits = w
	s.mu.Unlock()
}

// follow passes an event on to the prompt that waits, and tells the editor what others say.
func (s *session) follow(e protocol.Event) {
	s.mu.Lock()
	w := s.waits
	var o outcome
	over := false
	if w != nil {
		if o, over = w.hear(e); over {
			s.waits = nil
		}
	}
	strange := w == nil || e.Submission != w.id || w.shown
	item, _ := e.Msg.(protocol.ItemCompleted)
	said, user := item.Item.Body.(protocol.UserMessage)
	if user && w != nil && e.Submission == w.id {
		w.shown = true
	}
	s.mu.Unlock()
	if user && strange {
		for _, in := range said.Input {
			if in.Text != "" {
				s.update(sdk.UpdateUserMessageText(in.Text))
			}
		}
	}
	if !over && w != nil && e.Submission == w.id {
		s.cancelLate(w, e.Msg)
	}
	if over {
		if _, failed := e.Msg.(protocol.TurnFailed); failed && e.Submission != w.id {
			_ = s.submit(context.Background(), protocol.Unqueue{}) // it would wait for another turn
		}
		w.done <- o
	}
}

// cancel ends the editor's own prompt: its turn is interrupted; where it waits for the end
// of another front end's turn it is taken back, and that turn goes on. The library asks for
// it in two ways; once is enough, and later it could be another turn's.
func (s *session) cancel(ctx context.Context) {
	s.mu.Lock()
	w := s.waits
	if w == nil || w.cancelled {
		s.mu.Unlock()
		return
	}
	w.cancelled = true
	begun, queued := w.begun, w.queued
	s.mu.Unlock()
	switch {
	case begun:
		_ = s.submit(ctx, protocol.Interrupt{})
	case queued:
		_ = s.submit(ctx, protocol.Unqueue{})
	}
}

// cancelLate carries out what was asked before the prompt had a turn or a place in the queue.
func (s *session) cancelLate(w *waiting, m protocol.Msg) {
	s.mu.Lock()
	cancelled := w.cancelled
	s.mu.Unlock()
	if !cancelled {
		return
	}
	switch m.(type) {
	case protocol.TurnStarted:
		_ = s.submit(context.Background(), protocol.Interrupt{})
	case protocol.QueueChanged:
		_ = s.submit(context.Background(), protocol.Unqueue{})
	}
}
