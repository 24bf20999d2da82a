package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

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
