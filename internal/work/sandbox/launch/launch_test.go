//go:build linux

package launch

import (
	"encoding/binary"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// counted makes the test binary a launcher that ends as other programs do, and so tells what of
// its code it reached. The launcher itself ends before anybody can tell.
const counted = "KERF_TEST_LAUNCH"

func TestMain(m *testing.M) {
	if gate, err := strconv.Atoi(os.Getenv(counted)); err == nil {
		runtime.LockOSThread()
		os.Exit(run(gate))
	}
	os.Exit(m.Run())
}

// counting is a launcher once more, if it is to be known what the tests reach, or nil.
func counting(launcher *exec.Cmd, gate int) *exec.Cmd {
	dir := os.Getenv("GOCOVERDIR")
	if f := flag.Lookup("test.gocoverdir"); f != nil && dir == "" {
		dir = f.Value.String()
	}
	if dir == "" {
		return nil
	}
	again := exec.Command(launcher.Path)
	again.Args = slices.DeleteFunc(slices.Clone(launcher.Args), func(arg string) bool { return arg == Flag })
	again.Env = append(launcher.Environ(), counted+"="+strconv.Itoa(gate), "GOCOVERDIR="+dir)
	again.ExtraFiles = launcher.ExtraFiles
	return again
}

// start runs a program with the launcher in this very test binary.
func start(t *testing.T, p *Program, before string, extra ...string) (string, int) {
	t.Helper()
	text, code, _ := begin(t, p, before, extra...)
	return text, code
}

// begin also tells whether the launcher came to the command.
func begin(t *testing.T, p *Program, before string, extra ...string) (text string, code int, begun bool) {
	t.Helper()
	fd, err := unix.MemfdCreate("program", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "program")
	defer f.Close()
	encoded := p.Encode()
	if _, err := f.WriteAt(encoded, 0); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", before+` exec "$0" "$@"`, os.Args[0], Flag)
	cmd.ExtraFiles = []*os.File{f}
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), extra...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	var mark [1]byte
	if _, err := f.ReadAt(mark[:], 0); err != nil {
		t.Fatal(err)
	}
	code, begun = cmd.ProcessState.ExitCode(), mark[0] == Begun
	if again := counting(cmd, 0); again != nil {
		if begun && code != 126 && code != 127 && p.Clone == 0 {
			encoded[binary.NativeEndian.Uint64(encoded[9*8:])] = '/' // one that becomes no command tells what it reached
		}
		if _, err := f.WriteAt(encoded, 0); err != nil {
			t.Fatal(err)
		}
		_ = again.Run()
	}
	return string(out), code, begun
}

// The launcher tells that it came to the command, and nobody else can: not one that exits as the
// launcher does, and not one that looks for the program among its descriptors.
func TestLauncherTellsThatTheCommandBegins(t *testing.T) {
	broken := func() *Program {
		p := &Program{Argv: []string{"true"}}
		p.Call("a step", unix.SYS_CLOSE, 77)
		return p
	}
	killed := &Program{Argv: []string{"true"}}
	self := killed.Keep(killed.Call("self", unix.SYS_GETPID))
	killed.Call("kill", unix.SYS_TGKILL, self, self, int(unix.SIGKILL)) // which takes no number for more than one, should that be wrong
	const seek = `for f in /proc/self/fd/*; do case "$(readlink "$f")" in /memfd:program*) echo "FOUND $f";; esac; done; exit 125`
	for name, tt := range map[string]struct {
		program *Program
		code    int
		begun   bool
	}{
		"ends well":           {&Program{Argv: []string{"true"}}, 0, true},
		"pretends":            {&Program{Argv: []string{"sh", "-c", seek}}, unavailable, true},
		"is not found":        {&Program{Argv: []string{"/nowhere/at/all"}}, 127, true},
		"fails at a step":     {broken(), unavailable, false},
		"is killed at a step": {killed, -1, false},
	} {
		text, code, begun := begin(t, tt.program, "")
		if code != tt.code || begun != tt.begun || strings.Contains(text, "FOUND") {
			t.Errorf("%s: %d, began %v: %s", name, code, begun, text)
		}
	}
	namespaced := func(p *Program) *Program { p.Clone = unix.CLONE_NEWUSER; return p }
	able(t, unix.CLONE_NEWUSER)
	if text, code, begun := begin(t, namespaced(killed), ""); code != 128+int(unix.SIGKILL) || begun || text != "" {
		t.Errorf("killed at a step in a namespace: %d, began %v: %s", code, begun, text)
	}
	for _, p := range []*Program{{Argv: []string{"sh", "-c", seek}}, broken()} {
		want := p.Len() == 0
		if text, code, begun := begin(t, namespaced(p), ""); code != unavailable || begun != want || strings.Contains(text, "FOUND") {
			t.Errorf("in a namespace: %d, began %v, want %v: %s", code, begun, want, text)
		}
	}
	// One that cannot have a process of its own did not begin.
	limit := namespaced(&Program{Argv: []string{"true"}})
	limit.Call("limit", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NPROC, limit.Data(make([]byte, 16)), 0)
	if os.Geteuid() != 0 {
		if text, code, begun := begin(t, limit, ""); code != unavailable || begun {
			t.Errorf("without room for a process: %d, began %v: %s", code, begun, text)
		}
	}
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
	vector := p.Data(make([]byte, 32))
	word := p.Data([]byte("gathered\n"))
	p.Point(vector, 0, word)
	p.Point(vector, 16, word.At(3))
	p.data[uint64(vector)+8], p.data[uint64(vector)+24] = 9, 6
	p.Call("writev", unix.SYS_WRITEV, 1, vector, 2)
	if text, code := start(t, p, ""); text != "gathered\nhered\n" || code != 0 {
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

// TestAPlaceThatMayNotBeSearchedHoldsNoCommand has a directory in PATH that the user may not look into, as after su.
func TestAPlaceThatMayNotBeSearchedHoldsNoCommand(t *testing.T) {
	dir := t.TempDir()
	closed, open := filepath.Join(dir, "closed"), filepath.Join(dir, "open")
	for _, d := range []string{closed, open} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{closed + "/hidden", open + "/text"} {
		if err := os.WriteFile(f, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(closed, 0), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
	for name, want := range map[string]int{"nowhere": 127, "hidden": 127, "text": 126, "cat": 0, closed + "/hidden": 126} {
		p := &Program{Argv: []string{name}, Env: []string{"PATH=" + closed + ":" + open + ":/usr/bin:/bin"}}
		if os.Getuid() == 0 {
			p.Call("become another user", unix.SYS_SETRESUID, 65534, 65534, 65534)
		}
		if text, code := start(t, p, ""); code != want {
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
