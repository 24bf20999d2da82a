package worker

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"kerf/fleet/flow"
)

var _ flow.Activities = (*Worker)(nil)

// Register tells r the workflows.
func Register(r sdkworker.WorkflowRegistry, f flow.Flows) {
	r.RegisterWorkflowWithOptions(f.Task, workflow.RegisterOptions{Name: flow.TaskType})
	r.RegisterWorkflowWithOptions(f.Map, workflow.RegisterOptions{Name: flow.MapType})
}

// hopeless is an error that another worker would meet, too.
func hopeless(format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(format, args...), flow.Hopeless, nil)
}

// alive tells the engine that an activity goes on, until the returned function is called.
// what is told with each beat.
func (w *Worker) alive(ctx context.Context, what func() any) (stop func()) {
	if !activity.IsActivity(ctx) {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(max(w.beat()/4, 50*time.Millisecond))
		defer tick.Stop()
		for {
			activity.RecordHeartbeat(ctx, what())
			select {
			case <-tick.C:
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { close(done) }
}

func (w *Worker) beat() time.Duration {
	if w.Times.Beat > 0 {
		return w.Times.Beat
	}
	return 20 * time.Second
}

func nothing() any { return nil }
