// Package worker does the work of the fleet's tasks on one machine: it makes the files of a
// task, runs its session with kerf, keeps what another worker needs to go on, checks the
// result and publishes it.
package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"kerf/fleet/blob"
	"kerf/fleet/flow"
	"kerf/fleet/task"
)

// Options say how a worker works.
type Options struct {
	Name string   // for people; empty: the machine's name
	Root string   // where tasks and clones lie
	Tags []string // what it has that tasks may need
	Kerf string   // the program; empty: kerf on PATH
	// Hidden are directories that no session may read, beside Root and Home.
	Hidden []string
	Home   string // whose config.toml and keys sessions use; empty: no settings
	Slots  int    // tasks at a time; 0 means 2
	// Every is how far apart checkpoints are at least; 0 means 5 s, less than that every call.
	Every time.Duration
	Times flow.Times
	Log   *slog.Logger
	Store *blob.Store
	// Engine is the connection; the caller closes it.
	Engine client.Client
}

// Worker serves the queues of its tags and one of its own.
type Worker struct {
	Options
	queue   string // which only this process serves
	lock    *flock.Flock
	mu      sync.Mutex
	running map[string]*session // by task
	workers []sdkworker.Worker
	trouble trouble
	held    map[string]*holding // tasks that are prepared and not cleaned
	freed   chan struct{}       // told when one is let go
	over    chan struct{}       // closed by Stop
}

// New makes a worker. It removes what an earlier process left below Root, which no other
// worker may use.
func New(o Options) (*Worker, error) {
	if o.Name == "" {
		o.Name, _ = os.Hostname()
	}
	if o.Kerf == "" {
		o.Kerf = "kerf"
	}
	if o.Slots == 0 {
		o.Slots = 2
	}
	if o.Every == 0 {
		o.Every = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	root, err := filepath.Abs(o.Root)
	if err == nil {
		err = errors.Join(task.CheckTags(o.Tags), os.MkdirAll(filepath.Join(root, cacheDir), 0o700))
	}
	lock := flock.New(filepath.Join(root, "lock"))
	if err == nil {
		err = alone(lock)
	}
	if err == nil {
		err = errors.Join(removeAll(filepath.Join(root, taskDir)), os.MkdirAll(filepath.Join(root, taskDir), 0o700))
	}
	if err != nil {
		return nil, fmt.Errorf("the worker's directory %s: %w", root, err)
	}
	o.Root = root
	return &Worker{Options: o, lock: lock, queue: "kerf-worker-" + o.Name + "-" + rand.Text()[:8],
		running: map[string]*session{}, held: map[string]*holding{}, freed: make(chan struct{}, 1), over: make(chan struct{})}, nil
}

// alone takes a lock that no other worker may have. One that was just told to end has it a
// little longer.
func alone(lock *flock.Flock) error {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	ok, err := lock.TryLockContext(ctx, 100*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) || err == nil && !ok {
		return errors.New("another worker uses it; give each its own --root")
	}
	return err
}

// busy is how long a step of a workflow may take on a machine whose tasks use all of it, before it counts as stuck.
const busy = 10 * time.Second

// Start begins to take tasks.
func (w *Worker) Start() error {
	own := sdkworker.New(w.Engine, w.queue, sdkworker.Options{DisableWorkflowWorker: true, Identity: w.Name,
		MaxConcurrentActivityExecutionSize: 4*w.Slots + 8})
	for name, act := range map[string]any{"Run": w.Run, "Verify": w.Verify, "Publish": w.Publish, "Clean": w.Clean,
		"Deliver": w.Deliver} {
		own.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
	}
	flows := sdkworker.New(w.Engine, flow.Queue, sdkworker.Options{Identity: w.Name, DeadlockDetectionTimeout: busy,
		StickyScheduleToStartTimeout: 2 * time.Second})
	Register(flows, flow.Flows{Times: w.Times})
	flows.RegisterActivityWithOptions(w.Rows, activity.RegisterOptions{Name: "Rows"})
	w.workers = append(w.workers, own, flows)
	for _, queue := range task.Queues(w.Tags) {
		tuner, err := w.tuner()
		if err != nil {
			return err
		}
		// One poller, for each that waits may be given a task though there is room for one alone.
		q := sdkworker.New(w.Engine, queue, sdkworker.Options{Identity: w.Name, Tuner: tuner, DisableWorkflowWorker: true,
			MaxConcurrentActivityTaskPollers: 1})
		q.RegisterActivityWithOptions(w.Prepare, activity.RegisterOptions{Name: "Prepare"})
		w.workers = append(w.workers, q)
	}
	for _, each := range w.workers {
		if err := each.Start(); err != nil {
			return fmt.Errorf("the worker's connection to the engine: %w", err)
		}
	}
	go w.tidy()
	return nil
}

// Stop ends what runs, which other workers take up, and waits for it.
func (w *Worker) Stop() {
	w.mu.Lock()
	for _, h := range w.held {
		if h.over != nil {
			h.stop()
		}
	}
	w.mu.Unlock()
	close(w.over)
	for _, each := range w.workers {
		each.Stop()
	}
	_ = w.lock.Unlock()
}

// Rows is [flow.Activities].
func (w *Worker) Rows(ctx context.Context, m task.Map, from, count int) (rows []task.Row, err error) {
	data, err := w.Store.Get(ctx, m.Rows)
	if err != nil {
		return nil, err
	}
	var all []json.RawMessage
	if err = json.Unmarshal(data, &all); err != nil {
		return nil, hopeless("the rows of the map: %v", err)
	}
	for i := from; i < min(from+count, len(all)); i++ {
		var r task.Row
		if err = json.Unmarshal(all[i], &r); err != nil {
			return nil, hopeless("row %d of the map: %v", i, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}
