package watch_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"kerf/internal/agent/executor/watch"
	"kerf/internal/work/boundary"
	"kerf/internal/work/ledger"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/workspace"
)

// open opens the workspace of a directory, with what Kerf keeps in home.
func open(t *testing.T, home, root string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(workspace.Options{Home: home, Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	if w.Witness == nil {
		t.Skip("SKIP ", w.Unwitnessed)
	}
	return w
}

// start runs a command line in the sandbox, watched.
func start(t *testing.T, w *watch.Watcher, root, line string) (*watch.Command, func()) {
	t.Helper()
	c, err := w.Begin(watch.Origin{Session: "s", Turn: "t", Call: "c"}, &watch.Losing{})
	if err != nil {
		t.Fatal(err)
	}
	p := boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{root}, Cwd: root, Witness: c.Socket()}
	box, err := sandbox.Prepare(t.Context(), p, false, []string{"bash", "-c", line})
	if err != nil {
		t.Skip("SKIP ", err)
	}
	cmd := exec.Command(box.Argv[0], box.Argv[1:]...)
	cmd.ExtraFiles, cmd.Dir = box.Files, root
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	box.Started(cmd.Process.Pid, func() { _ = cmd.Process.Kill() })
	return c, func() {
		_ = cmd.Wait()
		box.Close()
	}
}

func paths(t *testing.T, l *ledger.Ledger) (list []string) {
	t.Helper()
	entries, err := l.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		for _, c := range e.Changes {
			list = append(list, filepath.Base(c.Path)+" "+e.Known())
		}
	}
	return list
}

// TestWhatRunsOnIsInTheLedger: nobody has to ask for it.
func TestWhatRunsOnIsInTheLedger(t *testing.T) {
	root := t.TempDir()
	ws := open(t, t.TempDir(), root)
	defer ws.Close()
	var later atomic.Int32
	w := watch.New(watch.Options{Witness: ws.Witness, Work: ws.Txn,
		Later: func(_ watch.Origin, f watch.Found) { later.Add(int32(len(f.Entries))) }})
	c, wait := start(t, w, root, "echo 1 > a; while [ ! -e go ]; do sleep 0.01; done; echo 2 > b")
	for later.Load() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if got := paths(t, ws.Ledger); len(got) != 1 || got[0] != "a proven" {
		t.Errorf("the ledger has %q before the command ended", got)
	}
	if got := later.Load(); got != 1 {
		t.Errorf("%d entries were told before the command ended, want 1", got)
	}
	if err := os.WriteFile(filepath.Join(root, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wait()
	f, err := c.End(context.Background())
	if err != nil || len(f.Entries) != 1 {
		t.Errorf("the end told %+v, %v", f, err)
	}
	if got := paths(t, ws.Ledger); len(got) != 2 || got[0] != "a proven" || got[1] != "b proven" {
		t.Errorf("the ledger has %q", got)
	}
}

// TestWhatCouldNotBeEnteredIsRecovered: a later part alone would tell another story.
func TestWhatCouldNotBeEnteredIsRecovered(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	ws := open(t, home, root)
	full := errors.New("no space left")
	failing := true
	ws.Ledger.Hook = func(op, _ string) error {
		if failing && op == "write" {
			return full
		}
		return nil
	}
	w := watch.New(watch.Options{Witness: ws.Witness, Work: ws.Txn, Later: func(watch.Origin, watch.Found) {}})
	c, wait := start(t, w, root, "echo 1 > a; : > ready; while [ ! -e go ]; do sleep 0.01; done; echo 2 > b; rm ready go")
	for {
		if _, err := os.Stat(filepath.Join(root, "ready")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := c.Collect(context.Background()); !errors.Is(err, full) {
		t.Errorf("collect: %v, want %v", err, full)
	}
	failing = false
	if err := os.WriteFile(filepath.Join(root, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wait()
	if _, err := c.End(context.Background()); !errors.Is(err, full) {
		t.Errorf("end: %v, want %v", err, full)
	}
	if got := paths(t, ws.Ledger); len(got) > 0 {
		t.Errorf("the ledger has %q before recovery", got)
	}
	if err := ws.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, home, root)
	defer again.Close()
	if again.Recovered != 1 || again.Unrecovered != nil {
		t.Errorf("recovered %d, %v", again.Recovered, again.Unrecovered)
	}
	seen := map[string]bool{}
	for _, p := range paths(t, again.Ledger) {
		seen[p] = true
	}
	if !seen["a proven"] || !seen["b proven"] {
		t.Errorf("the ledger has %v after recovery", seen)
	}
}
