// Package whole holds all processes of a command together to the limits of its plan: by a
// cgroup where Kerf may make one, and else by looking at them.
package whole

import (
	"fmt"
	"os"
	"strings"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/cgroup"
	"kerf/internal/work/sandbox/footprint"
)

// Way says in words how commands are held to their limits here.
func Way() string {
	parent, err := cgroup.Own()
	if err != nil {
		return "Kerf looks at all processes of a command, for it can make no cgroup: " + err.Error()
	}
	return "each command has a cgroup of its own, with " + strings.Join(parent.Controllers(), ", ")
}

// Bound is that of one command. A nil Bound bounds nothing.
type Bound struct {
	limits boundary.Limits
	group  group
	watch  *footprint.Watch // of what no group bounds, or nil
}

// group is what a [cgroup.Group] does, of which a nil one does nothing.
type group interface {
	File() *os.File
	Bounds() (memory, processes bool)
	End() (outOfMemory bool)
}

// Prepare makes the bound of a command that is not started yet. End must be called.
func Prepare(limits boundary.Limits) *Bound {
	var g *cgroup.Group
	if parent, err := cgroup.Own(); err == nil {
		// Without a group the limits of single processes hold, and the others are looked after.
		g, _ = parent.Make(cgroup.Limits{MemoryBytes: limits.MemoryBytes, Processes: limits.Processes})
	}
	return &Bound{limits: limits, group: g}
}

// Cgroup is where the command starts (proc.Spec.Cgroup), or nil. It is closed by End.
func (b *Bound) Cgroup() *os.File {
	if b == nil {
		return nil
	}
	return b.group.File()
}

// Started takes the leader of the command and a function that ends it at once, which is
// called when it is beyond a limit that the kernel does not hold.
func (b *Bound) Started(leader int, kill func()) {
	if b == nil {
		return
	}
	var left footprint.Limits
	memory, processes := b.group.Bounds()
	if !memory {
		left.Memory = b.limits.MemoryBytes
	}
	if !processes && os.Geteuid() == 0 { // RLIMIT_NPROC holds the others
		left.Tasks = b.limits.Processes
	}
	if left != (footprint.Limits{}) {
		b.watch = footprint.Start(leader, left, kill)
	}
}

// End tells why the command was ended, if it was for a limit. It may be called again.
func (b *Bound) End() []boundary.Finding {
	if b == nil {
		return nil
	}
	what := b.watch.End()
	if b.group.End() {
		what = footprint.Memory
	}
	b.group, b.watch = (*cgroup.Group)(nil), nil
	switch what {
	case footprint.Memory:
		return []boundary.Finding{{Path: what, What: fmt.Sprintf("the command took more than %d MiB, so it was ended",
			b.limits.MemoryBytes>>20)}}
	case footprint.Tasks:
		return []boundary.Finding{{Path: what, What: fmt.Sprintf("the command had more than %d, so it was ended",
			b.limits.Processes)}}
	}
	return nil
}
