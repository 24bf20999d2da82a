package flow

import (
	"errors"
	"fmt"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"kerf/fleet/task"
)

// rowsRead is how many rows are read at a time.
const rowsRead = 200

// Map runs one task for each row, at most m.Parallel at a time. After m.Part tasks it waits for those that run and
// goes on as a new run, so that no history grows without bound.
func (f Flows) Map(ctx workflow.Context, in task.Given[task.Map]) (task.Map, error) {
	m := known(in)
	if m.Counts == nil {
		m.Counts = map[task.Phase]int{}
	}
	if err := workflow.SetQueryHandler(ctx, CountsQuery, func() (task.Map, error) { return m, nil }); err != nil {
		return m, err
	}
	if m.Parallel < 1 {
		m.Parallel = 1
	}
	most := task.PartMost
	if m.Part > 0 {
		most = min(most, m.Part)
	}
	var rows []task.Row
	running := 0
	free := workflow.NewSemaphore(ctx, int64(m.Parallel))
	for started := 0; m.Next < m.Total && started < most; started++ {
		if len(rows) == 0 {
			var err error
			if rows, err = read(ctx, m); err != nil {
				return m, err
			}
		}
		if err := free.Acquire(ctx, 1); err != nil {
			return m, wait(ctx, &running, err)
		}
		t := m.Row(m.Next, rows[0])
		rows, m.Next, running = rows[1:], m.Next+1, running+1
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer func() { running--; free.Release(1) }()
			m.Count(t.ID, child(ctx, t))
		})
	}
	if err := wait(ctx, &running, nil); err != nil {
		return m, err
	}
	if m.Next < m.Total {
		return m, workflow.NewContinueAsNewError(ctx, MapType, m)
	}
	return m, nil
}

// wait waits for the tasks that were started. A map that was cancelled cancels them.
func wait(ctx workflow.Context, running *int, err error) error {
	free, _ := workflow.NewDisconnectedContext(ctx)
	if e := workflow.Await(free, func() bool { return *running == 0 }); e != nil {
		return e
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

func read(ctx workflow.Context, m task.Map) (rows []task.Row, err error) {
	opts := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: Queue, StartToCloseTimeout: time.Minute, Summary: fmt.Sprintf("rows from %d", m.Next)})
	count := min(rowsRead, m.Total-m.Next)
	if err = workflow.ExecuteActivity(opts, "Rows", m, m.Next, count).Get(ctx, &rows); err == nil && len(rows) != count {
		err = temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("the map has %d rows from %d on, %d were expected", len(rows), m.Next, count), Hopeless, nil)
	}
	return rows, err
}

// child runs one task as a workflow of its own.
func child(ctx workflow.Context, t task.Task) task.Phase {
	opts := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: t.ID, TaskQueue: Queue,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WaitForCancellation:   true,
		TypedSearchAttributes: Attributes(t),
		StaticSummary:         Summary(t),
		Priority:              temporal.Priority{PriorityKey: t.Priority},
	})
	var r task.Result
	err := workflow.ExecuteChildWorkflow(opts, TaskType, t).Get(ctx, &r)
	switch {
	case err == nil:
		return r.Outcome
	case errors.As(err, new(*temporal.CanceledError)):
		return task.Cancelled
	}
	return task.Failed
}

// Attributes are the search attributes that a task begins with.
func Attributes(t task.Task) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		phaseKey.ValueSet(string(task.Waiting)),
		temporal.NewSearchAttributeKeyKeyword(RepositoryAttribute).ValueSet(t.Repository),
		temporal.NewSearchAttributeKeyKeyword(MapAttribute).ValueSet(t.Map),
	)
}

// summaryLimit is the engine's bound for a summary, in bytes.
const summaryLimit = 200

// Summary is a task in one line, for the engine's own pages.
func Summary(t task.Task) string {
	s := t.Repository
	if t.Revision != "" {
		s += "@" + t.Revision
	}
	s += ": " + t.Prompt
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > summaryLimit {
		s = strings.ToValidUTF8(s[:summaryLimit-3], "") + "..."
	}
	return s
}
