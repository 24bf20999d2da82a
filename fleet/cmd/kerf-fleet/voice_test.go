//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Every command that tells something tells it as JSON, too.
func TestAllIsToldAsJSON(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	s := f.scenario("s", "echo x > x")
	path, _ := kerf()
	hold := f.scenario("hold", "echo x > x; sleep 600")
	for _, c := range []struct {
		want string // a member, or nothing for a list
		args []string
	}{
		{"task", []string{"submit", "--repo", repo, "--id", "a", "--scenario", s, "make x"}},
		{"outcome", []string{"result", "a"}},
		{"outcome", []string{"submit", "--repo", repo, "--id", "b", "--scenario", s, "--wait", "make x"}},
		{"hash", []string{"result", "--bundle", "a"}},
		{"phase", []string{"show", "a"}},
		{"", []string{"list"}},
		{"", []string{"list", "--phase", "failed"}},
		{"", []string{"top"}},
		{"map", []string{"map", "--id", "m", "--repos", repo, "--scenario", s, "make x"}},
		{"total", []string{"show", "m"}},
		{"did", []string{"retry", "a"}},
		{"did", []string{"submit", "--repo", repo, "--id", "c", "--scenario", hold, "hold"}},
		{"did", []string{"cancel", "c"}},
		{"did", []string{"schedule", "create", "n", "--every", "24h", "--repo", repo, "--scenario", s, "make x"}},
		{"did", []string{"schedule", "pause", "n"}},
		{"", []string{"schedule", "list"}},
		{"did", []string{"schedule", "delete", "n"}},
		{"", []string{"schedule", "list"}},
		{"diff", []string{"apply", "--kerf", path, "-C", repo, "--dry-run", "a"}},
		{"tasks", []string{"apply", "--kerf", path, "-C", repo, "a"}},
		{"objects", []string{"gc", "--dry-run"}},
		{"Shards", []string{"capacity", "--tasks", "100", "--workers", "10"}},
	} {
		out, err := f.run(append(c.args, "--json")...)
		if c.args[0] == "submit" && c.want == "did" {
			c.want = "task"
		}
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		var list []any
		var one map[string]any
		switch {
		case c.want == "" && (json.Unmarshal([]byte(out), &list) != nil || list == nil):
			t.Errorf("%v prints no list: %s", c.args, out)
		case c.want != "" && (json.Unmarshal([]byte(out), &one) != nil || one[c.want] == nil):
			t.Errorf("%v prints no %s: %s", c.args, c.want, out)
		}
	}
	for line := range strings.Lines(f.must("logs", "a", "--json")) {
		if !json.Valid([]byte(line)) {
			t.Errorf("logs: %s", line)
		}
	}
}

// Who waits and is told to end leaves with 130; the task goes on.
func TestAWaitIsInterrupted(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	open := filepath.Join(f.dir, "go")
	s := f.scenario("s", "while ! test -e "+open+"; do sleep 0.1; done; echo x > x")
	f.must("submit", "--repo", repo, "--id", "w", "--scenario", s, "wait")
	f.until("the command", time.Minute, func() bool { return len(f.processes("while ! test")) > 0 })
	for _, args := range [][]string{{"result", "w"}, {"logs", "-f", "w"}} {
		cmd := f.command(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// It has set up its handler once it talks to the engine.
		f.until("the connection", time.Minute, func() bool { return f.connected(cmd.Process.Pid) })
		_ = cmd.Process.Signal(os.Interrupt)
		var exit *exec.ExitError
		if err := <-ended; !errorsAs(err, &exit) || exit.ExitCode() != exitInterrupted {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := f.result("w"); r.Files != 1 {
		t.Errorf("%+v", r)
	}
	// A worker that is told to end ends well.
	one := f.workers["one"]
	delete(f.workers, "one")
	_ = one.Process.Signal(syscall.SIGTERM)
	if err := one.Wait(); err != nil {
		t.Errorf("the worker: %v", err)
	}
}

// connected reports whether a process has a connection to the engine. Other sockets it may have before main begins.
func (f *fleet) connected(pid int) bool {
	port, _ := strconv.Atoi(f.address[strings.LastIndex(f.address, ":")+1:])
	table, _ := os.ReadFile("/proc/net/tcp")
	mine, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
	for line := range strings.Lines(string(table)) {
		row := strings.Fields(line) // number, local, remote, state, queues, timer, retransmits, user, timeout, inode
		if len(row) < 10 || !strings.HasSuffix(row[2], fmt.Sprintf(":%04X", port)) {
			continue
		}
		for _, fd := range mine {
			if to, _ := os.Readlink(fd); to == "socket:["+row[9]+"]" {
				return true
			}
		}
	}
	return false
}
