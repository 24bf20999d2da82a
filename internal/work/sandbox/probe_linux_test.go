package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
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
