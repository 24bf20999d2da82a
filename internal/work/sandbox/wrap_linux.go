package sandbox

import (
	"context"
	"fmt"
	"os"
	"sync"

	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/launch"
)

// Confined reports whether the wrapped command is led by a launcher, to which
// signals for the command must not go (proc.Spec.Confined).
func (p Plan) Confined() bool {
	if p.Mode == FullAccess {
		return false
	}
	way, err := choose(context.Background(), p)
	return err != nil || way.name != Landlock
}

// Warning is what users should know about the sandbox of this machine before
// they rely on it; empty when all is well. locks is Policy.LockDir.
func Warning(ctx context.Context, locks string, avoid ...string) string {
	m := machine{locks: locks}
	if _, err := m.choose(ctx, Plan{Mode: WorkspaceWrite, Cwd: "/"}, avoid); err == nil {
		return ""
	}
	if _, err := m.choose(ctx, Plan{Mode: ReadOnly, Cwd: "/", Backend: Landlock}, avoid); err == nil {
		return "neither Kerf nor bubblewrap may make namespaces here: only read-only commands can be confined, by Landlock, and they see other processes; others do not run"
	}
	return "no sandbox works here, so commands do not run; kerf doctor tells more"
}

// Wrap returns the command that runs argv under the plan. extra are the files
// it needs as descriptors 3 and up; cleanup, never nil, closes them and gives up
// the placeholders, and must be called once the command has ended. env is the
// environment that the command will get. Errors other than [*UnavailableError]
// mean that the disk changed since Resolve.
func Wrap(ctx context.Context, p Plan, argv, env []string) (wrapped []string, extra []*os.File, cleanup func(), err error) {
	nothing := func() {}
	if p.Mode == FullAccess {
		return argv, nil, nothing, nil
	}
	way, err := choose(ctx, p)
	if err != nil {
		return nil, nil, nothing, err
	}
	if dir := p.temporary(); dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, nil, nothing, fmt.Errorf("sandbox: temporary directory: %w", err)
		}
	}
	lower, err := raise(p)
	if err != nil {
		return nil, nil, nothing, err
	}
	wrapped, file, err := way.render(p, argv)
	if err != nil {
		lower()
		return nil, nil, nothing, &UnavailableError{Reason: err.Error()}
	}
	extra = []*os.File{file}
	stop := nothing
	if p.Proxy != nil {
		socket, end, err := serve(p.Proxy)
		if err != nil {
			file.Close()
			lower()
			return nil, nil, nothing, &UnavailableError{Reason: err.Error()}
		}
		extra, stop = append(extra, socket), end
	}
	var once sync.Once
	cleanup = func() {
		once.Do(func() {
			for _, f := range extra {
				f.Close()
			}
			stop()
			lower()
		})
	}
	return wrapped, extra, cleanup, nil
}

// way is a backend that was found to work.
type way struct {
	name string
	path string // of bubblewrap
}

// render returns the command that runs argv under p, and the file it needs as
// descriptor 3.
func (w way) render(p Plan, argv []string) ([]string, *os.File, error) {
	if w.name != Bubblewrap {
		file, err := programFile(w.program(p, argv))
		return []string{"/proc/self/exe", launch.Flag}, file, err
	}
	p.Privileged = os.Geteuid() == 0
	if p.TTY {
		// bubblewrap takes its child off the terminal, so that it cannot type for
		// us. This terminal is the command's own: it may have it back.
		if setsid, err := proc.Program("setsid", p.writable()); err == nil {
			argv = append([]string{setsid, "-c"}, argv...)
		}
	}
	file, err := filterFile(p.Network)
	return append([]string{w.path}, p.Bwrap(argv)...), file, err
}

func (w way) program(p Plan, argv []string) *launch.Program {
	if w.name == Landlock {
		return compileLandlock(p, argv)
	}
	return compile(p, argv)
}
