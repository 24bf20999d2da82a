package launch

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// apart makes a program that runs in namespaces, and skips the test where there are none.
func apart(t *testing.T, argv ...string) *Program {
	t.Helper()
	const clone = unix.CLONE_NEWUSER | unix.CLONE_NEWPID
	able(t, clone)
	return &Program{Clone: clone, Argv: argv}
}

// able skips the test where no process can be started in such namespaces, whoever tries.
func able(t *testing.T, clone uintptr) {
	t.Helper()
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: clone}
	if err := cmd.Run(); err != nil {
		t.Skip("no user namespaces here")
	}
}

// TestTheCommandIsLookedFor in the whole directories of PATH, in their order; what may not be executed is
// told if nothing else is found.
func TestTheCommandIsLookedFor(t *testing.T) {
	dir := t.TempDir()
	for name, perm := range map[string]os.FileMode{"closed/tool": 0o644, "good/tool": 0o755, "late/tool": 0o755, "rel/only": 0o755, "closed/shut": 0o644} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("#!/bin/sh\necho "+name+"\n"), perm); err != nil {
			t.Fatal(err)
		}
	}
	path := ":rel:" + dir + "/closed/tool:" + dir + "/none:" + dir + "/closed:" + dir + "/good::" + dir + "/late:."
	for name, want := range map[string]struct {
		text string
		code int
	}{
		"tool": {"good/tool\n", 0}, "only": {"kerf: only: command not found\n", 127}, "shut": {"kerf: shut: permission denied\n", 126},
		"rel/only": {"rel/only\n", 0}, dir + "/late/tool": {"late/tool\n", 0}, "./rel/none": {"kerf: ./rel/none: command not found\n", 127},
	} {
		p := &Program{Argv: []string{name}, Env: []string{"PATH=" + path}}
		if text, code := start(t, p, "cd "+dir+";"); text != want.text || code != want.code {
			t.Errorf("%s: %d %q, want %d %q", name, code, text, want.code, want.text)
		}
	}
	inherited := &Program{Argv: []string{"tool"}}
	if text, code := start(t, inherited, "", "PATH="+dir+"/late"); text != "late/tool\n" || code != 0 {
		t.Errorf("by the PATH that was there: %d %q", code, text)
	}
}

// TestTheCommandHasNoOtherFiles than the standard ones and those it is to have.
func TestTheCommandHasNoOtherFiles(t *testing.T) {
	for inherit, want := range map[int]string{0: "0\n1\n2\n3\n", 2: "0\n1\n2\n3\n4\n5\n"} { // ls opens one more
		for _, namespaced := range []bool{false, true} {
			p := &Program{Argv: []string{"ls", "/proc/self/fd"}}
			if namespaced {
				p = apart(t, p.Argv...)
			}
			p.Inherit = inherit
			for i := range inherit { // they are behind the program at first
				p.Call("a file", unix.SYS_DUP3, FirstFile+i, 3+i, 0)
			}
			if text, code := start(t, p, "exec 4</dev/null 5</dev/null 7</dev/null 9>&1;"); text != want || code != 0 {
				t.Errorf("%d files, namespaces %v: %d %q, want %q", inherit, namespaced, code, text, want)
			}
		}
	}
}

// TestHowTheCommandEndedIsPassedOn, also when a signal ended it.
func TestHowTheCommandEndedIsPassedOn(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "exit 255": 255, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9,
		"sleep 60 & exit 3": 3, "(sleep 0.01; exit 9) & wait $!": 9} {
		if text, code := start(t, apart(t, "sh", "-c", script), ""); code != want {
			t.Errorf("%s: %d %q, want %d", script, code, text, want)
		}
	}
}

// running starts a launcher whose command says that it runs.
func running(t *testing.T, p *Program) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
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
	cmd = exec.Command(os.Args[0], Flag)
	cmd.ExtraFiles = []*os.File{f}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	out = bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); err != nil || line != "runs\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd, in, out
}

