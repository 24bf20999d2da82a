package desk

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"kerf/fleet/flow"
	"kerf/fleet/task"
	"kerf/internal/protocol"
)

// Answer answers an open question of a task. Of two answers that are given at once one counts;
// the other is an error that names the first.
func (d Desk) Answer(ctx context.Context, id string, a task.Answer) error {
	s, err := d.State(ctx, id)
	if err != nil {
		return err
	}
	if !open(s, a.Question) {
		return closed(s, id, a.Question)
	}
	if a.Yes && a.Words == "" && asks(s, a.Question) == string(protocol.AskUser) {
		return fmt.Errorf("question %s is one of the model: give the answer with --words", a.Question)
	}
	a.Key = rand.Text()
	if err = d.told(id, d.Engine.SignalWorkflow(ctx, id, "", flow.AnswerSignal, a)); err != nil {
		return err
	}
	return d.counted(ctx, id, a)
}

// counts is how often the state is asked whether an answer has arrived.
const counts = 50

// counted reports whether an answer is the one that counts. A worker of an older program does not tell which one was.
func (d Desk) counted(ctx context.Context, id string, a task.Answer) error {
	for range counts {
		s, err := d.State(ctx, id)
		if err != nil {
			return err
		}
		if b := given(s, a.Question); b != nil && b.Key != a.Key {
			return closed(s, id, a.Question)
		} else if b != nil || !open(s, a.Question) {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("task %s has not taken the answer yet; see kerf-fleet show %s", id, id)
}

func open(s task.State, question string) bool {
	return slices.ContainsFunc(s.Questions, func(q task.Question) bool { return q.ID == question })
}

// asks is the kind of an open question.
func asks(s task.State, question string) string {
	for _, q := range s.Questions {
		if q.ID == question {
			return q.Kind
		}
	}
	return ""
}

// given is the answer that a question has, nil where it has none.
func given(s task.State, question string) *task.Answer {
	for _, a := range s.Answered {
		if a.Question == question {
			return &a
		}
	}
	return nil
}

// closed says why a question takes no answer.
func closed(s task.State, id, question string) error {
	if a := given(s, question); a != nil {
		return fmt.Errorf("question %s of task %s is answered already: %s", question, id, a)
	}
	return fmt.Errorf("task %s has no open question %s; see kerf-fleet show %s", id, question, id)
}

// Steer tells the running session something.
func (d Desk) Steer(ctx context.Context, id, text string) error {
	s, err := d.State(ctx, id)
	if err != nil {
		return err
	}
	if s.Phase != task.Running && s.Phase != task.Asking {
		return fmt.Errorf("task %s is %s; only a running session can be steered", id, s.Phase)
	}
	return d.told(id, d.Engine.SignalWorkflow(ctx, id, "", flow.SteerSignal, text))
}

// Cancel ends a task or a map with its tasks. One that is cancelled already may be cancelled again; one that has
// ended in another way is an error.
func (d Desk) Cancel(ctx context.Context, id string) error {
	r, err := d.Engine.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return d.told(id, err)
	}
	l := line(r.WorkflowExecutionInfo)
	switch {
	case l.Ended.IsZero():
		return d.told(id, d.Engine.CancelWorkflow(ctx, id, ""))
	case l.Phase != task.Cancelled:
		return fmt.Errorf("%s is over already: %s", id, l.Phase)
	}
	return nil
}
