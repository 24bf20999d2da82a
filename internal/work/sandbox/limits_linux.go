package sandbox

import (
	"errors"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// limit is one resource limit.
type limit struct {
	resource int
	value    uint64
}

// limitList returns the limits for setrlimit. No command leaves a core behind.
func limitList(l boundary.Limits) []limit {
	all := []limit{{unix.RLIMIT_CORE, 0}}
	for _, x := range []limit{{unix.RLIMIT_NPROC, l.Processes}, {unix.RLIMIT_FSIZE, l.FileBytes},
		{unix.RLIMIT_DATA, l.DataBytes}} {
		if x.value != 0 {
			all = append(all, x)
		}
	}
	return all
}

// impose sets the limits of a process that has not run its command yet, and of
// the children it has.
func impose(l boundary.Limits, leader int) error {
	set := func(pid int) error {
		for _, x := range limitList(l) {
			if pid == leader && x.resource == unix.RLIMIT_NPROC {
				continue // it is counted for the whole user until there is a namespace
			}
			if err := unix.Prlimit(pid, x.resource, &unix.Rlimit{Cur: x.value, Max: x.value}, nil); err != nil &&
				!errors.Is(err, unix.EPERM) {
				return err // EPERM: a lower hard limit stands already
			}
		}
		// When memory runs out, commands go first. Not every kernel lets us say so.
		_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("800"), 0)
		return nil
	}
	// First the leader: who is started from then on has its limits.
	if err := set(leader); err != nil {
		return err
	}
	children := proc.Children(leader)
	for try := 0; len(children) == 0 && try < 2000; try++ { // it makes the namespaces with the child
		if unix.Kill(leader, 0) != nil {
			break
		}
		time.Sleep(time.Millisecond)
		children = proc.Children(leader)
	}
	for _, pid := range children {
		if err := set(pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// DefaultLimits are far from what builds need, and near enough to keep the
// machine usable: a process gets no more memory than there is.
func DefaultLimits() boundary.Limits {
	l := boundary.Limits{Processes: 8192, FileBytes: 8 << 30}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		l.DataBytes = uint64(info.Totalram) * uint64(info.Unit)
	}
	return l
}
