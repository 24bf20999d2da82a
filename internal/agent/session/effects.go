package session

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/hooks"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// start carries out one effect. It reports whether the session goes on.
func (s *Session) start(e turn.Effect) bool {
	switch e := e.(type) {
	case turn.Gather:
		s.spawn(nil, func(ctx context.Context) message { return s.gather(ctx, e) })
	case turn.CallModel:
		s.spawn(e.Round, func(ctx context.Context) message { return s.sample(ctx, e) })
	case turn.Prepare:
		s.spawn(e.Call.ID, func(ctx context.Context) message { return message{in: s.o.Executor.Prepare(ctx, e)} })
	case turn.Run:
		s.spawn(e.Call, func(ctx context.Context) message {
			return message{in: s.o.Executor.Run(ctx, e,
				s.live(ctx, e.Call))}
		})
	case turn.Reply:
		s.deliver(e)
	case turn.RunShell:
		s.spawn(e.Call, func(ctx context.Context) message {
			return message{in: s.o.Executor.Shell(ctx, e,
				s.live(ctx, e.Call))}
		})
	case turn.Check:
		s.spawn(e.Call, func(ctx context.Context) message { return s.check(ctx, e) })
	case turn.RunReview:
		s.spawn(e.Call, func(ctx context.Context) message { return s.review(ctx, e) })
	case turn.Undo:
		s.spawn(nil, func(ctx context.Context) message { return message{in: s.o.Executor.Undo(ctx, e, s.Ask)} })
	case turn.Kill:
		s.kill(e.Process)
	case turn.Forget:
		s.forget(e)
	case turn.Wait:
		delay := e.Delay
		if e.Jitter {
			delay = jitter(delay)
		}
		s.spawn(timer(e.Timer), func(ctx context.Context) message {
			sleep(ctx, delay)
			return message{in: turn.Elapsed{Timer: e.Timer}}
		})
	case turn.Settle:
		s.spawn(nil, func(ctx context.Context) message { return s.settle(ctx, e) })
	case turn.StopModel:
		s.stop(e.Round)
	case turn.StopCall:
		s.stop(e.Call)
	case turn.StopWait:
		s.stop(timer(e.Timer))
	case turn.End:
		return false
	}
	return true
}

// spawn runs do in a goroutine whose answer goes to the loop. With a key, stop
// can cancel it.
func (s *Session) spawn(key any, do func(context.Context) message) {
	ctx, cancel := context.WithCancel(s.ctx)
	if key != nil {
		s.stops[key] = cancel // deleted when the answer arrives, see step
	}
	s.tasks.Go(func() {
		defer cancel()
		s.inputs <- do(ctx)
	})
}

func (s *Session) stop(key any) {
	if cancel := s.stops[key]; cancel != nil {
		cancel()
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (s *Session) gather(ctx context.Context, e turn.Gather) message {
	in := s.o.Executor.Gather(ctx, e, s.news())
	in.Turn, in.Again = e.Turn, e.Again
	if e.Again == 0 {
		s.greet(ctx, e, &in)
	}
	return message{in: in}
}

// sample makes one request and passes its chunks on.
func (s *Session) sample(ctx context.Context, e turn.CallModel) message {
	fixed := s.o.Prompt
	fixed.Tools = append(slices.Clone(fixed.Tools), s.o.Executor.Offered()...)
	req := fixed.Build(e.Settings, json.RawMessage(e.Schema), e.Items)
	if e.Compact {
		for _, w := range s.watch(ctx, hooks.PreCompact, e.Turn, "auto") {
			s.say(protocol.Warning{Message: w})
		}
		req = s.o.Prompt.Compaction(e.Settings, e.Items)
	}
	err := s.o.Client.Stream(ctx, req, func(c model.Chunk) error {
		select {
		case s.inputs <- message{in: turn.Chunk{Round: e.Round, Chunk: c}}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return message{in: turn.StreamEnded{Round: e.Round, Err: err}}
}

// check runs the check of a goal, after the sub-agents whose work it is about.
func (s *Session) check(ctx context.Context, e turn.Check) message {
	cut := s.lastWords(ctx, turn.Settle{Turn: e.Turn, Settings: e.Settings, Done: true, Last: e.Last})
	in := s.o.Executor.Check(ctx, e, s.live(ctx, e.Call))
	if cut != "" {
		in.Outcome.Warnings = append(in.Outcome.Warnings, cut)
	}
	return message{in: in}
}

func (s *Session) settle(ctx context.Context, e turn.Settle) message {
	if text := s.goOn(ctx, e); text != "" {
		return message{in: turn.Settled{Turn: e.Turn, GoOn: text}}
	}
	cut := s.lastWords(ctx, e)
	in := s.o.Executor.Settle(ctx, e)
	if in.GoOn != "" {
		return message{in: in}
	}
	in.Note = strings.TrimSpace(in.Note + "\n" + s.endNews())
	in.Cut = cmp.Or(in.Cut, cut)
	return message{in: in}
}

// live is how a call reaches the session while it runs.
func (s *Session) live(ctx context.Context, id protocol.CallID) executor.Live {
	warn := func(text string) { s.say(protocol.Warning{Message: text}) }
	return executor.Live{Ask: s.Ask, Delegate: s.team.Do, Warn: warn, Show: func(text string) {
		select {
		case s.inputs <- message{in: turn.Progress{Call: id, Text: text}}:
		case <-ctx.Done():
		}
	}}
}

// forget drops what the model no longer has in its context.
func (s *Session) forget(e turn.Forget) {
	if e.Since == "" {
		s.o.View.Forget()
		return
	}
	s.o.View.Rewind(e.Turns)
}

var _ protocol.Session = (*Session)(nil)
