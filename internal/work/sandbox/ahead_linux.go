package sandbox

import (
	"context"
	"os"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/whole"
)

// Begin returns the launcher for a command under a policy, to be started at once, or nil where
// that cannot be done before the plan is known. The command comes with [Ahead.Prepare].
func Begin(ctx context.Context, p boundary.Policy) *Ahead {
	if p.Mode == boundary.FullAccess || p.Network && (p.Limited || len(p.Domains) > 0) {
		return nil
	}
	w, err := choose(ctx, boundary.Plan{Mode: p.Mode, Backend: p.Backend, LockDir: p.LockDir})
	if err != nil || w.name != boundary.OwnLauncher {
		return nil
	}
	program, err := programFile(&launch.Program{Clone: cloned(p.Network)}) // what comes does not change that
	if err != nil {
		return nil
	}
	wait, gate, err := os.Pipe()
	if err != nil {
		program.Close()
		return nil
	}
	a := &Ahead{Argv: []string{"/proc/self/exe", launch.Flag, "4"}, Files: []*os.File{program, wait}, program: program,
		wait: wait, gate: gate, whole: whole.Prepare(p.Limits)}
	if p.Witness != nil { // which has the descriptor that it has without a word to wait for
		a.Argv[2], a.Files = "5", []*os.File{program, p.Witness, wait}
	}
	a.Cgroup = a.whole.Cgroup()
	return a
}

// own gives b what its launcher has, which waits for its word.
func (b *Box) own(a *Ahead) {
	b.Argv, b.Files, b.Cgroup = a.Argv, a.Files, a.Cgroup
	b.program, b.gate, b.whole = a.program, a.gate, a.whole
	b.limit = func(int) error {
		_, err := a.gate.Write([]byte{1})
		return err
	}
}
