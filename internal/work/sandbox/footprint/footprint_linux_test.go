package footprint

import (
	"os"
	"os/exec"
	"testing"
)

// The memory of descendants counts, and what they share counts once.
func TestUsedCountsTheFamily(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	const size = 100 << 20
	for _, c := range []struct {
		name, script string
		least, most  uint64
		tasks        uint64
	}{
		{"a child of a child", `import os, signal
if os.fork() == 0:
    if os.fork() == 0:
        x = b"x" * (100 << 20)
        os.write(1, b"r"); signal.pause()
    signal.pause()
signal.pause()`, size, 2 * size, 3},
		{"shared by ten", `import os, signal
x = b"x" * (100 << 20)
for i in range(9):
    if os.fork() == 0:
        os.write(1, b""); signal.pause()
os.write(1, b"r"); signal.pause()`, size, 2 * size, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(python, "-c", c.script)
			cmd.SysProcAttr = group
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { endGroup(cmd.Process.Pid); _ = cmd.Wait() }()
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			got := Count(cmd.Process.Pid)
			if got.Memory < c.least || got.Memory > c.most {
				t.Errorf("%d MiB", got.Memory>>20)
			}
			if got.Tasks != c.tasks {
				t.Errorf("%d tasks", got.Tasks)
			}
			if Count(os.Getpid()).Memory < c.least {
				t.Error("it does not count for who started it")
			}
		})
	}
}

func TestFields(t *testing.T) {
	const text = "Rss:   9 kB\nPss:   12 kB\nPss_Dirty: 3 kB\nBroken:\n"
	if number(text, "Pss:") != 12 || number(text, "Broken:") != 0 || number(text, "None:") != 0 {
		t.Error("fields are misread")
	}
	if taken() == 0 || taken() > 1<<50 || running() == 0 || running() > 1<<40 {
		t.Errorf("the machine uses %d and runs %d", taken(), running())
	}
}

// TestWhatIsTooMuch: a limit that is not there bounds nothing, and what the whole machine does not reach no
// command does.
func TestWhatIsTooMuch(t *testing.T) {
	self := os.Getpid()
	used := Count(self)
	if used.Memory == 0 || used.Tasks == 0 {
		t.Fatal(used)
	}
	for _, c := range []struct {
		limits Limits
		want   string
	}{
		{Limits{}, ""}, {Limits{Memory: 1}, Memory}, {Limits{Tasks: 1}, Tasks}, {Limits{Memory: 1, Tasks: 1}, Memory},
		{Limits{Memory: 1 << 60, Tasks: 1}, Tasks}, {Limits{Memory: 1 << 60, Tasks: 1 << 60}, ""},
		{Limits{Memory: 16 * used.Memory, Tasks: 16 * used.Tasks}, ""},
	} {
		if got := c.limits.exceeded(self); got != c.want {
			t.Errorf("%+v: %q, want %q, of %+v", c.limits, got, c.want, used)
		}
	}
	const nobody = 1 << 30 // no number of a process
	if got := (Limits{Memory: 1, Tasks: 1}).exceeded(nobody); got != "" {
		t.Errorf("a process that is gone has too much %s", got)
	}
}

// TestAFamilyIsFoundByItsParents: whatever the programs call themselves.
func TestAFamilyIsFoundByItsParents(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	named := t.TempDir() + "/a) S 1 (b"
	if err := os.Symlink(sh, named); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(named, "-c", `"$0" -c "echo ready; sleep 600; :" & wait`, named)
	cmd.SysProcAttr = group
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { endGroup(cmd.Process.Pid); _ = cmd.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if got := family(cmd.Process.Pid); len(got) != 2 && len(got) != 3 || got[0] != cmd.Process.Pid { // sleep may be there
		t.Errorf("the family is %v", got)
	}
	mine := family(os.Getpid())
	if len(mine) < 2 || mine[0] != os.Getpid() {
		t.Errorf("the test's is %v", mine)
	}
}

// TestAWatchTellsOnce, and at the end of what there was too much.
func TestAWatchTellsOnce(t *testing.T) {
	told := make(chan bool, 8)
	w := Start(os.Getpid(), Limits{Memory: 1}, func() { told <- true })
	<-told
	for range 2 {
		if got := w.End(); got != Memory || len(told) != 0 {
			t.Errorf("%q at the end, told %d times more", got, len(told))
		}
	}
	none := Start(os.Getpid(), Limits{Memory: 1 << 60}, func() { t.Error("it is not too much") })
	if got := none.End() + (*Watch)(nil).End(); got != "" {
		t.Error(got)
	}
}
