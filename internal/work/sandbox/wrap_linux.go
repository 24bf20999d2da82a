package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"kerf/internal/work/proc"
)

// Confined reports whether the wrapped command is led by a launcher, to which
// signals for the command must not go (proc.Spec.Confined).
func (p Plan) Confined() bool { return p.Mode != FullAccess }

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
	p.Privileged = os.Geteuid() == 0
	bwrap, err := launcher(ctx, p.writable())
	if err != nil {
		return nil, nil, nothing, err
	}
	filter, err := filterFile(p.Network)
	if err != nil {
		return nil, nil, nothing, &UnavailableError{Reason: err.Error()}
	}
	if dir := p.temporary(); dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			filter.Close()
			return nil, nil, nothing, fmt.Errorf("sandbox: temporary directory: %w", err)
		}
	}
	lower, err := raise(p)
	if err != nil {
		filter.Close()
		return nil, nil, nothing, err
	}
	if p.TTY {
		// bubblewrap takes its child off the terminal, so that it cannot type for
		// us. This terminal is the command's own: it may have it back.
		if setsid, err := proc.Program("setsid", p.writable()); err == nil {
			argv = append([]string{setsid, "-c"}, argv...)
		}
	}
	var once sync.Once
	cleanup = func() { once.Do(func() { filter.Close(); lower() }) }
	return append([]string{bwrap}, p.Bwrap(argv)...), []*os.File{filter}, cleanup, nil
}

// Probe reports whether commands can be confined here: nil, or an
// [*UnavailableError]. Programs below the avoid directories do not count. What
// was found to work is not tried again.
func Probe(ctx context.Context, avoid ...string) error {
	_, err := launcher(ctx, avoid)
	return err
}

// probed remembers launchers that work: a fact about the machine, which costs a
// run of it to find out.
var probed sync.Map

func launcher(ctx context.Context, avoid []string) (string, error) {
	if nativeArch == 0 {
		return "", &UnavailableError{Reason: "no seccomp filter for this kind of processor", Hint: "run with --sandbox " + FullAccess}
	}
	if wsl1() {
		return "", &UnavailableError{Reason: "WSL1 has no namespaces", Hint: "upgrade the distribution to WSL2"}
	}
	bwrap, err := proc.Program("bwrap", avoid)
	if err != nil {
		return "", &UnavailableError{Reason: "bubblewrap (bwrap) is not on PATH outside the workspace", Hint: "install the package bubblewrap"}
	}
	if _, ok := probed.Load(bwrap); ok {
		return bwrap, nil
	}
	if err := try(ctx, bwrap); err != nil {
		return "", err
	}
	probed.Store(bwrap, true)
	return bwrap, nil
}

// try runs nothing in a sandbox with every feature that plans use.
func try(ctx context.Context, bwrap string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	filter, err := filterFile(false)
	if err != nil {
		return &UnavailableError{Reason: err.Error()}
	}
	defer filter.Close()
	plan := Plan{Mode: ReadOnly, Cwd: "/", Mounts: []Mount{{Kind: MountHideDir, Path: "/tmp"}}}
	p, err := proc.Start(ctx, proc.Spec{
		Argv: append([]string{bwrap}, plan.Bwrap([]string{"/bin/sh", "-c", "exit 0"})...),
		Dir:  "/", Env: []string{"PATH=/usr/bin:/bin"}, ExtraFiles: []*os.File{filter}, Confined: true,
	})
	if err != nil {
		return &UnavailableError{Reason: err.Error()}
	}
	defer p.Kill()
	p.Wait(-1)
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return fmt.Errorf("sandbox probe: %w", err)
	}
	if code, _, _ := p.ExitCode(); code != 0 {
		text, _ := p.Output()
		line, _, _ := strings.Cut(strings.TrimSpace(string(text[:min(len(text), 200)])), "\n")
		return &UnavailableError{Reason: "bubblewrap does not work here: " + line, Hint: "allow unprivileged user namespaces, or update bubblewrap to 0.8 or later"}
	}
	return nil
}

// wsl1 tells the translation layer, which has no kernel, from WSL2.
func wsl1() bool {
	version, err := os.ReadFile("/proc/version")
	return err == nil && isWSL1(string(version))
}

func isWSL1(version string) bool {
	return strings.Contains(version, "Microsoft") && !strings.Contains(version, "WSL2")
}
