//go:build unix

package handle

import (
	"testing"

	"golang.org/x/sys/unix"
)

func fifo(t *testing.T, name string) {
	t.Helper()
	if err := unix.Mkfifo(name, 0o644); err != nil {
		t.Fatal(err)
	}
}
