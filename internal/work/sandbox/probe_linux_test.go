package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/render"
)

// TestWhatWorksIsRemembered: only a backend that was seen to work is taken without a try, until it fails; one
// that failed is not tried again by the same process, and leaves nothing for others.
func TestWhatWorksIsRemembered(t *testing.T) {
	locks, program := t.TempDir(), filepath.Join(t.TempDir(), "bwrap")
	if err := errors.Join(os.Chmod(locks, 0o700), os.WriteFile(program, []byte("#!/bin/sh\nexit 3\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	w := way{name: boundary.Bubblewrap, path: program}
	t.Cleanup(func() { probed.Delete(w) })
	ctx := t.Context()
	left := func() int {
		entries, err := os.ReadDir(locks)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	mark := w.mark(locks)
	if filepath.Dir(mark) != locks {
		t.Fatalf("the mark is %q", mark)
	}
	for range 2 {
		if err := w.known(ctx, locks); err == nil || left() != 0 {
			t.Fatalf("one that fails: %v, left %d", err, left())
		}
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if w.known(ctx, locks) == nil {
		t.Error("the process forgot that it failed")
	}
	probed.Delete(w) // as another process
	for range 2 {
		if err := w.known(ctx, locks); err != nil {
			t.Errorf("one that worked is tried: %v", err)
		}
	}
	if w.known(ctx, "") == nil {
		t.Error("without a place to remember it is not tried")
	}
	var unavailable *render.UnavailableError
	if err := w.again(ctx, locks); !errors.As(err, &unavailable) || left() != 0 {
		t.Errorf("it stopped working: %v, left %d", err, left())
	}
	if w.known(ctx, locks) == nil {
		t.Error("it is still known to work")
	}
	// Another program, another user's or an open directory: nothing is remembered of those.
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 30\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if w.mark(locks) == mark {
		t.Error("another program has the same mark")
	}
	if err := os.Chmod(locks, 0o777); err != nil {
		t.Fatal(err)
	}
	if got := w.mark(locks); got != "" {
		t.Errorf("a mark that everybody may make: %q", got)
	}
}

// TestALauncherThatEndedIsNotWaitedFor: one that failed at once has no child to come.
func TestALauncherThatEndedIsNotWaitedFor(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if over(pid) {
		t.Error("it is said to have ended")
	}
	in.Close()
	for !over(pid) { // nobody has waited for it: it answers signals
		time.Sleep(time.Millisecond)
	}
	if err := unix.Kill(pid, 0); err != nil {
		t.Errorf("it cannot be waited for any more: %v", err)
	}
	if err := cmd.Wait(); cmd.ProcessState == nil {
		t.Error(err)
	}
	if !over(pid) {
		t.Error("it is waited for when it is gone")
	}
}

// TestASuccessIsMarked: others need not try.
func TestASuccessIsMarked(t *testing.T) {
	one(t, func(t *testing.T) {
		locks := t.TempDir()
		if err := os.Chmod(locks, 0o700); err != nil {
			t.Fatal(err)
		}
		w, err := machine{}.find(t.Context(), os.Getenv(backendEnv), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		probed.Delete(w)
		t.Cleanup(func() { probed.Delete(w) })
		if err := w.known(t.Context(), locks); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(w.mark(locks)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		if err := w.again(t.Context(), locks); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(w.mark(locks)); err != nil {
			t.Error(err)
		}
	})
}

// TestWhyNoBackendIsTaken is told of each, in order, with the step that helps; and who is called back is not told
// that nothing works.
func TestWhyNoBackendIsTaken(t *testing.T) {
	linux := func() string { return "Linux version 6.1.0" }
	broken := func(_ context.Context, w way) error { return fmt.Errorf("%s broke", w.name) }
	there := func(string, []string) (string, error) { return "/usr/bin/bwrap", nil }
	workspace := boundary.Plan{Mode: boundary.WorkspaceWrite, Cwd: "/w"}
	filtered := workspace
	filtered.Proxy = &boundary.Filter{}
	unknown, bubble := workspace, workspace
	unknown.Backend, bubble.Backend = "none of them", boundary.Bubblewrap
	for want, c := range map[string]struct {
		m    machine
		plan boundary.Plan
	}{
		"kerf: kerf broke; bwrap: bwrap broke; landlock: it protects no single name in a directory that is writable": {
			machine{version: linux, try: broken, program: there}, workspace},
		"kerf: kerf broke; bwrap: it cannot filter the network by domain; landlock: it protects no single name in a directory that is writable": {
			machine{version: linux, try: broken, program: there}, filtered},
		`none of them: no backend is called "none of them"`: {machine{version: linux, try: broken, program: there}, unknown},
		"bwrap: bwrap is not on PATH outside the workspace": {machine{version: linux, try: broken,
			program: func(string, []string) (string, error) { return "", proc.ErrNotFound }}, bubble},
	} {
		_, err := c.m.choose(t.Context(), c.plan, nil)
		var unavailable *render.UnavailableError
		if !errors.As(err, &unavailable) || unavailable.Reason != want || unavailable.Hint != mend("", present) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	old := machine{version: func() string { return "Linux version 4.4.0-19041-Microsoft (x)" }, program: there}
	_, chosen := old.choose(t.Context(), workspace, nil)
	_, found := old.find(t.Context(), boundary.OwnLauncher, "", nil)
	for _, err := range []error{chosen, found} { // and not what would help elsewhere
		if want := "sandbox unavailable: WSL1 has no namespaces; upgrade the distribution to WSL2"; err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	works := machine{version: linux, try: func(context.Context, way) error { return nil }, program: there}
	if w, err := works.choose(t.Context(), bubble, nil); err != nil || w != (way{boundary.Bubblewrap, "/usr/bin/bwrap"}) {
		t.Errorf("%+v, %v", w, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (machine{version: linux, try: broken, program: there}).choose(gone, workspace, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who is called back is told %v", err)
	}
}

// TestATryTellsItsFirstLine, not more than fits into a message, and none of it when the user gave up.
func TestATryTellsItsFirstLine(t *testing.T) {
	program := filepath.Join(t.TempDir(), "bwrap")
	for script, want := range map[string]string{
		"echo first; echo second; exit 3":                      "does not work here: first",
		"printf '\\n\\n first \\n'; exit 1":                    "does not work here: first",
		"echo 'kerf: " + launch.NotSetUp + "a step'; exit 125": "does not work here: a step",
		"printf '%400s' x | tr ' ' y; exit 3":                  "does not work here: " + strings.Repeat("y", 300),
		"exit 3":                                               "does not work here: ",
		"exit 0":                                               "",
	} {
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		err := way{name: boundary.Bubblewrap, path: program}.try(t.Context())
		if got := ""; err != nil {
			if got = reason(err); got != want {
				t.Errorf("%s: %q, want %q", script, got, want)
			}
		} else if want != "" {
			t.Errorf("%s: it works", script)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	go cancel()
	err := way{name: boundary.Bubblewrap, path: program}.try(gone)
	var unavailable *render.UnavailableError
	if err == nil || errors.As(err, &unavailable) && !strings.Contains(unavailable.Reason, context.Canceled.Error()) {
		t.Errorf("given up: %v", err)
	}
	missing := way{name: boundary.Bubblewrap, path: program + "2"}.try(t.Context())
	if !errors.As(missing, &unavailable) || !strings.Contains(unavailable.Reason, "bwrap2") {
		t.Errorf("without the program: %v", missing)
	}
}

// TestNumbersOfANamespace are its own since Linux 6.14.
func TestNumbersOfANamespace(t *testing.T) {
	for release, want := range map[string]bool{"6.13.12": false, "6.14.0": true, "6.14": true, "6.15.1-arch": true, "6.2.0": false, "7.0.1": true,
		"5.15.0": false, "5.99": false, "": false, "x": false, "6": false, "7": true} {
		if got := numbersAreOwn(release); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}

// TestLimitsOfOrdinaryCommands: one process gets no more than there is, and a command an eighth less.
func TestLimitsOfOrdinaryCommands(t *testing.T) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	var kilobytes uint64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kilobytes); err != nil {
		t.Fatal(err)
	}
	total := kilobytes << 10
	want := boundary.Limits{Processes: 8192, FileBytes: 8 << 30, TmpBytes: 16 << 30, DataBytes: total, MemoryBytes: total / 8 * 7}
	if got := DefaultLimits(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestLimitsAreSetFromOutside on a process and its children, but for the number of processes of the leader, which
// counts for the whole user.
func TestLimitsAreSetFromOutside(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 600 & echo ready; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	leader := cmd.Process.Pid
	defer func() { _ = syscall.Kill(-leader, syscall.SIGKILL); _ = cmd.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	var was unix.Rlimit
	if err := unix.Prlimit(leader, unix.RLIMIT_NPROC, nil, &was); err != nil {
		t.Fatal(err)
	}
	first, err := impose(boundary.Limits{Processes: 1234, FileBytes: 1 << 30, DataBytes: 1 << 31}, leader)
	children := proc.Children(leader)
	if err != nil || len(first) != 1 || len(children) != 1 {
		t.Fatalf("%v, children %v, descriptors %v", err, children, first)
	}
	for pid, numbers := range map[int]uint64{leader: was.Max, children[0]: 1234} {
		for resource, want := range map[int]uint64{unix.RLIMIT_NPROC: numbers, unix.RLIMIT_FSIZE: 1 << 30, unix.RLIMIT_DATA: 1 << 31, unix.RLIMIT_CORE: 0} {
			var got unix.Rlimit
			if err := unix.Prlimit(pid, resource, nil, &got); err != nil || got.Max != want || resource != unix.RLIMIT_NPROC && got.Cur != want {
				t.Errorf("limit %d is %+v, want %d, %v", resource, got, want, err)
			}
		}
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid)); err != nil || string(text) != "800\n" {
			t.Errorf("%s, %v", text, err)
		}
	}
	await(first)
	if !ended(children[0]) {
		t.Error("the child lives")
	}
	if err := unix.Close(first[0]); !errors.Is(err, unix.EBADF) {
		t.Errorf("its descriptor is open: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := impose(boundary.Limits{FileBytes: 1}, leader); err == nil {
		t.Error("one that is gone has limits")
	}
}

// ended tells of a process whether it is gone, or waits for its parent.
func ended(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return len(text) == 0 || strings.Contains(string(text), ") Z ")
}
