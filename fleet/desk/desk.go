// Package desk is what people do with the fleet: give tasks, look at them, answer, take
// their results.
package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"kerf/fleet/blob"
	"kerf/fleet/bundle"
	"kerf/fleet/flow"
	"kerf/fleet/task"
	"kerf/fleet/worker"
)

// Desk reaches the engine and the store.
type Desk struct {
	Engine    client.Client
	Store     *blob.Store
	Namespace string
}

// ErrNone says that there is no such task.
var ErrNone = errors.New("no such task")

// Submit gives a task to the fleet. An id that was used is refused, so that a request that
// is sent twice does not run twice.
func (d Desk) Submit(ctx context.Context, t task.Task) error {
	if err := t.Check(); err != nil {
		return err
	}
	if err := d.name(ctx, t.ID, "scenario", t.Scenario); err != nil {
		return err
	}
	_, err := d.Engine.ExecuteWorkflow(ctx, options(t.ID, flow.Summary(t), t.Priority, flow.Attributes(t)), flow.TaskType, t)
	return d.told(t.ID, err)
}

// name names a content of a task, so that it stays as long as the task. A task that is refused, for its name was used,
// takes away no other's.
func (d Desk) name(ctx context.Context, id, what, hash string) error {
	if hash == "" {
		return nil
	}
	return d.Store.Point(ctx, fmt.Sprintf("tasks/%s/%s-%.12s", id, what, hash), hash)
}

func options(id, summary string, priority int, a temporal.SearchAttributes) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: id, TaskQueue: flow.Queue, TypedSearchAttributes: a, StaticSummary: summary,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Priority:                                 temporal.Priority{PriorityKey: priority}}
}

// SubmitMap gives a map to the fleet: one task for each row.
func (d Desk) SubmitMap(ctx context.Context, m task.Map, rows []task.Row) error {
	for n, r := range rows {
		t := m.Row(n, r)
		if err := t.Check(); err != nil {
			return fmt.Errorf("row %d: %w", n+1, err)
		}
	}
	if len(rows) == 0 {
		return errors.New("a map needs at least one row")
	}
	var err error
	if m.Rows, err = d.Store.PutJSON(ctx, rows); err != nil {
		return err
	}
	err = errors.Join(d.name(ctx, m.ID, "rows", m.Rows), d.name(ctx, m.ID, "scenario", m.Task.Scenario))
	if err != nil {
		return err
	}
	m.Total = len(rows)
	summary := fmt.Sprintf("%d tasks: %s", m.Total, flow.Summary(m.Task))
	_, err = d.Engine.ExecuteWorkflow(ctx, options(m.ID, summary[:min(len(summary), 200)], m.Task.Priority, temporal.SearchAttributes{}), flow.MapType, m)
	return d.told(m.ID, err)
}

// told puts the engine's errors into words.
func (d Desk) told(id string, err error) error {
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	var none *serviceerror.NotFound
	switch {
	case errors.As(err, &started):
		return fmt.Errorf("%s is a task already; choose another --id", id)
	case errors.As(err, &none):
		return fmt.Errorf("%w: %s", ErrNone, id)
	}
	return err
}

// IsMap reports whether id is a map; it is a task otherwise.
func (d Desk) IsMap(ctx context.Context, id string) (bool, error) {
	r, err := d.Engine.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return false, d.told(id, err)
	}
	return r.WorkflowExecutionInfo.Type.Name == flow.MapType, nil
}

// State tells how a task stands.
func (d Desk) State(ctx context.Context, id string) (s task.State, err error) {
	err = d.query(ctx, id, flow.StateQuery, &s)
	if err == nil && s.Phase == task.Preparing && s.Place == nil && d.queued(ctx, id) {
		s.Phase = task.Waiting
	}
	return s, err
}

// queued reports whether no worker has taken up what a workflow waits for.
func (d Desk) queued(ctx context.Context, id string) bool {
	r, err := d.Engine.DescribeWorkflowExecution(ctx, id, "")
	return err == nil && slices.ContainsFunc(r.PendingActivities, func(a *workflow.PendingActivityInfo) bool {
		return a.State == enums.PENDING_ACTIVITY_STATE_SCHEDULED
	})
}

// Asked reports whether a worker that has what a task needs has asked for one in the last minutes.
func (d Desk) Asked(ctx context.Context, t task.Task) bool {
	return d.polled(ctx, task.Queue(t.Needs), enums.TASK_QUEUE_TYPE_ACTIVITY)
}

// Counts tells how a map stands.
func (d Desk) Counts(ctx context.Context, id string) (m task.Map, err error) {
	err = d.query(ctx, id, flow.CountsQuery, &m)
	return m, err
}

