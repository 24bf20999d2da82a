package witness_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/witness"
)

// scribble is another writer: it does random things to the tree until stop is closed.
// What it writes can be told from all else.
func scribble(root string, seed uint64, stop chan struct{}) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	at := func() string { return filepath.Join(root, names[rnd.IntN(len(names))]) }
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(1+rnd.IntN(5)) * time.Millisecond):
		}
		text := []byte(fmt.Sprintf("W%d-%d.", seed, i))
		switch p := at(); rnd.IntN(5) {
		case 0, 1:
			_ = os.WriteFile(p, text, 0o644)
		case 2:
			if f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0); err == nil {
				_, _ = f.Write(text)
				f.Close()
			}
		case 3:
			if os.WriteFile(p+"~", text, 0o644) == nil {
				_ = os.Rename(p+"~", p)
			}
		default:
			_ = os.Remove(p)
		}
	}
}

// written are the marks of the other writer that a tree holds.
func written(s snapshot) map[string]bool {
	marks := map[string]bool{}
	for _, v := range s {
		for _, w := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(`" .`, r) }) {
			if i := strings.IndexByte(w, 'W'); i >= 0 && strings.Contains(w[i:], "-") {
				marks[w[i:]] = true
			}
		}
	}
	return marks
}

// undone is a tree after what is proven was taken back, where it is still as it became.
func undone(after snapshot, root string, r witness.Report) snapshot {
	out := snapshot{}
	for k, v := range after {
		out[k] = v
	}
	for _, part := range slices.Backward(r.Parts) {
		if part.Certainty != ledger.Proven {
			continue
		}
		for _, c := range slices.Backward(part.Set) {
			if c.From != "" && out[strings.TrimPrefix(c.From, root+"/")] != "" {
				continue // it cannot go back to where something else is now
			}
			takeBack(out, strings.TrimPrefix(c.Path, root+"/"), c)
		}
	}
	return out
}

func takeBack(s snapshot, name string, c delta.Change) {
	if s[name] != shown(c.Post) {
		return
	}
	if c.Pre == nil {
		delete(s, name)
	} else {
		s[name] = shown(c.Pre)
	}
}

// What happens between the witness's look and the call is seen by nobody, and of two like
// things that happen to a new name at once the kernel may tell one. Both take less than a
// millisecond; a writer who never rests meets them now and then. The law bounds how often.
func TestWhatOthersWroteIsHardlyEverProven(t *testing.T) {
	checks(t, 10000)
	s := newStage(t)
	seed := uint64(0)
	taken := 0
	const often = 20 // one history of so many
	defer func() {
		t.Logf("in %d of %d histories something of the other writer was told as proven", taken, seed)
		if uint64(taken)*often > seed+often {
			t.Error("that is too often")
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		seed++
		s.set()
		x, cmd, _ := s.begin(play{Lists: [][]deed{someDeeds(t, 15)}})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { scribble(s.root, seed, stop) })
		_ = cmd.Wait()
		close(stop)
		wg.Wait()
		r := s.end(x)
		after := snap(s, s.root)
		left := written(undone(after, s.root, r))
		for mark := range written(after) {
			if !left[mark] {
				taken++
				break
			}
		}
	})
}

// helpers are the processes that witness for this one.
func helpers(t *testing.T) (pids []int) {
	t.Helper()
	list, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); strings.Contains(string(line), "--kerf-witness") && len(f) > 1 &&
			f[1] == strconv.Itoa(os.Getpid()) && f[0] != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// helper is the one that witnesses for this process, beside the helpers of tests before.
func helper(t *testing.T, before []int) int {
	t.Helper()
	for _, pid := range helpers(t) {
		if !slices.Contains(before, pid) {
			return pid
		}
	}
	t.Fatal("there is no helper")
	return 0
}

func TestWithoutItsHelperACommandChangesNothing(t *testing.T) {
	before := helpers(t)
	b := newBench(t, "")
	b.full = true
	b.write("a", "1")
	b.write("b", "2")
	b.write("hold", "")
	x, cmd, _, box := b.start("printf 9 > a; touch ready; while [ -e hold ]; do sleep 0.01; done; " +
		"rm b; mv a c; printf 8 > b")
	b.await("ready")
	killed := helper(t, before)
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for slices.Contains(helpers(t), killed) {
		time.Sleep(time.Millisecond)
	}
	_ = os.Remove(filepath.Join(b.root, "hold"))
	_ = cmd.Wait()
	box.Close()
	var r witness.Report
	if err := x.End(func(got witness.Report) bool { r = got; return true }); err == nil {
		t.Error("nothing is said of the helper that was killed")
	}
	for name, want := range map[string]string{"a": "9", "b": "2"} {
		if got, _ := os.ReadFile(filepath.Join(b.root, name)); string(got) != want {
			t.Errorf("%s holds %q, not %q", name, got, want)
		}
	}
	if got := b.told(r); !strings.Contains(got, "proven a: 1 > 9") {
		t.Errorf("got\n%s", got)
	}
	if r, _ := b.run("printf 7 > a"); b.told(r) != "proven a: 9 > 7" {
		t.Errorf("the next command: %s", b.told(r))
	}
}
