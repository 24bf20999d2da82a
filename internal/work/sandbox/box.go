// Package sandbox runs commands under a plan. [Wrap] turns a command into one that
// runs inside; where a plan cannot be enforced nothing runs.
package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/quota"
	"kerf/internal/work/sandbox/render"
	"kerf/internal/work/sandbox/whole"
)

// Box is a command that Wrap made ready to run inside.
type Box struct {
	Argv []string
	// Files are what it needs as descriptors 3 and up.
	Files []*os.File
	// Confined says that a launcher leads it (proc.Spec.Confined).
	Confined bool
	// Cgroup is where the command starts (proc.Spec.Cgroup), or nil.
	Cgroup *os.File
	// OneRoot says that all processes inside have the same root directory.
	OneRoot bool

	plan    boundary.Plan
	session *boundary.Session      // which is told when the command has ended, or nil
	guard   *guard                 // nil where nothing has to be watched
	stop    func()                 // ends the proxy
	limit   func(leader int) error // sets limits from outside and opens the gate
	gate    *os.File               // behind which the command waits for that
	lower   func()                 // gives up the placeholders
	gone    func()                 // waits until all processes inside are gone
	tmp     *quota.Watch           // of the private /tmp, or nil
	whole   *whole.Bound           // of the command, or nil
	again   func() error           // tries whether there still is a sandbox
	program *os.File               // of the launcher, in which it tells that the command begins; nil without one
	idle    bool                   // it never began; known once the box is closed
	once    sync.Once
	found   []boundary.Finding
}

// bare is the box of a command that runs as it is.
func bare(argv []string) *Box { return &Box{Argv: argv} }

// Started takes the leader and a function that ends the command at once; see
// proc.Spec. That is called when something that protects a name goes away while
// the command runs, or when its limits cannot be set.
func (b *Box) Started(leader int, kill func()) {
	if b.guard != nil {
		b.guard.arm(kill)
	}
	if dir := b.plan.TempDir(); dir != "" && b.plan.Limits.TmpBytes > 0 {
		b.tmp = quota.Start(dir, b.plan.Limits.TmpBytes, kill)
	}
	b.whole.Started(leader, kill)
	if b.limit != nil && b.limit(leader) != nil {
		kill()
	}
}

// Placeholders are the names that stand in the workspace only while the command runs, so
// that nothing can be made there.
func (b *Box) Placeholders() []string {
	names := make([]string, 0, len(b.plan.Masks))
	for _, m := range b.plan.Masks {
		names = append(names, m.Path)
	}
	for _, dir := range b.plan.Kept {
		keeper := filepath.Join(dir, boundary.Keeper)
		names = append(names, keeper, filepath.Join(keeper, boundary.KeeperLock))
	}
	return names
}

// Enforced reports whether there is a sandbox around the command at all.
func (b *Box) Enforced() bool { return b.plan.Mode != "" && b.plan.Mode != boundary.FullAccess }

// Broken names the path whose protection went away while the command ran, for
// which it was ended; empty when all held.
func (b *Box) Broken() string {
	if b.guard == nil {
		return ""
	}
	return b.guard.broken()
}

// Lost reports why a command whose process ended with a code did not run, because what is
// around it could not be set up, although that was known to work here before. Said is what the
// process wrote; where that went to the user already and the launcher gave its reason, that is not
// repeated, and Lost is nil. It is nil when the command ran, so that none can pretend. The box must
// be closed.
func (b *Box) Lost(code int, said string) error {
	if !b.idle {
		return nil
	}
	if b.again != nil {
		if err := b.again(); err != nil {
			return err
		}
	}
	if said == "" && code == codeNoSandbox {
		return nil
	}
	reason := render.Idle(code, said)
	if path := b.Broken(); path != "" && said == "" {
		reason = path + " was removed or replaced before the command began; run it again"
	}
	return &render.UnavailableError{Reason: reason}
}

// began reports whether the launcher of a program came to the command. What is no program any
// more tells nothing: then the command is taken to have run.
func began(program *os.File) bool {
	var b [1]byte
	n, _ := program.ReadAt(b[:], 0)
	return n != 1 || b[0] == launch.Begun
}

// codeNoSandbox is the exit code of the launcher when it could not set up a sandbox.
const codeNoSandbox = 125

// Close gives up what the command needed and tells what it planted. It must be
// called once the command has ended, before anything of the user's runs, and may
// be called again.
func (b *Box) Close() []boundary.Finding {
	b.once.Do(func() {
		b.idle = b.program != nil && !began(b.program)
		for _, f := range b.Files {
			f.Close()
		}
		if b.gate != nil {
			b.gate.Close()
		}
		if b.stop != nil {
			b.stop()
		}
		if b.gone != nil {
			b.gone()
		}
		if b.guard != nil {
			b.found = setAside(b.plan, b.guard.end())
			b.plan.Masks = slices.DeleteFunc(slices.Clone(b.plan.Masks), b.guard.filled)
		}
		if b.lower != nil {
			b.lower()
		}
		if b.tmp.End() {
			b.found = append(b.found, boundary.Finding{Path: "/tmp", What: fmt.Sprintf("more than %d MiB lay in the "+
				"commands' own directory, so the command was ended", b.plan.Limits.TmpBytes>>20)})
		}
		b.found = append(b.found, b.whole.End()...)
		if b.plan.Mode != boundary.FullAccess {
			b.found = append(b.found, boundary.Sweep(b.plan, aside)...)
		}
		if b.session != nil {
			b.session.Moved()
		}
	})
	return b.found
}
