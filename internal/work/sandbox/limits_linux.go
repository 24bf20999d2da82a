package sandbox

import (
	"errors"
	"fmt"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"os"
	"strconv"
	"sync"
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

// fewestNumbers is what a namespace gets at least; the kernel takes no less than 301.
const fewestNumbers = 1024

// numbers bounds how many processes and threads there may be inside, root's included:
// RLIMIT_NPROC does not hold for root. The namespace has no more numbers for them.
func (c *compiler) numbers() {
	if c.plan.Limits.Processes == 0 || !ownNumbers() {
		return
	}
	const note = "limits"
	text := strconv.FormatUint(max(c.plan.Limits.Processes, fewestNumbers), 10)
	s := c.Call(note, unix.SYS_OPENAT, here, "/proc/sys/kernel/pid_max", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	s.Optional, s.Skip = 1, 2
	fd := c.Keep(s)
	c.Call(note, unix.SYS_WRITE, fd, []byte(text), len(text)).Optional = 1
	c.Call(note, unix.SYS_CLOSE, fd)
}

// ownNumbers reports whether the highest number is a namespace's own. Where it is not, root
// would set that of the machine.
var ownNumbers = sync.OnceValue(func() bool {
	var name unix.Utsname
	_ = unix.Uname(&name) // never fails
	return numbersAreOwn(unix.ByteSliceToString(name.Release[:]))
})

// numbersAreOwn tells by the release of the kernel: they are since Linux 6.14.
func numbersAreOwn(release string) bool {
	var major, minor int
	_, _ = fmt.Sscanf(release, "%d.%d", &major, &minor)
	return major > 6 || major == 6 && minor >= 14
}

// impose sets the limits of a process that has not run its command yet, and of
// the children it has. It returns these as descriptors.
func impose(l boundary.Limits, leader int) (first []int, err error) {
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
		return nil, err
	}
	children := proc.Children(leader)
	for try := 0; len(children) == 0 && try < 2000 && !over(leader); try++ { // it makes the namespaces with the child
		time.Sleep(time.Millisecond)
		children = proc.Children(leader)
	}
	for _, pid := range children {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			first = append(first, fd)
		}
		if err := set(pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return first, err
		}
	}
	return first, nil
}

// over reports whether a child of Kerf ended. It can still be waited for.
func over(child int) bool {
	var what unix.Siginfo
	err := unix.Waitid(unix.P_PID, child, &what, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil && !errors.Is(err, unix.EINTR) || what.Signo != 0
}

// goneLimit bounds the wait for processes that SIGKILL does not end at once, such as
// one in an uninterruptible read.
const goneLimit = 5 * time.Second

// await ends the first processes of a namespace and waits until they are gone: the
// kernel has ended all the others by then. bubblewrap itself ends before that.
func await(first []int) {
	deadline := time.Now().Add(goneLimit)
	for _, fd := range first {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may be gone
		for left := goneLimit; left > 0; left = time.Until(deadline) {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(poll, int(left.Milliseconds())+1); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		unix.Close(fd)
	}
}

// DefaultLimits are far from what builds need, and near enough to keep the
// machine usable: a process gets no more memory than there is, and all of a command
// together an eighth less.
func DefaultLimits() boundary.Limits {
	l := boundary.Limits{Processes: 8192, FileBytes: 8 << 30, TmpBytes: 16 << 30}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		l.DataBytes = uint64(info.Totalram) * uint64(info.Unit)
		l.MemoryBytes = l.DataBytes / 8 * 7
	}
	return l
}
