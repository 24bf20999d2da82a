package ordinary

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModesBind: whoever runs it, a file of mode 0 cannot be read, and nothing is made in a directory of
// mode 0500.
func TestModesBind(t *testing.T) {
	if !Run(t) {
		return
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := errors.Join(os.WriteFile(file, nil, 0), os.Chmod(dir, 0o500)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if _, err := os.ReadFile(file); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("read: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("made: %v", err)
	}
}

// TestWhatFailsThereFailsHere: the outcome of the other process is that of the test.
func TestWhatFailsThereFailsHere(t *testing.T) {
	if os.Getenv("KERF_TEST_ORDINARY_FAILS") != "" {
		if Run(t) {
			t.Error("this fails")
		}
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestWhatFailsThereFailsHere$")
	cmd.Env = append(os.Environ(), "KERF_TEST_ORDINARY_FAILS=1")
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || !strings.Contains(string(out), "this fails") {
		t.Errorf("%v\n%s", err, out)
	}
}
