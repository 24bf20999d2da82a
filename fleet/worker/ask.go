package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"kerf/fleet/flow"
	"kerf/fleet/task"
	"kerf/internal/protocol"
)

// ask passes a question on to the workflow, where people and time limits answer it.
func (s *session) ask(ctx context.Context, a protocol.Approval) {
	// A session that another worker goes on with names its questions anew, so the name that
	// people see is never used twice: an answer is to what was shown.
	q := task.Question{ID: strings.ToLower(rand.Text()[:8]), Kind: string(a.Kind()), Text: shown(a), Reason: a.Reason, Says: a.Says}
	s.asked.Store(q.ID, a)
	s.signal(ctx, flow.AskedSignal, q)
}

// questionLimit bounds the text of a question, in bytes. A longer one is refused: nobody
// may agree to what they were not shown.
const questionLimit = 128 << 10

// shown is exactly what will happen.
func shown(a protocol.Approval) string {
	switch {
	case a.Command != nil:
		where := "in the sandbox"
		if a.Command.Unsandboxed {
			where = "WITHOUT the sandbox"
		}
		return fmt.Sprintf("run %s, in %s:\n%s", where, a.Command.Cwd, a.Command.Command)
	case a.Change != nil:
		return "change files:\n" + a.Change.Diff
	case a.Tool != nil:
		return fmt.Sprintf("call %s of %s with\n%s", a.Tool.Tool, a.Tool.Server, a.Tool.Args)
	case a.Network != nil:
		return fmt.Sprintf("let this command reach %s, port %d:\n%s", a.Network.Host, a.Network.Port, a.Network.Command)
	case a.Question != nil:
		text := a.Question.Message
		for _, o := range a.Question.Options {
			text += "\n- " + o.Label
		}
		return text
	}
	return ""
}

// signal tells the workflow something. It tries again for a while, since a question that
// is not passed on would never be answered.
func (s *session) signal(ctx context.Context, name string, v any) {
	if q, ok := v.(task.Question); ok && len(q.Text)+len(q.Says)+len(q.Reason) > questionLimit {
		s.answer(ctx, task.Answer{Question: q.ID, Words: "the question is too long to be shown"})
		return
	}
	for wait := 100 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 5*time.Second) {
		if err := s.worker.Engine.SignalWorkflow(ctx, s.task.ID, "", name, v); err == nil {
			return
		} else if strings.Contains(err.Error(), "already completed") {
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// Deliver is [flow.Activities].
func (w *Worker) Deliver(ctx context.Context, id string, o task.Order) error {
	w.mu.Lock()
	s := w.running[id]
	w.mu.Unlock()
	if s == nil {
		return fmt.Errorf("task %s does not run here", id)
	}
	if o.Answer != nil {
		return s.answer(ctx, *o.Answer)
	}
	return s.kerf.Submit(ctx, protocol.Submission{Op: protocol.UserInput{Items: []protocol.Input{{Text: o.Steer}}}})
}

// answer gives an answer to the session. Words answer a question of the model.
func (s *session) answer(ctx context.Context, a task.Answer) error {
	v, ok := s.asked.LoadAndDelete(a.Question)
	if !ok {
		return fmt.Errorf("task %s does not ask %s", s.task.ID, a.Question)
	}
	asked := v.(protocol.Approval)
	op := protocol.Answer{Approval: asked.ID, Decision: protocol.Deny, Words: a.Words}
	if a.Yes {
		op.Decision, op.Words = protocol.Once, ""
		if asked.Question != nil {
			op.Content, _ = json.Marshal(a.Words)
		}
	}
	return s.kerf.Submit(ctx, protocol.Submission{Op: op})
}

// answered tells the workflow that nobody needs to answer a question any more.
func (s *session) answered(ctx context.Context, id protocol.ApprovalID) {
	s.asked.Range(func(name, v any) bool {
		if v.(protocol.Approval).ID == id {
			s.asked.Delete(name)
			s.signal(ctx, flow.StoppedSignal, name)
		}
		return true
	})
}
