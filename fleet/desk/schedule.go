package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"kerf/fleet/flow"
	"kerf/fleet/task"
)

// Schedule says when a task is begun.
type Schedule struct {
	Name  string        `json:"name"`
	Cron  string        `json:"cron,omitempty"`
	Every time.Duration `json:"every,omitempty"`
	Zone  string        `json:"zone,omitempty"`
}

// Plan makes a schedule. Its tasks are named NAME-TIME; one that would begin while the one
// before still runs is left out.
func (d Desk) Plan(ctx context.Context, s Schedule, t task.Task) error {
	t.ID = s.Name
	if err := t.Check(); err != nil {
		return err
	}
	spec := client.ScheduleSpec{TimeZoneName: s.Zone}
	switch {
	case (s.Cron == "") == (s.Every == 0):
		return fmt.Errorf("%w: it takes either --cron or --every", ErrPlan)
	case s.Cron != "":
		spec.CronExpressions = []string{s.Cron}
	default:
		spec.Intervals = []client.ScheduleIntervalSpec{{Every: s.Every}}
	}
	if err := d.name(ctx, t.ID, "scenario", t.Scenario); err != nil {
		return err
	}
	_, err := d.Engine.ScheduleClient().Create(ctx, client.ScheduleOptions{ID: s.Name, Spec: spec,
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		Action: &client.ScheduleWorkflowAction{ID: s.Name, Workflow: flow.TaskType, Args: []any{t}, TaskQueue: flow.Queue,
			TypedSearchAttributes: flow.Attributes(t), StaticSummary: flow.Summary(t)}})
	var wrong *serviceerror.InvalidArgument
	switch {
	case errors.Is(err, temporal.ErrScheduleAlreadyRunning):
		return fmt.Errorf("%s is a schedule already; delete it first, or choose another name", s.Name)
	case errors.As(err, &wrong):
		return fmt.Errorf("%w: %s", ErrPlan, strings.TrimPrefix(wrong.Message, "Invalid schedule spec: "))
	}
	return err
}

// ErrPlan says that a schedule does not say when.
var ErrPlan = errors.New("a schedule that says no time")

// Planned is one line of a list of schedules.
type Planned struct {
	Name   string      `json:"name"`
	Paused bool        `json:"paused,omitempty"`
	Next   []time.Time `json:"next,omitempty"`
	Recent []string    `json:"recent,omitempty"` // tasks
}

// Schedules lists the schedules.
func (d Desk) Schedules(ctx context.Context) (all []Planned, err error) {
	list, err := d.Engine.ScheduleClient().List(ctx, client.ScheduleListOptions{PageSize: 100})
	if err != nil {
		return nil, err
	}
	for list.HasNext() {
		e, err := list.Next()
		if err != nil {
			return nil, err
		}
		p := Planned{Name: e.ID, Paused: e.Paused, Next: e.NextActionTimes}
		for _, r := range e.RecentActions {
			if r.StartWorkflowResult != nil {
				p.Recent = append(p.Recent, r.StartWorkflowResult.WorkflowID)
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// ChangeSchedule pauses, resumes, triggers or deletes a schedule.
func (d Desk) ChangeSchedule(ctx context.Context, name, what string) error {
	h := d.Engine.ScheduleClient().GetHandle(ctx, name)
	var err error
	switch what {
	case "pause":
		err = h.Pause(ctx, client.SchedulePauseOptions{})
	case "resume":
		err = h.Unpause(ctx, client.ScheduleUnpauseOptions{})
	case "trigger":
		err = h.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL})
	default:
		err = h.Delete(ctx)
	}
	if errors.As(err, new(*serviceerror.NotFound)) {
		return fmt.Errorf("no such schedule: %s", name)
	}
	return err
}
