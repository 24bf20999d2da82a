//go:build linux

package launch

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// start runs a program with the launcher in this very test binary.
func start(t *testing.T, p *Program, before string, extra ...string) (string, int) {
	t.Helper()
	fd, err := unix.MemfdCreate("program", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "program")
	defer f.Close()
	if _, err := f.WriteAt(p.Encode(), 0); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", before+` exec "$0" `+Flag, os.Args[0])
	cmd.ExtraFiles = []*os.File{f}
	cmd.Env = append(os.Environ(), extra...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestLauncherBecomesTheCommand(t *testing.T) {
	p := &Program{Argv: []string{"sh", "-c", `echo "$A $B $(ulimit -n)"; exit 7`}, Env: []string{"A=set"}}
	text, code := start(t, p, "ulimit -S -n 333;", "A=inherited", "B=kept")
	if text != "set kept 333\n" || code != 7 {
		t.Errorf("got %d %q", code, text)
	}
}

func TestStepsPassResultsOn(t *testing.T) {
	dir := t.TempDir()
	p := &Program{Argv: []string{"cat", dir + "/made"}}
	at := ^uint64(99) // AT_FDCWD
	fd := p.Keep(p.Call("create", unix.SYS_OPENAT, at, dir+"/made", unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600))
	p.Call("write", unix.SYS_WRITE, fd, []byte("through a register"), 18)
	failing := p.Call("optional", unix.SYS_OPENAT, at, dir+"/no/where", unix.O_RDONLY, 0)
	failing.Optional, failing.Skip = 1, 1
	p.Call("skipped", unix.SYS_UNLINKAT, at, dir+"/made", 0)
	p.Call("close", unix.SYS_CLOSE, fd)
	if text, code := start(t, p, ""); text != "through a register" || code != 0 {
		t.Errorf("got %d %q", code, text)
	}
}

func TestPointersReachOtherPlaces(t *testing.T) {
	p := &Program{Argv: []string{"true"}}
	vector := p.Data(make([]byte, 16))
	word := p.Data([]byte("gathered\n"))
	p.Point(vector, 0, word)
	p.data[uint64(vector)+8] = 9
	p.Call("writev", unix.SYS_WRITEV, 1, vector, 1)
	if text, code := start(t, p, ""); text != "gathered\n" || code != 0 {
		t.Errorf("got %d %q", code, text)
	}
}

func TestFailuresAreTold(t *testing.T) {
	p := &Program{Argv: []string{"touch", t.TempDir() + "/ran"}}
	p.Call("the third wheel", unix.SYS_CLOSE, 77)
	text, code := start(t, p, "")
	if code != unavailable || !strings.Contains(text, "was not run: the third wheel: bad file descriptor") {
		t.Errorf("got %d %q", code, text)
	}
	if _, err := os.Lstat(p.Argv[1]); err == nil {
		t.Error("the command ran")
	}
	for name, want := range map[string]int{"no-such-program-here": 127, "/etc/passwd": 126, "/nowhere/at/all": 127} {
		if text, code := start(t, &Program{Argv: []string{name}}, ""); code != want || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: got %d %q", name, code, text)
		}
	}
}

func TestADamagedProgramIsRefused(t *testing.T) {
	cmd := exec.Command(os.Args[0], Flag)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != unavailable ||
		!strings.Contains(string(out), "cannot be read") {
		t.Errorf("got %s", out)
	}
}