// How often a question to a workflow is put, and how long each may take: one that a worker has just laid aside takes
// its time. After the first, short one it is seen whether there is a worker at all.
const (
	queries    = 4
	queryTime  = 10 * time.Second
	queryFirst = 2 * time.Second
)

// query asks a workflow. A worker answers.
func (d Desk) query(ctx context.Context, id, what string, into any) (err error) {
	for n := 0; n < queries; n++ {
		var v converter.EncodedValue
		limit := queryTime
		if n == 0 {
			limit = queryFirst
		}
		short, stop := context.WithTimeout(ctx, limit)
		v, err = d.Engine.QueryWorkflow(short, id, "", what)
		late := short.Err() != nil
		stop()
		switch {
		case err == nil:
			return v.Get(into)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, new(*serviceerror.QueryFailed)):
			return d.another(ctx, id, err)
		case errors.As(err, new(*serviceerror.WorkflowNotReady)):
			return d.waits(ctx, id, err)
		case !late && !errors.As(err, new(*serviceerror.DeadlineExceeded)) && !errors.As(err, new(*serviceerror.Unavailable)):
			return d.told(id, err)
		}
		if n == 0 && !d.polled(ctx, flow.Queue, enums.TASK_QUEUE_TYPE_WORKFLOW) {
			break
		}
	}
	return d.unanswered(ctx, id, err)
}

// another says why a workflow that answers does not know the question: a map has no session.
func (d Desk) another(ctx context.Context, id string, err error) error {
	if many, e := d.IsMap(ctx, id); e == nil && many {
		return fmt.Errorf("%s is a map; name one of its tasks: kerf-fleet list --map %s", id, id)
	}
	return err
}

// waits says why a workflow cannot go on with the workers that there are: a later release began it.
func (d Desk) waits(ctx context.Context, id string, err error) error {
	r, e := d.Engine.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: d.Namespace, Execution: &common.WorkflowExecution{WorkflowId: id}, MaximumPageSize: 20})
	if e != nil {
		return d.told(id, err)
	}
	for _, event := range r.History.GetEvents() {
		if a := event.GetWorkflowTaskFailedEventAttributes(); a != nil {
			return fmt.Errorf("%s waits for a worker of the release that it was begun with: %s", id, a.Failure.GetMessage())
		}
	}
	return d.told(id, err)
}

// Ended is Wait for what has one result: a map is an error.
func (d Desk) Ended(ctx context.Context, id string) (task.Result, error) {
	if err := d.another(ctx, id, nil); err != nil {
		return task.Result{}, err
	}
	return d.Wait(ctx, id)
}

// polled reports whether a worker has asked a queue in the last minutes; where the engine does not tell, one has.
func (d Desk) polled(ctx context.Context, queue string, kind enums.TaskQueueType) bool {
	r, err := d.Engine.DescribeTaskQueue(ctx, queue, kind)
	return err != nil || len(r.Pollers) > 0
}

// unanswered says what is known where no worker answers.
func (d Desk) unanswered(ctx context.Context, id string, err error) error {
	r, e := d.Engine.DescribeWorkflowExecution(ctx, id, "")
	if e != nil { // the engine does not answer either
		return d.told(id, err)
	}
	return fmt.Errorf("%s is %s; no worker answers to tell more: is kerf-fleet worker, or kerf-fleet dev, at work",
		id, line(r.WorkflowExecutionInfo).Phase)
}

// Line is one task of a list.
type Line struct {
	ID         string     `json:"id"`
	Map        bool       `json:"map,omitempty"`
	Phase      task.Phase `json:"phase"`
	Repository string     `json:"repository,omitempty"`
	Of         string     `json:"of,omitempty"` // the map that it belongs to
	Began      time.Time  `json:"began"`
	Ended      time.Time  `json:"ended,omitzero"`
	// Questions are those of a task that asks; List leaves them out, see Watch.
	Questions []task.Question `json:"questions,omitempty"`
}

// Filter says what to list. Empty members do not filter.
type Filter struct {
	Phase, Repository, Map string
	Limit                  int // 0: 100
}

func (f Filter) query() string {
	all := []string{fmt.Sprintf("WorkflowType IN ('%s', '%s')", flow.TaskType, flow.MapType)}
	for _, each := range [][2]string{{flow.PhaseAttribute, f.Phase}, {flow.RepositoryAttribute, f.Repository}, {flow.MapAttribute, f.Map}} {
		if each[1] != "" {
			all = append(all, fmt.Sprintf("%s = '%s'", each[0], strings.ReplaceAll(each[1], "'", "''")))
		}
	}
	return strings.Join(all, " AND ")
}

// Phases are those that a filter may name: what goes by quickly is not indexed.
func Phases() []string {
	var all []string
	for _, p := range []task.Phase{task.Waiting, task.Running, task.Asking, task.Done, task.Unchecked, task.Failed, task.Cancelled} {
		all = append(all, string(p))
	}
	return all
}

