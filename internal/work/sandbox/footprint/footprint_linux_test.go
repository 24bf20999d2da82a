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
