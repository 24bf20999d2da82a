//go:build linux

package trust

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

const (
	roleKey  = "KERF_TRUST_ROLE"  // what this process is: a writer, or nothing
	tmpfsKey = "KERF_TRUST_TMPFS" // where the file system in memory is mounted
)

// TestMain runs the tests with a file system in memory where it may mount one. That one
// lies in a mount namespace of its own, so it is gone with the process, whatever happens.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(roleKey) == "writer":
		os.Exit(runWriter(os.Args[1:]))
	case os.Getuid() == 0 && os.Getenv(tmpfsKey) == "":
		os.Exit(inNamespace(m))
	case os.Getenv(tmpfsKey) != "" && os.Getenv(tmpfsKey) != "none":
		dir := os.Getenv(tmpfsKey)
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err == nil {
			err = syscall.Mount("trust", dir, "tmpfs", 0, "mode=0755")
			if err == nil {
				memory = dir
			}
		}
	}
	os.Exit(m.Run())
}

// memory is a directory in memory, if there is one.
var memory string

// inNamespace runs this program again in a mount namespace of its own, or the tests
// right here where there can be none.
func inNamespace(m *testing.M) int {
	dir, err := os.MkdirTemp("", "trust")
	if err != nil {
		return m.Run()
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), tmpfsKey+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return m.Run()
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &ended) {
		return max(1, ended.ExitCode())
	} else if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// program builds kerf once and returns its path.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(memory, "bin")
	if err != nil {
		return "", err
	}
	if built := os.Getenv("KERF_TRUST_PROGRAM"); built != "" {
		return built, nil
	}
	path := filepath.Join(dir, "kerf")
	// With the flags of the tests themselves, whose packages are compiled already.
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "../../cmd/kerf").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return path, nil
})

// scratch is a new directory for a test, in memory where that can be.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(memory, "t")
	if err != nil {
		t.Fatal(err)
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("KERF_TRUST_SEED") == "" {
		t.Cleanup(func() {
			_ = exec.Command("chmod", "-R", "u+rwx", dir).Run()
			_ = os.RemoveAll(dir)
		})
	}
	return dir
}
