//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/fleet/task"
)

// mapped gives a map of n rows to the fleet.
func (f *fleet) mapped(id, repo, scenario string, n int, more ...string) {
	f.t.Helper()
	var rows bytes.Buffer
	for i := range n {
		fmt.Fprintf(&rows, "{\"repository\": %q, \"values\": {\"N\": \"%d\"}}\n", repo, i)
	}
	path := filepath.Join(f.dir, id+".jsonl")
	if err := os.WriteFile(path, rows.Bytes(), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.must(append([]string{"map", "--id", id, "--rows", path, "--scenario", scenario, "look at {N}"}, more...)...)
}

func (f *fleet) counts(id string) (m task.Map, ended int) {
	f.t.Helper()
	// On a busy machine an answer may come too late; the next one tells the same.
	if out, err := f.run("show", "--json", id); err == nil {
		if err = json.Unmarshal([]byte(out), &m); err != nil {
			f.t.Fatal(err)
		}
	}
	for _, n := range m.Counts {
		ended += n
	}
	return m, ended
}

// A map goes on as a new run of the engine after some of its tasks. Each row is done once, also when the worker that
// has the map dies, and no more than it says run at a time.
func TestAMapInParts(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	s := f.scenario("s", "echo x >> x")
	f.mapped("parts", repo, s, 7, "--part", "3", "--parallel", "2")
	f.until("the second part", time.Minute, func() bool { m, _ := f.counts("parts"); return m.Next > 3 })
	f.kill("one")
	f.work("two")
	var m task.Map
	f.until("the map", 5*time.Minute, func() bool { var n int; m, n = f.counts("parts"); return n == 7 })
	if m.Counts[task.Done] != 7 || m.Part != 3 {
		t.Errorf("%+v", m)
	}
	if n := f.runs("parts"); n != 3 {
		t.Errorf("%d runs of the map", n)
	}
	want := f.must("result", "--patch", "parts-00000")
	for i := range 7 {
		id := fmt.Sprintf("parts-%05d", i)
		if n := f.completed(id, "Publish"); n != 1 || f.must("result", "--patch", id) != want {
			t.Errorf("%s ended %d times", id, n)
		}
		if got := f.state(id).Task.Prompt; got != fmt.Sprint("look at ", i) {
			t.Errorf("%s: %q", id, got)
		}
	}
	f.history("parts", "map-part")
}

// A map that is cancelled in its second part takes its tasks along.
func TestAMapIsCancelled(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	s := f.scenario("s", "test -e "+f.dir+"/hold && sleep 600; true")
	f.mapped("stop", repo, s, 9, "--part", "2", "--parallel", "2")
	f.until("two tasks to be over", time.Minute, func() bool { _, n := f.counts("stop"); return n >= 2 })
	if err := os.WriteFile(filepath.Join(f.dir, "hold"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.until("two tasks to be held", time.Minute, func() bool {
		held := 0
		for _, line := range f.processes("sleep 600") {
			if strings.HasSuffix(line, " sleep 600 ") {
				held++
			}
		}
		return held == 2
	})
	f.must("cancel", "--wait", "stop")
	m, _ := f.counts("stop")
	if m.Next == 9 || m.Counts[task.Cancelled] != 2 {
		t.Errorf("%+v", m)
	}
	if left := f.processes(f.dir + "/one/tasks"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if out := f.must("list", "--map", "stop", "--phase", "running"); !strings.Contains(out, "no tasks") {
		t.Errorf("still running: %s", out)
	}
	f.history("stop", "map-cancel")
}
