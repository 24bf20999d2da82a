package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"

	"kerf/fleet/blob"
	"kerf/fleet/desk"
	"kerf/fleet/engine"
	"kerf/fleet/flow"
	"kerf/fleet/link"
	"kerf/fleet/task"
	"kerf/fleet/worker"
)

// working are the flags of commands that work on tasks.
type working struct {
	worker.Options
	metrics string
	verbose bool
}

func (w *working) add(p *pflag.FlagSet) {
	home := os.Getenv("KERF_HOME")
	if home == "" {
		if dir, err := os.UserHomeDir(); err == nil {
			home = filepath.Join(dir, ".kerf")
		}
	}
	p.StringVar(&w.Kerf, "kerf", "kerf", "the `program` that runs the sessions")
	p.StringVar(&w.Home, "kerf-home", home, "the `directory` whose settings and keys they use")
	p.StringVar(&w.Name, "name", "", "the worker's `name` (default: the machine's)")
	p.StringSliceVar(&w.Tags, "tags", nil, "what this machine has that tasks may need, as gpu,repo=big (`tags`)")
	p.IntVar(&w.Slots, "slots", max(runtime.NumCPU(), 1), "tasks at a time (`n`)")
	p.DurationVar(&w.Every, "checkpoint", 5*time.Second, "how far apart checkpoints are at least (`time`)")
	p.StringSliceVar(&w.Hidden, "hide", nil, "further `directories` that no session may read")
	p.StringVar(&w.metrics, "metrics", "", "serve /metrics and /healthz at this `host:port`")
	p.BoolVarP(&w.verbose, "verbose", "v", false, "say what the engine's client says")
	p.DurationVar(&w.Times.Beat, "beat", 0, "how long a worker may be silent (`time`, default 20s)")
	p.DurationVar(&w.Times.Pickup, "pickup", 0, "how long a worker may leave an order (`time`, default 30s)")
}

// begin starts a worker.
func (w *working) begin(f *flags, c *cobra.Command, m *link.Metrics) (stop func(), err error) {
	level := slog.LevelWarn
	if w.verbose {
		level = slog.LevelDebug
	}
	w.Log = slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: level}))
	if w.Kerf, err = exec.LookPath(w.Kerf); err != nil {
		return nil, usage("%v; give --kerf", err)
	}
	if w.Kerf, err = filepath.Abs(w.Kerf); err != nil {
		return nil, err
	}
	if err = serves(c.Context(), w.Kerf); err != nil {
		return nil, err
	}
	if w.Store, err = f.open(c.Context()); err != nil {
		return nil, err
	}
	if err = w.reached(c.Context()); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(f.store, "s3://") {
		dir, err := filepath.Abs(f.store)
		if err != nil {
			return nil, err
		}
		w.Hidden = append(w.Hidden, dir)
	}
	for i, dir := range w.Hidden { // rules take no other
		if w.Hidden[i], err = filepath.Abs(dir); err != nil {
			return nil, err
		}
	}
	f.link.Metrics, f.link.Log = m, w.Log
	if w.Engine, err = f.link.Dial(); err != nil {
		return nil, err
	}
	tags := append(w.Tags, "os="+runtime.GOOS)
	w.Tags = tags
	n, err := worker.New(w.Options)
	if err == nil {
		err = n.Start()
	}
	if err != nil {
		w.Engine.Close()
		return nil, err
	}
	m.Tell("tasks", "tasks that lie on this worker", n.Busy)
	m.Tell("troubles", "how often on end this worker could not do what it was given", n.Troubles)
	m.Tell("slots", "how many may", func() int { return w.Slots })
	return func() { n.Stop(); w.Engine.Close() }, nil
}

// reached asks the store for a sign. One that refuses would do so with each task; one that is away may come back.
func (w *working) reached(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	err := w.Store.Try(ctx)
	if errors.Is(err, blob.ErrRefused) {
		return usage("%v", err)
	}
	if err != nil {
		w.Log.Warn("the store does not answer; tasks wait for it", "error", err)
	}
	return nil
}

