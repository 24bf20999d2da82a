package sandbox

import (
	"golang.org/x/sys/unix"
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