// TestAKilledLauncherTakesAllWithIt: whatever runs in its namespaces.
func TestAKilledLauncherTakesAllWithIt(t *testing.T) {
	cmd, _, out := running(t, apart(t, "sh", "-c", "trap '' TERM HUP INT; (setsid sleep 600 &) ; echo runs; sleep 600; echo survives"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) != 0 { // ends when nobody has the pipe any more
		t.Errorf("%q, %v", rest, err)
	}
}

// children are those of the first thread of a process.
func children(t *testing.T, pid int) []string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// TestTheFirstProcessHasNoFiles: it only waits, and nothing stays open for it. The command leads a session.
func TestTheFirstProcessHasNoFiles(t *testing.T) {
	cmd, in, out := running(t, apart(t, "sh", "-c", "echo runs; read x; cut -d' ' -f6 /proc/self/stat"))
	first := children(t, cmd.Process.Pid)
	if len(first) != 1 {
		t.Fatalf("the launcher has the children %q", first)
	}
	for { // it may not have come to that yet
		files, err := os.ReadDir("/proc/" + first[0] + "/fd")
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	in.Close()
	session, err := out.ReadString('\n')
	mine, failed := unix.Getsid(0)
	if err != nil || failed != nil || strings.TrimSpace(session) == fmt.Sprint(mine) {
		t.Errorf("the session is %q, %v, and the test's is %d, %v", session, err, mine, failed)
	}
}

// TestSignalsAreTheCommands: those of the terminal reach the launcher, too, and it stays until the command ended.
func TestSignalsAreTheCommands(t *testing.T) {
	cmd, in, out := running(t, apart(t, "sh", "-c", "echo runs; read x; echo ends; exit 5"))
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGTSTP, syscall.SIGPIPE} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatalf("%v: %v", sig, err)
		}
	}
	in.Close()
	rest, err := io.ReadAll(out)
	if _ = cmd.Wait(); err != nil || string(rest) != "ends\n" || cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("%q, %v, %v", rest, err, cmd.ProcessState)
	}
}

// TestSignalsAreAsTheyWere for the command: the launcher held them while it set up.
func TestSignalsAreAsTheyWere(t *testing.T) {
	const show = "grep -E '^Sig(Blk|Ign):' /proc/self/status"
	want, err := exec.Command("/bin/sh", "-c", show).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Program{{Argv: []string{"sh", "-c", show}}, apart(t, "sh", "-c", show)} {
		if text, code := start(t, p, ""); text != string(want) || code != 0 {
			t.Errorf("%d %q, want %q", code, text, want)
		}
	}
}

// TestNoDamagedProgramIsCarriedOut: what is not whole, or too large, is refused before anything is done.
func TestNoDamagedProgramIsCarriedOut(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "made")
	good := func() []byte {
		p := &Program{Argv: []string{"true"}}
		p.Call("make", unix.SYS_MKDIRAT, ^uint64(99), marker, 0o700)
		return p.Encode()
	}
	word := func(at int, value uint64) []byte {
		b := good()
		binary.NativeEndian.PutUint64(b[8*at:], value)
		return b
	}
	size := uint64(len(good()))
	for name, b := range map[string][]byte{
		"nothing": nil, "half of a header": good()[:headerSize/2], "a header alone": good()[:headerSize],
		"all but the last byte": good()[:size-1], "another magic": word(0, magic+1), "more than there is": word(1, size+1),
		"too large": word(1, 64<<20+1), "too many registers": word(4, registerLimit+1), "no arguments": word(10, 0),
		"more arguments than there is room for": word(10, 1<<40), "more words than there is room for": word(12, 1<<40),
	} {
		fd, err := unix.MemfdCreate("program", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "program")
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], Flag)
		cmd.ExtraFiles = []*os.File{f}
		out, _ := cmd.CombinedOutput()
		if again := counting(cmd, 0); again != nil {
			_ = again.Run()
		}
		f.Close()
		if code := cmd.ProcessState.ExitCode(); code != unavailable || !strings.Contains(string(out), "cannot be read") {
			t.Errorf("%s: %d %s", name, code, out)
		}
		if _, err := os.Lstat(marker); err == nil {
			t.Fatalf("%s: it was carried out", name)
		}
	}
}