// serves reports whether a program is a kerf that can run the sessions of tasks.
func serves(ctx context.Context, kerf string) error {
	out, err := exec.CommandContext(ctx, kerf, "serve", "--idle", "0", "--help").CombinedOutput()
	if err == nil {
		return nil
	}
	said, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return usage("%s cannot run sessions of tasks (%v: %.200s); give --kerf of the same release", kerf, err, said)
}

// observe serves metrics and health until ctx is done.
func observe(ctx context.Context, address string, m *link.Metrics, healthy func(context.Context) error) error {
	if address == "" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return usage("--metrics: %v", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(rw http.ResponseWriter, r *http.Request) {
		if err := healthy(r.Context()); err != nil {
			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(rw, "ok")
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }()
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return nil
}

// pages tells kerf web the tasks, over a socket in the directory that only this user can
// reach. Where there can be no socket, or another program has it, there is no page.
func (f *flags) pages(ctx context.Context, d desk.Desk) (stop func(), err error) {
	path := filepath.Join(f.dir, "tasks.sock")
	if err = os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, err
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("another kerf-fleet serves %s", path)
	}
	_ = os.Remove(path) // of a program that died
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err = os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tasks", func(rw http.ResponseWriter, r *http.Request) {
		lines, err := d.Watch(r.Context())
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(rw).Encode(append([]desk.Line{}, lines...))
	})
	mux.HandleFunc("POST /answer", func(rw http.ResponseWriter, r *http.Request) { answerPage(rw, r, d) })
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }()
	return func() { _ = s.Close() }, nil
}

// answerPage passes on an answer of kerf web.
func answerPage(rw http.ResponseWriter, r *http.Request, d desk.Desk) {
	var in struct {
		Task string
		task.Answer
	}
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 1<<20)).Decode(&in); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	in.By = strings.TrimSpace(os.Getenv("USER") + " in kerf web")
	if err := d.Answer(r.Context(), in.Task, in.Answer); err != nil {
		http.Error(rw, err.Error(), http.StatusConflict)
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}

