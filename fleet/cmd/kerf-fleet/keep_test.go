//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"kerf/fleet/blob"
	"kerf/fleet/desk"
	"kerf/fleet/task"
	"kerf/fleet/worker"
)

// What is told to a running session joins its turn.
func TestARunningSessionIsSteered(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	f.must("submit", "--repo", repo, "--id", "st", "--scenario",
		f.scenario("s", "echo x > began; while ! test -e go; do sleep 0.1; done", "echo y > y"), "work")
	tree := filepath.Join(f.dir, "one", "tasks", "st", "tree")
	f.until("the command", 30*time.Second, func() bool { _, err := os.Stat(filepath.Join(tree, "began")); return err == nil })
	f.must("steer", "st", "use", "the", "mirror")
	f.until("the session to be told", 30*time.Second, func() bool { return f.completed("st", "Deliver") == 1 })
	if err := os.WriteFile(filepath.Join(tree, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// Followed, the log ends with the task.
	if out := f.must("logs", "-f", "st"); !strings.Contains(out, "$ echo y > y") || !strings.HasSuffix(out, "the turn is over\n") {
		t.Errorf("logs -f: %s", out)
	}
	if r := f.result("st"); r.Outcome != task.Done {
		t.Errorf("%+v", r)
	}
	if out := f.must("logs", "--json", "st"); !strings.Contains(out, "use the mirror") {
		t.Errorf("the session was not told: %s", out)
	}
	if _, err := f.run("steer", "st", "again"); err == nil || !strings.Contains(err.Error(), "only a running session") {
		t.Errorf("a task that is over was steered: %v", err)
	}
}

// What is old goes, what is in use stays: a task that runs goes on from its checkpoint.
func TestOldTasksAreRemoved(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	f.must("submit", "--repo", repo, "--id", "old", "--scenario", f.scenario("o", "echo old > old"), "--wait", "do it")
	s := f.scenario("h", "echo 1 >> log", "echo 2 >> log; while ! test -e "+f.dir+"/go; do sleep 0.1; done", "echo 3 >> log")
	f.must("submit", "--repo", repo, "--id", "held", "--scenario", s, "do it")
	ctx := context.Background()
	store, err := blob.Open(ctx, f.store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(f.dir, "one", "tasks", "held", "tree", "log")
	f.until("the second command", 30*time.Second, func() bool {
		data, _ := os.ReadFile(log)
		return strings.Count(string(data), "\n") == 2
	})
	c, err := client.Dial(client.Options{HostPort: f.address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d := desk.Desk{Engine: c, Store: store, Namespace: "default"}
	if dry, err := d.Sweep(ctx, time.Hour, false); err != nil || dry.Tasks != 0 || dry.Objects != 0 {
		t.Errorf("what is young was removed: %+v %v", dry, err)
	}
	var dry desk.Swept
	f.until("the old task to be a second old", 30*time.Second, func() bool {
		if dry, err = d.Sweep(ctx, time.Second, true); err != nil {
			t.Fatal(err)
		}
		return dry.Tasks == 1
	})
	if hash, _ := store.Follow(ctx, worker.ResultName("old", 1)); hash == "" {
		t.Error("a dry run removed something")
	}
	swept, err := d.Sweep(ctx, time.Second, false)
	if err != nil || swept.Tasks != 1 || swept.Objects == 0 || swept.Objects < dry.Objects {
		t.Errorf("swept: %+v, before %+v, %v", swept, dry, err)
	}
	if hash, _ := store.Follow(ctx, worker.ResultName("old", 1)); hash != "" {
		t.Error("the old task is still there")
	}
	f.kill("one")
	if err = os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.work("two")
	if r := f.result("held"); r.Outcome != task.Done || r.Places < 2 {
		t.Errorf("%+v", r)
	}
	if patch := f.must("result", "--patch", "held"); !strings.HasSuffix(patch, "+1\n+2\n+3\n") {
		t.Errorf("patch: %s", patch)
	}
}

// What the engine has forgotten, for its time to keep histories is over, the store still has.
func TestAResultOutlivesItsHistory(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	f.must("submit", "--repo", repo, "--id", "past", "--scenario", f.scenario("s", "echo x > x"), "--check", "true", "--wait", "make x")
	want := f.must("result", "--patch", "past")
	was := f.result("past")
	c, err := client.Dial(client.Options{HostPort: f.address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.WorkflowService().DeleteWorkflowExecution(context.Background(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &common.WorkflowExecution{WorkflowId: "past"}})
	if err != nil {
		t.Fatal(err)
	}
	f.until("the engine to forget", time.Minute, func() bool { _, err := f.run("show", "past"); return err != nil })
	if got := f.must("result", "--patch", "past"); got != want {
		t.Errorf("the patch is now %q, was %q", got, want)
	}
	r := f.result("past")
	if was.Tokens, was.Places = 0, 0; !reflect.DeepEqual(r, was) {
		t.Errorf("the result is now %+v, was %+v", r, was)
	}
	path, _ := kerf()
	f.must("apply", "--kerf", path, "-C", repo, "past")
	if read(t, repo, "x") != "x\n" {
		t.Error("the result was not applied")
	}
}

// A worker tells Prometheus and whoever asks for its health.
func TestMetricsAndHealth(t *testing.T) {
	f := newFleet(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	f.work("one", "--metrics", address)
	f.must("submit", "--repo", f.repository("r"), "--id", "me", "--scenario", f.scenario("s", "true"), "--wait", "look")
	for path, want := range map[string]string{"/healthz": "ok\n", "/metrics": "kerf_fleet_engine_", "/metrics?": "kerf_fleet_slots 4\n", "/metrics?2": "kerf_fleet_tasks 0\n"} {
		r, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 200 || !strings.Contains(string(data), want) {
			t.Errorf("%s: %d %.500s", path, r.StatusCode, data)
		}
	}
	// Two workers do not share a directory.
	path, _ := kerf()
	cmd := f.command("worker", "--root", filepath.Join(f.dir, "one"), "--kerf", path, "--kerf-home", "")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "another worker uses it") {
		t.Errorf("a second worker: %v %s", err, out)
	}
}

// A branch is pushed and a request opened, by a program that stands for gh.
func TestARequestIsOpened(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	far := filepath.Join(f.dir, "far.git")
	f.git(f.dir, "clone", "-q", "--bare", repo, far)
	f.git(repo, "remote", "add", "origin", far)
	f.git(repo, "branch", "fleet")
	f.must("submit", "--repo", repo, "--id", "pr", "--scenario", f.scenario("s", "echo x > x"), "--wait", "make x")
	bin := filepath.Join(f.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" > %s/said\n", f.dir)
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	path, _ := kerf()
	f.must("apply", "--kerf", path, "-C", repo, "--branch", "fleet", "--open-pr", "pr")
	if got := read(t, f.dir, "said"); !strings.HasPrefix(got, "pr create --head fleet --title Kerf task pr --body Tasks: pr") {
		t.Errorf("gh was told %q", got)
	}
	if f.git(far, "rev-parse", "fleet") != f.git(repo, "rev-parse", "fleet") || f.git(far, "show", "fleet:x") != "x\n" {
		t.Error("the branch was not pushed")
	}
	if out, err := exec.Command("git", "-C", repo, "status", "--porcelain").Output(); err != nil || len(out) > 0 {
		t.Errorf("the checkout changed: %s %v", out, err)
	}
	if _, err := f.run("apply", "--kerf", path, "-C", repo, "--open-pr", "pr"); err == nil || !strings.Contains(err.Error(), "needs --branch") {
		t.Errorf("without a branch: %v", err)
	}
}
