package witness_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/testkit/long"
	"kerf/internal/work/witness"
)

// TestWhatIsMadeInADirectoryThatMovesIsTold: one process of a command makes files in a
// directory that another one moves back and forth, or exchanges with another directory. Each
// file that is there in the end is told of, or named as one of which not all is known.
func TestWhatIsMadeInADirectoryThatMovesIsTold(t *testing.T) {
	long.Slow(t)
	for _, do := range []string{"rename", "exchange"} {
		t.Run(do, func(t *testing.T) { madeWhileMoved(t, do) })
	}
}

func madeWhileMoved(t *testing.T, do string) {
	const rounds, steps = 6, 150
	other := map[string]string{"rename": "q", "exchange": "e"}[do]
	s := newStage(t)
	defer onOneProcessor(t)()
	all := 0 // in one round, on a busy machine, no directory may be there when something is made
	for round := range rounds {
		s.set()
		before := snap(s, s.root)
		var moves, makes []deed
		for i := range steps {
			moves = append(moves, deed{Do: do, A: "d", B: other}, deed{Do: do, A: other, B: "d"})
			for _, in := range []string{"d", other} {
				makes = append(makes, deed{Do: "exclusive", A: fmt.Sprint(in, "/new", i, in), Text: "K"})
			}
		}
		x, cmd, _ := s.begin(play{Lists: [][]deed{moves, makes}})
		_ = cmd.Wait()
		r := s.end(x)
		list := told([]witness.Report{r}) + "\n" + strings.ReplaceAll(strings.Join(r.Unsure(), "\n"), " (", ": (")
		made, missed := 0, 0
		for name := range snap(s, s.root) {
			if before[name] != "" || !strings.Contains(name, "/new") {
				continue
			}
			if made++; !strings.Contains(list, filepath.Join(s.root, name)+":") {
				missed++
				t.Logf("%s is not told of", name)
			}
		}
		all += made
		if missed > 0 {
			t.Fatalf("round %d: %d of %d files are not told of; notes: %v", round, missed, made, r.Unsure())
		}
	}
	if all == 0 {
		t.Fatal("nothing was made")
	}
}

// onOneProcessor lets what this test starts run on one processor, by turns: then a call that was let go
// on may have to wait for it until others were made. back ends that.
func onOneProcessor(t *testing.T) (back func()) {
	runtime.LockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.SchedSetaffinity(0, &all); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	}
}
