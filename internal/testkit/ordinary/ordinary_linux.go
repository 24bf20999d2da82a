package ordinary

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// key is the environment variable of a process that Run made.
const key = "KERF_TEST_ORDINARY"

// powers are what lets root pass over the modes of files.
var powers = []int{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH}

// Bound reports whether the modes of files bind this process.
func Bound() bool {
	have, err := held()
	for _, p := range powers {
		if err != nil || have[p/32].Effective&(1<<(p%32)) != 0 {
			return false
		}
	}
	return true
}

var errKept = errors.New("modes do not bind root, who cannot give up that power")

func held() (data [2]unix.CapUserData, err error) {
	return data, unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
}

// Run reports whether a test, which is no part of another, goes on in this process. Where modes do not
// bind that, the test has run in one of its own when Run returns, with root's other powers, and t has its
// outcome; it goes on here where root may not give up a power. What that process reaches is written to
// GOCOVERDIR, if that is set and coverage is measured.
func Run(t *testing.T) bool {
	t.Helper()
	if Bound() {
		return true
	}
	if os.Getenv(key) != "" {
		t.Fatal("modes do not bind root without its powers")
	}
	args := []string{"-test.run=^" + t.Name() + "$"}
	if end, ok := t.Deadline(); ok {
		args = append(args, fmt.Sprint("-test.timeout=", time.Until(end)))
	}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" && testing.CoverMode() != "" {
		args = append(args, "-test.gocoverdir="+dir)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), key+"=1")
	switch out, err := without(cmd); {
	case errors.Is(err, errKept):
		t.Log(err)
		return true
	case err != nil:
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	return false
}

// without runs a command that has none of the powers. They are taken from a thread that ends with it.
func without(cmd *exec.Cmd) (out []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = giveUp(); err != nil {
			err = fmt.Errorf("%w: %w", errKept, err)
			return
		}
		out, err = cmd.CombinedOutput()
	}()
	<-done
	return out, err
}

// giveUp takes from this thread what a program that it starts would have of the powers.
func giveUp() error {
	data, err := held()
	if err != nil {
		return err
	}
	for _, p := range powers {
		data[p/32].Inheritable &^= 1 << (p % 32)
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(p), 0, 0, 0); err != nil {
			return err
		}
	}
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
}
