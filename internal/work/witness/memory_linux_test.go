package witness_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kerf/internal/testkit/long"
	"kerf/internal/testkit/race"
)

// Contents go through memory, and do not stay there, however much a command destroys.
func TestContentsAreNotHeldInMemory(t *testing.T) {
	long.Slow(t)
	const (
		mb    = 1 << 20
		small = 60 << 10
		most  = 256 * mb // of 632 MB that are destroyed
	)
	before := helpers(t)
	b := newBench(t, "")
	file := func(name string, size int64) {
		f, err := os.Create(filepath.Join(b.root, name))
		if err == nil {
			_, err = f.WriteString(name)
		}
		if err = errors.Join(err, f.Truncate(size), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1200 {
		file("s"+strconv.Itoa(i), small)
	}
	for i := range 6 {
		file("m"+strconv.Itoa(i), 30*mb)
	}
	file("cut", 192*mb)
	file("gone", 192*mb)
	// The highest use of memory so far does not count.
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skip("SKIP the peak of memory cannot be measured: ", err)
	}
	had := memory(t, "self", "VmRSS")
	x, cmd, _, box := b.start("rm s* m* gone; : > cut")
	_ = cmd.Wait()
	box.Close()
	n := memory(t, strconv.Itoa(helper(t, before)), "VmHWM")
	if t.Logf("the helper took %d MB", n/mb); n > most/2*int64(race.Costs()) {
		t.Fail()
	}
	r := b.end(x)
	n = memory(t, "self", "VmHWM") - had
	if t.Logf("Kerf took %d MB", n/mb); n > most*int64(race.Costs()) {
		t.Fail()
	}
	gone := 0
	for _, p := range r.Parts {
		for _, c := range p.Set {
			gone++
			if c.Pre.Loaded {
				continue
			}
			if f, err := b.store.Open(c.Pre.Sum); err != nil {
				t.Fatalf("%s is neither in memory nor in the store: %v", c.Path, err)
			} else {
				f.Close()
			}
		}
	}
	if gone != 1200+6+2 {
		t.Fatalf("%d files changed", gone)
	}
}

// memory is a line of a process's status, in bytes.
func memory(t *testing.T, pid, name string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name+":" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	t.Fatalf("no %s of %s", name, pid)
	return 0
}
