// Package reviewtask says what a review is about.
package reviewtask

import (
	"context"
	"fmt"

	"kerf/internal/agent/review"
	"kerf/internal/protocol"
	"kerf/internal/work/repo"
)

// Of says what is to be reviewed. Names are looked up first, so that a
// mistake costs no request.
func Of(ctx context.Context, cwd string, op protocol.Review) (string, error) {
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
		return "", fmt.Errorf("%s: %w; say in words what to review", cwd, repo.ErrNoRepository)
	}
	return review.Uncommitted(), nil
}
