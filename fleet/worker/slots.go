package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdkworker "go.temporal.io/sdk/worker"

	"kerf/fleet/flow"
	"kerf/fleet/task"
)

// slots lets a queue be asked for tasks only while this worker has room for one.
type slots struct{ w *Worker }

// tuner bounds what a queue of tasks gives to this worker.
func (w *Worker) tuner() (sdkworker.WorkerTuner, error) {
	fixed, err := sdkworker.NewFixedSizeSlotSupplier(4)
	if err != nil {
		return nil, err
	}
	return sdkworker.NewCompositeTuner(sdkworker.CompositeTunerOptions{
		ActivitySlotSupplier: slots{w}, WorkflowSlotSupplier: fixed, LocalActivitySlotSupplier: fixed,
		NexusSlotSupplier: fixed, SessionActivitySlotSupplier: fixed})
}

// ReserveSlot waits until there is room.
func (s slots) ReserveSlot(ctx context.Context, _ sdkworker.SlotReservationInfo) (*sdkworker.SlotPermit, error) {
	for !s.w.room() {
		select {
		case <-s.w.freed:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &sdkworker.SlotPermit{}, nil
}

// TryReserveSlot is for tasks that need no poll, of which there are none.
func (s slots) TryReserveSlot(sdkworker.SlotReservationInfo) *sdkworker.SlotPermit { return nil }

// MarkSlotUsed and ReleaseSlot have nothing to do: Prepare and Clean count.
func (s slots) MarkSlotUsed(sdkworker.SlotMarkUsedInfo) {}

// ReleaseSlot is for the interface.
func (s slots) ReleaseSlot(sdkworker.SlotReleaseInfo) {}

// MaxSlots is told in metrics.
func (s slots) MaxSlots() int { return s.w.Slots }

func (w *Worker) room() bool {
	return w.Busy() < w.Slots && !w.trouble.away()
}

// Busy is how many tasks are prepared here and not cleaned, of at most Slots.
func (w *Worker) Busy() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held)
}

// A holding is a task that is prepared here and not cleaned.
type holding struct {
	used time.Time // when something was done with it last
	// What is at work on it now, if anything.
	stop context.CancelFunc
	over chan struct{}
}

// hold counts a task in and begins an activity on it. It waits for room, which several queues
// may have been promised, and ends what still works on the task here for a place that the
// engine has given up, another preparation, too: two would write the same files.
func (w *Worker) hold(ctx context.Context, id string) (_ context.Context, done func(error), err error) {
	for {
		w.mu.Lock()
		h := w.held[id]
		if h == nil && len(w.held) < w.Slots || h != nil && h.over == nil {
			h = &holding{}
			w.held[id] = h
			ctx, done = w.begin(ctx, id, h)
			w.mu.Unlock()
			return ctx, done, nil
		}
		over := (<-chan struct{})(nil)
		if h != nil {
			h.stop()
			over = h.over
		}
		w.mu.Unlock()
		select {
		case <-over:
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx, nil, ctx.Err()
		}
	}
}

// work begins an activity on a task that is held. What fails is the last here: the engine
// gives the task to a worker anew, maybe to this one, and that must find room.
func (w *Worker) work(ctx context.Context, id string) (_ context.Context, done func(error), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.held[id]
	if h == nil {
		return ctx, nil, fmt.Errorf("task %s is not prepared here", id)
	}
	if h.over != nil {
		return ctx, nil, fmt.Errorf("task %s is at work here already", id)
	}
	ctx, done = w.begin(ctx, id, h)
	return ctx, done, nil
}

// begin begins an activity on a holding that nothing works on; mu is held.
func (w *Worker) begin(ctx context.Context, id string, h *holding) (context.Context, func(error)) {
	ctx, h.stop = context.WithCancel(ctx)
	h.over = make(chan struct{})
	return ctx, func(err error) {
		if ctx.Err() == nil { // nobody told it to end
			w.trouble.of(err, w.Log)
		}
		h.stop()
		if err != nil {
			_ = removeAll(w.dir(id))
		}
		w.mu.Lock()
		if err != nil {
			delete(w.held, id)
		}
		close(h.over)
		h.over, h.used = nil, time.Now()
		w.mu.Unlock()
		w.tellFreed()
	}
}

// drop removes what a task has here, and counts it out, unless something works on it.
func (w *Worker) drop(id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.held[id]; h != nil && h.over != nil {
		return fmt.Errorf("task %s is at work", id)
	}
	err := removeAll(w.dir(id))
	delete(w.held, id)
	w.tellFreed()
	return err
}

func (w *Worker) tellFreed() {
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

// removeAll removes a tree in which directories may have lost their write bits.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// tidy looks for tasks that are no longer this worker's without its being told: those that
// somebody terminated, and those that another worker has taken up.
func (w *Worker) tidy() {
	wait := 3 * w.beat()
	for {
		select {
		case <-time.After(wait):
		case <-w.over:
			return
		}
		for _, id := range w.idle(wait) {
			if w.lost(id) {
				_ = w.drop(id)
			}
		}
		w.litter()
	}
}

// litter removes the files of tasks that are not held here: what a program wrote that was ended
// a moment after they were removed.
func (w *Worker) litter() {
	entries, err := os.ReadDir(filepath.Join(w.Root, taskDir))
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range entries {
		if w.held[e.Name()] == nil {
			_ = removeAll(w.dir(e.Name()))
		}
	}
}

// idle are the tasks held here with which nothing was done for a while.
func (w *Worker) idle(since time.Duration) (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, h := range w.held {
		if h.over == nil && time.Since(h.used) > since {
			ids = append(ids, id)
		}
	}
	return ids
}

// lost reports whether a task is over, or another worker's. Where the engine does not
// answer it is not.
func (w *Worker) lost(id string) bool {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	d, err := w.Engine.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return errors.As(err, new(*serviceerror.NotFound))
	}
	if d.WorkflowExecutionInfo.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return true
	}
	v, err := w.Engine.QueryWorkflow(ctx, id, "", flow.StateQuery)
	var s task.State
	if err != nil || v.Get(&s) != nil {
		return false
	}
	return s.Place == nil || s.Place.Queue != w.queue
}
