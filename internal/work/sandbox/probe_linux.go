package sandbox

import (
	"context"
	"errors"
	"fmt"
	"kerf/internal/work/sandbox/render"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/placeholders"
	"kerf/internal/work/sandbox/seccomp"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Probe reports whether commands can be confined here: nil, or an
// [*UnavailableError]. Programs below the avoid directories do not count. What
// was found to work is not tried again.
func Probe(ctx context.Context, avoid ...string) error {
	_, err := machine{}.choose(ctx, boundary.Plan{Mode: boundary.WorkspaceWrite, Cwd: "/"}, avoid)
	return err
}

// Backend is what a probe found.
type Backend struct {
	Name string
	Err  error // nil when it works
}

// Backends tries every backend, whatever was found before.
func Backends(ctx context.Context, avoid ...string) []Backend {
	var all []Backend
	for _, name := range []string{boundary.OwnLauncher, boundary.Bubblewrap, boundary.Landlock} {
		_, err := machine{}.find(ctx, name, "", avoid)
		all = append(all, Backend{name, err})
	}
	return all
}

func choose(ctx context.Context, p boundary.Plan) (way, error) {
	return machine{locks: p.LockDir}.choose(ctx, p, p.WritableRoots())
}

// machine finds out what works. Its functions stand for the real thing when
// they are nil.
type machine struct {
	locks   string // remembers, until the next boot
	version func() string
	try     func(context.Context, way) error
	program func(name string, avoid []string) (string, error)
}

// choose returns the best way to enforce a plan. There is no weaker way than
// the last one, and it is refused where it does not enforce all of the plan.
func (m machine) choose(ctx context.Context, p boundary.Plan, avoid []string) (way, error) {
	if err := m.never(); err != nil {
		return way{}, err
	}
	names := []string{boundary.OwnLauncher, boundary.Bubblewrap, boundary.Landlock}
	if p.Backend != "" {
		names = []string{p.Backend}
	}
	var reasons []string
	for _, name := range names {
		if name == boundary.Bubblewrap && p.Proxy != nil {
			reasons = append(reasons, name+": it cannot filter the network by domain")
			continue
		}
		if name == boundary.Landlock {
			if err := expressible(p); err != nil {
				reasons = append(reasons, "landlock: "+err.Error())
				continue
			}
		}
		w, err := m.find(ctx, name, m.locks, avoid)
		if err == nil {
			return w, nil
		}
		if ctx.Err() != nil {
			return way{}, fmt.Errorf("sandbox probe: %w", ctx.Err())
		}
		reasons = append(reasons, name+": "+reason(err))
	}
	why := strings.Join(reasons, "; ")
	return way{}, &render.UnavailableError{Reason: why, Hint: mend(why, present)}
}

func reason(err error) string {
	var unavailable *render.UnavailableError
	if errors.As(err, &unavailable) {
		return unavailable.Reason
	}
	return err.Error()
}

// never says why no command can be confined on this machine, whatever is set up, or nil.
func (m machine) never() error {
	if seccomp.NativeArch == 0 {
		return &render.UnavailableError{Reason: "no seccomp filter for this kind of processor",
			Hint: "run with --sandbox " + boundary.FullAccess}
	}
	version := procVersion
	if m.version != nil {
		version = m.version
	}
	if isWSL1(version()) {
		return &render.UnavailableError{Reason: "WSL1 has no namespaces", Hint: "upgrade the distribution to WSL2"}
	}
	return nil
}

// find returns the named way if it works here.
func (m machine) find(ctx context.Context, name, locks string, avoid []string) (way, error) {
	if err := m.never(); err != nil {
		return way{}, err
	}
	w := way{name: name}
	program := proc.Program
	if m.program != nil {
		program = m.program
	}
	switch name {
	case boundary.OwnLauncher, boundary.Landlock:
	case boundary.Bubblewrap:
		path, err := program("bwrap", avoid)
		if err != nil {
			return way{}, &render.UnavailableError{Reason: "bwrap is not on PATH outside the workspace",
				Hint: "install the package bubblewrap"}
		}
		w.path = path
	default:
		return way{}, &render.UnavailableError{Reason: fmt.Sprintf("no backend is called %q", name)}
	}
	if m.try != nil {
		return w, m.try(ctx, w)
	}
	return w, w.known(ctx, locks)
}

// probed remembers what works and what does not: a fact about the machine, which
// costs a run of it to find out. It holds errors, nil for success.
var probed sync.Map

// known tries w unless it is known to work: to this process, or to one before it
// since the machine was started. Should it have stopped working since, commands
// end with the launcher's own error and do not run.
func (w way) known(ctx context.Context, locks string) error {
	if locks == "" {
		return w.try(ctx)
	}
	if was, ok := probed.Load(w); ok {
		err, _ := was.(error)
		return err
	}
	mark := w.mark(locks)
	if _, err := os.Lstat(mark); err == nil {
		probed.Store(w, nil)
		return nil
	}
	err := w.try(ctx)
	if ctx.Err() != nil {
		return err
	}
	probed.Store(w, err)
	if err == nil {
		_ = os.WriteFile(mark, nil, 0o600) // its being there is all; where there can be none it is tried again
	}
	return err
}

// again tries w, whatever is known of it. One that does not work any more is no longer
// known to.
func (w way) again(ctx context.Context, locks string) error {
	err := w.try(ctx)
	if err == nil {
		return nil
	}
	probed.Delete(w)
	_ = os.Remove(w.mark(locks))
	return &render.UnavailableError{Reason: w.name + ": " + reason(err), Hint: mend(reason(err), present)}
}

// mark is the file that stands for a success, by boot, user and program; empty where there
// can be none.
func (w way) mark(locks string) string {
	if _, err := placeholders.LockDir(locks); err != nil {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	program := w.path
	if program == "" {
		program = "/proc/self/exe"
	}
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	return filepath.Join(locks, fmt.Sprintf("works-%s-%d-%s-%d-%x", w.name, os.Geteuid(), strings.TrimSpace(string(boot)),
		info.Size(), info.ModTime().UnixNano()))
}

// try runs nothing in a sandbox with every feature that plans use.
func (w way) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	pl := boundary.Plan{Mode: boundary.ReadOnly, Cwd: "/", Backend: w.name}
	if w.name != boundary.Landlock {
		pl.Mounts = []boundary.Mount{{Kind: boundary.MountHideDir, Path: "/tmp"}}
	}
	b := &Box{plan: pl}
	defer b.Close()
	if err := w.render(b, []string{"/bin/sh", "-c", "exit 0"}); err != nil {
		return &render.UnavailableError{Reason: err.Error()}
	}
	p, err := proc.Start(ctx, proc.Spec{Argv: b.Argv, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, ExtraFiles: b.Files,
		Confined: w.name != boundary.Landlock, Started: b.Started})
	if err != nil {
		return &render.UnavailableError{Reason: err.Error()}
	}
	p.Wait(-1)
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return fmt.Errorf("sandbox probe: %w", err)
	}
	if code, _, _ := p.ExitCode(); code != 0 {
		text, _ := p.Output()
		line, _, _ := strings.Cut(strings.TrimSpace(string(text[:min(len(text), 300)])), "\n")
		line = strings.TrimPrefix(line, "kerf: the sandbox cannot be set up, so the command was not run: ")
		return &render.UnavailableError{Reason: "does not work here: " + line,
			Hint: "allow unprivileged user namespaces, or update bubblewrap to 0.8 or later"}
	}
	return nil
}

func procVersion() string {
	version, err := os.ReadFile("/proc/version")
	if err != nil {
		return ""
	}
	return string(version)
}

// isWSL1 tells the translation layer, which has no kernel, from WSL2.
func isWSL1(version string) bool {
	return strings.Contains(version, "Microsoft") && !strings.Contains(version, "WSL2")
}
