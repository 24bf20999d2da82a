//go:build unix

package txn

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// TestSEC_E7_KilledWriter has 48 writers in 4 processes append to one file, each
// telling what was acknowledged, and kills one of the processes in the middle. What
// was acknowledged is in the file, the others are not held up, and what the killed
// one was at is there wholly or not at all.
func TestSEC_E7_KilledWriter(t *testing.T) {
	const processes, writers, rounds = 4, 12, 4
	if root := os.Getenv("KERF_TEST_E7_KILL"); root != "" {
		tellingWriters(t, root, writers, rounds)
		return
	}
	f := newFixture(t)
	f.write("f", "")
	var mu sync.Mutex
	acked := map[string]bool{}
	var g sync.WaitGroup
	for p := range processes {
		c := exec.Command(os.Args[0], "-test.run=^TestSEC_E7_KilledWriter$")
		c.Env = append(os.Environ(), "KERF_TEST_E7_KILL="+f.path(""), "KERF_TEST_HOME="+f.home)
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		g.Go(func() {
			n := 0
			for s := bufio.NewScanner(out); s.Scan(); {
				line, ok := strings.CutPrefix(s.Text(), "acknowledged ")
				if !ok {
					continue
				}
				mu.Lock()
				acked[line] = true
				mu.Unlock()
				if n++; p == 0 && n == writers {
					_ = c.Process.Kill()
				}
			}
			if err := c.Wait(); p > 0 && err != nil {
				t.Errorf("process %d: %v", p, err)
			}
		})
	}
	g.Wait()
	f.open(false, nil) // recovers what the killed one left
	lines := strings.Split(strings.TrimSuffix(string(f.image("f").Data), "\n"), "\n")
	there := map[string]int{}
	for _, l := range lines {
		there[l]++
		if there[l] > 1 || strings.Count(l, "-") != 2 {
			t.Errorf("line %q", l)
		}
	}
	for l := range acked {
		if there[l] == 0 {
			t.Errorf("acknowledged and lost: %s", l)
		}
	}
	most, least := processes*writers*rounds, (processes-1)*writers*rounds+writers
	if len(lines) < least || len(lines) > most || len(acked) < least || len(lines) > len(acked)+writers {
		t.Errorf("%d lines, %d acknowledged, want %d to %d", len(lines), len(acked), least, most)
	}
	if n := len(f.entries()); n != len(lines) {
		t.Errorf("%d entries for %d lines", n, len(lines))
	}
	f.checkClean()
	t.Logf("%d edits acknowledged, %d in the file", len(acked), len(lines))
}

func tellingWriters(t *testing.T, root string, writers, rounds int) {
	w, err := openAt(root, os.Getenv("KERF_TEST_HOME"), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	for i := range writers {
		g.Go(func() {
			for r := range rounds {
				line := fmt.Sprintf("%d-%d-%d", os.Getpid(), i, r)
				appendLine(t, w, root+"/f", line+"\n")
				fmt.Println("acknowledged " + line)
			}
		})
	}
	g.Wait()
}
