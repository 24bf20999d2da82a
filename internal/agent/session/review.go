package session

import (
	"context"
	"errors"
	"fmt"

	"kerf/internal/agent/review"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/repo"
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
	task, err := s.reviewTask(ctx, e.Op)
	if err != nil {
		return trouble(err)
	}
	set := e.Settings
	set.Sandbox, set.Approval, set.Edits = protocol.SandboxReadOnly, protocol.PolicyNever, ""
	role := team.Role{Name: review.Role, Instructions: review.Instructions, Sandbox: protocol.SandboxReadOnly, Tools: review.Tools()}
	text, err := s.o.Hands.team.Run(ctx, team.Spawn{Name: review.Role, Role: role, Settings: set}, task)
	if err != nil {
		return trouble(err)
	}
	in.Result = review.Parse(text, s.o.Hands.Cwd())
	in.Text = review.Render(in.Result)
	return message{in: in}
}

// reviewTask says what is to be reviewed. Names are looked up first, so that a
// mistake costs no request.
func (s *Session) reviewTask(ctx context.Context, op protocol.Review) (string, error) {
	cwd := s.o.Settings.Cwd
	switch {
	case op.Words != "":
		return review.Words(op.Words), nil
	case op.Base != "":
		base, err := repo.MergeBase(ctx, cwd, op.Base)
		if err != nil {
			return "", fmt.Errorf("base %s: %w", op.Base, err)
		}
		return review.Base(op.Base, base), nil
	case op.Commit != "":
		commit, err := repo.Commit(ctx, cwd, op.Commit)
		if err != nil {
			return "", fmt.Errorf("commit %s: %w", op.Commit, err)
		}
		return review.Commit(commit), nil
	}
	if _, _, ok := repo.Find(cwd); !ok {
		return "", fmt.Errorf("%s: %w; say in words what is to be reviewed", cwd, repo.ErrNoRepository)
	}
	return review.Uncommitted(), nil
}
