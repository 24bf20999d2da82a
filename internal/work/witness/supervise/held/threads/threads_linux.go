package threads

import (
	"iter"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Call is the call that a thread made last.
type Call struct {
	TID    uint32
	Number int32
	Args   [6]uint64
	ran    int64 // how long the thread had run when it was first asked about, or 0
	busy   int64 // how much longer it had when it was asked about last, in nanoseconds
	left   bool  // nobody waits for it any more
}

// Anew forgets what is known of the thread: it is looked at a call of it, perhaps the same one.
func (c *Call) Anew() { c.ran, c.busy, c.left = 0, 0, false }

// Stage is what a thread does with a call.
type Stage int

const (
	Over   Stage = iota // it is no more in the call, or ended
	Runs                // it may be in the call, and goes on as soon as it gets a processor, or a lock of the kernel
	Sleeps              // it is in the call, and waits for something that others do
)

// busyLong is more time than a call takes of a processor.
const busyLong = 20 * time.Millisecond

// Busy reports whether the thread ran for longer than a call takes, so that it is likely to be over.
// It need not be: on a virtual machine, also time counts in which the whole machine stood still.
func (c *Call) Busy() bool { return c.busy > int64(busyLong) }

// Asked, in tests, is called when a stage is asked for.
var Asked func(c *Call)

// Stage tells what the thread does with the call. proc is /proc, open.
func (c *Call) Stage(proc int) Stage {
	if Asked != nil {
		Asked(c)
	}
	text, err := read(proc, c.TID, "syscall")
	if err != nil {
		if err == unix.ENOENT || err == unix.ESRCH {
			return Over
		}
		return Sleeps // nobody is told
	}
	fields := strings.Fields(text)
	if len(fields) > 0 && fields[0] != "running" {
		is := strconv.Itoa(int(c.Number))
		for _, a := range c.Args {
			is += " 0x" + strconv.FormatUint(a, 16)
		}
		switch {
		case !strings.HasPrefix(text, is+" "):
			return Over
		case c.waits(proc):
			return Sleeps
		}
		return Runs
	}
	text, err = read(proc, c.TID, "schedstat") // it runs, or waits for a processor
	if fields = strings.Fields(text); err != nil || len(fields) == 0 {
		return Sleeps
	}
	now, err := strconv.ParseInt(fields[0], 10, 64)
	if c.ran == 0 {
		c.ran = now
	}
	if err == nil {
		c.busy = now - c.ran
	}
	return Runs
}

// patience is how long calls are waited for, at most. One takes less than a millisecond of a
// processor; on a busy machine it may have to wait for that.
const patience = 2 * time.Second

// muchLonger is how long a thread may run meanwhile.
const muchLonger = 10 * busyLong

// Outlast waits until calls have come to their end, and settles those that came to nothing. One that
// waits itself for others is left alone from then on. Calls lists those of which it is not known yet
// that they are over; drain works through what an inotify, open as fd, tells of that.
func Outlast(proc, fd int, calls iter.Seq[*Call], drain func(), settle func(*Call)) {
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for end := time.Now().Add(patience); ; {
		left := false
		for c := range calls {
			if c.left {
				continue
			}
			switch stage := c.Stage(proc); {
			case stage == Over:
				drain() // what it led to is told by now
				settle(c)
			case stage == Sleeps, c.busy > int64(muchLonger), time.Now().After(end):
				c.left = true
			default:
				left = true
			}
		}
		if !left {
			return
		}
		_, _ = unix.Poll(polled, 1)
		drain()
	}
}

// waits reports whether the thread waits for something that need not come.
func (c *Call) waits(proc int) bool {
	text, err := read(proc, c.TID, "stat") // number, (name), state
	state := strings.TrimLeft(text[strings.LastIndexByte(text, ')')+1:], " ")
	return err != nil || state == "" || state[0] != 'R' && state[0] != 'D'
}

// read reads what /proc tells of a thread.
func read(proc int, tid uint32, name string) (string, error) {
	fd, err := unix.Openat(proc, strconv.Itoa(int(tid))+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var b [512]byte
	n, err := unix.Read(fd, b[:])
	return string(b[:max(n, 0)]), err
}
