package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/modeltest"
	"kerf/internal/testkit/race"
)

// TestTheTerminalUIStaysSmall: after many turns with 100,000 rows of output, in commands and in
// answers, the terminal UI that waits for its user takes at most 35 MB of memory, as ps shows it.
func TestTheTerminalUIStaysSmall(t *testing.T) {
	for _, tool := range []string{"git", "bash", "tmux"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	const turns = 8
	var rounds []modeltest.Round
	for i := range turns {
		answer := strings.Repeat("- a row of an answer, which is not very long\n", 1000)
		rounds = append(rounds,
			modeltest.Answer(modeltest.Call("exec_command", sh(fmt.Sprintf("seq %d %d", 10_000*i, 10_000*(i+1)+2500)))),
			modeltest.Answer(modeltest.Message(fmt.Sprintf("%s\nthat was part %d.", answer, i))))
	}
	r := newMachine(t, "memory", rounds...)
	r.cwd = r.home
	r.line("kerf trust --yes", nil)
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-L", "memory", "-f", "/dev/null"}, args...)...)
		cmd.Dir, cmd.Env = r.cwd, r.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	tmux("new-session", "-d", "-x", "120", "-y", "40", "exec kerf -a never")
	defer tmux("kill-server")
	waitShown(t, tmux, "Ask Kerf to do something")
	for i := range turns {
		tmux("send-keys", "-l", "go on")
		waitShown(t, tmux, "› go on")
		tmux("send-keys", "Enter")
		waitShown(t, tmux, fmt.Sprintf("that was part %d.", i))
		waitShown(t, tmux, "Ask Kerf to do something")
	}
	pid, most := tmux("list-panes", "-F", "#{pane_pid}"), (35<<10)*race.Costs()
	now := 0
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
		if now = memoryOf(t, pid, "VmRSS"); now <= most {
			t.Logf("%d KiB, at most %d KiB in between", now, memoryOf(t, pid, "VmHWM"))
			return
		}
	}
	t.Errorf("after %d turns it takes %d KiB, want at most %d", turns, now, most)
}

// memoryOf is what /proc tells of the memory of a process, in KiB.
func memoryOf(t *testing.T, pid, what string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == what+":" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("there is no %s in /proc/%s/status", what, pid)
	return 0
}
