package memory

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }

const (
	inMemory = 0x01021994 // TMPFS_MAGIC
	fails    = "KERF_TESTKIT_MEMORY_FAILS"
)

// TestFilesLieInMemory: those of the tests do for root.
func TestFilesLieInMemory(t *testing.T) {
	if os.Getenv(fails) != "" {
		t.Fatal("as it should")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	if os.Getenv(key) != done {
		t.Skip("files of tests lie on the disk: a long run, little memory, or no right to mount")
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(t.TempDir(), &st); err != nil || st.Type != inMemory {
		t.Errorf("file system %#x, %v", st.Type, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Statfs(self, &st); err != nil {
		t.Errorf("the program of the tests is out of reach: %v", err)
	}
}

// TestAFailureIsTold: the process in the namespace fails, and so does the one before it.
func TestAFailureIsTold(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=TestFilesLieInMemory")
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, key+"=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, fails+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "as it should") {
		t.Errorf("%v: %s", err, out)
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}
