//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/fleet/task"
)

// A task that goes past a limit ends there, and its bundle has what was done until then.
func TestLimits(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	f.must("submit", "--repo", repo, "--id", "slow", "--time-limit", "5s", "--scenario",
		f.scenario("slow", "echo x > x; sleep 600"), "wait")
	type m = map[string]any
	spends := func(command string) m {
		return m{"items": []m{{"call": "exec_command", "args": m{"cmd": command}}}, "usage": m{"input_tokens": 900, "output_tokens": 100}}
	}
	data, err := json.Marshal(m{"version": 1, "rounds": []m{spends("echo 1 > 1"), spends("echo 2 > 2"), spends("echo 3 > 3"),
		{"items": []m{{"message": "Over."}}}}})
	costly := filepath.Join(f.dir, "costly.json")
	if err == nil {
		err = os.WriteFile(costly, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.must("submit", "--repo", repo, "--id", "costly", "--token-limit", "1500", "--scenario", costly, "spend")
	f.must("submit", "--repo", repo, "--id", "look", "-s", "read-only", "--scenario", f.scenario("look", "echo x > x"), "look")
	for id, say := range map[string]string{"slow": "the time limit of 5s is over", "costly": "2000 tokens are used up, the limit is 1500"} {
		r := f.result(id)
		if r.Outcome != task.Failed || r.Problem != say || r.Bundle == "" || r.Files == 0 {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if _, err := f.run("apply", "--kerf", "kerf", "-C", repo, "slow"); err == nil || !strings.Contains(err.Error(), "not done but failed; --unchecked") {
		t.Errorf("what failed was applied: %v", err)
	}
	if r := f.result("look"); r.Files != 0 {
		t.Errorf("a read-only task changed files: %+v", r)
	}
}

// A task waits for a worker that has what it needs; of those that wait the most urgent is first.
func TestTasksWaitForTheirWorkers(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	s := f.scenario("s", "true")
	for id, priority := range map[string]string{"a": "5", "b": "3", "c": "1"} {
		f.must("submit", "--repo", repo, "--id", id, "--needs", "gpu", "--priority", priority, "--scenario", s, "look")
	}
	f.must("submit", "--repo", repo, "--id", "any", "--scenario", s, "--wait", "look")
	for _, id := range []string{"a", "b", "c"} {
		f.until(id+" to wait", 30*time.Second, func() bool { return f.state(id).Phase == task.Waiting })
		if p := f.state(id).Place; p != nil {
			t.Errorf("%s is at %s, which has no gpu", id, p.Worker)
		}
	}
	f.work("two", "--tags", "gpu,big", "--slots", "1")
	began := map[string]time.Time{}
	for _, id := range []string{"a", "b", "c"} {
		if r := f.result(id); r.Outcome != task.Done {
			t.Errorf("%s: %+v", id, r)
		}
		if p := f.state(id).Place; p == nil || p.Worker != "two" {
			t.Errorf("%s was done at %+v", id, p)
		}
		for _, e := range f.events(id) {
			if e.GetActivityTaskStartedEventAttributes() != nil {
				began[id] = e.EventTime.AsTime()
				break
			}
		}
	}
	order := []string{"a", "b", "c"}
	slices.SortFunc(order, func(x, y string) int { return began[x].Compare(began[y]) })
	// A queue of another engine may have several parts, and each has its own order.
	if got := strings.Join(order, ""); got != "cba" && !other() {
		t.Errorf("the order was %s", got)
	}
}
