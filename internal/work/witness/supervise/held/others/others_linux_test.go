package others

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/supervise/content"
)

// TestWhoCannotAskKnowsNothing: a helper without a descriptor to look around leaves files in doubt.
func TestWhoCannotAskKnowsNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	proc, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	var thing content.Thing
	if err := thing.Stat(int(f.Fd()), ""); err != nil {
		t.Fatal(err)
	}
	find := func() (Writers, bool, bool) {
		w, doubted := &Writers{}, false
		all := Find(int(proc.Fd()), map[content.Inode]*Writers{thing.ID: w}, nil)
		one := &File{ID: thing.ID, Writers: func() int { return 1 }, Opening: func() bool { return true },
			Doubt: func() { doubted = true }}
		Decide(int(proc.Fd()), nil, []*File{one}, func() {})
		return *w, all, doubted
	}
	if w, all, doubted := find(); !all || !w.Others || !doubted {
		t.Fatalf("this process has it open: %+v, %v, %v", w, all, doubted)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if w, all, doubted := find(); !all || w.Others || doubted {
		t.Fatalf("nobody has it open: %+v, %v, %v", w, all, doubted)
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	none := syscall.Rlimit{Cur: 0, Max: was.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, all, doubted := find()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: was.Cur, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	if all || !doubted {
		t.Errorf("without descriptors it asked all: %v, and doubts: %v", all, doubted)
	}
}

// TestWhoHasEndedIsNobodyElse: a process may end while it is asked whose it is.
func TestWhoHasEndedIsNobodyElse(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	none := map[content.Inode]bool{}
	if !within(strconv.Itoa(cmd.Process.Pid), none) {
		t.Error("one that has ended counts as somebody else")
	}
	if within("self", none) || !within("self", map[content.Inode]bool{space("self"): true}) {
		t.Error("this process is in its own namespace alone")
	}
}
