package held

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/supervise/held/others"
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
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tid))
		if err != nil {
			t.Fatal(err)
		}
		n, _ := fmt.Sscanf(string(text), "%d 0x%x 0x%x 0x%x 0x%x 0x%x 0x%x", &number, &args[0], &args[1], &args[2], &args[3], &args[4],
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
		p.Number, p.Args = c.number, args
		p.expects, n.waiting = []expectation{{n, opened}}, []*pending{p}
		w.hub.mu.Lock()
		w.overdue()
		if over := !n.expected(w, notice{event: opened}); over != c.over {
			t.Errorf("%s: over is %v", c.name, over)
		}
		w.hub.mu.Unlock()
	}
}

// TestAMoveIsOneByBothHalves: what comes to a name is the command's if that left the other name by
// the same move, and a file that went elsewhere was moved by somebody else.
func TestAMoveIsOneByBothHalves(t *testing.T) {
	root := t.TempDir()
	w := &NewHub().Watch(Options{Listener: -1, Dir: t.TempDir(), Roots: []string{root}}).w
	from, to := &name{path: root + "/from"}, &name{path: root + "/to"}
	begin := func() *pending {
		p := w.settle(7)
		p.expects = []expectation{{from, movedFrom}, {to, movedTo}}
		from.waiting, to.waiting = []*pending{p}, []*pending{p}
		return p
	}
	begin()
	for _, c := range []struct {
		n   *name
		of  notice
		own bool
	}{{to, notice{movedTo, 1}, false}, {from, notice{movedFrom, 2}, true}, {to, notice{movedTo, 3}, false},
		{to, notice{movedTo, 2}, true}} {
		if own := c.n.expected(w, c.of); own != c.own {
			t.Errorf("move %d, event %d of %s: own is %v", c.of.move, c.of.event, c.n.path, own)
		}
	}
	if w.settle(7); from.foreign || !from.gone {
		t.Error("a move of the command is laid to somebody else")
	}
	from.gone = false
	begin()
	if !from.expected(w, notice{movedFrom, 4}) {
		t.Error("the first half is not taken")
	}
	if w.settle(7); !from.foreign || from.gone {
		t.Error("a move to elsewhere is laid to the command")
	}
	// Of two calls for one name, the one that succeeded is told by the other half.
	other := &name{path: root + "/other"}
	from.foreign = false
	p := begin()
	q := w.settle(8)
	q.expects = []expectation{{from, movedFrom}, {other, movedTo}}
	from.waiting, other.waiting = append(from.waiting, q), []*pending{q}
	if !from.expected(w, notice{movedFrom, 5}) || !other.expected(w, notice{movedTo, 5}) {
		t.Error("the second call is not taken for the one that moved it")
	}
	if len(p.left)+len(q.left)+len(q.expects) > 0 || len(p.expects) != 2 {
		t.Errorf("left over: %v %v", p, q)
	}
}

// TestAFileThatIsReplacedWhileItIsOpenedIsAskedFor: the opening that is told of may be that of somebody
// else, who need not be seen to have the file open yet.
func TestAFileThatIsReplacedWhileItIsOpenedIsAskedFor(t *testing.T) {
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(proc)
	root := t.TempDir()
	if err := os.WriteFile(root+"/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, replaced := range []bool{false, true} {
		w := &NewHub().Watch(Options{Listener: -1, Dir: t.TempDir(), Roots: []string{root}}).w
		n := &name{path: root + "/f"}
		w.names[n.path] = n
		p := w.settle(7)
		p.expects, n.waiting = []expectation{{n, opened}}, []*pending{p}
		if replaced {
			w.hub.happened(n.path, notice{event: deleted})
			w.hub.happened(n.path, notice{event: created})
		}
		w.hub.happened(n.path, notice{event: opened})
		if n.writers != 1 || n.foreign != replaced {
			t.Fatalf("replaced %v: %+v", replaced, n)
		}
		n.foreign = false // behind a cut
		if others.Undecided(proc, w.threads, w.writables, func() {}); n.foreign != replaced {
			t.Errorf("replaced %v: in doubt %v", replaced, n.foreign)
		}
	}
}

// TestADirectoryIsFreshOnce: what was seen in it before its notices began may have changed.
func TestADirectoryIsFreshOnce(t *testing.T) {
	root := t.TempDir()
	w := &NewHub().Watch(Options{Listener: -1, Dir: t.TempDir(), Roots: []string{root}}).w
	for _, want := range []bool{true, false} {
		if fresh, err := w.hub.dirs.Observe(w, root); err != nil || fresh != want {
			t.Errorf("fresh is %v, want %v (%v)", fresh, want, err)
		}
	}
}
