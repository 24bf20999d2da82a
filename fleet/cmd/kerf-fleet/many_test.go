//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"kerf/fleet/task"
)

// memory is the resident memory of a process in bytes, and its peak; zero where the system
// does not tell.
func memory(pid int) (now, peak int) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) == 3 {
			n, _ := strconv.Atoi(f[1])
			switch f[0] {
			case "VmRSS:":
				now = n << 10
			case "VmHWM:":
				peak = n << 10
			}
		}
	}
	return now, peak
}

// Many tasks over many repositories, all of them done; with -v the table of what a task
// costs beside the same work by kerf exec alone. KERF_FLEET_TASKS and
// KERF_FLEET_REPOSITORIES say how many; the figures of doc/fleet.md are of 200 and 20.
func TestManyTasks(t *testing.T) {
	tasks, repositories := number("KERF_FLEET_TASKS", 12), number("KERF_FLEET_REPOSITORIES", 3)
	f := newDev(t, "--checkpoint", "5s", "--beat", "20s", "--pickup", "30s") // as it is without flags
	s := f.scenario("s", "echo one >> log", "sed -i s/^7$/seven/ a.txt", "echo two >> log")
	var rows bytes.Buffer
	var repos []string
	for i := range repositories {
		repos = append(repos, f.repository(fmt.Sprint("r", i)))
	}
	for i := range tasks {
		fmt.Fprintf(&rows, "{\"repository\": %q}\n", repos[i%len(repos)])
	}
	path := filepath.Join(f.dir, "rows.jsonl")
	if err := os.WriteFile(path, rows.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	alone := f.alone(s, repos[0])
	began := time.Now()
	f.must("map", "--id", "many", "--rows", path, "--scenario", s, "--parallel", "50", "do it")
	var m task.Map
	f.until("all tasks", 60*time.Minute, func() bool {
		// On a busy machine an answer may come too late; the next one tells the same.
		out, err := f.run("show", "--json", "many")
		if err != nil {
			return false
		}
		if err = json.Unmarshal([]byte(out), &m); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range m.Counts {
			n += c
		}
		return n == tasks
	})
	took := time.Since(began)
	if m.Counts[task.Done] != tasks {
		t.Fatalf("%v; not done: %v", m.Counts, m.Bad)
	}
	want := f.must("result", "--patch", "many-00000")
	for _, n := range []int{repositories, tasks - 1} {
		id := fmt.Sprintf("many-%05d", n)
		if got := f.must("result", "--patch", id); n%repositories == 0 && got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
	events, size := f.events("many-00000"), 0
	for _, e := range events {
		size += proto.Size(e)
	}
	store, objects := f.size()
	t.Logf("%d tasks over %d repositories in %s: %.2f s a task with 4 slots; kerf exec alone %.2f s", tasks, repositories,
		took.Round(time.Millisecond), took.Seconds()/float64(tasks), alone.Seconds())
	for name, cmd := range map[string]*exec.Cmd{"engine": f.engine, "worker": f.workers["one"]} {
		if cmd != nil {
			now, peak := memory(cmd.Process.Pid)
			t.Logf("memory of the %s: %d MB, at most %d", name, now>>20, peak>>20)
		}
	}
	t.Logf("history of a task: %d events, %d bytes; store: %d bytes and %d writes a task", len(events), size, store/tasks, objects/tasks)
	if db, err := os.Stat(filepath.Join(f.dir, "dev", "engine.db")); err == nil {
		t.Logf("engine's file: %d bytes a task", db.Size()/int64(tasks))
	}
}

// alone is how long kerf exec takes for the same scenario in a clone, the middle of five.
func (f *fleet) alone(scenario, repo string) time.Duration {
	f.t.Helper()
	path, _ := kerf()
	var all []time.Duration
	for i := range 5 {
		dir := filepath.Join(f.dir, "alone", fmt.Sprint(i))
		began := time.Now()
		f.git(f.dir, "clone", "-q", repo, dir)
		cmd := exec.Command(path, "exec", "-s", "workspace-write", "-c", "model_provider=s", "-c", "model_providers.s.name=s",
			"-c", "model_providers.s.base_url="+scenario, "-c", "model_providers.s.wire_api=script", "do it")
		cmd.Dir, cmd.Env = dir, f.command().Env
		if out, err := cmd.CombinedOutput(); err != nil {
			f.t.Fatal(err, string(out))
		}
		all = append(all, time.Since(began))
	}
	for i := range all {
		for k := range i {
			if all[i] < all[k] {
				all[i], all[k] = all[k], all[i]
			}
		}
	}
	return all[2]
}

// size is what the store holds.
func (f *fleet) size() (bytes, objects int) {
	_ = filepath.WalkDir(f.store(), func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				bytes, objects = bytes+int(info.Size()), objects+1
			}
		}
		return nil
	})
	return bytes, objects
}
