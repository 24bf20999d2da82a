//go:build unix

package interactive

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox"
)

// said collects output, and calls ready for the first of it.
type said struct {
	mu    sync.Mutex
	text  bytes.Buffer
	once  sync.Once
	ready func()
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready != nil {
		s.once.Do(s.ready)
	}
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func command(t *testing.T, argv ...string) Command {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	return Command{Argv: argv, Dir: dir, Full: true, Policy: boundary.Policy{Mode: boundary.FullAccess},
		Env: func(tty bool) []string {
			return []string{"PATH=" + os.Getenv("PATH"), "TTY=" + map[bool]string{true: "yes", false: "no"}[tty]}
		}}
}

// TestACommandHasTheStreamsAndPassesItsCodeOn: no input where there is no file for it, and what it says where it
// says it.
func TestACommandHasTheStreamsAndPassesItsCodeOn(t *testing.T) {
	var out, err said
	c := command(t, "sh", "-c", "cat; echo \"out $TTY $PWD\"; echo err >&2; exit 7")
	code, failed := c.Run(t.Context(), strings.NewReader("unread"), &out, &err)
	if code != 7 || failed != nil || out.String() != "out no "+c.Dir+"\n" || err.String() != "err\n" {
		t.Errorf("%d, %v, out %q, err %q", code, failed, out.String(), err.String())
	}
	in := filepath.Join(c.Dir, "in")
	if e := os.WriteFile(in, []byte("input"), 0o600); e != nil {
		t.Fatal(e)
	}
	f, e := os.Open(in)
	if e != nil {
		t.Fatal(e)
	}
	defer f.Close()
	log, e := os.Create(filepath.Join(c.Dir, "log"))
	if e != nil {
		t.Fatal(e)
	}
	defer log.Close()
	c.Argv = []string{"sh", "-c", "cat; echo err >&2"}
	if code, failed = c.Run(t.Context(), f, log, log); code != 0 || failed != nil {
		t.Errorf("%d, %v", code, failed)
	}
	if text, e := os.ReadFile(log.Name()); e != nil || string(text) != "inputerr\n" {
		t.Errorf("%q, %v", text, e)
	}
}

// TestACommandThatIsNotThere, or that cannot be started, is told with a code of its own.
func TestACommandThatIsNotThere(t *testing.T) {
	var out, err said
	c := command(t, "no-such-program-here")
	if code, failed := c.Run(t.Context(), nil, &out, &err); code != codeNotFound || failed == nil {
		t.Errorf("%d, %v", code, failed)
	}
	c = command(t, "sh")
	c.Dir = filepath.Join(c.Dir, "none")
	if code, failed := c.Run(t.Context(), nil, &out, &err); code != codeNotRun || failed == nil {
		t.Errorf("%d, %v", code, failed)
	}
	c = command(t, "sh")
	c.Full, c.Policy = false, boundary.Policy{Mode: boundary.WorkspaceWrite, Backend: "none of them"}
	if code, failed := c.Run(t.Context(), nil, &out, &err); code != codeNoSandbox || failed == nil || !strings.Contains(failed.Error(), "was not run") {
		t.Errorf("%d, %v", code, failed)
	}
}

// TestSignalsReachTheCommand, and the second one ends it, whatever it does about them.
func TestSignalsReachTheCommand(t *testing.T) {
	self := func(sig syscall.Signal) {
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Error(err)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGINT} {
		var code int
		var err error
		for range 5 { // it has two seconds, which may be short on a busy machine
			out := said{ready: func() { self(sig) }}
			c := command(t, "bash", "-c", "trap 'exit 9' TERM HUP USR1 INT; echo ready; while :; do sleep 0.01; done")
			if code, err = c.Run(t.Context(), nil, &out, &out); code == 9 {
				break
			}
		}
		if code != 9 || err != nil {
			t.Errorf("%v: %d, %v", sig, code, err)
		}
	}
	stubborn := &said{}
	stubborn.ready = func() { self(syscall.SIGUSR1) }
	again := fmt.Sprintf("trap 'kill -USR2 %d' USR1; trap '' USR2 TERM; echo ready; while :; do sleep 0.01; done", os.Getpid())
	c := command(t, "bash", "-c", again)
	code, err := c.Run(t.Context(), nil, stubborn, stubborn)
	if code != 128+int(syscall.SIGKILL) || err != nil {
		t.Errorf("after the second one: %d, %v", code, err)
	}
}

// TestACommandIsConfined to its directory, with a /tmp that is gone with it.
func TestACommandIsConfined(t *testing.T) {
	if err := sandbox.Probe(t.Context()); err != nil {
		t.Skip(err)
	}
	var out said
	c := command(t, "sh", "-c", "pwd; echo kept > here; echo gone > /tmp/kerf-test-interactive; ls /tmp; exit 3")
	dir, err := filepath.EvalSymlinks(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	c.Dir, c.Full = work, false
	c.Policy = boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{work}, LockDir: filepath.Join(dir, "locks")}
	code, failed := c.Run(t.Context(), nil, &out, &out)
	if code != 3 || failed != nil || !strings.HasPrefix(out.String(), work+"\n") || !strings.Contains(out.String(), "kerf-test-interactive\n") ||
		strings.Contains(out.String(), "warning") {
		t.Errorf("%d, %v, %s", code, failed, out.String())
	}
	if _, err := os.Lstat("/tmp/kerf-test-interactive"); err == nil {
		t.Error("it wrote to the machine's /tmp")
	}
	if text, err := os.ReadFile(filepath.Join(work, "here")); err != nil || string(text) != "kept\n" {
		t.Errorf("%q, %v", text, err)
	}
}
