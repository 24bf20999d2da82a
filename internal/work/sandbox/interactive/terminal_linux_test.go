package interactive

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox"
)

// TestACommandHasTheTerminal: its size, also a new one, and the keys, Ctrl-C among them. Ours is as it was afterwards.
func TestACommandHasTheTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	defer master.Close() // ends who reads the other end
	size := func(rows, cols uint16) {
		if err := pty.Setsize(master, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
			t.Error(err)
		}
	}
	size(30, 101)
	before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	keys := func(text string) {
		if _, err := master.WriteString(text); err != nil {
			t.Error(err)
		}
	}
	shown := make(chan string)
	go func() { // the user
		var all bytes.Buffer
		b := make([]byte, 1024)
		answers := []struct {
			seen string
			do   func()
		}{
			{"size 30 101 yes", func() { keys("typed\r") }},
			{"got typed", func() { size(40, 122); _ = syscall.Kill(os.Getpid(), syscall.SIGWINCH) }},
			{"size 40 122", func() { keys("\x03") }},
		}
		for !strings.Contains(all.String(), "back") {
			n, err := master.Read(b)
			if err != nil {
				break
			}
			all.Write(b[:n])
			for len(answers) > 0 && strings.Contains(all.String(), answers[0].seen+"\r\n") {
				answers[0].do()
				answers = answers[1:]
			}
		}
		shown <- all.String()
	}()
	c := command(t, "sh", "-c", `echo "size $(stty size) $TTY"; read x; echo "got $x"; until [ "$(stty size)" = "40 122" ]; do :; done
echo "size $(stty size)"; exec sleep 600`)
	code, failed := c.Run(t.Context(), slave, slave, slave)
	if _, err := slave.WriteString("back"); err != nil {
		t.Error(err)
	}
	if all := <-shown; code != 128+int(syscall.SIGINT) || failed != nil || !strings.Contains(all, "size 40 122\r\n") {
		t.Errorf("%d, %v, shown %q", code, failed, all)
	}
	after, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("%v, the terminal was %+v and is %+v", err, before, after)
	}
}

