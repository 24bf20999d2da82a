package flow

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"kerf/fleet/task"
)

// one is a task under way.
type one struct {
	task  task.Task
	state task.State
	times Times
	// timers end with the questions they belong to.
	timers map[string]workflow.CancelFunc
	left   []string // places whose files may still lie there, by queue
}

// Task runs one task to its end. A worker that dies is replaced by another one, which goes
// on with the session where its record ends.
func (f Flows) Task(ctx workflow.Context, in task.Given[task.Task]) (task.Result, error) {
	t := known(in)
	t.ID = workflow.GetInfo(ctx).WorkflowExecution.ID // a schedule gives each run a name
	o := &one{task: t, times: f.times(), timers: map[string]workflow.CancelFunc{},
		state: task.State{Task: t, Phase: task.Waiting}}
	if err := workflow.SetQueryHandler(ctx, StateQuery, func() (task.State, error) { return o.state, nil }); err != nil {
		return task.Result{}, err
	}
	if err := o.task.Check(); err != nil {
		return o.end(ctx, task.Result{Outcome: task.Failed, Problem: err.Error()})
	}
	o.listen(ctx)
	return o.end(ctx, o.places(ctx))
}

// end keeps the result. A task that was cancelled ends as such.
func (o *one) end(ctx workflow.Context, r task.Result) (task.Result, error) {
	r.Task = o.task.ID
	o.state.Result, o.state.Questions = &r, nil
	free, _ := workflow.NewDisconnectedContext(ctx)
	o.phase(free, r.Outcome)
	if r.Outcome == task.Cancelled {
		return r, temporal.NewCanceledError(r)
	}
	return r, nil
}

// phase tells where the task stands.
func (o *one) phase(ctx workflow.Context, p task.Phase) {
	if o.state.Phase == p {
		return
	}
	o.state.Phase = p
	workflow.SetCurrentDetails(ctx, string(p))
	// Only what people filter by is indexed: each write costs an event.
	if p.Over() || p == task.Asking || p == task.Running {
		_ = workflow.UpsertTypedSearchAttributes(ctx, phaseKey.ValueSet(string(p)))
	}
}

var phaseKey = temporal.NewSearchAttributeKeyKeyword(PhaseAttribute)

// places tries one worker after the other.
func (o *one) places(ctx workflow.Context) task.Result {
	for n := 1; ; n++ {
		r, err := o.place(ctx, n)
		var hopeless *temporal.ApplicationError
		switch {
		case err == nil:
			r.Places = n
			return r
		case ctx.Err() != nil:
			return task.Result{Outcome: task.Cancelled, Problem: "cancelled", Places: n}
		case errors.As(err, &hopeless) && hopeless.Type() == Hopeless:
			return task.Result{Outcome: task.Failed, Problem: hopeless.Message(), Places: n}
		}
		o.lost(n, err)
		if n >= o.task.Limits.Places {
			return task.Result{Outcome: task.Failed, Places: n,
				Problem: fmt.Sprintf("%d workers did not end it; the last: %s", n, plain(err))}
		}
		// Trouble of the machines may pass; a lost worker needs no wait.
		var own *temporal.ApplicationError
		if errors.As(err, &own) {
			_ = workflow.Sleep(ctx, min(time.Duration(n)*5*time.Second, time.Minute))
		}
	}
}

// lostKept bounds what a state tells of lost workers.
const lostKept = 20

func (o *one) lost(n int, err error) {
	name := "no worker"
	if who := new(temporal.ActivityError); errors.As(err, &who) && who.Identity() != "" {
		name = who.Identity() // also where its place was not ready
	}
	if o.state.Place != nil && o.state.Place.Number == n {
		name = o.state.Place.Worker
	}
	if len(o.state.Lost) < lostKept {
		o.state.Lost = append(o.state.Lost, name+": "+plain(err))
	}
	for len(o.state.Questions) > 0 { // in their order: each ends a timer, which is a step
		o.close(0)
	}
	o.state.Place = nil
}

// plain is an error without the engine's wrapping.
func plain(err error) string {
	var own *temporal.ApplicationError
	var late *temporal.TimeoutError
	switch {
	case errors.As(err, &own):
		return own.Message()
	case errors.As(err, &late):
		return "it was lost (" + strings.ToLower(late.TimeoutType().String()) + " timeout)"
	}
	return err.Error()
}

// place has one worker do the task.
func (o *one) place(ctx workflow.Context, n int) (task.Result, error) {
	o.phase(ctx, task.Preparing)
	anyone := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: task.Queue(o.task.Needs), StartToCloseTimeout: fetch, HeartbeatTimeout: o.times.Beat,
		Summary: "prepare, place " + fmt.Sprint(n), RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		Priority: temporal.Priority{PriorityKey: o.task.Priority},
	})
	var p task.Place
	if err := workflow.ExecuteActivity(anyone, "Prepare", o.task, n).Get(ctx, &p); err != nil {
		return task.Result{}, err
	}
	o.state.Place = &p
	defer o.clean(ctx, p)
	ran, checks, err := o.work(ctx, p)
	if err != nil {
		return task.Result{}, err
	}
	r := task.Result{Task: o.task.ID, Outcome: task.Done, Session: ran.Session, Message: ran.Message,
		Tokens: ran.Tokens, Checks: checks, Base: p.Base}
	if ran.Problem != "" {
		r.Outcome, r.Problem = task.Failed, ran.Problem
	} else if Complaint(checks) != "" {
		r.Outcome = task.Unchecked
	}
	o.phase(ctx, task.Publishing)
	err = workflow.ExecuteActivity(o.times.once(ctx, p.Queue, fetch, "publish"), "Publish", o.task, p, r).Get(ctx, &r)
	return r, err
}

// work runs the session until its checks pass, or the attempts are used up.
func (o *one) work(ctx workflow.Context, p task.Place) (ran task.Ran, checks []task.CheckResult, err error) {
	words := ""
	for attempt := 1; ; attempt++ {
		o.state.Attempt = attempt
		o.phase(ctx, task.Running)
		limit := o.task.Limits.Time + time.Minute // the worker ends it itself before
		run := o.times.once(ctx, p.Queue, limit, fmt.Sprintf("run, attempt %d", attempt))
		if err = workflow.ExecuteActivity(run, "Run", o.task, p, words).Get(ctx, &ran); err != nil {
			return ran, nil, err
		}
		if ran.Problem != "" || len(o.task.Checks) == 0 {
			return ran, nil, nil
		}
		o.phase(ctx, task.Checking)
		verify := o.times.once(ctx, p.Queue, o.task.Limits.Time, "check")
		if err = workflow.ExecuteActivity(verify, "Verify", o.task, p).Get(ctx, &checks); err != nil {
			return ran, nil, err
		}
		if words = Complaint(checks); words == "" || attempt >= o.task.Attempts {
			return ran, checks, nil
		}
	}
}

// clean removes the files of the task from a worker, also after a cancellation. A worker
// that is gone removes them when it comes back.
func (o *one) clean(ctx workflow.Context, p task.Place) {
	free, _ := workflow.NewDisconnectedContext(ctx)
	_ = workflow.ExecuteActivity(o.times.once(free, p.Queue, short, "clean"), "Clean", o.task).Get(free, nil)
}

// Complaint is what the model is told of checks that failed, empty when all passed.
func Complaint(checks []task.CheckResult) string {
	var b strings.Builder
	for _, c := range checks {
		if c.Exit != 0 {
			fmt.Fprintf(&b, "The check `%s` ended with exit code %d:\n\n%s\n\n", c.Command, c.Exit, c.Output)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "Mend the cause. Do not change the checks."
}
