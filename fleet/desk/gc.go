package desk

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"kerf/fleet/blob"
	"kerf/fleet/bundle"
)

// Swept is what a collection removed.
type Swept struct {
	Tasks   int   `json:"tasks"`
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// Sweep removes what the store has of tasks that are over and older than age, and contents
// that nothing names. What is younger than age stays, whatever names it: a task that is
// being given now has its contents before it has a name.
func (d Desk) Sweep(ctx context.Context, age time.Duration, dry bool) (s Swept, err error) {
	most := int64(age.Seconds())
	used := map[string]bool{}
	gone := map[string]bool{} // tasks, by whether they go
	err = d.Store.List(ctx, "tasks/", "", func(o blob.Object) error {
		id, rest, _ := strings.Cut(strings.TrimPrefix(o.Name, "tasks/"), "/")
		goes, known := gone[id]
		if !known {
			if goes, err = d.goes(ctx, id, most, o); err != nil {
				return err
			}
			if gone[id] = goes; goes {
				s.Tasks++
			}
		}
		switch {
		case goes && dry:
			return nil
		case goes:
			return d.Store.Delete(ctx, o.Name)
		case strings.HasPrefix(rest, "events/"):
			return nil
		}
		return d.mark(ctx, o.Name, used)
	})
	if err != nil {
		return s, err
	}
	err = d.Store.List(ctx, "objects/", "", func(o blob.Object) error {
		hash := strings.ReplaceAll(strings.TrimPrefix(o.Name, "objects/"), "/", "")
		if used[hash] || o.Age < most {
			return nil
		}
		s.Objects++
		s.Bytes += o.Size
		if dry {
			return nil
		}
		return d.Store.Delete(ctx, o.Name)
	})
	return s, err
}

// goes reports whether what the store has of a task is to be removed.
func (d Desk) goes(ctx context.Context, id string, most int64, o blob.Object) (bool, error) {
	if o.Age < most {
		return false, nil
	}
	r, err := d.Engine.DescribeWorkflowExecution(ctx, id, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		_, planned := d.Engine.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
		return errors.As(planned, new(*serviceerror.NotFound)), nil // not that of a schedule
	}
	if err != nil {
		return false, err
	}
	i := r.WorkflowExecutionInfo
	return i.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && time.Since(i.CloseTime.AsTime()) > time.Duration(most)*time.Second, nil
}

// mark marks what a name stands for as used, and what that names.
func (d Desk) mark(ctx context.Context, name string, used map[string]bool) error {
	hash, err := d.Store.Follow(ctx, name)
	if err != nil || hash == "" {
		return err
	}
	used[hash] = true
	if strings.HasSuffix(name, "/scenario") || strings.HasSuffix(name, "/rows") {
		return nil
	}
	data, err := d.Store.Get(ctx, hash)
	if err != nil {
		return err
	}
	var c struct {
		Packs [][]string
		Files map[string]struct{ Parts []string }
	}
	var b bundle.Bundle
	if strings.HasSuffix(name, "/result") {
		err = json.Unmarshal(data, &b)
	} else {
		err = json.Unmarshal(data, &c)
	}
	lists := append([][]string{b.Patch}, c.Packs...)
	for _, f := range c.Files {
		lists = append(lists, f.Parts)
	}
	for _, parts := range b.Record {
		lists = append(lists, parts)
	}
	for _, parts := range lists {
		for _, h := range parts {
			used[h] = true
		}
	}
	return err
}
