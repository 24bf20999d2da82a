package session

import (
	"context"
	"strings"

	"kerf/internal/agent/hooks"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// greet lets hooks see the start of the session and what the user says. They may
// refuse the input and tell the model more.
func (s *Session) greet(ctx context.Context, e turn.Gather, in *turn.Gathered) {
	var r hooks.Result
	if s.o.Hooks.Wants(hooks.SessionStart) && !s.greeted.Swap(true) {
		c := s.o.Hooks.Call(hooks.SessionStart, e.Settings, "")
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
	if !e.Done || !s.o.Hooks.Wants(hooks.Stop) {
		return ""
	}
	c := s.o.Hooks.Call(hooks.Stop, e.Settings, e.Turn)
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