// TestNobodyIsToldOfSizesAnyMore when a command has ended.
func TestNobodyIsToldOfSizesAnyMore(t *testing.T) {
	told := make(chan bool, 8)
	var done atomic.Int32
	stop := onResize(func() {
		told <- true
		time.Sleep(20 * time.Millisecond)
		done.Add(1)
	})
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	<-told
	if stop(); done.Load() != 1 {
		t.Error("somebody is told still")
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil || len(told) != 0 {
		t.Errorf("%v, told %d times", err, len(told))
	}
}

// TestASandboxThatStoppedWorking is told, with the code of one that cannot be set up, and nothing has run.
func TestASandboxThatStoppedWorking(t *testing.T) {
	bin, once := t.TempDir(), filepath.Join(t.TempDir(), "once")
	text := fmt.Sprintf("#!/bin/sh\nmkdir %s 2>/dev/null && exit 0\nexit 3\n", once) // it works when it is tried first
	if err := os.WriteFile(filepath.Join(bin, "bwrap"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	c := command(t, "sh", "-c", "echo runs")
	locks := filepath.Join(t.TempDir(), "locks")
	if err := os.Mkdir(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	c.Full = false
	c.Policy = boundary.Policy{Mode: boundary.ReadOnly, Roots: []string{c.Dir}, LockDir: locks, Backend: boundary.Bubblewrap}
	var out, err said
	code, failed := c.Run(t.Context(), nil, &out, &err)
	if _, e := os.Stat(once); code != codeNoSandbox || failed == nil || out.String() != "" || e != nil {
		t.Errorf("%d, %v, %q, err %q, %v", code, failed, out.String(), err.String(), e)
	}
}

// TestWhatACommandIsEndedForIsTold to the user.
func TestWhatACommandIsEndedForIsTold(t *testing.T) {
	if err := sandbox.Probe(t.Context()); err != nil {
		t.Skip(err)
	}
	c := command(t, "sh", "-c", "head -c 3000000 /dev/zero >/tmp/big; sleep 600")
	c.Full = false
	c.Policy = boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{c.Dir}, LockDir: filepath.Join(t.TempDir(), "locks"),
		Limits: boundary.Limits{TmpBytes: 1 << 20}}
	var out, err said
	code, failed := c.Run(t.Context(), nil, &out, &err)
	if code != 128+int(syscall.SIGKILL) || failed != nil ||
		err.String() != "kerf: /tmp: more than 1 MiB lay in the commands' own directory, so the command was ended\n" {
		t.Errorf("%d, %v, %q", code, failed, err.String())
	}
}

// asProgram makes the test binary a program that runs a command, and gets a signal afterwards.
const asProgram = "KERF_TEST_INTERACTIVE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	c := Command{Argv: []string{"true"}, Dir: "/", Full: true, Policy: boundary.Policy{Mode: boundary.FullAccess},
		Env: func(bool) []string { return []string{"PATH=" + os.Getenv("PATH")} }}
	if code, err := c.Run(context.Background(), nil, os.Stdout, os.Stderr); code != 0 || err != nil {
		panic(err)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	select {}
}

// TestKerfEndsOnSignalsAgain when the command has ended.
func TestKerfEndsOnSignalsAgain(t *testing.T) {
	var out, err said
	c := command(t, os.Args[0])
	c.Env = func(bool) []string { return append(os.Environ(), asProgram+"=yes") }
	if code, failed := c.Run(t.Context(), nil, &out, &err); code != 128+int(syscall.SIGTERM) || failed != nil {
		t.Errorf("%d, %v, %s %s", code, failed, out.String(), err.String())
	}
}

// TestACommandThatWritesElsewhereHasNoTerminal, and leaves no file open.
func TestACommandThatWritesElsewhereHasNoTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	c := command(t, "sh", "-c", "echo out $TTY; echo err >&2")
	before := 0
	for range 2 { // the first one makes what is for all
		var out, err said
		code, failed := c.Run(t.Context(), slave, &out, &err)
		if code != 0 || failed != nil || out.String() != "out no\n" || err.String() != "err\n" {
			t.Errorf("%d, %v, %q, %q", code, failed, out.String(), err.String())
		}
		if now := files(); before > 0 && now != before {
			t.Errorf("%d files are open, and were %d", now, before)
		} else {
			before = now
		}
	}
}

// slow is a writer that takes its time.
type slow struct{ said }

func (s *slow) Write(b []byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	return s.said.Write(b)
}

// TestAllOfTheOutputIsThere when Run returns, however slow its writer is.
func TestAllOfTheOutputIsThere(t *testing.T) {
	var out slow
	c := command(t, "sh", "-c", "echo all of it")
	if code, failed := c.Run(t.Context(), nil, &out, &out); code != 0 || failed != nil || out.String() != "all of it\n" {
		t.Errorf("%d, %v, %q", code, failed, out.String())
	}
}

// TestHostsThatAreBlockedAreTold to the user, and not what they bring as it is.
func TestHostsThatAreBlockedAreTold(t *testing.T) {
	if err := sandbox.Probe(t.Context()); err != nil {
		t.Skip(err)
	}
	const ask = `p=${HTTPS_PROXY##*:}; exec 3<>/dev/tcp/127.0.0.1/${p%/}
printf 'CONNECT blocked.example:443 HTTP/1.1\r\nHost: blocked.example:443\r\n\r\n' >&3; read -r line <&3; echo "$line"`
	var out, err said
	c := command(t, "bash", "-c", ask)
	c.Full = false
	c.Policy = boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{c.Dir}, LockDir: filepath.Join(t.TempDir(), "locks"), Network: true, Limited: true}
	code, failed := c.Run(t.Context(), nil, &out, &err)
	if code != 0 || failed != nil || !strings.HasPrefix(out.String(), "HTTP/1.1 403 ") ||
		!strings.HasPrefix(err.String(), "kerf: blocked CONNECT \"blocked.example:443\"") {
		t.Errorf("%d, %v, %q, %q", code, failed, out.String(), err.String())
	}
}
