package session

import (
	"context"
	"strings"
	"time"

	"kerf/internal/agent/hooks"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// greet lets hooks see the start of the session and what the user says. They may
// refuse the input and tell the model more.
func (s *Session) greet(ctx context.Context, e turn.Gather, in *turn.Gathered) {
	var r hooks.Result
	begin, _ := s.bounds()
	if s.o.Hooks.Wants(begin) && !s.greeted.Swap(true) {
		c := s.o.Hooks.Call(begin, e.Settings, "")
		c.Source = "startup"
		if s.o.Resumed {
			c.Source = "resume"
		}
		c.Names = []string{c.Source}
		r = s.o.Hooks.Fire(ctx, c)
		s.remark(r, in)
	}
	if !s.o.Hooks.Wants(hooks.UserPromptSubmit) || len(e.Input) == 0 {
		return
	}
	c := s.o.Hooks.Call(hooks.UserPromptSubmit, e.Settings, e.Turn)
	for _, p := range e.Input {
		c.Prompt = strings.TrimPrefix(c.Prompt+"\n"+p.Text, "\n")
	}
	r = s.o.Hooks.Fire(ctx, c)
	s.remark(r, in)
	if r.Decision == "deny" || r.Halt {
		in.Refused = "a UserPromptSubmit hook refused the prompt: " + r.ReasonOr("no reason given")
	}
}

// remark passes on what hooks said: to the model as an item, to the user as
// warnings.
func (s *Session) remark(r hooks.Result, in *turn.Gathered) {
	for _, text := range r.Context {
		in.Notices = append(in.Notices, model.UserText("<hook_context>\n"+text+"\n</hook_context>"))
	}
	for _, w := range r.Warnings {
		s.inputs <- message{told: protocol.Warning{Message: w}}
	}
}

// goOn lets hooks have a turn go on that the model is done with. It returns what
// the model is told, or nothing.
func (s *Session) goOn(ctx context.Context, e turn.Settle) string {
	_, end := s.bounds()
	if !e.Done || !s.o.Hooks.Wants(end) {
		return ""
	}
	c := s.o.Hooks.Call(end, e.Settings, e.Turn)
	c.LastMessage, c.StopActive = e.Last, e.WentOn > 0
	r := s.o.Hooks.Fire(ctx, c)
	for _, w := range r.Warnings {
		s.inputs <- message{told: protocol.Warning{Message: w}}
	}
	if r.Decision != "deny" || r.Halt {
		return ""
	}
	return "<hook_prompt>\n" + r.ReasonOr("go on") + "\n</hook_prompt>"
}

// bounds are the events at the beginning of the session and at the end of its turns.
func (s *Session) bounds() (begin, end hooks.Event) {
	if s.o.Agents.Parent != nil {
		return hooks.SubagentStart, hooks.SubagentStop
	}
	return hooks.SessionStart, hooks.Stop
}

// watch lets hooks see something that they cannot change, and returns their warnings.
func (s *Session) watch(ctx context.Context, e hooks.Event, turn protocol.TurnID, source string) []string {
	if !s.o.Hooks.Wants(e) {
		return nil
	}
	c := s.o.Hooks.Call(e, s.o.Settings, turn)
	c.Source, c.Names = source, []string{source}
	return s.o.Hooks.Fire(ctx, c).Warnings
}

// notify lets hooks see that the user is asked something, without waiting for them.
func (s *Session) notify(a protocol.Approval) {
	if !s.o.Hooks.Wants(hooks.Notification) {
		return
	}
	c := s.o.Hooks.Call(hooks.Notification, s.o.Settings, s.turnID)
	c.Source, c.Names = "permission_prompt", []string{"permission_prompt"}
	c.Prompt = "Kerf needs your answer"
	if a.Reason != "" {
		c.Prompt += ": " + a.Reason
	}
	s.tasks.Go(func() {
		for _, w := range s.o.Hooks.Fire(s.ctx, c).Warnings {
			s.say(protocol.Warning{Message: w})
		}
	})
}

// endTime bounds the hooks at the end of a session.
const endTime = 10 * time.Second

// farewell lets hooks see the end of a session of the user's in which there was a turn.
func (s *Session) farewell() {
	if s.turnID == "" || s.o.Agents.Parent != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	for _, w := range s.watch(ctx, hooks.SessionEnd, s.turnID, "other") {
		s.tell(turn.Told{Msg: protocol.Warning{Message: w}})
	}
}
