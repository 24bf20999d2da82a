package held

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestACallThatCameToNothingIsOver: a call that failed leads to no notice, and its thread need not
// make another call. What somebody else does to the name later is not what came of it.
func TestACallThatCameToNothingIsOver(t *testing.T) {
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(proc)
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	tid := uint32(sleeper.Process.Pid)
	root := t.TempDir()
	w := &NewHub().Watch(Options{Listener: -1, Dir: t.TempDir(), Roots: []string{root}}).w
	w.find1.Proc = proc
	var number int32
	var args [6]uint64
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		text, err := w.threadFile(tid, "syscall")
		if err != nil {
			t.Fatal(err)
		}
		n, _ := fmt.Sscanf(text, "%d 0x%x 0x%x 0x%x 0x%x 0x%x 0x%x", &number, &args[0], &args[1], &args[2], &args[3], &args[4],
			&args[5])
		if n == 7 && (number == unix.SYS_CLOCK_NANOSLEEP || number == unix.SYS_NANOSLEEP) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it does not sleep: %q", text)
		}
	}
	for _, c := range []struct {
		name   string
		number int32
		over   bool
	}{{"still in the call", number, false}, {"in another one", unix.SYS_OPENAT, true}} {
		n := &name{path: root + "/f"}
		p := w.settle(tid)
		p.number, p.args = c.number, args
		p.expects, n.waiting = []expectation{{n, opened}}, []*pending{p}
		w.hub.mu.Lock()
		w.overdue()
		if over := !n.expected(w, notice{event: opened}); over != c.over {
			t.Errorf("%s: over is %v", c.name, over)
		}
		w.hub.mu.Unlock()
	}
}
