package witness_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/witness"
)

// works are command lines whose cost is measured, with what prepares their tree. The tree
// of those that change nothing is used again.
var works = []struct {
	name, prepare, line string
	same                bool
}{
	{"true", "", "true", true},
	{"true, 1,000,000 files", tree(1000000), "true", true},
	{"git status, 20,000 files", tree(20000) + gitTree, "git status --short", true},
	{"git checkout, 5,000 changed", tree(5000) + gitTree + "git checkout -q -b o; find t -type f | xargs sed -i s/a/b/; " +
		"git commit -qam b; git status -s; ", "git checkout -q -", false},
	{"rm -rf 50,000", tree(50000), "rm -rf t", false},
	{"cp -r 20,000", tree(20000), "cp -r t u", false},
	{"tar x 20,000", tree(20000) + "tar cf t.tar t; rm -rf t", "tar xf t.tar", false},
	{"sed -i 1,000", tree(1000), "find t -type f | xargs sed -i s/a/b/", false},
	{">> to 500 MB", "head -c 500000000 /dev/zero > f", "echo x >> f", false},
	{"r+ on 500 MB", "head -c 500000000 /dev/zero > f", "printf x | dd of=f conv=notrunc bs=1 status=none", false},
	{"make -j4, 200 C files", "for i in $(seq 200); do echo \"#include <stdio.h>\nint f$i(void) { return printf(\\\"$i\\\"); }\" | " +
		"sed 's/\\\\n/\\n/' > $i.c; done; echo 'all: $(patsubst %.c,%.o,$(wildcard *.c))' > Makefile", "make -s -j4", false},
	{"npm ci, express", "export npm_config_cache=$PWD/.npm npm_config_omit_lockfile_registry_resolved=false; " +
		"npm init -y && npm install express && rm -rf node_modules",
		"npm_config_cache=$PWD/.npm npm ci --offline --no-audit --no-fund", false},
	{"go build net/http, cold cache", "", "GOFLAGS=-mod=mod GOCACHE=$PWD/c go build net/http", false},
}

// tree makes n small files, 100 in a directory.
func tree(n int) string {
	return fmt.Sprintf("perl -e 'mkdir q(t); for $d (1..%d) { mkdir qq(t/$d); for $f (1..100) "+
		"{ open(F, qq(>t/$d/$f)); print F qq(aaaa$d/$f\\n); close(F) } }'; ", n/100)
}

const gitTree = "git init -q .; git add -A; git -c user.name=a -c user.email=a@b commit -qm a; "

// ways are how a command line is run.
var ways = []string{"bare", "bubblewrap", "sandbox", "watched"}

// TestCost prints what watching costs beside the same command in the sandbox, in
// bubblewrap and without either, run by turns: medians, and the medians of the ratios of
// runs that followed each other. KERF_COST=DIR names where trees are made, KERF_COST_ONLY
// the one line that is measured, KERF_COST_RUNS how often. KERF_COST_CPU may name the
// cpuacct.usage of the control group that the test runs in: on a machine with other work,
// the time of processors says more than that of the clock.
func TestCost(t *testing.T) {
	dir := os.Getenv("KERF_COST")
	if dir == "" {
		t.Skip("SKIP KERF_COST is not set: this measures, and tests nothing")
	}
	runs, err := strconv.Atoi(os.Getenv("KERF_COST_RUNS"))
	if err != nil {
		runs = 3
	}
	fmt.Printf("| %-30s | %10s | %10s | %10s | %10s | watched/bubblewrap | watched/sandbox | %10s |\n", "ms", ways[0],
		ways[1], ways[2], ways[3], "afterwards")
	for _, w := range works {
		if only := os.Getenv("KERF_COST_ONLY"); only != "" && only != w.name {
			continue
		}
		took := make([][]time.Duration, len(ways))
		var after []time.Duration
		var b *bench
		for range runs {
			for i, way := range ways {
				if b == nil {
					b = prepared(t, dir, w.prepare)
				}
				d, end := b.cost(w.line, way)
				took[i] = append(took[i], d)
				if way == "watched" {
					after = append(after, end)
				}
				if !w.same {
					b.gone()
					b = nil
				}
			}
		}
		if b != nil {
			b.gone()
		}
		fmt.Printf("| %-30s | %10.1f | %10.1f | %10.1f | %10.1f | %18.2f | %15.2f | %10.1f |\n", w.name, ms(took[0]), ms(took[1]),
			ms(took[2]), ms(took[3]), ratio(took[3], took[1]), ratio(took[3], took[2]), ms(after))
	}
}

// ratio is the median of the ratios of runs.
func ratio(a, b []time.Duration) float64 {
	var list []float64
	for i := range a {
		list = append(list, float64(a[i])/float64(b[i]))
	}
	slices.Sort(list)
	return list[len(list)/2]
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
	list = slices.Sorted(slices.Values(list))
	return float64(list[len(list)/2].Microseconds()) / 1000
}

// prepared is a workspace with a tree.
func prepared(t *testing.T, dir, prepare string) *bench {
	t.Helper()
	at, err := os.MkdirTemp(dir, "cost")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(at) })
	b := benchIn(t, at, "")
	if out, err := exec.Command("bash", "-c", "cd "+b.root+"; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "+
		"GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=gc.auto GIT_CONFIG_VALUE_0=0 "+
		"GIT_CONFIG_KEY_1=maintenance.auto GIT_CONFIG_VALUE_1=false; "+prepare).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	session := boundary.NewSession(boundary.Disk{}, boundary.WorkspaceWrite,
		func(string) boundary.Policy { return boundary.Policy{} })
	b.usual = func(p *boundary.Policy) {
		p.Session, p.TmpDir, p.LockDir = session, filepath.Join(b.home, "tmp"), filepath.Join(b.home, "locks")
	}
	b.run("true") // the helper is there
	return b
}

// gone removes what a workspace holds, so that the next has room.
func (b *bench) gone() {
	for _, p := range []string{b.root, b.home} {
		if err := os.RemoveAll(p); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *bench) cost(line, way string) (run, end time.Duration) {
	b.Helper()
	argv := []string{"bash", "-c", line}
	began := clock()
	switch way {
	case "watched":
		x, cmd, out, box := b.start(line)
		if err := cmd.Wait(); err != nil {
			b.Fatalf("%s: %v %s", line, err, out)
		}
		run = clock() - began
		box.Close()
		began = clock()
		_ = x.End(func(witness.Report) bool { return true })
		return run, clock() - began
	case "sandbox":
		p := boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{b.root}, Cwd: b.root}
		b.usual(&p)
		box, err := sandbox.Prepare(context.Background(), p, false, argv)
		if err != nil {
			b.Skip("SKIP ", err)
		}
		defer box.Close()
		b.finish(exec.Command(box.Argv[0], box.Argv[1:]...), box.Files)
	case "bubblewrap":
		b.finish(exec.Command("bwrap", append([]string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", "/tmp",
			"/tmp", "--bind", b.root, b.root, "--unshare-all", "--die-with-parent", "--"}, argv...)...), nil)
	default:
		b.finish(exec.Command(argv[0], argv[1:]...), nil)
	}
	return clock() - began, 0
}

func (b *bench) finish(cmd *exec.Cmd, files []*os.File) {
	b.Helper()
	cmd.ExtraFiles, cmd.Dir = files, b.root
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v %s", cmd.Args, err, out)
	}
}
