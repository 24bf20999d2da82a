//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"

	"kerf/fleet/bundle"
	"kerf/fleet/engine"
	"kerf/fleet/flow"
	"kerf/fleet/task"
)

// built is the directory of the program that kerf built.
var built string

// kerf is the program that runs sessions, built once; KERF_FLEET_TEST_KERF names one that is there.
var kerf = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("KERF_FLEET_TEST_KERF"); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "kerf")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "kerf")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/kerf")
	cmd.Dir = filepath.Join("..", "..", "..")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

func TestMain(m *testing.M) {
	if os.Getenv("KERF_FLEET_MAIN") == "1" {
		os.Unsetenv("KERF_FLEET_MAIN")
		main()
	}
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// A fleet is an engine, a store and workers, all processes of their own.
type fleet struct {
	t       *testing.T
	dir     string
	address string
	flags   []string // of workers
	program string   // of workers; empty: this one
	mu      sync.Mutex
	workers map[string]*exec.Cmd
	engine  *exec.Cmd
}

// newFleet starts an engine and workers: the embedded one, that of KERF_TEMPORAL, which is the program `temporal`, or one
// that runs already, at KERF_TEMPORAL_ADDRESS.
func newFleet(t *testing.T, workers ...string) *fleet {
	t.Helper()
	f := prepareFleet(t)
	if f.address = os.Getenv("KERF_TEMPORAL_ADDRESS"); f.address != "" {
		f.must("setup")
	} else {
		f.startEngine()
	}
	for _, name := range workers {
		f.work(name)
	}
	return f
}

// newDev starts kerf-fleet dev with all that it has, in one process; with another engine a worker beside it.
func newDev(t *testing.T, flags ...string) *fleet {
	t.Helper()
	if other() {
		f := newFleet(t)
		f.work("one", flags...)
		return f
	}
	f := prepareFleet(t)
	f.startEmbedded(append(append([]string{"dev"}, f.flags...), flags...)...)
	f.workers["one"] = f.engine
	return f
}

// other reports whether the engine is not the embedded one.
func other() bool {
	return os.Getenv("KERF_TEMPORAL_ADDRESS") != "" || os.Getenv("KERF_TEMPORAL") != ""
}

func prepareFleet(t *testing.T) *fleet {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts an engine; not with -short")
	}
	if !engine.Here && !other() {
		t.Skip("built without the engine")
	}
	path, err := kerf()
	if err != nil {
		t.Fatal(err)
	}
	// Short, for sockets lie below it; and not in /tmp, which sessions have of their own.
	dir, err := os.MkdirTemp("/var/tmp", "fl")
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, dir: dir, workers: map[string]*exec.Cmd{},
		flags: []string{"--kerf", path, "--kerf-home", "", "--beat", "6s", "--pickup", "8s", "--checkpoint", "1ns", "--slots", "4"}}
	t.Cleanup(f.stop)
	return f
}

func (f *fleet) store() string {
	if s := os.Getenv("KERF_FLEET_TEST_STORE"); s != "" {
		return s
	}
	return filepath.Join(f.dir, "store")
}

func (f *fleet) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	home := filepath.Join(f.dir, "home")
	_ = os.MkdirAll(home, 0o700)
	cmd.Env = append(os.Environ(), "KERF_FLEET_MAIN=1", "KERF_FLEET_DIR="+filepath.Join(f.dir, "dev"), "KERF_FLEET_STORE="+f.store(),
		"KERF_FLEET_ADDRESS="+f.address, "HOME="+home, "KERF_HOME="+filepath.Join(home, ".kerf"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	return cmd
}

// startEngine starts the engine, at the same port as before.
func (f *fleet) startEngine() {
	f.t.Helper()
	if program := os.Getenv("KERF_TEMPORAL"); program != "" {
		f.startServer(program)
		return
	}
	f.startEmbedded("dev", "--no-worker")
}

// port is that of the engine before, or a free one.
func (f *fleet) port() string {
	f.t.Helper()
	if f.address == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			f.t.Fatal(err)
		}
		defer l.Close()
		f.address = l.Addr().String()
	}
	return f.address[strings.LastIndex(f.address, ":")+1:]
}

func (f *fleet) startEmbedded(args ...string) {
	f.t.Helper()
	f.begin(f.command(append(args, "--port", f.port())...))
	path := filepath.Join(f.dir, "dev", "dev.json")
	f.until("the engine", 30*time.Second, func() bool {
		var h here
		data, err := os.ReadFile(path)
		return err == nil && json.Unmarshal(data, &h) == nil && h.PID == f.engine.Process.Pid
	})
}

