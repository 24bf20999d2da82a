package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/launch"
)

// started starts the launcher of a command that comes to be known later, and returns what box.Started
// takes.
func (a *Ahead) started(t *testing.T) (p *proc.Process, leader int, kill func()) {
	t.Helper()
	p, err := proc.Start(t.Context(), proc.Spec{Argv: a.Argv, Dir: "/", Env: os.Environ(), ExtraFiles: a.Files, Confined: true,
		Started: func(l int, k func()) { leader, kill = l, k }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p, leader, kill
}

// TestALauncherAheadWaits: a launcher that was started before its plan was made runs the command when
// it is told to, not before, and never when nobody tells it.
func TestALauncherAheadWaits(t *testing.T) {
	work, locks := t.TempDir(), filepath.Join(t.TempDir(), "locks")
	policy := boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{work}, Cwd: work, LockDir: locks,
		Backend: boundary.OwnLauncher}
	if _, err := choose(t.Context(), boundary.Plan{Mode: policy.Mode, Backend: policy.Backend}); err != nil {
		t.Skip(err)
	}
	made := filepath.Join(work, "made")
	begun := func(a *Ahead) bool { return began(a.program) }

	a := Begin(t.Context(), policy)
	p, leader, kill := a.started(t)
	box, err := a.Prepare(t.Context(), policy, false, []string{"/bin/sh", "-c", "echo x > made; echo said"})
	if err != nil {
		t.Fatal(err)
	}
	if begun(a) || p.Wait(0) {
		t.Error("it did not wait")
	}
	if _, err := os.Lstat(filepath.Join(work, boundary.Kerf)); err != nil {
		t.Error("no placeholder stands before the command begins")
	}
	box.Started(leader, kill)
	p.Wait(-1)
	text, _ := p.Output()
	if code, _, _ := p.ExitCode(); code != 0 || string(text) != "said\n" || !begun(a) {
		t.Errorf("code %d, said %q, began %v", code, text, begun(a))
	}
	box.Close()
	if _, err := os.Lstat(made); err != nil || box.Lost(0, "") != nil {
		t.Error("it did not run")
	}
	_ = os.Remove(made)

	// Nobody says the word: neither before there is a program nor when it is there.
	for _, written := range []bool{false, true} {
		a := Begin(t.Context(), policy)
		p, _, _ := a.started(t)
		if written {
			program := compile(boundary.Plan{Mode: boundary.ReadOnly, Cwd: "/"}, []string{"touch", made})
			if _, err := a.program.WriteAt(program.Encode(), 0); err != nil {
				t.Fatal(err)
			}
		}
		keep, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", a.program.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		a.Close()
		p.Wait(-1)
		if code, _, _ := p.ExitCode(); code != codeNoSandbox || began(keep) {
			t.Errorf("written %v: code %d, began %v", written, code, began(keep))
		}
		keep.Close()
	}
	// The word comes without a program, or with one for other namespaces.
	for _, program := range []*launch.Program{nil, {Argv: []string{"touch", made}, Clone: cloned(true)}} {
		a := Begin(t.Context(), policy)
		p, leader, _ := a.started(t)
		if program != nil {
			for len(proc.Children(leader)) == 0 && !p.Wait(0) { // it has not made the namespaces yet
				time.Sleep(time.Millisecond)
			}
			_, _ = a.program.WriteAt(program.Encode(), 0)
		}
		_, _ = a.gate.Write([]byte{1})
		p.Wait(-1)
		if code, _, _ := p.ExitCode(); code != codeNoSandbox || begun(a) {
			t.Errorf("program %v: code %d, began %v", program != nil, code, begun(a))
		}
		a.Close()
	}
	if _, err := os.Lstat(made); err == nil {
		t.Error("what nobody let run has run")
	}
	socket, err := memory("a witness's socket", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for name, p := range map[string]boundary.Policy{"the network": {Mode: boundary.ReadOnly, Network: true, Backend: boundary.OwnLauncher},
		"a witness": {Mode: boundary.ReadOnly, Witness: socket, Backend: boundary.OwnLauncher}} {
		a := Begin(t.Context(), p)
		if a == nil {
			t.Errorf("%s: not begun", name)
			continue
		}
		want, files := "4", []*os.File{a.program, a.wait}
		if p.Witness != nil {
			want, files = "5", []*os.File{a.program, socket, a.wait}
		}
		if a.Argv[2] != want || !slices.Equal(a.Files, files) {
			t.Errorf("%s: waits at %s, with %v", name, a.Argv[2], a.Files)
		}
		a.Close()
		for _, f := range []*os.File{a.program, a.wait, a.gate} {
			if err := f.Close(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s: a file is open still: %v", name, err)
			}
		}
	}
	for name, p := range map[string]boundary.Policy{"full access": {Mode: boundary.FullAccess, Backend: boundary.OwnLauncher},
		"another backend":    {Mode: boundary.ReadOnly, Backend: boundary.Landlock},
		"a filtered network": {Mode: boundary.ReadOnly, Network: true, Limited: true, Backend: boundary.OwnLauncher},
		"a closed host":      {Mode: boundary.ReadOnly, Network: true, Domains: map[string]string{"a.example": "deny"}, Backend: boundary.OwnLauncher}} {
		if Begin(t.Context(), p) != nil {
			t.Errorf("%s: begun before the plan is known", name)
		}
	}
}
