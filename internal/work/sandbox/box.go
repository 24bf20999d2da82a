// Package sandbox runs commands under a plan. [Wrap] turns a command into one that
// runs inside; where a plan cannot be enforced nothing runs.
package sandbox

import (
	"fmt"
	"os"
	"sync"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/quota"
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

// Lost reports why a command that ended with a code had no sandbox, although one was
// known to work here before: then it did not run. It is nil when there is one, so that
// no command can pretend.
func (b *Box) Lost(code int) error {
	if b.again == nil || code != codeNoSandbox && code != codeNoBubblewrap {
		return nil
	}
	return b.again()
}

// The exit codes of the launcher and of bubblewrap when they could not set up a sandbox.
const (
	codeNoSandbox    = 125
	codeNoBubblewrap = 1
)

// Close gives up what the command needed and tells what it planted. It must be
// called once the command has ended, before anything of the user's runs, and may
// be called again.
func (b *Box) Close() []boundary.Finding {
	b.once.Do(func() {
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
