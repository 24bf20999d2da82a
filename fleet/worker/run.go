package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kerf/fleet/task"
	"kerf/internal/protocol"
)

// goOn is what the model is told when another worker goes on with its session.
const goOn = "The machine that you worked on was lost. The files are as they were after the last call that is in this " +
	"conversation with its result; a call without a result did not happen. Files that git ignores are gone. Go on with the task."

// Run is [flow.Activities].
func (w *Worker) Run(ctx context.Context, t task.Task, p task.Place, words string) (_ task.Ran, err error) {
	ctx, done, err := w.work(ctx, t.ID)
	if err != nil {
		return task.Ran{}, err
	}
	defer func() { done(err) }() // also after a panic, so that the task does not count as at work for ever
	s := &session{worker: w, task: t, place: p, files: w.files(t.ID), ended: make(chan struct{})}
	s.last.Store(p.Event)
	if p.Over != nil && words == "" {
		return *p.Over, nil // the worker was lost after the turn
	}
	if err = s.run(ctx, words); err == nil {
		s.try(ctx, &s.ran)
	}
	return s.ran, err
}

// run runs the session for one turn.
func (s *session) run(ctx context.Context, words string) error {
	defer s.worker.alive(ctx, func() any { return s.last.Load() })()
	if err := s.scenario(ctx); err != nil {
		return err
	}
	s.events = newEventLog(s.worker.Store, s.task.ID, s.place.Number)
	defer s.events.close()
	defer s.end()
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.worker.tellRunning(s.task.ID, s)
	defer s.worker.tellRunning(s.task.ID, nil)
	g, err := newGate(s.files.dir)
	if err != nil {
		return err
	}
	defer g.close()
	go g.serve(func() { s.held(ctx) })
	if words == "" {
		words = s.task.Prompt
		if s.place.Event > 0 { // a restored session
			words = goOn
		}
	}
	return s.turn(ctx, words)
}

// tellRunning says which session of a task takes orders.
func (w *Worker) tellRunning(id string, s *session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s == nil {
		delete(w.running, id)
		return
	}
	w.running[id] = s
}

// turn runs one turn to its end.
func (s *session) turn(ctx context.Context, words string) error {
	sub := protocol.Submission{ID: fmt.Sprintf("fleet-%d-%d", s.place.Number, time.Now().UnixNano()),
		Op: protocol.UserInput{Items: []protocol.Input{{Text: words}}}}
	if err := s.kerf.Submit(ctx, sub); err != nil {
		return err
	}
	limit := time.NewTimer(s.task.Limits.Time)
	defer limit.Stop()
	done, late := ctx.Done(), limit.C
	for {
		select {
		case e, ok := <-s.kerf.Events():
			if !ok {
				return errors.New("the session ended by itself: " + s.said())
			}
			if s.hear(ctx, e) {
				s.ran.Event = s.last.Load()
				return ctx.Err()
			}
		case <-s.ended:
			return errors.New("kerf serve ended: " + s.said())
		case <-late:
			s.ran.Problem, late = "the time limit of "+s.task.Limits.Time.String()+" is over", nil
			s.interrupt()
		case <-done:
			done = nil
			s.interrupt()
			// What does not end by itself is killed by end.
			limit.Reset(10 * time.Second)
			late = nil
			select {
			case <-s.ended:
			case <-limit.C:
				return ctx.Err()
			case <-s.turnOver():
			}
			return ctx.Err()
		}
	}
}

// turnOver drains the events until the turn is over.
func (s *session) turnOver() <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		for e := range s.kerf.Events() {
			switch e.Msg.(type) {
			case protocol.TurnCompleted, protocol.TurnFailed, protocol.TurnAborted:
				return
			}
		}
	}()
	return over
}

// messageLimit bounds the last message that a result has, in bytes.
const messageLimit = 4 << 10

// hear takes one event and reports whether the turn is over.
func (s *session) hear(ctx context.Context, e protocol.Event) (over bool) {
	s.last.Add(1)
	s.events.add(e)
	if e.Agent != "" {
		if m, ok := e.Msg.(protocol.ApprovalRequested); ok {
			s.ask(ctx, m.Approval)
		}
		return false
	}
	switch m := e.Msg.(type) {
	case protocol.ApprovalRequested:
		s.ask(ctx, m.Approval)
	case protocol.ApprovalResolved:
		s.answered(ctx, m.Approval)
	case protocol.TokensUsed:
		s.ran.Rounds++
		s.ran.Tokens = m.Total.Total()
		if most := s.task.Limits.Tokens; most > 0 && s.ran.Tokens > most && !s.over {
			s.over = true
			s.ran.Problem = fmt.Sprintf("%d tokens are used up, the limit is %d", s.ran.Tokens, most)
			s.interrupt()
		}
	case protocol.TurnCompleted:
		s.ran.Message = cut(m.LastMessage)
		return true
	case protocol.TurnFailed:
		s.ran.Problem = cut(m.Error.Message)
		return true
	case protocol.TurnAborted:
		if s.ran.Problem == "" {
			s.ran.Problem = "the turn was ended: " + string(m.Reason)
		}
		return true
	}
	return false
}

func cut(s string) string {
	if len(s) > messageLimit {
		s = strings.ToValidUTF8(s[:messageLimit], "") + "…"
	}
	return s
}

// scenario writes the rounds that are still to be played.
func (s *session) scenario(ctx context.Context) error {
	if s.task.Scenario == "" {
		return nil
	}
	data, err := s.worker.Store.Get(ctx, s.task.Scenario)
	if errors.Is(err, fs.ErrNotExist) {
		return hopeless("the scenario: %v", err)
	}
	if err != nil {
		return err
	}
	done, _ := s.files.progress()
	if data, err = done.rest(data); err != nil {
		return hopeless("the scenario: %v", err)
	}
	return os.WriteFile(filepath.Join(s.files.dir, scenarioFile), data, 0o600)
}