func (f *flags) serve() *cobra.Command {
	return &cobra.Command{
		Use: "pages", Short: "Tell kerf web the fleet's tasks", Args: args(0, 0, "no words"),
		Long: `Serves the tasks to kerf web on a socket below --dir, which only this user can reach: kerf web has a page Fleet
then, and kerf web --control answers there what tasks ask. kerf-fleet dev does it by itself.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.with(c.Context(), func(d desk.Desk) error {
				stop, err := f.pages(c.Context(), d)
				if err != nil {
					return err
				}
				defer stop()
				fmt.Fprintln(c.ErrOrStderr(), "kerf web has a page Fleet now; Ctrl-C ends it")
				until(c.Context())
				return nil
			})
		},
	}
}

// until waits for the end. A worker that is told to end ends what runs; another one goes on with it.
func until(ctx context.Context) { <-ctx.Done() }

func healthy(c client.Client) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
		return err
	}
}

func (f *flags) worker() *cobra.Command {
	w := &working{}
	c := &cobra.Command{
		Use: "worker", Short: "Work on the fleet's tasks on this machine", Args: args(0, 0, "no words"),
		Long: `Takes tasks and works on them until it is told to end. It has the keys of the models; tasks never do. What is told
to end, or dies, leaves its tasks to other workers, which go on with the sessions.`,
		Example: "  kerf-fleet worker --address temporal.internal:7233 --store s3://kerf --tags gpu --metrics :9464",
	}
	w.add(c.Flags())
	c.Flags().StringVar(&w.Root, "root", "", "`directory` of its own for tasks and clones (default: below --dir)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := f.find(); err != nil {
			return err
		}
		if w.Root == "" {
			w.Root = filepath.Join(f.dir, "worker")
		}
		w.Hidden = append(w.Hidden, f.dir) // whoever reaches the socket of kerf-fleet pages answers questions
		m := link.NewMetrics()
		stop, err := w.begin(f, c, m)
		if err != nil {
			return err
		}
		defer stop()
		if err = observe(c.Context(), w.metrics, m, healthy(w.Engine)); err != nil {
			return err
		}
		fmt.Fprintf(c.ErrOrStderr(), "working for %s, %d tasks at a time; Ctrl-C ends it\n", f.link.Address, w.Slots)
		until(c.Context())
		return nil
	}
	return c
}

func (f *flags) dev() *cobra.Command {
	w := &working{}
	var port int
	var bare bool
	c := &cobra.Command{
		Use: "dev", Short: "Start engine, store and a worker on this machine", Args: args(0, 0, "no words"),
		Long: `Starts everything in one process: the engine with its data in a SQLite file, a store in a directory, and a worker. Other
commands of this user find it by themselves. Tasks that were not over go on when it is started again.`,
	}
	w.add(c.Flags())
	c.Flags().IntVar(&port, "port", 7233, "the engine's `port`; 0 chooses one")
	c.Flags().BoolVar(&bare, "no-worker", false, "engine and store alone")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := os.MkdirAll(f.dir, 0o700); err != nil {
			return err
		}
		unlock, err := alone(f.dir)
		if err != nil {
			return err
		}
		defer unlock()
		began := time.Now()
		e, err := engine.Start(filepath.Join(f.dir, "engine.db"), port)
		if errors.Is(err, syscall.EADDRINUSE) {
			return usage("%v; another kerf-fleet dev may have it: give --port, 0 chooses one", err)
		}
		if err != nil {
			return err
		}
		defer e.Stop(context.Background())
		f.link.Address, f.link.Namespace = e.Address, engine.Namespace
		if f.store == "" {
			f.store = filepath.Join(f.dir, "store")
		}
		if !bare {
			w.Root = filepath.Join(f.dir, "worker")
			w.Hidden = append(w.Hidden, f.dir)
			m := link.NewMetrics()
			stop, err := w.begin(f, c, m)
			if err != nil {
				return err
			}
			defer stop()
			if err = observe(c.Context(), w.metrics, m, healthy(w.Engine)); err != nil {
				return err
			}
		}
		if err = f.tellHere(); err != nil {
			return err
		}
		defer os.Remove(f.herePath())
		d, done, err := f.desk(c.Context())
		if err != nil {
			return err
		}
		defer done()
		if stop, err := f.pages(c.Context(), d); err == nil {
			defer stop()
		} else {
			fmt.Fprintf(c.ErrOrStderr(), "kerf web has no page Fleet: %v\n", err)
		}
		fmt.Fprintf(c.ErrOrStderr(), "engine at %s, store in %s, ready after %s; Ctrl-C ends it\n",
			e.Address, f.store, time.Since(began).Round(10*time.Millisecond))
		until(c.Context())
		return nil
	}
	return c
}

func (f *flags) tellHere() error {
	data, err := json.Marshal(here{Address: f.link.Address, Store: f.store, PID: os.Getpid()})
	if err == nil {
		err = os.WriteFile(f.herePath(), data, 0o600)
	}
	return err
}

func (f *flags) setup() *cobra.Command {
	return &cobra.Command{
		Use: "setup", Short: "Tell a Temporal service the fleet's search attributes", Args: args(0, 0, "no words"),
		Long: "Registers the search attributes of tasks in the namespace. It is needed once for each Temporal service; kerf-fleet dev does it itself.",
		RunE: func(c *cobra.Command, _ []string) error {
			if f.link.Address == "" {
				return usage("setup needs --address")
			}
			conn, err := f.link.Dial()
			if err != nil {
				return err
			}
			defer conn.Close()
			if err = flow.Setup(c.Context(), conn, f.link.Namespace); err != nil {
				return err
			}
			return f.said(c, f.link.Namespace, "ready")
		},
	}
}

var errBusy = errors.New("another kerf-fleet dev uses this directory; give another --dir")
