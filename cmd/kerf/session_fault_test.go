package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kerf/internal/testkit/faults"
	"kerf/internal/testkit/long"
)

// faulty is a session of the real program with a scripted model, whose system
// calls fail.
type faulty struct {
	t                *testing.T
	kerf, base       string
	first, second    string // scenarios
	home, dir, state string // of one run
}

const faultyRounds = `{"version": 1, "title": "faults", "rounds": [
 {"items": [{"message": "I begin."}, {"call": "write_file", "id": "%[1]s1", "args": {"file_path": "%[1]sa.txt", "content": "one\ntwo\nthree\n"}}], "usage": {"input_tokens": 10, "output_tokens": 1}},
 {"items": [{"call": "read_file", "id": "%[1]s2", "args": {"file_path": "kept.txt"}}, {"call": "grep", "id": "%[1]s3", "args": {"pattern": "two"}}]},
 {"items": [{"call": "edit_file", "id": "%[1]s4", "args": {"file_path": "%[1]sa.txt", "old_string": "two", "new_string": "2"}}]},
 {"items": [{"call": "exec_command", "id": "%[1]s5", "args": {"cmd": "echo more >> kept.txt; mkdir -p %[1]sdir; echo x > %[1]sdir/x"}}]},
 {"items": [{"call": "apply_patch", "id": "%[1]s6", "args": {"input": "*** Begin Patch\n*** Update File: %[1]sa.txt\n*** Move to: %[1]sb.txt\n@@\n-three\n+3\n*** End Patch"}}]},
 {"items": [{"message": "Done."}], "usage": {"input_tokens": 10, "output_tokens": 1}}
]}`

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	f := &faulty{t: t, kerf: builtProgram(t), base: t.TempDir()}
	f.first, f.second = filepath.Join(f.base, "first.json"), filepath.Join(f.base, "second.json")
	for path, prefix := range map[string]string{f.first: "a", f.second: "b"} {
		putFile(t, path, fmt.Sprintf(faultyRounds, prefix), 0o600)
	}
	return f
}

// stage makes fresh directories for a run.
func (f *faulty) stage(name string) {
	f.state = filepath.Join(f.base, name)
	f.home, f.dir = filepath.Join(f.state, "home"), filepath.Join(f.state, "w")
	putFile(f.t, filepath.Join(f.dir, "kept.txt"), "kept\n", 0o644)
	if err := os.MkdirAll(f.home, 0o700); err != nil {
		f.t.Fatal(err)
	}
}

func (f *faulty) command(scenario string, args ...string) *exec.Cmd {
	all := append([]string{"-C", f.dir, "-c", "model_provider=script", "-c", "model_providers.script.base_url=" +
		scenario}, args...)
	cmd := exec.Command(f.kerf, all...)
	cmd.Env = append(os.Environ(), "KERF_HOME="+f.home, "HOME="+f.state)
	return cmd
}

func (f *faulty) exec(scenario string, args ...string) *exec.Cmd {
	return f.command(scenario, append([]string{"exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access"},
		args...)...)
}

func (f *faulty) must(what string, cmd *exec.Cmd) string {
	f.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("%s: %v\n%s", what, err, out)
	}
	return string(out)
}

// points are the calls at which a fault is put: few, or all or a part of many as KERF_LONG says.
func points(total, few, many int) []int {
	n := long.Of(many, many/4, few)
	r := rand.New(rand.NewPCG(1, uint64(total)))
	var list []int
	for range n {
		list = append(list, 1+r.IntN(total))
	}
	return list
}

