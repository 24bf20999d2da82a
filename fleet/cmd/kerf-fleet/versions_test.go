//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"kerf/fleet/flow"
	"kerf/fleet/task"
)

// later builds a worker as a later release may be: its tasks rest before each place, which it begins behind
// workflow.GetVersion, and have a colour.
func later(t *testing.T, dir string) string {
	t.Helper()
	replaced := map[string]string{}
	for _, c := range []struct{ file, before, after string }{
		{"flow/one.go", "\to.phase(ctx, task.Preparing)\n", "\tif workflow.GetVersion(ctx, \"rest\", workflow.DefaultVersion, 1) == 1 {\n" +
			"\t\t_ = workflow.Sleep(ctx, time.Millisecond)\n\t}\n\to.phase(ctx, task.Preparing)\n"},
		{"task/task.go", "type Task struct {\n", "type Task struct {\n\tColour string `json:\"colour,omitempty\"`\n"},
	} {
		path, err := filepath.Abs(filepath.Join("..", "..", c.file))
		if err != nil {
			t.Fatal(err)
		}
		now := read(t, path)
		if strings.Count(now, c.before) != 1 {
			t.Fatalf("%s has no %q", c.file, c.before)
		}
		changed := filepath.Join(dir, filepath.Base(c.file))
		if err = os.WriteFile(changed, []byte(strings.Replace(now, c.before, c.after, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[path] = changed
	}
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "kerf-fleet-later")
	data, _ := json.Marshal(map[string]any{"Replace": replaced})
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-tags", "noengine", "-overlay", overlay, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	return program
}

// failed reports whether a step of a workflow failed with these words.
func (f *fleet) failed(id, words string) bool {
	for _, e := range f.events(id) {
		if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil && strings.Contains(a.Failure.GetMessage(), words) {
			return true
		}
	}
	return false
}

// marked reports whether a workflow took the step that only the later program has.
func (f *fleet) marked(id string) bool {
	for _, e := range f.events(id) {
		if e.GetMarkerRecordedEventAttributes().GetMarkerName() == "Version" {
			return true
		}
	}
	return false
}

// Two releases serve one engine. What the older one began goes on with the later one, without the later one's steps;
// what the later one began, or what has words that the older one does not know, waits while only older workers are
// there, and is done once there is a later one beside them.
func TestTwoReleasesAtOnce(t *testing.T) {
	f := newFleet(t, "old")
	next := later(t, f.dir)
	repo, open := f.repository("r"), filepath.Join(f.dir, "go")
	s := f.scenario("s", "echo 1 >> log", "echo 2 >> log; while ! test -e "+open+"; do sleep 0.1; done", "echo 3 >> log")
	held := func(id, worker string) {
		f.until(id+" to be held", time.Minute, func() bool {
			m, _ := filepath.Glob(filepath.Join(f.dir, worker, "tasks", id, "tree", "log"))
			return len(m) == 1 && strings.Count(read(t, m[0]), "\n") == 2
		})
	}
	f.must("submit", "--repo", repo, "--id", "a", "--scenario", s, "do it")
	held("a", "old")
	f.kill("old")

	f.program = next
	f.work("later")
	f.until("the later worker to go on", 2*time.Minute, func() bool { p := f.state("a").Place; return p != nil && p.Worker == "later" })
	f.must("submit", "--repo", repo, "--id", "b", "--scenario", s, "do it")
	held("b", "later")
	f.kill("later")

	f.program = ""
	f.work("old2")
	f.until("the older worker to refuse b", 5*time.Minute, func() bool { return f.failed("b", "nondeterministic") })
	f.coloured("c", task.Task{Repository: repo, Prompt: "do it", Scenario: f.state("a").Task.Scenario})
	f.until("the older worker to refuse c", 5*time.Minute, func() bool { return f.failed("c", `unknown field "colour"`) })
	for id, why := range map[string]string{"b": "nondeterministic", "c": "a later kerf-fleet asks for what this one does not have"} {
		out, err := f.run("show", id)
		if err == nil || !strings.Contains(err.Error(), id+" waits for a worker of the release that it was begun with: ") || !strings.Contains(err.Error(), why) {
			t.Errorf("show %s: %s %v", id, out, err)
		}
	}

	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.program = next
	f.work("later2")
	for id, rests := range map[string]bool{"a": false, "b": true, "c": true} {
		r := f.result(id)
		if r.Outcome != task.Done || r.Files != 1 || f.completed(id, "Publish") != 1 || f.marked(id) != rests {
			t.Errorf("%s: %+v, %d published, with the later step: %v", id, r, f.completed(id, "Publish"), f.marked(id))
		}
		if got := f.must("result", "--patch", id); !strings.HasSuffix(got, "@@ -0,0 +1,3 @@\n+1\n+2\n+3\n") {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// coloured gives a task as a later program would, with a word that this one does not know.
func (f *fleet) coloured(id string, do task.Task) {
	f.t.Helper()
	data, _ := json.Marshal(do)
	var words map[string]any
	if err := json.Unmarshal(data, &words); err != nil {
		f.t.Fatal(err)
	}
	words["colour"] = "red"
	c, err := client.Dial(client.Options{HostPort: f.address})
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	_, err = c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: id, TaskQueue: flow.Queue}, flow.TaskType, words)
	if err != nil {
		f.t.Fatal(err)
	}
}

// The open questions of a lost worker end in their order, so that the history can be replayed.
func TestALostWorkerHadQuestions(t *testing.T) {
	f := newFleet(t, "one")
	f.must("submit", "--repo", f.repository("r"), "--id", "q", "--scenario", f.scenario("s", "echo 1 > log; sleep 600"), "do it")
	f.until("the command", time.Minute, func() bool { return len(f.processes("sleep 600")) > 0 })
	c, err := client.Dial(client.Options{HostPort: f.address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 6 {
		q := task.Question{ID: fmt.Sprint("q", i), Text: "may it?"}
		if err = c.SignalWorkflow(context.Background(), "q", "", flow.AskedSignal, q); err != nil {
			t.Fatal(err)
		}
	}
	f.until("the questions", time.Minute, func() bool { return len(f.state("q").Questions) == 6 })
	f.kill("one")
	f.work("two")
	f.until("the second worker", 2*time.Minute, func() bool { p := f.state("q").Place; return p != nil && p.Worker == "two" })
	f.must("cancel", "--wait", "q")
	began, ended := map[int64]int{}, []int{}
	for _, e := range f.events("q") {
		if e.EventType == enums.EVENT_TYPE_TIMER_STARTED {
			began[e.EventId] = len(began)
		} else if a := e.GetTimerCanceledEventAttributes(); a != nil {
			ended = append(ended, began[a.StartedEventId])
		}
	}
	if !slices.Equal(ended, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("their time limits ended in the order %v", ended)
	}
	f.history("q", "questions-lost")
}