// List lists tasks and maps, the newest first.
func (d Desk) List(ctx context.Context, f Filter) (lines []Line, err error) {
	if f.Limit == 0 {
		f.Limit = 100
	}
	var page []byte
	for len(lines) < f.Limit {
		r, err := d.Engine.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: d.Namespace, PageSize: int32(min(f.Limit, 500)), NextPageToken: page, Query: f.query()})
		if err != nil {
			return nil, err
		}
		for _, e := range r.Executions {
			if lines = append(lines, line(e)); len(lines) == f.Limit {
				return lines, nil
			}
		}
		if page = r.NextPageToken; len(page) == 0 {
			break
		}
	}
	return lines, nil
}

// line is what the engine's list has of a task.
func line(e *workflow.WorkflowExecutionInfo) Line {
	l := Line{ID: e.Execution.WorkflowId, Map: e.Type.Name == flow.MapType, Began: e.StartTime.AsTime()}
	l.Phase = phase(e.Status)
	if e.CloseTime != nil {
		l.Ended = e.CloseTime.AsTime()
	}
	for name, p := range e.SearchAttributes.GetIndexedFields() {
		var text string
		if converter.GetDefaultDataConverter().FromPayload(p, &text) != nil {
			continue
		}
		switch {
		case name == flow.PhaseAttribute && e.Status != enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:
			l.Phase = task.Phase(text)
		case name == flow.RepositoryAttribute:
			l.Repository = text
		case name == flow.MapAttribute:
			l.Of = text
		}
	}
	return l
}

// watched is how many tasks Watch tells.
const watched = 200

// Watch lists tasks with what they ask.
func (d Desk) Watch(ctx context.Context) ([]Line, error) {
	lines, err := d.List(ctx, Filter{Limit: watched})
	for i, l := range lines {
		if l.Phase == task.Asking {
			if s, err := d.State(ctx, l.ID); err == nil {
				lines[i].Questions = s.Questions
			}
		}
	}
	return lines, err
}

// phase is what the engine alone knows.
func phase(s enums.WorkflowExecutionStatus) task.Phase {
	switch s {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return task.Running
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return task.Done
	case enums.WORKFLOW_EXECUTION_STATUS_CANCELED, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return task.Cancelled
	}
	return task.Failed
}

// Wait waits for the end of a task. Of one that the engine has forgotten it tells what the store has.
func (d Desk) Wait(ctx context.Context, id string) (r task.Result, err error) {
	err = d.Engine.GetWorkflow(ctx, id, "").Get(ctx, &r)
	var cancelled *temporal.CanceledError
	if errors.As(err, &cancelled) {
		r.Task, r.Outcome = id, task.Cancelled
		if cancelled.HasDetails() {
			_ = cancelled.Details(&r)
		}
		return r, nil
	}
	if errors.As(err, new(*serviceerror.NotFound)) {
		if kept, e := d.kept(ctx, id); e != nil || kept.Bundle != "" {
			return kept, e
		}
	}
	return r, d.told(id, err)
}

// WaitMap waits for the end of a map.
func (d Desk) WaitMap(ctx context.Context, id string) (m task.Map, err error) {
	err = d.Engine.GetWorkflow(ctx, id, "").Get(ctx, &m)
	if errors.As(err, new(*temporal.CanceledError)) {
		return d.Counts(ctx, id)
	}
	return m, d.told(id, err)
}

// kept is the result of a task as it was published, without a bundle where there is none.
func (d Desk) kept(ctx context.Context, id string) (r task.Result, err error) {
	name, err := d.Store.Last(ctx, "tasks/"+id+"/"+worker.ResultPrefix)
	if err != nil || name == "" {
		return r, err
	}
	hash, err := d.Store.Follow(ctx, name)
	if err != nil || hash == "" {
		return r, err
	}
	b, err := d.Bundle(ctx, hash)
	if err != nil {
		return r, err
	}
	return task.Result{Task: id, Outcome: b.Outcome, Problem: b.Problem, Message: b.Message, Session: b.Session, Base: b.Base,
		Tree: b.Tree, Bundle: hash, Files: len(b.Changes), Checks: b.Checks}, nil
}

// Bundle reads the published result of a task and checks it.
func (d Desk) Bundle(ctx context.Context, hash string) (b bundle.Bundle, err error) {
	data, err := d.Store.Get(ctx, hash)
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	if err == nil {
		err = b.Check()
	}
	return b, err
}

// Patch reads the git patch of a bundle.
func (d Desk) Patch(ctx context.Context, b bundle.Bundle) (patch []byte, err error) {
	for _, hash := range b.Patch {
		part, err := d.Store.Get(ctx, hash)
		if err != nil {
			return nil, err
		}
		patch = append(patch, part...)
	}
	return patch, nil
}