// count runs the session once, whole, and counts its calls.
func (f *faulty) count(below ...string) int {
	f.t.Helper()
	calls, err := faults.Run(f.exec(f.first, "work"), faults.Plan{Below: below})
	if errors.Is(err, faults.ErrUnavailable) {
		f.t.Skip(err)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	if len(calls) < 20 {
		f.t.Fatalf("only %d calls were counted", len(calls))
	}
	return len(calls)
}

// TestKilledSessionsGoOn kills a session at 5 moments, at 200 with KERF_LONG=all. It
// can be resumed, verifies, and a replay gives the same.
func TestKilledSessionsGoOn(t *testing.T) {
	f := newFaulty(t)
	f.stage("count")
	total := f.count(f.state)
	begun := 0
	for i, at := range points(total, 5, 200) {
		f.stage(fmt.Sprintf("kill-%d", i))
		_, err := faults.Run(f.exec(f.first, "work"), faults.Plan{At: at, Kill: true, Below: []string{f.state}})
		if err == nil {
			t.Errorf("call %d of %d: the program was not killed", at, total)
		}
		what := fmt.Sprintf("killed at call %d of %d", at, total)
		if !hasRecords(t, f.home) {
			f.must(what+": a new session", f.exec(f.second, "again"))
		} else {
			begun++
			f.must(what+": resume", f.exec(f.second, "resume", "--last", "go on"))
		}
		f.must(what+": verify", f.command(f.second, "verify"))
		f.must(what+": replay", f.command(f.second, "replay"))
		if t.Failed() {
			return
		}
		os.RemoveAll(f.state)
	}
	if begun == 0 {
		t.Error("no session had begun when it was killed")
	}
}

// hasRecords reports whether a session with a first record is there.
func hasRecords(t *testing.T, home string) bool {
	files, err := filepath.Glob(filepath.Join(home, "sessions", "*", "rollout.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), "user_input") {
			return true
		}
	}
	return false
}

// TestSEC_R4_FaultsOfTheSessionFile makes writes of the session's files fail, once
// or from then on. The turn goes on or stops with a message, and what is on disk
// afterwards verifies and can be resumed.
func TestSEC_R4_FaultsOfTheSessionFile(t *testing.T) {
	f := newFaulty(t)
	f.stage("count")
	sessions := filepath.Join(f.home, "sessions")
	total := f.count(sessions)
	for i, at := range points(total, 4, 150) {
		f.stage(fmt.Sprintf("fault-%d", i))
		plan := faults.Plan{At: at, Errno: []syscall.Errno{syscall.ENOSPC, syscall.EIO}[i%2], Sticky: i%3 == 0,
			Below: []string{filepath.Join(f.home, "sessions")}}
		cmd := f.exec(f.first, "work")
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		_, err := faults.Run(cmd, plan)
		what := fmt.Sprintf("%v at call %d of %d, sticky %t", plan.Errno, at, total, plan.Sticky)
		if err != nil && !strings.Contains(out.String(), plan.Errno.Error()) &&
			!strings.Contains(out.String(), "cannot be saved") {
			t.Errorf("%s: %v without a word why:\n%s", what, err, out.String())
		}
		if n := strings.Count(out.String(), "cannot be saved at the moment"); n > 3 {
			t.Errorf("%s: told %d times", what, n)
		}
		if hasRecords(t, f.home) {
			f.must(what+": resume", f.exec(f.second, "resume", "--last", "go on"))
			f.must(what+": verify", f.command(f.second, "verify"))
		}
		if t.Failed() {
			return
		}
		os.RemoveAll(f.state)
	}
}

// TestTwoProgramsOneSession: the second is told, and the record stays whole.
func TestSEC_R3_TwoProgramsOneSession(t *testing.T) {
	f := newFaulty(t)
	f.stage("two")
	f.must("a session", f.exec(f.first, "work"))
	slow := filepath.Join(f.base, "slow.json")
	putFile(t, slow, `{"version": 1, "title": "slow", "rounds": [{"items": [{"call": "exec_command", "id": "s1", "args": {"cmd": "touch begun; while [ ! -e done ]; do sleep 0.02; done"}}]}, {"items": [{"message": "ok"}]}]}`, 0o600)
	first := f.exec(slow, "resume", "--last", "wait")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(f.dir, "begun")); return err == nil })
	out, err := f.exec(f.second, "resume", "--last", "me too").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is open in another process") {
		t.Errorf("the second program: %v\n%s", err, out)
	}
	putFile(t, filepath.Join(f.dir, "done"), "", 0o600)
	if err := first.Wait(); err != nil {
		t.Errorf("the first program: %v", err)
	}
	f.must("verify", f.command(f.second, "verify"))
}

// TestSEC_R7_ReadOnlyHome: a session that cannot be kept is not begun, in words.
func TestSEC_R7_ReadOnlyHome(t *testing.T) {
	f := newFaulty(t)
	f.stage("readonly")
	if err := os.RemoveAll(f.home); err != nil {
		t.Fatal(err)
	}
	putFile(t, f.home, "a file, not a directory", 0o600)
	out, err := f.exec(f.first, "work").CombinedOutput()
	if err == nil || strings.Contains(string(out), "panic") || !strings.Contains(string(out), f.home) {
		t.Errorf("%v: %s", err, out)
	}
}
