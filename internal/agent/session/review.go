package session

import (
	"context"
	"errors"

	"kerf/internal/agent/executor/reviewtask"
	"kerf/internal/agent/review"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// review has changes reviewed by a session of its own that can change nothing.
func (s *Session) review(ctx context.Context, e turn.RunReview) message {
	in := turn.Reviewed{Call: e.Call}
	trouble := func(err error) message {
		var refused *tool.Error
		words := err.Error()
		if errors.As(err, &refused) {
			words = refused.Message
		}
		in.Trouble = &protocol.Trouble{Kind: protocol.TroubleOther, Message: "review: " + words}
		return message{in: in}
	}
	task, err := reviewtask.Of(ctx, s.o.Settings.Cwd, e.Op)
	if err != nil {
		return trouble(err)
	}
	set := e.Settings
	set.Sandbox, set.Approval, set.Edits = protocol.SandboxReadOnly, protocol.PolicyNever, ""
	role := team.Role{Name: review.Role, Instructions: review.Instructions, Sandbox: protocol.SandboxReadOnly,
		Tools: review.Tools()}
	text, err := s.team.Run(ctx, team.Spawn{Name: review.Role, Role: role, Settings: set}, task)
	if err != nil {
		return trouble(err)
	}
	in.Result = review.Parse(text, s.o.Settings.Cwd)
	in.Text = review.Render(in.Result)
	return message{in: in}
}
