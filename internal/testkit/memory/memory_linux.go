package memory

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

const (
	key  = "KERF_TESTS_IN_MEMORY" // where the file system is mounted, or done once it is
	done = "done"
)

// least is how much memory has to be available, in KiB.
const least = 3 << 20

// Run runs the tests and returns the exit code for them. For root their temporary directory is a file
// system in memory, mounted in a namespace of its own, so that it is gone with the process,
// whatever happens. Others, long runs (KERF_LONG), and machines with little memory have the disk.
func Run(m interface{ Run() int }) int {
	switch at := os.Getenv(key); {
	case at == done || at == "" && !may():
	case at == "":
		if code, ran := again(); ran {
			return code
		}
	default:
		os.Setenv(key, done) // for programs of the tests
		err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
		if err == nil {
			err = syscall.Mount("tests", at, "tmpfs", 0, "mode=1777")
		}
		if err == nil {
			os.Setenv("TMPDIR", at)
		}
	}
	return m.Run()
}

// may tells whether this process is one of go test, and the files may lie in memory.
func may() bool {
	if os.Getuid() != 0 || os.Getenv("KERF_LONG") != "" || len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "-test.") {
		return false
	}
	text, err := os.ReadFile("/proc/meminfo")
	_, rest, found := strings.Cut(string(text), "MemAvailable:")
	var free int
	if n, _ := fmt.Sscan(rest, &free); err != nil || !found || n != 1 {
		return false
	}
	return free >= least
}

// again runs this program once more, in a namespace of its own for mounts, and returns its exit
// code. It reports false where there can be no such namespace.
func again() (code int, ran bool) {
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		return 0, false
	}
	defer os.Remove(dir)   // what is mounted on it is seen only in there
	runtime.LockOSThread() // Pdeathsig is about the thread
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), key+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, false
	}
	var ended *exec.ExitError
	switch err := cmd.Wait(); {
	case errors.As(err, &ended):
		return max(1, ended.ExitCode()), true
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}
