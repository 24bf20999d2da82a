package others

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/supervise/content"
)

// writerOf names the file that this program holds open, in place of its tests, when its first thread has
// ended or has descriptors of its own, as writerHow says.
const writerOf, writerHow = "KERF_TEST_WRITER_OF", "KERF_TEST_WRITER_HOW"

func init() {
	if os.Getenv(writerOf) != "" {
		runtime.LockOSThread() // TestMain is on the first thread
	}
}

func TestMain(m *testing.M) {
	name := os.Getenv(writerOf)
	if name == "" {
		os.Exit(m.Run())
	}
	open := make(chan bool)
	go func() {
		runtime.LockOSThread()
		if os.Getenv(writerHow) == "own" {
			if err := unix.Unshare(unix.CLONE_FILES); err != nil {
				panic(err)
			}
		}
		if _, err := unix.Open(name, unix.O_WRONLY, 0); err != nil {
			panic(err)
		}
		open <- true
		for os.Getenv(writerHow) == "ended" {
			if text, _ := os.ReadFile("/proc/self/status"); bytes.Contains(text, []byte("State:\tZ")) {
				break
			}
			runtime.Gosched()
		}
		os.Stdout.WriteString("ready\n")
		_, _ = unix.Read(0, make([]byte, 1)) // until the test ends it
		os.Exit(0)
	}()
	<-open
	if os.Getenv(writerHow) == "ended" {
		_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
	}
	select {}
}

// TestThreadsAreAsked: a process has a file open when its first thread has ended, and when one of its
// threads has descriptors of its own.
func TestThreadsAreAsked(t *testing.T) {
	proc, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	for _, how := range []string{"as ever", "own", "ended"} {
		name := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		var thing content.Thing
		if err := thing.Stat(unix.AT_FDCWD, name); err != nil {
			t.Fatal(err)
		}
		held := func() bool {
			w := &Writers{}
			all := Find(int(proc.Fd()), map[content.Inode]*Writers{thing.ID: w}, nil)
			return w.Others && all
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerOf+"="+name, writerHow+"="+how)
		cmd.Stderr = os.Stderr
		in, _ := cmd.StdinPipe()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if held() {
			t.Error("nobody has it open, but that is not what is told")
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%s: %q, %v", how, line, err)
		}
		if !held() {
			t.Errorf("%s: who has it open is not found", how)
		}
		in.Close()
		if _, err := io.Copy(io.Discard, out); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	}
}
