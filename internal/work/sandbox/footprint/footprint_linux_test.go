package footprint

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
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
	text := []byte("Rss:   9 kB\nPss:   12 kB\nPss_Dirty: 3 kB\nThreads:\t7\nBroken:\n")
	for name, want := range map[string]uint64{"Pss:": 12, "Threads:": 7, "Broken:": 0, "None:": 0} {
		if got := number(text, name); got != want {
			t.Errorf("%s %d, want %d", name, got, want)
		}
	}
	if machine.taken() == 0 || machine.taken() > 1<<50 || machine.running() == 0 || machine.running() > 1<<40 {
		t.Errorf("the machine uses %d and runs %d", machine.taken(), machine.running())
	}
}

// told makes a directory in which a kernel tells what files hold.
func told(t *testing.T, files map[string]string) kernel {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return kernel(dir)
}

// process is what the kernel tells of one.
func process(parent, threads, kilobytes string) map[string]string {
	return map[string]string{"stat": "9 (a) S 1 (b) S " + parent + " 9 0", "status": "Name:\ta\nRssAnon:\t5 kB\nThreads:\t" + threads + "\n",
		"smaps_rollup": "0-1 ---p 0 00:00 0 [rollup]\nRss: 999 kB\nPss: " + kilobytes + " kB\n"}
}

// TestTheKernelsWordCounts: the descendants of a process and nobody else, with what each has its share in.
func TestTheKernelsWordCounts(t *testing.T) {
	files := map[string]string{
		"meminfo": "MemTotal:  1000 kB\nMemFree:  1 kB\nMemAvailable:  400 kB\n",
		"loadavg": "0.20 10.18 0.12 3/80 11206\n",
		// Who begins to go, or is of a kernel that tells less, does no harm.
		"31/status": "Threads:\t100\n", "32/stat": "", "33/stat": "33 (x) S", "34/stat": "34 (x) S 20", "34/status": "Threads: 16\n",
	}
	for pid, all := range map[string]map[string]string{
		"1": process("0", "100", "100000"), "20": process("1", "1", "10"), "21": process("20", "2", "20"), "22": process("21", "4", "40"),
		"23": process("21", "8", "80"), "24": process("1", "100", "100000"), "self": process("20", "100", "100000"),
		"0": process("7", "100", "100000"),
	} {
		for name, text := range all {
			files[pid+"/"+name] = text
		}
	}
	delete(files, "23/smaps_rollup")
	k := told(t, files)
	if got := k.family(20); !slices.Equal(got, []int{20, 21, 34, 22, 23}) {
		t.Errorf("the family is %v", got)
	}
	if got, want := k.count(20), (Limits{Memory: (10 + 20 + 40 + 5) << 10, Tasks: 1 + 2 + 4 + 8 + 16}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if k.taken() != 600<<10 || k.running() != 80 {
		t.Errorf("taken %d, running %d", k.taken(), k.running())
	}
	nobody := told(t, nil) // then everybody is counted
	if nobody.taken() != math.MaxUint64 || nobody.running() != math.MaxUint64 {
		t.Errorf("taken %d, running %d", nobody.taken(), nobody.running())
	}
	if got := nobody.family(20); !slices.Equal(got, []int{20}) {
		t.Errorf("the family is %v", got)
	}
	for text, want := range map[string]uint64{"0.20 10.18 0.12 3/80 11206\n": 80, "0.20 10.18 0.12\n": math.MaxUint64, "0.20 10.18 0.12 3 80\n": math.MaxUint64} {
		if got := told(t, map[string]string{"loadavg": text}).running(); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestWhatIsTooMuch: a limit that is not there bounds nothing, as much as it says is not too much, and what the
// whole machine does not have no command has.
func TestWhatIsTooMuch(t *testing.T) {
	files := map[string]string{"meminfo": "MemTotal: 1000 kB\nMemAvailable: 400 kB\n", "loadavg": "0.20 0.18 0.12 3/80 11206\n"}
	for name, text := range process("1", "70", "500") {
		files["20/"+name] = text
	}
	for name, text := range process("1", "100", "900") { // more than the kernel says that there is at all
		files["21/"+name] = text
	}
	k := told(t, files)
	for _, c := range []struct {
		limits Limits
		leader int
		want   string
	}{
		{Limits{}, 20, ""}, {Limits{Memory: 1}, 20, Memory}, {Limits{Tasks: 1}, 20, Tasks}, {Limits{Memory: 1, Tasks: 1}, 20, Memory},
		{Limits{Memory: 1 << 60, Tasks: 1}, 20, Tasks}, {Limits{Memory: 1 << 60, Tasks: 1 << 60}, 20, ""},
		{Limits{Memory: 500<<10 - 1}, 20, Memory}, {Limits{Memory: 500 << 10}, 20, ""}, {Limits{Tasks: 69}, 20, Tasks}, {Limits{Tasks: 70}, 20, ""},
		{Limits{Memory: 600 << 10, Tasks: 80}, 21, ""}, {Limits{Memory: 600<<10 - 1}, 21, Memory}, {Limits{Tasks: 79}, 21, Tasks},
		{Limits{Memory: 1, Tasks: 1}, 99, ""}, // gone
	} {
		if got := c.limits.exceeded(k, c.leader); got != c.want {
			t.Errorf("%+v: %d has too much %q, want %q", c.limits, c.leader, got, c.want)
		}
	}
	self := os.Getpid()
	if got := (Limits{Memory: 1}).exceeded(machine, self); got != Memory {
		t.Errorf("the test itself has too much %q", got)
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
	if got := machine.family(cmd.Process.Pid); len(got) != 2 && len(got) != 3 || got[0] != cmd.Process.Pid { // sleep may be there
		t.Errorf("the family is %v", got)
	}
	mine := machine.family(os.Getpid())
	if len(mine) < 2 || mine[0] != os.Getpid() {
		t.Errorf("the test's is %v", mine)
	}
}

// TestAWatchTellsOnce, and at the end of what there was too much. When it has ended nobody looks any more.
func TestAWatchTellsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		w := Start(os.Getpid(), Limits{Memory: 1}, func() { told++ })
		none := Start(os.Getpid(), Limits{Memory: 1 << 60}, func() { t.Error("it is not too much") })
		time.Sleep(10 * interval)
		for range 2 {
			if got := w.End(); got != Memory || told != 1 {
				t.Errorf("%q at the end, told %d times", got, told)
			}
		}
		if got := none.End() + (*Watch)(nil).End(); got != "" {
			t.Error(got)
		}
		early := Start(os.Getpid(), Limits{Memory: 1}, func() { t.Error("told after its end") })
		if got := early.End(); got != "" {
			t.Error(got)
		}
		time.Sleep(10 * interval)
	})
}