// TestAProgramIsReadAsItWasWritten: with no step, one or more, each with its own words and results.
func TestAProgramIsReadAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	at := ^uint64(99) // AT_FDCWD
	for n := range 4 {
		p := &Program{Argv: []string{"sh", "-c", "cat \"$@\"; ls " + dir + " | wc -l", "sh"}}
		var files []Reg
		want := ""
		for i := range n {
			name := filepath.Join(dir, string(rune('a'+i)))
			files = append(files, p.Keep(p.Call("create", unix.SYS_OPENAT, at, name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o600)))
			p.Argv, want = append(p.Argv, name), want+filepath.Base(name)
		}
		for i := n - 1; i >= 0; i-- { // not in the order in which they were opened
			p.Call("write", unix.SYS_WRITE, files[i], []byte{byte('a' + i)}, 1)
		}
		if n == 0 {
			p.Argv = append(p.Argv, "/dev/null")
		}
		if text, code := start(t, p, ""); text != want+string(rune('0'+n))+"\n" || code != 0 {
			t.Errorf("%d files: %d %q", n, code, text)
		}
	}
	one := &Program{Argv: []string{"ls", dir + "/alone"}}
	one.Call("make", unix.SYS_MKDIRAT, at, dir+"/alone", 0o700)
	if text, code := start(t, one, ""); text != "" || code != 0 {
		t.Errorf("one step alone: %d %q", code, text)
	}
	number := &Program{Argv: []string{"true"}} // a step without words of its own, but for its note
	number.Call("closed twice", unix.SYS_CLOSE, 77)
	if text, code := start(t, number, ""); code != unavailable || !strings.Contains(text, "closed twice") {
		t.Errorf("a step of numbers: %d %q", code, text)
	}
}

// TestArgumentsAreOfEachKind: numbers as they are, what lies in memory by its place, which is a whole number of words.
func TestArgumentsAreOfEachKind(t *testing.T) {
	p := &Program{}
	place := p.Data([]byte("odd"))
	reg := p.Keep(p.Call("first", 7))
	other := p.Keep(p.Call("second", 8))
	s := p.Call("third", 9, -2, uint64(3), uintptr(4), nil, reg, other)
	if want := [6]uint64{^uint64(1), 3, 4}; s.Args != want || s.In != [6]uint16{4: 1, 5: 2} || s.Number != 9 {
		t.Errorf("%+v", *s)
	}
	s = p.Call("fourth", 10, "text", []byte("more"), place, place.At(2))
	for i, want := range []string{"text\x00", "more", "odd", "d"} {
		if got := string(p.data[s.Args[i]:][:len(want)]); got != want {
			t.Errorf("argument %d leads to %q, want %q", i, got, want)
		}
		if i < 3 && s.Args[i]%8 != 0 {
			t.Errorf("argument %d leads to %d", i, s.Args[i])
		}
	}
	if p.Len() != 4 || p.Data([]byte{1, 2, 3})%8 != 0 || p.Data([]byte{1})%8 != 0 {
		t.Errorf("%d steps", p.Len())
	}
	defer func() {
		if recover() == nil {
			t.Error("an argument of another kind was taken")
		}
	}()
	p.Call("fifth", 11, int8(1))
}

