package tries_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kerf/internal/work/overlay"
	"kerf/internal/work/tries"
	"kerf/internal/work/workspace"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == overlay.Flag {
		os.Exit(overlay.Hold())
	}
	if len(os.Args) == 3 && os.Args[1] == deedsFlag {
		if err := deedsMain(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == watchFlag {
		os.Exit(watchMain(os.Args[2]))
	}
	if len(os.Args) == 4 && os.Args[1] == runFlag {
		os.Exit(runMain(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// runFlag makes the binary one that runs in the first try of a home: TestAKilledKerf kills it.
const runFlag = "run-in-try"

func runMain(home, script string) int {
	t, err := tries.Get(home, "1")
	if err == nil {
		err = t.Lock()
	}
	code := 1
	if err == nil {
		code, err = t.Run(context.Background(), home, tries.Command{Dir: t.Meta.Roots[0],
			Argv: []string{"/bin/bash", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

// house is a home of Kerf and a directory to work in.
type house struct {
	*testing.T
	home, dir string
	copied    bool // tries work on copies
}

func newHouse(t *testing.T) *house {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{T: t, home: filepath.Join(base, "home"), dir: filepath.Join(base, "w")}
	for _, d := range []string{h.home, h.dir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// try runs a shell script in a new try.
func (h *house) try(script string) *tries.Try {
	h.Helper()
	t, err := tries.New(h.home, []string{h.dir}, "test")
	if err != nil {
		h.Fatal(err)
	}
	if h.copied {
		if _, err := t.Copy(); err != nil {
			h.Fatal(err)
		}
	}
	h.Cleanup(func() { _ = t.Remove() }) // others than root cannot remove the work directory as it is
	h.in(t, script)
	return t
}

// in runs a shell script in a try.
func (h *house) in(t *tries.Try, script string) {
	h.Helper()
	code, err := t.Run(h.Context(), h.home, tries.Command{Dir: h.dir, Argv: []string{"/bin/bash", "-c", script},
		Env: []string{"PATH=" + os.Getenv("PATH")}, Stdout: os.Stderr, Stderr: os.Stderr})
	if errors.Is(err, overlay.ErrImpossible) {
		h.Skip(err)
	}
	if err != nil || code != 0 {
		h.Fatalf("exit code %d, %v: %s", code, err, script)
	}
}

// keep plans, and carries the plan out.
func (h *house) keep(t *tries.Try, o tries.Options) *tries.Plan {
	h.Helper()
	ws, err := workspace.Open(workspace.Options{Home: h.home, Roots: []string{h.dir}})
	if err != nil {
		h.Fatal(err)
	}
	defer ws.Close()
	plan, err := t.Plan(h.Context(), ws, o)
	if err != nil {
		h.Fatal(err)
	}
	if plan.Count(tries.Conflict) == 0 && !plan.Empty() {
		if err := plan.Commit(context.Background(), ws.Txn); err != nil {
			h.Fatalf("%v\n%s%+v", err, rows(plan), plan)
		}
	}
	return plan
}

// tree is what a directory holds: for each path its mode and content. With times it also
// has when and which file that is.
func (h *house) tree(dir string, times bool) map[string]string {
	h.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(b)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " -> " + to
		}
		if times {
			text += fmt.Sprint(info.ModTime().UnixNano(), overlay.Since(path).UnixNano())
		}
		rel, err := filepath.Rel(dir, path)
		all[rel] = text
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return all
}

// count is how many histories are run.
func count() int {
	if n, err := strconv.Atoi(os.Getenv("KERF_TRUST_HISTORIES")); err == nil {
		return n
	}
	return 15
}

func rows(p *tries.Plan) string {
	var b strings.Builder
	for _, r := range p.Rows {
		fmt.Fprintf(&b, "%s %s %s\n", r.Outcome, r.Path, r.Note)
	}
	return b.String()
}

func run(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("/bin/bash", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestPickedHunks: of a changed text exactly the chosen edits are kept, at their places; what
// is left can be kept later.
func TestPickedHunks(t *testing.T) {
	for seed := range uint64(count()) {
		r := rand.New(rand.NewPCG(seed, 23))
		h := newHouse(t)
		lines, changed, want := []string{}, []string{}, []string{}
		chosen := map[int]bool{}
		for n := range 40 {
			was := fmt.Sprintf("line %d\n", n)
			now := was
			if n%4 == 1 && r.IntN(2) > 0 {
				now = []string{"", "changed\n", "one\ntwo\n"}[r.IntN(3)]
				chosen[len(chosen)] = r.IntN(2) > 0
			}
			lines, changed = append(lines, was), append(changed, now)
			if now != was && !chosen[len(chosen)-1] {
				now = was
			}
			want = append(want, now)
		}
		file := filepath.Join(h.dir, "file")
		if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(changed, "")
		try := h.try("echo new > new; cat > file <<'END'\n" + all + "END\n")
		asked := 0
		plan := h.keep(try, tries.Options{Pick: func(x tries.Hunk) (bool, error) {
			if x.Path != file {
				return false, nil
			}
			asked++
			return chosen[x.N-1], nil
		}})
		if err := try.Remember(plan); err != nil {
			t.Fatal(err)
		}
		if asked != len(chosen) {
			t.Fatalf("seed %d: asked about %d of %d edits", seed, asked, len(chosen))
		}
		text, err := os.ReadFile(file)
		if d := cmp.Diff(strings.Join(want, ""), string(text)); d != "" || err != nil {
			t.Fatalf("seed %d: %v (-chosen +kept)\n%s", seed, err, d)
		}
		if _, err := os.Stat(filepath.Join(h.dir, "new")); err == nil {
			t.Fatalf("seed %d: a file is there that was not chosen", seed)
		}
		h.keep(try, tries.Options{})
		if text, err := os.ReadFile(file); string(text) != all || err != nil {
			t.Fatalf("seed %d: the rest, kept later: %v\n%s", seed, err, cmp.Diff(all, string(text)))
		}
	}
}

// TestAFileGivesWayToADirectory also where all that is in the directory is a pipe, which is not
// kept.
func TestAFileGivesWayToADirectory(t *testing.T) {
	for _, copied := range []bool{false, true} {
		h := newHouse(t)
		h.copied = copied
		run(t, h.dir, "echo text > name; mkdir dir; touch dir/file")
		plan := h.keep(h.try("rm name; mkdir name; mkfifo name/pipe; mkdir new; mkfifo new/pipe"), tries.Options{})
		have := h.tree(h.dir, false)
		if have["name"] != "drwxr-xr-x" || have["name/pipe"] != "" || have["new"] != "" || have["dir/file"] == "" {
			t.Errorf("copied %v: %v\n%s", copied, have, rows(plan))
		}
	}
}

// TestNoProcessLeadsPast: nothing that a program in a try can see of processes leads to the
// directory below the overlay.
func TestNoProcessLeadsPast(t *testing.T) {
	h := newHouse(t)
	t.Chdir(h.dir) // as `kerf` is when it starts
	info, err := os.Stat(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	real := info.Sys().(*syscall.Stat_t)
	out := filepath.Join(filepath.Dir(h.dir), "seen")
	h.try(fmt.Sprintf("stat -Lc '%%d:%%i %%n' /proc/[0-9]*/cwd /proc/[0-9]*/root%s /proc/[0-9]*/fd/* >%s 2>&1; true", h.dir, out))
	seen, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(seen), "/proc/1/cwd") {
		t.Fatalf("%v: %s", err, seen)
	}
	for line := range strings.Lines(string(seen)) {
		if strings.HasPrefix(line, fmt.Sprintf("%d:%d ", real.Dev, real.Ino)) {
			t.Errorf("%s is the directory below the overlay", strings.TrimSpace(line))
		}
	}
}

// TestAKilledTry: when what holds a try is killed, the directory is as it was, nothing of
// the try runs on, and it can be gone on with.
func TestAKilledTry(t *testing.T) {
	h := newHouse(t)
	run(t, h.dir, "mkdir a && echo one > a/b")
	before := h.tree(h.dir, true)
	try, err := tries.New(h.home, []string{h.dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = try.Remove() })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := filepath.Join(filepath.Dir(h.dir), "ready")
	ended := make(chan error, 1)
	go func() {
		_, err := try.Run(ctx, h.home, tries.Command{Dir: h.dir, Env: []string{"PATH=" + os.Getenv("PATH")},
			Argv: []string{"/bin/bash", "-c", "rm -r a; (while :; do date > clock; done) & echo two > c; echo > " + ready + "; wait"}})
		ended <- err
	}()
	for {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		select {
		case err := <-ended:
			if errors.Is(err, overlay.ErrImpossible) {
				t.Skip(err)
			}
			t.Fatal("it ended before it was killed: ", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	cancel()
	<-ended
	if d := cmp.Diff(before, h.tree(h.dir, true)); d != "" {
		t.Errorf("the directory changed:\n%s", d)
	}
	h.in(try, "test ! -e a && test $(cat c) = two && rm -f clock && date > clock && sleep 0.1 && cp clock d")
	h.in(try, "cmp clock d && rm clock d") // nobody goes on writing it
	h.keep(try, tries.Options{})
	if d := cmp.Diff(map[string]string{".": "drwxr-xr-x", "c": "-rw-r--r-- two\n"}, h.tree(h.dir, false)); d != "" {
		t.Error(d)
	}
}

// watchFlag makes the binary a program that waits for changes of a directory.
const watchFlag = "watch-in-try"

// watchMain watches the working directory and a file in it, has others change them by saying so,
// and prints what it sees.
func watchMain(talk string) int {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	for _, name := range []string{".", "old", "sub"} {
		if err == nil {
			_, err = unix.InotifyAddWatch(fd, name, unix.IN_MODIFY|unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_DELETE)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	seen := func() int {
		n, _ := unix.Read(fd, make([]byte, 64<<10))
		return max(n, 0)
	}
	for _, script := range []string{"echo more >> old", "echo new > new", "mv new newer", "echo in > sub/in", "rm sub/in", "rm old"} {
		if err := exec.Command("/bin/bash", "-c", script).Run(); err != nil || seen() == 0 {
			fmt.Fprintln(os.Stderr, "nothing was seen of:", script, err)
			return 1
		}
	}
	_ = os.WriteFile(filepath.Join(talk, "ready"), nil, 0o600)
	for range 6000 {
		if _, err := os.Stat(filepath.Join(talk, "done")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, "bytes of events about changes from outside:", seen())
	return 0
}

// TestWatchersSeeTheTry: a program in a try that waits for changes is told of those that are made
// in the try, also of files and directories of the lower layer. What it is told of changes from
// outside is up to the kernel.
func TestWatchersSeeTheTry(t *testing.T) {
	h := newHouse(t)
	run(t, h.dir, "echo one > old; mkdir sub; echo y > sub/y")
	talk := filepath.Dir(h.dir)
	go func() {
		for range 6000 {
			if _, err := os.Stat(filepath.Join(talk, "ready")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		_ = os.WriteFile(filepath.Join(h.dir, "user"), nil, 0o600)
		_ = os.WriteFile(filepath.Join(talk, "done"), nil, 0o600)
	}()
	h.try(os.Args[0] + " " + watchFlag + " " + talk)
}

// TestAKilledKerf: when the Kerf that began a try is killed, nothing that runs in the try runs on,
// and the try can be gone on with.
func TestAKilledKerf(t *testing.T) {
	h := newHouse(t)
	try := h.try("echo one > c")
	try.Unlock()
	held := filepath.Join(filepath.Dir(h.dir), "held")
	cmd := exec.Command(os.Args[0], runFlag, h.home, "exec 9>>"+held+"; flock 9; echo held >&9; setsid sleep 90 & sleep 90")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the try to run", func() bool {
		text, err := os.ReadFile(held)
		return err == nil && len(text) > 0
	})
	if !try.Running() {
		t.Error("the try does not count as one in which something runs")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	f, err := os.Open(held)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	waitFor(t, "the end of what runs in the try", func() bool {
		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	})
	if try.Running() {
		t.Error("the try counts as one in which something runs")
	}
	h.in(try, "test $(cat c) = one && echo two > c")
	h.keep(try, tries.Options{})
	if d := cmp.Diff(map[string]string{".": "drwxr-xr-x", "c": "-rw-r--r-- two\n"}, h.tree(h.dir, false)); d != "" {
		t.Error(d)
	}
}

// TestATerminatedKerf: what runs in a try is told when Kerf is to end, and may end in its own way.
func TestATerminatedKerf(t *testing.T) {
	h := newHouse(t)
	try := h.try("test ! -e /proc/$$/fd/3 && test ! -e /proc/$$/fd/4") // Kerf's own
	try.Unlock()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		ready := filepath.Join(filepath.Dir(h.dir), "ready"+signal.String())
		cmd := exec.Command(os.Args[0], runFlag, h.home, "trap 'echo told >>c; exit 7' TERM HUP; sleep 90 & echo >'"+ready+"'; wait")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the try to run", func() bool {
			_, err := os.Stat(ready)
			return err == nil
		})
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%v: exit code %v, want that of what ran in the try", signal, cmd.ProcessState)
		}
	}
	h.in(try, "test $(wc -l <c) = 2")
}

// waitFor waits until something is so, for a minute.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("nothing came of waiting for ", what)
		}
	}
}
