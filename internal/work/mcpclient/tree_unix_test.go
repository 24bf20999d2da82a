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
