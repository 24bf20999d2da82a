package desk

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"kerf/fleet/blob"
	"kerf/fleet/bundle"
	"kerf/fleet/worker"
)

// Swept is what a collection removed.
type Swept struct {
	Tasks   int   `json:"tasks"`
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// SweepLeast is how old what Sweep removes must be at least: a task that is being given, or that keeps a checkpoint, has
// its contents before it has a name for them.
const SweepLeast = 2 * blob.Fresh * time.Second

// A sweep is one collection.
type sweep struct {
	Desk
	began time.Time
	most  int64           // seconds; what was younger when the sweep began stays
	used  map[string]bool // contents that something names
	gone  map[string]bool // tasks, by whether they go
	Swept
}

// Sweep removes what the store has of tasks that are over and older than age, and contents
// that nothing names. What is younger than age stays, whatever names it. Age is at least
// SweepLeast where anybody may use the store meanwhile.
func (d Desk) Sweep(ctx context.Context, age time.Duration, dry bool) (Swept, error) {
	s := &sweep{Desk: d, began: time.Now(), most: int64(age.Seconds()), used: map[string]bool{}, gone: map[string]bool{}}
	err := d.Store.List(ctx, "tasks/", "", func(o blob.Object) error { return s.name(ctx, o, dry) })
	if err != nil {
		return s.Swept, err
	}
	err = d.Store.List(ctx, "objects/", "", func(o blob.Object) error { return s.object(ctx, o, dry) })
	return s.Swept, err
}

// object removes a content that nothing names. What was put since the sweep began may have got its name behind the
// sweep's back, so it stays.
func (s *sweep) object(ctx context.Context, o blob.Object, dry bool) error {
	if s.used[strings.ReplaceAll(strings.TrimPrefix(o.Name, "objects/"), "/", "")] || s.young(o) {
		return nil
	}
	// The list may be old already.
	now, err := s.Store.Stat(ctx, o.Name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && s.young(now) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Objects++
	s.Bytes += o.Size
	if dry {
		return nil
	}
	return s.Store.Delete(ctx, o.Name)
}

func (s *sweep) young(o blob.Object) bool {
	return o.Age-int64(time.Since(s.began).Seconds()) < s.most
}

// name removes one name of a task that goes, and marks what one of another task names.
func (s *sweep) name(ctx context.Context, o blob.Object, dry bool) error {
	id, rest, _ := strings.Cut(strings.TrimPrefix(o.Name, "tasks/"), "/")
	goes, known := s.gone[id]
	if !known {
		var err error
		if goes, err = s.goes(ctx, id, o); err != nil {
			return err
		}
		if s.gone[id] = goes; goes {
			s.Tasks++
		}
	}
	switch {
	case goes && dry, !goes && strings.HasPrefix(rest, "events/"):
		return nil
	case goes:
		return s.Store.Delete(ctx, o.Name)
	}
	return s.mark(ctx, id, rest)
}

// goes reports whether what the store has of a task is to be removed.
func (s *sweep) goes(ctx context.Context, id string, o blob.Object) (bool, error) {
	if s.young(o) {
		return false, nil
	}
	r, err := s.Engine.DescribeWorkflowExecution(ctx, id, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		_, planned := s.Engine.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
		return errors.As(planned, new(*serviceerror.NotFound)), nil // not that of a schedule
	}
	if err != nil {
		return false, err
	}
	i := r.WorkflowExecutionInfo
	return i.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && time.Since(i.CloseTime.AsTime()) > time.Duration(s.most)*time.Second, nil
}

// mark marks what a name of a task stands for as used, and what that names.
func (s *sweep) mark(ctx context.Context, id, rest string) error {
	name := "tasks/" + id + "/" + rest
	hash, err := s.Store.Follow(ctx, name)
	if err != nil {
		return err
	}
	if hash == "" {
		return s.follower(ctx, id, rest)
	}
	s.used[hash] = true
	var lists [][]string
	switch {
	case strings.HasPrefix(rest, "checkpoints/"):
		lists, err = worker.CheckpointParts(ctx, s.Store, hash)
	case strings.HasPrefix(rest, worker.ResultPrefix):
		lists, err = s.parts(ctx, hash)
	}
	for _, parts := range lists {
		for _, h := range parts {
			s.used[h] = true
		}
	}
	return err
}

// follower marks the checkpoint that took the place of one that is no more: the task goes on while this looks, and
// what it keeps now is partly what it kept long ago.
func (s *sweep) follower(ctx context.Context, id, rest string) error {
	if !strings.HasPrefix(rest, "checkpoints/") {
		return nil
	}
	last, err := s.Store.Last(ctx, worker.Checkpoints(id))
	if err != nil || last == "" {
		return err
	}
	return s.mark(ctx, id, strings.TrimPrefix(last, "tasks/"+id+"/"))
}

// parts are the contents that a bundle names.
func (s *sweep) parts(ctx context.Context, hash string) (lists [][]string, err error) {
	data, err := s.Store.Get(ctx, hash)
	var b bundle.Bundle
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	lists = append(lists, b.Patch)
	for _, parts := range b.Record {
		lists = append(lists, parts)
	}
	return lists, err
}
