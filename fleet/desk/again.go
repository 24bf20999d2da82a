package desk

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"

	"kerf/fleet/task"
)

// againMost bounds how often a task is begun again.
const againMost = 100

// Again submits a task under the next free name, which it sets.
func (d Desk) Again(ctx context.Context, t *task.Task) error {
	base := t.ID
	for n := 2; n <= againMost; n++ {
		t.ID = fmt.Sprintf("%s-%d", base, n)
		_, err := d.Engine.DescribeWorkflowExecution(ctx, t.ID, "")
		if errors.As(err, new(*serviceerror.NotFound)) {
			return d.Submit(ctx, *t)
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("task %s was begun %d times", base, againMost)
}
