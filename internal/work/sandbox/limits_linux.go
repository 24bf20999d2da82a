package sandbox

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"kerf/internal/work/proc"
)

// list returns the limits for setrlimit. No command leaves a core behind.
func (l Limits) list() []limit {
	all := []limit{{unix.RLIMIT_CORE, 0}}
	for _, x := range []limit{{unix.RLIMIT_NPROC, l.Processes}, {unix.RLIMIT_FSIZE, l.FileBytes}, {unix.RLIMIT_DATA, l.DataBytes}} {
		if x.value != 0 {
			all = append(all, x)
		}
	}
	return all
}

// impose sets the limits of a process that has not run its command yet, and of
// the children it has.
func (l Limits) impose(leader int) error {
	set := func(pid int) error {
		for _, x := range l.list() {
			if err := unix.Prlimit(pid, x.resource, &unix.Rlimit{Cur: x.value, Max: x.value}, nil); err != nil && !errors.Is(err, unix.EPERM) {
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
	for _, pid := range proc.Children(leader) {
		if err := set(pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// DefaultLimits are far from what builds need, and near enough to keep the
// machine usable: a process gets no more memory than there is.
func DefaultLimits() Limits {
	l := Limits{Processes: 8192, FileBytes: 8 << 30}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		l.DataBytes = uint64(info.Totalram) * uint64(info.Unit)
	}
	return l
}
