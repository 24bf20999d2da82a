package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/faults"
	"kerf/internal/testkit/long"
)

// stage is a directory with a patch of 50 files for it, made by git, and what the
// real program makes of them.
type stage struct {
	kerf      string
	base      string
	patch     []byte
	old, next map[string]string
}

// newStage makes the patch: 16 updates, 10 files added (half of them in new
// directories), 10 deleted, 10 moved (half of them edited too) and 4 new modes.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{kerf: builtProgram(t), base: t.TempDir()}
	dir := filepath.Join(s.base, "model")
	s.fill(t, dir)
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_DIR="+filepath.Join(s.base, "git"),
			"GIT_WORK_TREE="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("git %s: %v: %s", args[0], err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", "-A")
	before := git("write-tree")
	s.old = treeOf(t, dir)
	s.change(t, dir)
	git("add", "-A")
	s.patch = []byte(git("diff", "-M", "--binary", before, git("write-tree")) + "\n")
	s.next = treeOf(t, dir)
	if n := bytes.Count(s.patch, []byte("diff --git")); n != 50 {
		t.Fatalf("the patch has %d files", n)
	}
	return s
}

func lines50(what string, i int) string {
	var b strings.Builder
	for n := range 12 {
		fmt.Fprintf(&b, "%s %d line %d\n", what, i, n)
	}
	return b.String()
}

// fill writes the old tree.
func (s *stage) fill(t *testing.T, dir string) {
	t.Helper()
	put := func(name, text string, mode os.FileMode) { putFile(t, filepath.Join(dir, name), text, mode) }
	for i := range 16 {
		put(fmt.Sprintf("up/%d.txt", i), lines50("up", i), 0o644)
	}
	for i := range 10 {
		put(fmt.Sprintf("del/%d.txt", i), lines50("del", i), 0o644)
		put(fmt.Sprintf("from/%d.sh", i), lines50("move", i), 0o755)
	}
	for i := range 4 {
		put(fmt.Sprintf("mode/%d.sh", i), lines50("mode", i), 0o644)
	}
	put("keep.txt", "untouched\n", 0o600)
	// One of the files has a second name and so is written in place.
	if err := os.Link(filepath.Join(dir, "up/0.txt"), filepath.Join(dir, "up/linked")); err != nil {
		t.Skip(err)
	}
}

