package task_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/fleet/task"
)

// A worker serves a queue exactly when it has all tags that the queue's tasks need.
func TestQueues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tag := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		has := rapid.SliceOfN(tag, 0, 6).Draw(t, "has")
		needs := rapid.SliceOfN(tag, 0, 4).Draw(t, "needs")
		fits := true
		for _, n := range needs {
			fits = fits && slices.Contains(has, n)
		}
		queues := task.Queues(has)
		if slices.Contains(queues, task.Queue(needs)) != fits {
			t.Fatalf("a worker with %v and a task that needs %v: %v", has, needs, queues)
		}
		if slices.Sort(queues); len(slices.Compact(slices.Clone(queues))) != len(queues) {
			t.Fatalf("a queue twice: %v", queues)
		}
	})
}

// Values of a row are put in as they are, also when they look like names.
func TestRows(t *testing.T) {
	// A workflow makes the row anew when its history is replayed: it has to be the same each time.
	for range 30 {
		odd := task.Map{Task: task.Task{Prompt: "{A}{B}"}}.Row(0, task.Row{Values: map[string]string{"A": "1", "B": "2", "A}{B": "3"}})
		if odd.Prompt != "12" {
			t.Fatalf("names that begin one another: %q", odd.Prompt)
		}
	}
	m := task.Map{ID: "m", Task: task.Task{Repository: "/r", Prompt: "{A} and {B}, {C}"}}
	got := m.Row(7, task.Row{Revision: "v1", Values: map[string]string{"A": "{B}", "B": "{A}"}})
	if got.Prompt != "{B} and {A}, {C}" || got.ID != "m-00007" || got.Map != "m" || got.Repository != "/r" || got.Revision != "v1" {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNoTask(t *testing.T) {
	good := task.Task{ID: "a", Repository: "/r", Prompt: "p"}
	if err := good.Check(); err != nil || good.Settings.Sandbox != "workspace-write" || good.Limits.Places != task.DefaultPlaces {
		t.Fatal(good, err)
	}
	for say, change := range map[string]func(*task.Task){
		"task id":              func(t *task.Task) { t.ID = "../x" },
		"task id \"\"":         func(t *task.Task) { t.ID = "" },
		"needs a repository":   func(t *task.Task) { t.Repository = "" },
		"repository \"-x\"":    func(t *task.Task) { t.Repository = "-x" },
		"repository \"ext::":   func(t *task.Task) { t.Repository = "ext::sh -c x" },
		"revision \"--upload":  func(t *task.Task) { t.Revision = "--upload-pack=x" },
		"revision \"a^{x}\"":   func(t *task.Task) { t.Revision = "a^{x}" },
		"must be UTF-8":        func(t *task.Task) { t.Checks = []string{"grep caf\xe9 x"} },
		"needs a prompt":       func(t *task.Task) { t.Prompt = " \n" },
		"the prompt has":       func(t *task.Task) { t.Prompt = strings.Repeat("x", 300<<10) },
		"without a sandbox":    func(t *task.Task) { t.Settings.Sandbox = "danger-full-access" },
		"approval policy":      func(t *task.Task) { t.Settings.Approval = "always" },
		"tag \"A B\"":          func(t *task.Task) { t.Needs = []string{"A B"} },
		"5 tags needed":        func(t *task.Task) { t.Needs = []string{"a", "b", "c", "d", "e"} },
		"attempts 21":          func(t *task.Task) { t.Attempts = 21 },
		"must not be negative": func(t *task.Task) { t.Limits.Tokens = -1 },
	} {
		bad := task.Task{ID: "a", Repository: "/r", Prompt: "p"}
		change(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", say, err)
		}
	}
}
