//go:build linux

package trust

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestHistories plays random histories and judges each by all laws. How the writer and the commands
// fall together is different in each run.
func TestHistories(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many histories")
	}
	first, count := uint64(number("KERF_TRUST_FIRST", 1)), number("KERF_TRUST_HISTORIES", part(300, 6))
	if os.Getenv("KERF_TRUST_SEED") != "" {
		first, count = uint64(number("KERF_TRUST_SEED", 1)), 1
	}
	sampled(t, count, 300, func(t *testing.T) { playHistories(t, first, count) })
}

func playHistories(t *testing.T, first uint64, count int) {
	kerf, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := scratch(t)
	base, err := newPlace(kerf, filepath.Join(dir, "base"))
	if err != nil {
		t.Fatal(err)
	}
	if err := makeBase(base); err != nil {
		t.Fatal(err)
	}
	one := os.Getenv("KERF_TRUST_SEED")
	began := time.Now()
	tally := newTally()
	next := make(chan uint64)
	var g sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		g.Go(func() {
			for n := range next {
				h := newHistory(n)
				place := filepath.Join(dir, fmt.Sprint(n))
				e, err := h.run(base.dir, kerf, place)
				if found := tally.add(h, e, err); len(found) > 0 {
					keep(t, place, found)
				}
				if one == "" {
					_ = os.RemoveAll(place)
				} else {
					t.Logf("files in %s\n%v", place, h)
				}
			}
		})
	}
	played := 0
	for n := range uint64(count) {
		if enough(began, 150*time.Second) {
			break // on a busy machine
		}
		played++
		next <- first + n
	}
	close(next)
	g.Wait()
	t.Logf("%d histories in %.0f s: %s", played, time.Since(began).Seconds(), tally.summary())
	for _, law := range append(tally.names(), "run") {
		t.Run(law, func(t *testing.T) { settle(t, t.Name(), tally.faults[law]) })
	}
}

// keep copies the place of a history that broke a law to where somebody asked for it.
func keep(t *testing.T, place string, found map[string][]string) {
	to := os.Getenv("KERF_TRUST_KEEP")
	if to == "" {
		return
	}
	to = filepath.Join(to, filepath.Base(place)+"-"+strconv.Itoa(os.Getpid()))
	if out, err := exec.Command("cp", "-a", place, to).CombinedOutput(); err != nil {
		t.Logf("keep: %v: %s", err, out)
	}
	text, err := json.MarshalIndent(found, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "faults.json"), text, 0o600)
	}
	t.Logf("kept in %s: %v", to, err)
}

// enough reports whether a test that nobody told how long to run has run for a time, in CI for a third of it.
func enough(began time.Time, limit time.Duration) bool {
	if os.Getenv("KERF_LONG") == "" {
		limit /= 3
	}
	return os.Getenv("KERF_TRUST_HISTORIES") == "" && time.Since(began) > limit
}

// part is some of all where somebody works on this package, a third of it in CI, and all with KERF_LONG.
func part(all, some int) int {
	switch {
	case os.Getenv("KERF_LONG") != "":
		return all
	case os.Getenv("CI") != "":
		return max(some, all/3)
	}
	return some
}

// sampled runs a test, and names it so where it plays fewer than all. A sample runs beside other tests.
func sampled(t *testing.T, count, all int, f func(*testing.T)) {
	t.Helper()
	if count >= all {
		f(t)
		return
	}
	t.Parallel()
	t.Run(fmt.Sprintf("a sample, %d of %d", count, all), f)
}

func number(key string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(key)); err == nil {
		return n
	}
	return usual
}

// tally counts what the laws found.
type tally struct {
	mu                                sync.Mutex
	faults                            map[string][]string
	broken                            map[string]int
	deeds, owned, carried, undos, oks int
	redos, changes                    int
}

func newTally() *tally { return &tally{faults: map[string][]string{}, broken: map[string]int{}} }

func (y *tally) names() []string {
	var names []string
	for _, law := range laws {
		names = append(names, law.name)
	}
	return names
}

// add judges a history, and returns the laws that it broke with what was found.
func (y *tally) add(h history, e *evidence, err error) map[string][]string {
	found := map[string][]string{}
	if err != nil {
		found["run"] = []string{err.Error()}
	} else {
		for _, law := range laws {
			if faults := law.judge(e); len(faults) > 0 {
				found[law.name] = faults
			}
		}
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	for law, faults := range found {
		y.broken[law]++
		if y.broken[law] <= 8 {
			more := ""
			if len(faults) > 4 {
				more = fmt.Sprintf("\n(and %d more)", len(faults)-4)
				faults = faults[:4]
			}
			y.faults[law] = append(y.faults[law], fmt.Sprintf("%v\n%s%s", h, strings.Join(faults, "\n"), more))
		}
	}
	if e == nil || err != nil {
		return found
	}
	y.deeds += len(e.deeds)
	y.owned += len(e.owned())
	y.carried += len(e.carried())
	y.undos += len(e.undos)
	for _, entry := range e.entries {
		y.changes += len(entry.Changes)
	}
	for _, u := range e.undos {
		if u.report.result.code == 0 {
			y.oks++
		}
	}
	if e.redoable {
		y.redos++
	}
	return found
}

func (y *tally) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d edits of the writer, %d tokens its own and %d there at the end; %d changes in the log; "+
		"%d undos, %d done, %d redone; histories that break a law:", y.deeds, y.owned, y.carried, y.changes, y.undos, y.oks, y.redos)
	for _, law := range append(y.names(), "run") {
		fmt.Fprintf(&b, " %s %d", law, y.broken[law])
	}
	return b.String()
}
