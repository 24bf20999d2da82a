package selftest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kerf/internal/protocol"
)

// TestWhatDoesNothingFails: no step is content with a program that ends at once, nor with
// one that runs everything without a sandbox.
func TestWhatDoesNothingFails(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("sh is not installed")
	}
	programs := map[string]string{
		"nothing":    "exit 0",
		"error":      "echo broken >&2; exit 1",
		"unconfined": `while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done; [ $# = 0 ] || { shift; exec "$@"; }`,
	}
	for name, body := range programs {
		t.Run(name, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "kerf")
			if err := os.WriteFile(exe, []byte("#!"+sh+"\n"+body+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			n := 0
			err := Run(context.Background(), exe, os.Environ(), func(c protocol.Check) {
				n++
				if c.State == "ok" {
					t.Errorf("%s: %s", c.Name, c.Detail)
				}
			})
			if err != nil || n != len(steps) {
				t.Errorf("%d of %d steps, %v", n, len(steps), err)
			}
		})
	}
}
