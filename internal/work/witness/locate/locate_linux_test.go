package locate

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestARelativeNameStartsWhereTheCallerIsNow: a descriptor comes to lead to another directory, and
// processes follow each other.
func TestARelativeNameStartsWhereTheCallerIsNow(t *testing.T) {
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(proc)
	l := &Locator{Proc: proc, Root: -1}
	defer l.End()
	entry := func(tid int, dir int, want string) {
		t.Helper()
		if got, err := l.Entry(Caller{TID: tid}, int32(dir), "f"); got != want || err != nil {
			t.Errorf("f is %q (%v), not %q", got, err, want)
		}
	}
	open := func(dir string) int {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	a, b := t.TempDir(), t.TempDir()
	here, there := open(a), open(b)
	defer unix.Close(here)
	entry(os.Getpid(), here, a+"/f")
	entry(os.Getpid(), here, a+"/f")
	if err := unix.Dup3(there, here, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	entry(os.Getpid(), here, b+"/f")
	if err := os.Rename(b, b+"moved"); err != nil {
		t.Fatal(err)
	}
	entry(os.Getpid(), here, b+"moved/f")
	entry(os.Getpid(), there, b+"moved/f")
	unix.Close(there)
	if got, err := l.Entry(Caller{TID: os.Getpid()}, int32(there), "f"); err == nil {
		t.Errorf("f is %q below a descriptor that is closed", got)
	}
	for _, dir := range []string{a, b + "moved"} {
		sleeper := exec.Command("sleep", "600")
		sleeper.Dir = dir
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		entry(sleeper.Process.Pid, unix.AT_FDCWD, dir+"/f")
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
		if got, err := l.Entry(Caller{TID: sleeper.Process.Pid}, unix.AT_FDCWD, "f"); err == nil {
			t.Errorf("f is %q for a process that ended", got)
		}
	}
}
