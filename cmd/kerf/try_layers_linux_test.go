package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/testkit/modeltest"
)

// TestTriesRememberDirectories: a session in a try, of `kerf exec` and of a resumed one, looks for
// repositories before each command, and reads a directory that nobody changed only once. It knows
// that by both layers of the overlay, of which Kerf tells the Kerf that it starts in the try. Who
// opens a directory of the lower layer is counted from outside.
func TestTriesRememberDirectories(t *testing.T) {
	const commands = 12
	one := []modeltest.Round{modeltest.Answer(modeltest.Call("exec_command", sh("sleep 1.5")))}
	for i := range commands { // each changes something, so that each is looked at anew
		one = append(one, modeltest.Answer(modeltest.Call("exec_command", sh(fmt.Sprintf("echo %d > made", i)))))
	}
	one = append(one, modeltest.Answer(modeltest.Message("Done.")))
	r := newMachine(t, "tries", append(one, one...)...)
	r.cwd = filepath.Join(r.home, "w")
	var dirs []string
	for i := range 40 {
		dir := filepath.Join(r.cwd, fmt.Sprintf("d%d", i), "sub")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, filepath.Dir(dir), dir)
	}
	r.line("git init -q", nil)
	for _, line := range []string{"kerf exec --try -s workspace-write 'do it'",
		"kerf exec --try=1 resume --last -s workspace-write 'go on'"} {
		opened := countOpens(t, dirs)
		r.line(line, nil)
		n := opened()
		t.Logf("%d directories were opened %d times: %s", len(dirs), n, line)
		if n == 0 {
			t.Skip("this kernel does not tell who opens the directories of the lower layer")
		}
		if most := 6 * len(dirs); n > most {
			t.Errorf("%d directories were opened %d times around %d commands, want at most %d: %s", len(dirs), n, commands, most,
				line)
		}
	}
}

// countOpens counts how often directories are opened, until what it returns is called.
func countOpens(t *testing.T, dirs []string) func() int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	for _, dir := range dirs {
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN|unix.IN_ONLYDIR); err != nil {
			t.Skip(err)
		}
	}
	return func() (n int) {
		defer unix.Close(fd)
		for buf := make([]byte, 64<<10); ; {
			got, err := unix.Read(fd, buf)
			if err != nil || got <= 0 {
				return n
			}
			for b := buf[:got]; len(b) > 0; {
				e := (*unix.InotifyEvent)(unsafe.Pointer(&b[0]))
				if e.Mask&unix.IN_OPEN != 0 && e.Len == 0 { // of the directory itself, not of what is in it
					n++
				}
				b = b[unix.SizeofInotifyEvent+int(e.Len):]
			}
		}
	}
}