// TestALauncherWaitsForItsProgram: the first process is there by then, and does nothing before the word comes.
// When it cannot come any more nothing is done, and nobody is told.
func TestALauncherWaitsForItsProgram(t *testing.T) {
	for name, c := range map[string]struct {
		clone, then uint64
		word        bool
		text        string
		code        int
	}{
		"in namespaces":            {unix.CLONE_NEWUSER, unix.CLONE_NEWUSER, true, "runs\n", 6},
		"as the command":           {0, 0, true, "runs\n", 6},
		"that never comes":         {unix.CLONE_NEWUSER, unix.CLONE_NEWUSER, false, "", unavailable},
		"that needs others":        {unix.CLONE_NEWUSER, unix.CLONE_NEWUSER | unix.CLONE_NEWNS, true, "kerf: " + NotSetUp + unreadable + "\n", unavailable},
		"that never comes, either": {0, 0, false, "", unavailable},
	} {
		run := func(launcher *exec.Cmd, program, wait, word *os.File) string {
			if _, err := program.WriteAt((&Program{Clone: c.clone}).Encode(), 0); err != nil {
				t.Fatal(err)
			}
			launcher.ExtraFiles = []*os.File{program, wait}
			var out bytes.Buffer
			launcher.Stdout, launcher.Stderr = &out, &out
			if err := launcher.Start(); err != nil {
				t.Fatal(err)
			}
			wait.Close()
			for c.clone != 0 && len(children(t, launcher.Process.Pid)) == 0 {
				time.Sleep(time.Millisecond) // until the first process is there
			}
			if c.word {
				p := &Program{Clone: c.then, Argv: []string{"sh", "-c", "echo runs; exit 6"}}
				if _, err := program.WriteAt(p.Encode(), 0); err != nil {
					t.Fatal(err)
				}
				if _, err := word.Write([]byte{1}); err != nil {
					t.Fatal(err)
				}
			}
			word.Close()
			_ = launcher.Wait()
			return out.String()
		}
		if c.clone != 0 {
			apart(t)
		}
		for _, counts := range []bool{false, true} {
			fd, err := unix.MemfdCreate("program", unix.MFD_CLOEXEC)
			if err != nil {
				t.Fatal(err)
			}
			program := os.NewFile(uintptr(fd), "program")
			wait, word, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			launcher := exec.Command(os.Args[0], Flag, "4")
			if counts {
				launcher = counting(launcher, 4)
			}
			if launcher != nil {
				if text := run(launcher, program, wait, word); text != c.text || launcher.ProcessState.ExitCode() != c.code {
					t.Errorf("a program %s: %v %q, want %d %q", name, launcher.ProcessState, text, c.code, c.text)
				}
			}
			program.Close()
			wait.Close()
			word.Close()
		}
	}
}

// TestTheCommandHasTheTerminal as its own, if it is to have it.
func TestTheCommandHasTheTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	for _, terminal := range []bool{false, true} {
		p := apart(t, "sh", "-c", "if (: </dev/tty) 2>/dev/null; then exit 3; else exit 4; fi")
		p.Terminal = terminal
		fd, err := unix.MemfdCreate("program", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "program")
		if _, err := f.WriteAt(p.Encode(), 0); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], Flag)
		cmd.ExtraFiles, cmd.Stdin = []*os.File{f}, slave
		out, _ := cmd.CombinedOutput()
		f.Close()
		if code := cmd.ProcessState.ExitCode(); (code == 3) != terminal || (code == 4) == terminal {
			t.Errorf("a terminal %v: %d %s", terminal, code, out)
		}
	}
}

// TestWhoIsALauncher: who has the flag as its first argument, and nobody else.
func TestWhoIsALauncher(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want bool
	}{
		{[]string{"kerf", Flag}, true}, {[]string{"kerf", Flag, "more"}, true}, {[]string{"", Flag}, true},
		{[]string{"kerf", Flag + "er"}, false}, {[]string{"kerf", Flag[:len(Flag)-1]}, false}, {[]string{"kerf", "-test.list=none", Flag}, false},
		{[]string{Flag, "-test.list=none"}, false}, {[]string{strings.Repeat("a", 255-len(Flag)), Flag}, false},
		{[]string{strings.Repeat("a", 300), Flag}, false},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Args = c.argv
		out, _ := cmd.CombinedOutput()
		if launched := strings.Contains(string(out), unreadable); launched != c.want || launched != (cmd.ProcessState.ExitCode() == unavailable) ||
			strings.Contains(string(out), "panic: ") {
			t.Errorf("%q: %v, %.200s", c.argv, cmd.ProcessState, out)
		}
	}
}

