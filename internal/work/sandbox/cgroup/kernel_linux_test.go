package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/proc"
)

// With the real kernel: a command starts in its group, what it leaves there is killed, and
// the group goes. Limits are not needed for that.
func TestARealGroup(t *testing.T) {
	dir, err := own(kernel{})
	if err != nil {
		t.Skip("no unified hierarchy here: ", err)
	}
	p := &Parent{disk: kernel{}, dir: dir, self: os.Getpid()}
	g, err := p.Make(Limits{})
	if err != nil {
		t.Skip("no cgroup can be made here: ", err)
	}
	dir = g.dir
	defer g.End()
	run, err := proc.Start(t.Context(), proc.Spec{Argv: []string{"/bin/sh", "-c", "cat /proc/self/cgroup; exec 1>&- 2>&-; sleep 600 & exit 0"},
		Env: []string{"PATH=/usr/bin:/bin"}, Cgroup: g.File(), Linger: true})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Kill()
	<-run.Done()
	out, _ := run.Output()
	if !strings.Contains(string(out), "/"+path.Base(dir)+"\n") {
		t.Errorf("it ran in %s", out)
	}
	if !g.populated() {
		t.Error("what it left is not there: the test proves nothing")
	}
	if g.End() {
		t.Error("there was memory enough")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the group is still there: %v", err)
	}
	p.tidy()
}

// A directory that is no cgroup does not keep a command from running.
func TestAStartThatTheKernelRefuses(t *testing.T) {
	d, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	run, err := proc.Start(t.Context(), proc.Spec{Argv: []string{"/bin/true"}, Cgroup: d})
	if err != nil {
		t.Fatal(err)
	}
	<-run.Done()
	if code, _, _ := run.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestTheKernelIsAskedAsItIs: what is not there is not made, only directories are groups, and a process has the
// parent that its line says, whatever it is called.
func TestTheKernelIsAskedAsItIs(t *testing.T) {
	dir := t.TempDir()
	k := kernel{}
	if err := k.write(path.Join(dir, "none"), "1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("written where nothing is: %v", err)
	}
	if err := errors.Join(os.WriteFile(path.Join(dir, "file"), []byte("old"), 0o600), os.Mkdir(path.Join(dir, "group"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := k.write(path.Join(dir, "file"), "new"); err != nil {
		t.Error(err)
	}
	if text, err := k.read(path.Join(dir, "file")); text != "new" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if names, err := k.list(dir); err != nil || len(names) != 1 || names[0] != "group" {
		t.Errorf("%q, %v", names, err)
	}
	if err := k.rmdir(path.Join(dir, "file")); err == nil {
		t.Error("a file was removed")
	}
	if _, err := k.open(path.Join(dir, "file")); err == nil {
		t.Error("a file was opened as a group")
	}
	if got := k.parent(os.Getpid()); got != os.Getppid() {
		t.Errorf("the parent is %d, not %d", got, os.Getppid())
	}
	if got := k.parent(1 << 30); got != 0 {
		t.Errorf("one that is gone has the parent %d", got)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	named := path.Join(dir, "a) S 1 (b")
	if err := os.Symlink(sh, named); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(named, "-c", "echo runs; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = cmd.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if got := k.parent(cmd.Process.Pid); got != os.Getpid() {
		t.Errorf("one with a strange name has the parent %d, not %d", got, os.Getpid())
	}
	if a, b := name(), name(); a == b || len(a) != 16 {
		t.Errorf("names %q and %q", a, b)
	}
}

// TestAMarkDelegates: the one that systemd sets, and no other word.
func TestAMarkDelegates(t *testing.T) {
	dir := t.TempDir()
	if (kernel{}).delegated(dir) {
		t.Error("without a mark")
	}
	for value, want := range map[string]bool{"1": true, "0": false, "10": false, "yes": false, "": false} {
		if err := unix.Setxattr(dir, "user.delegate", []byte(value), 0); err != nil {
			t.Skip("extended attributes: ", err)
		}
		if got := (kernel{}).delegated(dir); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}
