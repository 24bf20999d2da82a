// Package flow holds the workflows of the fleet. They decide what happens next and nothing
// else: all work is done by activities. They are deterministic; a change of their steps
// goes behind workflow.GetVersion, and the histories below testdata judge it. So a task that
// an older program began goes on with this one, and one that this one began waits where
// only older ones are.
package flow

import (
	"context"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"kerf/fleet/task"
)

// The names that clients and workers use.
const (
	TaskType = "kerf-task"
	MapType  = "kerf-map"

	StateQuery    = "state"
	CountsQuery   = "counts"
	AskedSignal   = "asked"   // a task.Question, by the worker
	AnswerSignal  = "answer"  // a task.Answer
	SteerSignal   = "steer"   // a text
	StoppedSignal = "stopped" // the id of a question that nobody needs to answer any more
	// Queue is that of the workflows.
	Queue = "kerf-flow"
)

// The search attributes of a task, all of them keywords.
const (
	PhaseAttribute      = "KerfPhase"
	RepositoryAttribute = "KerfRepository"
	MapAttribute        = "KerfMap"
)

// Kinds of errors that activities return.
const (
	// Hopeless is an error that another worker would meet, too.
	Hopeless = "hopeless"
)

// Activities is what workers do. The names of the methods are those of the activities.
type Activities interface {
	// Prepare makes the files of a task on this worker: the revision, or what the last
	// worker left.
	Prepare(ctx context.Context, t task.Given[task.Task], place int) (task.Place, error)
	// Run runs the session until its turn is over. Words is what the model is told, empty
	// for the task's prompt.
	Run(ctx context.Context, t task.Task, p task.Place, words string) (task.Ran, error)
	Verify(ctx context.Context, t task.Task, p task.Place) ([]task.CheckResult, error)
	// Publish keeps the result in the store.
	Publish(ctx context.Context, t task.Task, p task.Place, r task.Result) (task.Result, error)
	// Clean removes what the task has on this worker.
	Clean(ctx context.Context, t task.Task) error
	// Deliver hands an order to the running session.
	Deliver(ctx context.Context, id string, o task.Order) error
	// Rows reads at most count rows of a map.
	Rows(ctx context.Context, m task.Map, from, count int) ([]task.Row, error)
}

// known is what a workflow was given. Where a later program wrote what this one does not know, the step of the workflow
// fails, and the engine has it tried again, until a worker of that program takes it.
func known[T any](in task.Given[T]) T {
	if in.Later != nil {
		panic(in.Later)
	}
	return in.Of
}

// How long things may take. A worker that says nothing for beat is taken for dead; one that
// does not begin what it was given within pickup, too.
const (
	beat   = 20 * time.Second
	pickup = 30 * time.Second
	short  = 5 * time.Minute
	fetch  = 30 * time.Minute
)

// Times are those bounds. Tests shorten them.
type Times struct{ Beat, Pickup time.Duration }

// Flows are the workflows with their bounds; the zero value has the defaults.
type Flows struct{ Times Times }

func (f Flows) times() Times {
	t := f.Times
	if t.Beat == 0 {
		t.Beat = beat
	}
	if t.Pickup == 0 {
		t.Pickup = pickup
	}
	return t
}

// once are the options of an activity of one worker, which is not repeated there.
func (t Times) once(ctx workflow.Context, queue string, limit time.Duration, what string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, ScheduleToStartTimeout: t.Pickup, StartToCloseTimeout: limit,
		HeartbeatTimeout: t.Beat, WaitForCancellation: true, Summary: what,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
}