// TestNumbersAreStored where a step says, 32 bits of them.
func TestNumbersAreStored(t *testing.T) {
	p := &Program{Argv: []string{"true"}}
	at := p.Data([]byte("a word, and no more\n"))
	p.Call("store", Store, at, uint64(0xffffffff_00000000|0x64726f57)) // "Word", in the order of most machines
	p.Call("write", unix.SYS_WRITE, 1, at, 20)
	var word [4]byte
	binary.NativeEndian.PutUint32(word[:], 0x64726f57)
	if text, code := start(t, p, ""); text != string(word[:])+"rd, and no more\n" || code != 0 {
		t.Errorf("%d %q", code, text)
	}
}

// TestACommandThatCannotBeToldDoesNotBegin: nobody would know that it ran.
func TestACommandThatCannotBeToldDoesNotBegin(t *testing.T) {
	p := &Program{Argv: []string{"echo", "runs"}}
	p.Call("close the program", unix.SYS_CLOSE_RANGE, 3, 255, 0)
	if text, code, begun := begin(t, p, ""); code != unavailable || begun || !strings.Contains(text, "that it begins cannot be told: bad file") {
		t.Errorf("%d, began %v: %q", code, begun, text)
	}
}

// TestStepsAreLeftOut: as many steps are left out as an optional one says, and none when it works.
func TestStepsAreLeftOut(t *testing.T) {
	for failing, want := range map[bool]string{true: "ad", false: "abcd"} {
		p := &Program{Argv: []string{"true"}}
		p.Call("a", unix.SYS_WRITE, 1, "a", 1)
		number := 77
		if !failing {
			number = 0 // there is always one
		}
		s := p.Call("optional", unix.SYS_CLOSE, number)
		s.Optional, s.Skip = 1, 2
		p.Call("b", unix.SYS_WRITE, 1, "b", 1)
		p.Call("c", unix.SYS_WRITE, 1, "c", 1)
		p.Call("d", unix.SYS_WRITE, 1, "d", 1)
		if text, code := start(t, p, ""); text != want || code != 0 {
			t.Errorf("a step fails %v: %d %q, want %q", failing, code, text, want)
		}
	}
}

// TestWhatThereIsNoRoomForIsRefused: a name at more places than the launcher has memory for.
func TestWhatThereIsNoRoomForIsRefused(t *testing.T) {
	name := strings.Repeat("n", 100<<10)
	for places, want := range map[int]struct {
		text string
		code int
	}{2: {": file name too long\n", 126}, 1000: {unreadable + "\n", unavailable}} {
		p := &Program{Argv: []string{name}, Env: []string{"PATH=" + strings.Repeat("/a:", places)}}
		text, code := start(t, p, "")
		if !strings.HasSuffix(text, want.text) || code != want.code {
			t.Errorf("%d places: %d %q", places, code, text[max(0, len(text)-200):])
		}
	}
}

// TestSignalsThatWereBlockedStayBlocked for the command, and no others are.
func TestSignalsThatWereBlockedStayBlocked(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	const before = `import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.execv(sys.argv[1], sys.argv[1:])`
	for _, p := range []*Program{{Argv: []string{"grep", "^SigBlk:", "/proc/self/status"}}, apart(t, "grep", "^SigBlk:", "/proc/self/status")} {
		fd, err := unix.MemfdCreate("program", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "program")
		if _, err := f.WriteAt(p.Encode(), 0); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "-c", before, os.Args[0], Flag)
		cmd.ExtraFiles = []*os.File{f}
		out, err := cmd.CombinedOutput()
		f.Close()
		if want := fmt.Sprintf("SigBlk:\t%016x\n", 1<<(syscall.SIGUSR1-1)); string(out) != want || err != nil {
			t.Errorf("%v, %q, want %q", err, out, want)
		}
	}
}