// startServer starts `temporal server start-dev`, with its data in a file.
func (f *fleet) startServer(program string) {
	f.t.Helper()
	f.begin(exec.Command(program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", f.port(),
		"--db-filename", filepath.Join(f.dir, "temporal.db"), "--log-level", "error"))
	f.until("the server", time.Minute, func() bool { _, err := f.run("setup"); return err == nil })
}

// begin starts the engine's process.
func (f *fleet) begin(cmd *exec.Cmd) {
	f.t.Helper()
	log := f.log("engine")
	cmd.Stdout, cmd.Stderr, f.engine = log, log, cmd
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) log(name string) *os.File {
	log, err := os.OpenFile(filepath.Join(f.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { log.Close() })
	return log
}

// work starts a worker.
func (f *fleet) work(name string, more ...string) {
	f.t.Helper()
	args := append([]string{"worker", "--name", name, "--root", filepath.Join(f.dir, name)}, f.flags...)
	cmd := f.command(append(args, more...)...)
	if f.program != "" {
		cmd.Path = f.program
	}
	log := f.log(name)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	f.workers[name] = cmd
	f.mu.Unlock()
}

// kill kills a worker at once.
func (f *fleet) kill(name string) {
	f.mu.Lock()
	cmd := f.workers[name]
	delete(f.workers, name)
	f.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func (f *fleet) stop() {
	for _, cmd := range f.workers {
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, cmd := range f.workers {
		if cmd == f.engine {
			f.engine = nil // kerf-fleet dev with its worker
		}
		late := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	}
	if f.engine != nil {
		_ = f.engine.Process.Kill()
		_ = f.engine.Wait()
	}
	if f.t.Failed() {
		logs, _ := filepath.Glob(filepath.Join(f.dir, "*.log"))
		for _, l := range logs {
			data, _ := os.ReadFile(l)
			f.t.Logf("%s:\n%s", filepath.Base(l), data[max(0, len(data)-3000):])
		}
		if os.Getenv("KERF_FLEET_KEEP") != "" {
			f.t.Logf("kept in %s", f.dir)
			return
		}
	}
	os.RemoveAll(f.dir)
}

// run runs a command of kerf-fleet and returns what it prints.
func (f *fleet) run(args ...string) (string, error) {
	cmd := f.command(args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Minute)
	defer stop()
	context.AfterFunc(ctx, func() {
		if ctx.Err() == context.DeadlineExceeded {
			_ = cmd.Process.Kill()
		}
	})
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kerf-fleet %s: %w: %s%s", strings.Join(args, " "), err, said.String(), out.String())
	}
	return out.String(), nil
}

// must runs a command that has to do what it is asked. A worker that was just started may answer later on a busy
// machine, and a command that asked it is run again.
func (f *fleet) must(args ...string) (out string) {
	f.t.Helper()
	var err error
	f.until("a worker to answer "+strings.Join(args, " "), 5*time.Minute, func() bool {
		out, err = f.run(args...)
		return err == nil || !strings.Contains(err.Error(), "no worker answers to tell more")
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

func (f *fleet) state(id string) (s task.State) {
	f.t.Helper()
	if err := json.Unmarshal([]byte(f.must("show", "--json", id)), &s); err != nil {
		f.t.Fatal(err)
	}
	return s
}

// result waits for the end of a task, whatever it is.
func (f *fleet) result(id string) (r task.Result) {
	f.t.Helper()
	out, err := f.run("result", "--json", id)
	if e := json.Unmarshal([]byte(out), &r); e != nil {
		f.t.Fatal(err, e)
	}
	return r
}

func (f *fleet) bundle(id string) (b bundle.Bundle) {
	f.t.Helper()
	if err := json.Unmarshal([]byte(f.must("result", "--bundle", id)), &b); err != nil {
		f.t.Fatal(err)
	}
	return b
}

func (f *fleet) until(what string, limit time.Duration, done func() bool) {
	f.t.Helper()
	limit = max(limit, 2*time.Minute) // the machine may have other things to do
	for late := time.Now().Add(limit); !done(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(late) {
			f.t.Fatalf("waited %s for %s", limit, what)
		}
	}
}

// repository makes one with some files and returns its path.
func (f *fleet) repository(name string) string {
	f.t.Helper()
	dir := filepath.Join(f.dir, "repos", name)
	script := `set -e; mkdir -p "$0"; cd "$0"; git init -q -b main; seq 1 20 > a.txt; mkdir d; echo $RANDOM > d/b; printf 'x\r\ny\r\n' > crlf
		printf '* text=auto\n' > .gitattributes; printf '\000\001' > bin; echo 'out/' > .gitignore
		git -c core.autocrlf=false add -A; git commit -qm one`
	cmd := exec.Command("bash", "-c", script, dir)
	cmd.Env = f.command().Env
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatal(err, string(out))
	}
	return dir
}

// scenario writes one and returns its path. Each round is a command, or a message at the end.
func (f *fleet) scenario(name string, commands ...string) string {
	f.t.Helper()
	type m = map[string]any
	var rounds []m
	for _, c := range commands {
		rounds = append(rounds, m{"items": []m{{"call": "exec_command", "args": m{"cmd": c}}}})
	}
	rounds = append(rounds, m{"items": []m{{"message": "That is all."}}})
	data, err := json.Marshal(m{"version": 1, "rounds": rounds})
	if err != nil {
		f.t.Fatal(err)
	}
	path := filepath.Join(f.dir, name+".json")
	if err = os.WriteFile(path, data, 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// events yields the history of a task, in its order.
func (f *fleet) events(id string) (all []*history.HistoryEvent) {
	f.t.Helper()
	c, err := client.Dial(client.Options{HostPort: f.address})
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	for it := c.GetWorkflowHistory(context.Background(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			f.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// shown is what the engine's own pages have of a task: its line, and its phase.
func (f *fleet) shown(id string) (summary, phase string) {
	f.t.Helper()
	c, err := client.Dial(client.Options{HostPort: f.address})
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	d, err := c.DescribeWorkflowExecution(context.Background(), id, "")
	if err != nil {
		f.t.Fatal(err)
	}
	plain := converter.GetDefaultDataConverter()
	_ = plain.FromPayload(d.ExecutionConfig.GetUserMetadata().GetSummary(), &summary)
	_ = plain.FromPayload(d.WorkflowExecutionInfo.SearchAttributes.GetIndexedFields()[flow.PhaseAttribute], &phase)
	return summary, phase
}

// completed counts how often a kind of activity came to its end.
func (f *fleet) completed(id, activity string) (n int) {
	f.t.Helper()
	kinds := map[int64]string{}
	for _, e := range f.events(id) {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			kinds[e.EventId] = a.ActivityType.Name
		}
		if a := e.GetActivityTaskCompletedEventAttributes(); a != nil && kinds[a.ScheduledEventId] == activity {
			n++
		}
	}
	return n
}

// history writes the history of a task to where the workflows' tests replay it, with
// KERF_UPDATE=1: what this program's workflows did is what later ones must go on with.
func (f *fleet) history(id, name string) {
	f.t.Helper()
	if os.Getenv("KERF_UPDATE") != "1" {
		return
	}
	data, err := protojson.Marshal(&history.History{Events: f.events(id)})
	if err != nil {
		f.t.Fatal(err)
	}
	data = bytes.ReplaceAll(data, []byte(f.dir), []byte("/fleet"))
	data = regexp.MustCompile(`"identity":"[0-9]+@[^"]*"`).ReplaceAll(data, []byte(`"identity":"kerf-fleet"`))
	if err = os.WriteFile(filepath.Join("..", "..", "flow", "testdata", name+".json"), append(data, '\n'), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// git runs git in a repository.
func (f *fleet) git(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, f.command().Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

func errorsAs(err error, target **exec.ExitError) bool { return errors.As(err, target) }

// runs counts the runs of a workflow, by those that went on as a new one.
func (f *fleet) runs(id string) int {
	f.t.Helper()
	c, err := client.Dial(client.Options{HostPort: f.address})
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	n := 0
	f.until("the runs to be listed", 30*time.Second, func() bool {
		r, err := c.ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default",
			Query: fmt.Sprintf("WorkflowId = '%s'", id)})
		if err != nil {
			return false
		}
		n = len(r.Executions)
		return !slices.ContainsFunc(r.Executions, func(e *workflow.WorkflowExecutionInfo) bool {
			return e.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		})
	})
	return n
}

// processes are the lines of the table of processes, of those of this fleet's tasks, that have a word in their command
// line, their working directory or their environment.
func (f *fleet) processes(word string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		around, _ := os.ReadFile(filepath.Join(dir, "environ"))
		at, _ := os.Readlink(filepath.Join(dir, "cwd"))
		line := strings.ReplaceAll(string(command), "\x00", " ")
		whole := line + " " + at + " " + string(around)
		if strings.Contains(whole, word) && strings.Contains(whole, f.dir+"/") && strings.Contains(whole, "/tasks/") {
			found = append(found, filepath.Base(dir)+" "+line)
		}
	}
	return found
}
