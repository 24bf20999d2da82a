//go:build unix

package mcpclient

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Servers that fork, through a launcher, end with the manager.
func TestSEC_O3_NothingOfAServerSurvives(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	self := program(t, "fix", "good")
	launcher := Server{Name: "fix", Command: "/bin/sh", Env: append(self.Env, "PIDS="+pids),
		Args: []string{"-c", `(setsid sleep 600 & echo $! >>"$PIDS"); sleep 600 & echo $! >>"$PIDS"; exec "$0"`, self.Command}}
	m := Start(Options{Servers: []Server{launcher}, Name: "kerf", Version: "test"})
	m.Settle(t.Context())
	if len(m.Tools()) == 0 {
		t.Fatalf("the server is %+v", m.Status())
	}
	b, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	var alive []int
	for _, word := range strings.Fields(string(b)) {
		var pid int
		if _, err := fmt.Sscan(word, &pid); err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) != nil {
			t.Fatalf("process %d did not run, so the test shows nothing", pid)
		}
		alive = append(alive, pid)
	}
	m.Close()
	for _, pid := range alive {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
}

// TestAFailureIsToldWhileTheServerIsStartedAgain: whoever looks at any moment sees why it
// does not work.
func TestAFailureIsToldWhileTheServerIsStartedAgain(t *testing.T) {
	log := filepath.Join(t.TempDir(), "starts")
	m := Start(Options{Servers: []Server{{Name: "s", Command: "/bin/sh", Env: append(os.Environ(), "LOG="+log),
		StartupTimeout: time.Minute, Args: []string{"-c", `echo x >>"$LOG"; read line; echo the license expired >&2; exit 3`}}},
		Name: "kerf", Version: "test"})
	defer m.Close()
	m.Settle(t.Context())
	for starts := 0; starts < 8; {
		if st := m.Status()[0]; st.State != failed || !strings.Contains(st.Error, "the license expired") {
			t.Fatalf("after %d starts it is %+v", starts, st)
		}
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		starts = len(b) / 2
	}
}
