package sandbox

import (
	"context"
	"fmt"
	"kerf/internal/work/sandbox/render"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/placeholders"
	"kerf/internal/work/sandbox/seccomp"
	"kerf/internal/work/sandbox/whole"
	"os"
	"sync"
)

// Confined reports whether the wrapped command is led by a launcher, to which
// signals for the command must not go (proc.Spec.Confined).
func Confined(p boundary.Plan) bool {
	if p.Mode == boundary.FullAccess {
		return false
	}
	way, err := choose(context.Background(), p)
	return err != nil || way.name != boundary.Landlock
}

// Warning is what users should know about the sandbox of this machine before
// they rely on it; empty when all is well. locks is Policy.LockDir.
func Warning(ctx context.Context, locks string, avoid ...string) string {
	return machine{locks: locks}.warning(ctx, avoid)
}

func (m machine) warning(ctx context.Context, avoid []string) string {
	if _, err := m.choose(ctx, boundary.Plan{Mode: boundary.WorkspaceWrite, Cwd: "/"}, avoid); err == nil {
		return ""
	}
	if _, err := m.choose(ctx, boundary.Plan{Mode: boundary.ReadOnly, Cwd: "/", Backend: boundary.Landlock}, avoid); err == nil {
		return "neither Kerf nor bubblewrap may make namespaces here: only read-only commands can be confined, by " +
			"Landlock, and they see other processes; others do not run"
	}
	return "no sandbox works here, so commands do not run; kerf doctor tells more"
}

// Wrap makes argv ready to run under the boundary. The box must be closed once the
// command has ended, or when it is not started after all. Errors other than
// [*UnavailableError] mean that the disk changed since Resolve.
func Wrap(ctx context.Context, p boundary.Plan, argv []string) (*Box, error) {
	return wrap(ctx, p, argv, nil)
}

// wrap is Wrap for a launcher that runs already, or none.
func wrap(ctx context.Context, p boundary.Plan, argv []string, a *Ahead) (*Box, error) {
	if p.Mode == boundary.FullAccess {
		b := bare(argv)
		if p.Witness == nil {
			return b, nil
		}
		return b, b.watch(p)
	}
	way, err := way{name: boundary.OwnLauncher}, error(nil)
	if a == nil {
		way, err = choose(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	if dir := p.TempDir(); dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("sandbox: temporary directory: %w", err)
		}
	}
	b := &Box{plan: p, Confined: way.name != boundary.Landlock, OneRoot: way.name == boundary.OwnLauncher}
	if p.LockDir != "" {
		b.again = func() error { return way.again(context.WithoutCancel(ctx), p.LockDir) }
	}
	if a == nil {
		b.whole = whole.Prepare(p.Limits)
		b.Cgroup = b.whole.Cgroup()
	}
	if err := b.fill(way, argv, a); err != nil {
		b.plan.GitDirs = nil // nothing ran
		b.Close()
		return nil, err
	}
	return b, nil
}

// fill gets what the command needs, in the order in which it depends on each
// other.
func (b *Box) fill(w way, argv []string, a *Ahead) (err error) {
	var wg sync.WaitGroup
	var unrendered error
	wg.Go(func() { // it takes as long as the placeholders do
		if a == nil {
			unrendered = w.render(b, argv)
		} else {
			_, unrendered = a.program.WriteAt(w.program(b.plan, argv).Encode(), 0)
		}
	})
	b.lower, err = placeholders.Raise(b.plan)
	if err == nil {
		b.guard, err = newGuard(b.plan)
	}
	wg.Wait()
	if err != nil {
		return err
	}
	if unrendered != nil {
		return &render.UnavailableError{Reason: unrendered.Error()}
	}
	if b.plan.Proxy != nil {
		socket, stop, err := serve(b.plan.Proxy)
		if err != nil {
			return &render.UnavailableError{Reason: err.Error()}
		}
		b.Files, b.stop = append(b.Files, socket), stop
	}
	switch {
	case a != nil:
		b.own(a)
	case b.plan.Witness == nil:
	case w.name == boundary.Bubblewrap:
		return b.watch(b.plan)
	default:
		b.Files = append(b.Files, b.plan.Witness)
	}
	return nil
}

// way is a backend that was found to work.
type way struct {
	name string
	path string // of bubblewrap
}

// render gives b the command that runs argv under its plan, the files that needs,
// and what has to be done once it was started.
func (w way) render(b *Box, argv []string) error {
	p := b.plan
	if w.name != boundary.Bubblewrap {
		file, err := programFile(w.program(p, argv))
		if err == nil {
			b.Argv, b.Files, b.program = []string{"/proc/self/exe", launch.Flag}, []*os.File{file}, file
		}
		return err
	}
	p.Privileged = os.Geteuid() == 0
	if p.TTY {
		// bubblewrap takes its child off the terminal, so that it cannot type for
		// us. This terminal is the command's own: it may have it back.
		if setsid, err := proc.Program("setsid", p.WritableRoots()); err == nil {
			argv = append([]string{setsid, "-c"}, argv...)
		}
	}
	inner, files, err := within(p, argv)
	b.Files = files
	if err != nil {
		return err
	}
	b.program = files[0]
	file, err := filterFile(seccomp.Reach{Network: p.Network})
	if err != nil {
		return err
	}
	b.Files = append(b.Files, file)
	wait, gate, err := os.Pipe()
	if err != nil {
		return err
	}
	p.Mounts = append(hidden(), p.Mounts...)
	b.Argv, b.Files, b.gate = append([]string{w.path}, render.Bwrap(p, inner)...), append(b.Files, wait), gate
	b.limit = func(leader int) error {
		first, err := impose(p.Limits, leader)
		b.gone = func() { await(first) }
		if err == nil {
			_, err = gate.Write([]byte{1})
		}
		return err
	}
	return nil
}

// hidden are those of the kernel's secrets that it has.
func hidden() (mounts []boundary.Mount) {
	for _, name := range secrets {
		if _, err := os.Lstat("/proc/" + name); err == nil {
			mounts = append(mounts, boundary.Mount{Kind: boundary.MountHideFile, Path: "/proc/" + name})
		}
	}
	return mounts
}

func (w way) program(p boundary.Plan, argv []string) *launch.Program {
	if w.name == boundary.Landlock {
		return compileLandlock(p, argv)
	}
	return compile(p, argv)
}