// change makes the new tree out of the old one.
func (s *stage) change(t *testing.T, dir string) {
	t.Helper()
	at := func(format string, i int) string { return filepath.Join(dir, fmt.Sprintf(format, i)) }
	for i := range 16 {
		text := strings.Replace(lines50("up", i), "line 6\n", "line six\nand one more\n", 1)
		if err := os.WriteFile(at("up/%d.txt", i), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// git knows no second names: the patch is about up/0.txt alone.
	linked := filepath.Join(dir, "up/linked")
	if err := os.Remove(linked); err != nil {
		t.Fatal(err)
	}
	putFile(t, linked, lines50("up", 0), 0o644)
	for i := range 10 {
		text, format := "new "+lines50("add", i), "up/new%d.txt"
		if i%2 == 0 {
			format = "fresh/%d/a.txt"
		}
		putFile(t, at(format, i), text, 0o644)
		if err := os.Remove(at("del/%d.txt", i)); err != nil {
			t.Fatal(err)
		}
		text = lines50("move", i)
		if i%2 == 0 {
			text = strings.Replace(text, "line 3\n", "line three\n", 1)
		}
		putFile(t, at("to/%d.sh", i), text, 0o755)
		if err := os.Remove(at("from/%d.sh", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		if err := os.Chmod(at("mode/%d.sh", i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func putFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// treeOf describes the files below dir: name, mode, content. Directories that are
// empty are left out, as git does; strays are not.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(p)
		got[strings.TrimPrefix(p, dir+"/")] = st.Mode().String() + " " + string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// trial is one copy of the old tree, with a home.
type trial struct {
	s         *stage
	t         *testing.T
	dir, home string
}

func (s *stage) try(t *testing.T) *trial {
	t.Helper()
	base, err := os.MkdirTemp(s.base, "trial")
	if err != nil {
		t.Fatal(err)
	}
	r := &trial{s, t, filepath.Join(base, "w"), filepath.Join(base, "home")}
	s.fill(t, r.dir)
	return r
}

// forget removes the trial's files, of which a long run makes many.
func (r *trial) forget() { _ = os.RemoveAll(filepath.Dir(r.dir)) }

func (r *trial) command(stdin []byte, args ...string) *exec.Cmd {
	cmd := exec.Command(r.s.kerf, args...)
	cmd.Dir, cmd.Stdin = r.dir, bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "KERF_HOME="+r.home, "HOME="+filepath.Dir(r.dir))
	return cmd
}

// run watches a run of the program, and skips the test where that is impossible.
func (r *trial) run(p faults.Plan, stdin []byte, args ...string) (calls []faults.Call, out string, err error) {
	r.t.Helper()
	cmd := r.command(stdin, args...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	p.Below = []string{filepath.Dir(r.dir)}
	calls, err = faults.Run(cmd, p)
	if errors.Is(err, faults.ErrUnavailable) {
		r.t.Skip(err)
	}
	return calls, b.String(), err
}

func (r *trial) apply(p faults.Plan) ([]faults.Call, string, error) {
	return r.run(p, r.s.patch, "apply-patch")
}

// check recovers and fails unless all files are old or all are new, and unless recover tells of what
// was staged still.
func (r *trial) check(what string) (isNew bool) {
	r.t.Helper()
	staged, err := filepath.Glob(filepath.Join(r.dir, "*", ".kerf-*.tmp"))
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := r.command(nil, "recover").CombinedOutput()
	if err != nil || len(staged) > 0 && strings.Contains(string(out), "nothing was interrupted") {
		r.t.Fatalf("%s, with %d staged files: recover: %v: %s", what, len(staged), err, out)
	}
	got := treeOf(r.t, r.dir)
	want := maps.Clone(r.s.next)
	want["up/linked"] = want["up/0.txt"] // the second name shows the new content
	switch {
	case maps.Equal(got, r.s.old):
		return false
	case maps.Equal(got, want):
		return true
	}
	r.t.Fatalf("%s: neither old nor new\n-old +got\n%s\n-new +got\n%s", what, cmp.Diff(r.s.old, got), cmp.Diff(want, got))
	return false
}

// step returns how far apart the calls are that a test tries: about sample of them, five times as many with KERF_LONG=1,
// every one with KERF_LONG=all.
func step(calls, sample int) int {
	return max(1, long.Of(1, calls/(5*sample), calls/sample))
}

// moments are the calls that are tried, as [step] has them, and the last one.
func moments(calls, sample int) []int {
	var all []int
	for k := 1; k < calls; k += step(calls, sample) {
		all = append(all, k)
	}
	return append(all, calls)
}

// TestSEC_E1_KillAtSomeCalls kills the real program before some of the system calls that
// changes a file, over all threads, journal and store included.
func TestSEC_E1_KillAtSomeCalls(t *testing.T) {
	s := newStage(t)
	first := s.try(t)
	calls, out, err := first.apply(faults.Plan{})
	if err != nil || !first.check("no fault") {
		t.Fatalf("%v: %s", err, out)
	}
	olds, news, points := 0, 0, 0
	for k := 1; k <= len(calls); k += step(len(calls), 25) {
		r := s.try(t)
		done, out, err := r.apply(faults.Plan{At: k, Kill: true})
		if err == nil && len(done) >= k {
			t.Fatalf("call %d: the program was not killed: %s", k, out)
		}
		if r.check(fmt.Sprintf("killed at call %d of %d (%s)", k, len(calls), last(done))) {
			news++
		} else {
			olds++
		}
		r.forget()
		points++
	}
	t.Logf("%d of %d calls tried: %d old, %d new", points, len(calls), olds, news)
	if olds == 0 || news == 0 {
		t.Error("only one of the two outcomes came up")
	}
}

func last(calls []faults.Call) string {
	if len(calls) == 0 {
		return "none"
	}
	return calls[len(calls)-1].String()
}

// TestSEC_E2_KillDuringRecovery kills a patch, then its recovery, then recovers.
func TestSEC_E2_KillDuringRecovery(t *testing.T) {
	s := newStage(t)
	calls, out, err := s.try(t).apply(faults.Plan{})
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rounds := 0
	for k := len(calls) * 9 / 10; k <= len(calls); k += max(1, step(len(calls), 4)*len(calls)/100) {
		for j := 1; ; j += step(40, 2) {
			r := s.try(t)
			_, _, _ = r.apply(faults.Plan{At: k, Kill: true})
			done, _, err := r.run(faults.Plan{At: j, Kill: true}, nil, "recover")
			r.check(fmt.Sprintf("killed at call %d, recovery at call %d (%s)", k, j, last(done)))
			r.forget()
			rounds++
			if err == nil {
				break
			}
		}
	}
	t.Logf("%d recoveries killed", rounds)
}

// TestSEC_E3_FailureAtSomeCalls fails each call of the real program, once and from
// then on. A failed program has changed nothing or says what it changed; a program
// that says 0 has changed everything.
func TestSEC_E3_FailureAtSomeCalls(t *testing.T) {
	s := newStage(t)
	calls, out, err := s.try(t).apply(faults.Plan{Opens: true})
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	reasons := []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.EROFS, syscall.EINTR}
	points, failed := 0, 0
	for k := 1; k <= len(calls); k += step(len(calls), 8) {
		for _, sticky := range []bool{false, true} {
			reason := reasons[points%len(reasons)]
			if points++; sticky && reason == syscall.EINTR {
				continue // whoever waits for such a system is right
			}
			if s.failAt(t, faults.Plan{At: k, Errno: reason, Sticky: sticky, Opens: true}) {
				failed++
			}
		}
	}
	t.Logf("%d runs over %d calls, %d failed", points, len(calls), failed)
}

func (s *stage) failAt(t *testing.T, p faults.Plan) (failed bool) {
	t.Helper()
	r := s.try(t)
	defer r.forget()
	done, out, err := r.apply(p)
	hit := "none"
	if len(done) >= p.At {
		hit = done[p.At-1].String()
	}
	what := fmt.Sprintf("%v at call %d (%s), sticky %v, exit %v, output %s", p.Errno, p.At, hit, p.Sticky, err, out)
	isNew := r.check(what)
	switch {
	case err == nil && !isNew:
		t.Fatalf("%s: success without the change", what)
	case err == nil:
		return false
	}
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 1 && ended.ExitCode() != 2 {
		t.Fatalf("%s: exit code", what)
	}
	told := strings.Contains(out, p.Errno.Error()) || p.Errno == syscall.ENOSPC && strings.Contains(out, "the disk is full")
	if !told || !strings.Contains(out, "/") || strings.Contains(out, "goroutine ") {
		t.Fatalf("%s: the message does not name the file and the reason", what)
	}
	return true
}
