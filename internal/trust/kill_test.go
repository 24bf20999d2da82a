//go:build linux

package trust

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// touches200 changes 200 files in five ways, one after the other.
const touches200 = `for i in $(seq 200); do case $((i%5)) in
0) rm t/f$i;; 1) echo more >> t/f$i;; 2) echo new > t/n$i;; 3) mv t/f$i t/m$i;; 4) sed -i s/line/LINE/ t/f$i;; esac; done`

// victim is who dies.
type victim string

// TestKilled kills kerf, the processes that it started, or both, at random moments of a
// command that changes 200 files. What changed is in the log afterwards, and undo brings
// everything back but what the user did meanwhile.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills many programs")
	}
	rounds := number("KERF_TRUST_KILLS", part(6, 1))
	sampled(t, rounds, 6, func(t *testing.T) { killEach(t, rounds) })
}

func killEach(t *testing.T, rounds int) {
	kerf, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []victim{"kerf", "helper", "both"} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(number("KERF_TRUST_SEED", 1)), 5))
			changed := 0
			var faults []string
			for i := range rounds {
				at := r.IntN(200)
				n, found := killed(t, kerf, v, at)
				changed += n
				for _, f := range found {
					faults = append(faults, fmt.Sprintf("round %d, after %d files: %s", i, at, f))
				}
			}
			t.Logf("%d kills, %d files had changed", rounds, changed)
			settle(t, t.Name(), faults)
		})
	}
}

// killed is one round: the kill comes when about so many files are changed.
func killed(t *testing.T, kerf string, v victim, at int) (changed int, faults []string) {
	t.Helper()
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	p, err := newPlace(kerf, scratch(t))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"mine.txt": "mine\n"}
	for i := range 200 {
		if i+1 != 0 && (i+1)%5 != 2 {
			files[fmt.Sprintf("t/f%d", i+1)] = fmt.Sprintf("line %d\nline two\n", i+1)
		}
	}
	if err := put(p.dir, files); err != nil {
		t.Fatal(err)
	}
	before, err := look(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	k, err := p.open([]call{sh("c1", touches200, 30000)})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- k.turn("go") }() // ends with the turn or with kerf
	waitFor(func() bool { return progress(p.dir) >= at }, ended)
	if err := put(p.dir, map[string]string{"notes.txt": "the user's\n"}); err != nil {
		t.Fatal(err)
	}
	if v != "kerf" {
		for _, pid := range helpers(k.cmd.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	died := time.Now()
	if v == "helper" {
		select {
		case <-ended:
		case <-time.After(40 * time.Second):
			fault("the turn does not end when the helper is killed")
		}
		_ = k.end(nil)
	} else {
		k.kill()
	}
	quiet(p.dir)
	after, err := look(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := p.run("recover"); r.code != 0 {
		fault("recover: %v", r)
	}
	real := differ(before, after)
	real = slices.DeleteFunc(real, func(path string) bool { return path == "notes.txt" })
	list, err := p.log()
	if err != nil {
		fault("%v", err)
		return len(real), faults
	}
	listed, doubted := map[string]bool{}, map[string]string{}
	for _, e := range list {
		for _, c := range e.Changes {
			if e.proven() {
				listed[p.short(c.Path)] = true
			} else {
				doubted[p.short(c.Path)] = fmt.Sprint(e.Cause, " ", e.Certainty != nil && *e.Certainty != "", " ", e.Note)
			}
		}
	}
	open := "" // what the one call that had been let go changed when nobody watched any more
	for _, path := range real {
		switch why, told := doubted[path]; {
		case listed[path]:
		case told && open == "" && v != "kerf" && changedSince(filepath.Join(p.dir, path), died):
			open = path
		case told:
			fault("the log does not prove %s: %s", describe(path, before, after), why)
		default:
			fault("the log does not name %s", describe(path, before, after))
		}
	}
	if listed["notes.txt"] || listed["mine.txt"] {
		fault("the user's file is laid to the command")
	}
	if len(real) > 0 {
		if r, err := p.undo("undo"); err != nil || r.result.code != 0 {
			fault("undo: %v %v", err, r.result)
		}
	}
	if after, err = look(p.dir); err != nil {
		t.Fatal(err)
	}
	for _, path := range differ(before, after) {
		if path != "notes.txt" && path != open {
			fault("after undo: %s", describe(path, before, after))
		}
	}
	if after["notes.txt"].data != "the user's\n" {
		fault("the user's file is gone")
	}
	if len(faults) > 5 {
		faults = append(faults[:5], fmt.Sprintf("and %d more", len(faults)-5))
	}
	return len(real), faults
}

// changedSince reports whether something is there that was changed after a moment. The witness can be
// killed between a call and what the kernel does then; on a busy machine that comes much later, and what
// it led to cannot be told from what somebody else did.
func changedSince(path string, moment time.Time) bool {
	var st syscall.Stat_t
	return syscall.Lstat(path, &st) == nil && time.Unix(st.Ctim.Sec, st.Ctim.Nsec).After(moment)
}

// progress is about how far touches200 is.
func progress(dir string) int {
	names, _ := os.ReadDir(filepath.Join(dir, "t"))
	most := 0
	for _, n := range names {
		if i, err := strconv.Atoi(n.Name()[1:]); err == nil && n.Name()[0] != 'f' {
			most = max(most, i)
		}
	}
	return most + 1
}

// waitFor waits until something is so, or the turn has ended.
func waitFor(so func() bool, ended <-chan error) {
	for range 30_000 {
		if so() || len(ended) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// quiet waits until a tree stays as it is.
func quiet(dir string) {
	last, _ := look(dir)
	for range 100 {
		time.Sleep(60 * time.Millisecond)
		now, _ := look(dir)
		if len(differ(last, now)) == 0 {
			return
		}
		last = now
	}
}

// helpers are the processes of the program itself that kerf started, directly or not:
// neither the command nor what makes its sandbox, which have other names or are its
// parents.
func helpers(kerf int) []int {
	var list []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == kerf {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if descends(pid, kerf) && isHelper(string(line)) {
			list = append(list, pid)
		}
	}
	return list
}

// isHelper knows the witness's helper by its arguments.
func isHelper(line string) bool { return strings.Contains(line, "--kerf-witness") }

func descends(pid, from int) bool {
	for range 20 {
		st, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		fields := strings.Fields(string(st[strings.LastIndexByte(string(st), ')')+1:]))
		if len(fields) < 2 {
			return false
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil || pid <= 1 {
			return false
		}
		if pid == from {
			return true
		}
	}
	return false
}
