package witness_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/witness"
)

// works are command lines whose cost is measured, with what prepares their tree.
var works = []struct{ name, prepare, line string }{
	{"true", "", "true"},
	{"git status, 20,000 files", tree(20000) + gitTree, "git status --short"},
	{"git checkout, 5,000 changed", tree(5000) + gitTree + "git checkout -q -b o; find t -type f | xargs sed -i s/a/b/; " +
		"git commit -qam b; git status -s; ", "git checkout -q -"},
	{"rm -rf 50,000", tree(50000), "rm -rf t"},
	{"cp -r 20,000", tree(20000), "cp -r t u"},
	{"tar x 20,000", tree(20000) + "tar cf t.tar t; rm -rf t", "tar xf t.tar"},
	{"sed -i 1,000", tree(1000), "find t -type f | xargs sed -i s/a/b/"},
	{">> to 500 MB", "head -c 500000000 /dev/zero > f", "echo x >> f"},
	{"r+ on 500 MB", "head -c 500000000 /dev/zero > f", "printf x | dd of=f conv=notrunc bs=1 status=none"},
	{"go build net/http, cold cache", "", "GOFLAGS=-mod=mod GOCACHE=$PWD/c go build net/http"},
}

// tree makes n small files, 100 in a directory.
func tree(n int) string {
	return fmt.Sprintf("perl -e 'mkdir q(t); for $d (1..%d) { mkdir qq(t/$d); for $f (1..100) "+
		"{ open(F, qq(>t/$d/$f)); print F qq(aaaa$d/$f\\n); close(F) } }'; ", n/100)
}

const gitTree = "git init -q .; git add -A; git -c user.name=a -c user.email=a@b commit -qm a; "

// TestCost prints what watching costs: KERF_COST=DIR names where trees are made,
// KERF_COST_ONLY the one line that is measured. KERF_COST_CPU may name the cpuacct.usage
// of the control group that the test runs in: on a machine with other work, the time of
// processors says more than that of the clock.
func TestCost(t *testing.T) {
	dir := os.Getenv("KERF_COST")
	if dir == "" {
		t.Skip("SKIP KERF_COST is not set: this measures, and tests nothing")
	}
	for _, w := range works {
		if only := os.Getenv("KERF_COST_ONLY"); only != "" && only != w.name {
			continue
		}
		var plain, seen, after []time.Duration
		for range 3 {
			d, _ := cost(t, dir, w.prepare, w.line, false)
			plain = append(plain, d)
			d, e := cost(t, dir, w.prepare, w.line, true)
			seen, after = append(seen, d), append(after, e)
		}
		fmt.Printf("%-32s %8.1f -> %8.1f ms (x%.2f), then %8.1f ms\n", w.name, ms(plain), ms(seen), ms(seen)/ms(plain), ms(after))
	}
}

// clock is the time, or what the processors did for this test.
func clock() time.Duration {
	name := os.Getenv("KERF_COST_CPU")
	if name == "" {
		return time.Duration(time.Now().UnixNano())
	}
	b, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return time.Duration(n)
}

func ms(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2].Microseconds()) / 1000
}

func cost(t *testing.T, dir, prepare, line string, watched bool) (run, end time.Duration) {
	t.Helper()
	at, err := os.MkdirTemp(dir, "cost")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(at)
	b := benchIn(t, at, "")
	if out, err := exec.Command("bash", "-c", "cd "+b.root+"; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "+
		"GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "+prepare).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	b.run("true") // the helper is there
	if watched {
		began := clock()
		x, cmd, _, box := b.start(line)
		_ = cmd.Wait()
		run = clock() - began
		box.Close()
		began = clock()
		_ = x.End(func(witness.Report) bool { return true })
		return run, clock() - began
	}
	p := boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{b.root}, Cwd: b.root}
	began := clock()
	box, err := sandbox.Prepare(t.Context(), p, false, []string{"bash", "-c", line})
	if err != nil {
		t.Skip("SKIP ", err)
	}
	cmd := exec.Command(box.Argv[0], box.Argv[1:]...)
	cmd.ExtraFiles, cmd.Dir = box.Files, b.root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", line, err, out)
	}
	run = clock() - began
	box.Close()
	return run, 0
}
