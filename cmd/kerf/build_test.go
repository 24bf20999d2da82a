package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// built is the program as a file, in a directory of its own. It is made once, by whoever needs it
// first.
var built = sync.OnceValues(func() (path string, err error) {
	if builtIn, err = os.MkdirTemp(usualTemp, "kerf-built-"); err != nil {
		return "", err
	}
	if err := os.Chmod(builtIn, 0o755); err != nil { // some tests run it as another user
		return "", err
	}
	path = filepath.Join(builtIn, "kerf")
	// With the flags of the tests themselves, whose packages are compiled already.
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// usualTemp is where temporary files go before a test sets another place for its own.
var usualTemp = os.TempDir()

// builtIn is where built is, once there is one.
var builtIn string

// builtProgram is the path of the program. No test changes that file. Short runs have none.
func builtProgram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tidy removes what was built when all tests have run.
type tidy struct{ testscript.TestingM }

func (m tidy) Run() int {
	code := m.TestingM.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	return code
}
