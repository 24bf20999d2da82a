//go:build unix

package interactive

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

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
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
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
}

// fake is a command that only takes note, and ends when it is killed.
type fake struct {
	done chan struct{}
	end  func()
	got  []string
}

func (f *fake) Done() <-chan struct{} { return f.done }
func (f *fake) Signal(sig os.Signal)  { f.got = append(f.got, sig.String()) }
func (f *fake) Kill()                 { f.got = append(f.got, "killed"); f.end() }

// TestWhoDoesNotEndIsKilled: at the second signal, or some time after the first, but for Ctrl-C, after which a
// command may go on.
func TestWhoDoesNotEndIsKilled(t *testing.T) {
	for name, c := range map[string]struct {
		signals []os.Signal
		kills   time.Duration // 0: never
		want    []string
	}{
		"none":           {nil, 0, nil},
		"Ctrl-C":         {[]os.Signal{os.Interrupt}, 0, []string{"interrupt"}},
		"twice":          {[]os.Signal{os.Interrupt, os.Interrupt}, time.Second, []string{"interrupt", "killed"}},
		"another first":  {[]os.Signal{syscall.SIGUSR1, os.Interrupt}, time.Second, []string{"user defined signal 1", "killed"}},
		"another alone":  {[]os.Signal{syscall.SIGTERM}, stopGrace, []string{"terminated", "killed"}},
		"another second": {[]os.Signal{os.Interrupt, syscall.SIGTERM}, time.Second, []string{"interrupt", "killed"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, signals := &fake{done: make(chan struct{})}, make(chan os.Signal)
				f.end = sync.OnceFunc(func() { close(f.done) })
				began := time.Now()
				go func() {
					for i, sig := range c.signals {
						time.Sleep(time.Duration(i) * time.Second)
						signals <- sig
					}
					time.Sleep(time.Hour)
					f.end()
				}()
				attend(f, signals)
				if took, want := time.Since(began), c.kills; !slices.Equal(f.got, c.want) || took != want && (want > 0 || took < time.Hour) {
					t.Errorf("it got %q after %v, want %q after %v", f.got, took, c.want, want)
				}
				time.Sleep(2 * time.Hour)
			})
		})
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
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("left %q, %v", left, err)
	}
	if text, err := os.ReadFile(filepath.Join(work, "here")); err != nil || string(text) != "kept\n" {
		t.Errorf("%q, %v", text, err)
	}
}
