package trust

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestAPlaceholderIsNoChange: the socket that stands for .kerf while a command runs, or
// after a session was killed, changes nothing of what the user trusts.
func TestAPlaceholderIsNoChange(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no sandbox puts placeholders there")
	}
	dir, err := os.MkdirTemp("", "t") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	before, err := Hash(dir, dir, filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, ".kerf"))
	if err != nil {
		t.Fatal(err)
	}
	if after, err := Hash(dir, dir, filepath.Join(dir, "home")); err != nil || after != before {
		t.Errorf("with the placeholder: %s, %v; before: %s", after, err, before)
	}
	l.Close()
	_ = os.Remove(filepath.Join(dir, ".kerf"))
	if err := os.Mkdir(filepath.Join(dir, ".kerf"), 0o755); err != nil {
		t.Fatal(err)
	}
	if after, err := Hash(dir, dir, filepath.Join(dir, "home")); err != nil || after == before {
		t.Errorf("control: a directory of settings changes nothing: %s, %v", after, err)
	}
}
