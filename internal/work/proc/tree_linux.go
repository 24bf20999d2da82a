package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/text/order"
)

// entry is one process as /proc shows it.
type entry struct {
	pid, ppid, pgrp, sid int
	state                byte
	start                uint64 // ticks since boot; with pid it names a process for good
}

func readEntry(pid int) (entry, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	// The name, in parentheses, may hold anything, parentheses too.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return entry{}, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(string(fields[i])); return n }
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return entry{pid, number(1), number(2), number(3), fields[0][0], start}, err == nil
}

// elsewhere reports whether e lives or lived in a pid namespace inside ours: it has a number
// there too. Kerf makes such a process only as a leader.
func (e entry) elsewhere() bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(e.pid) + "/status")
	_, after, ok := bytes.Cut(status, []byte("\nNSpid:"))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	return err == nil && ok && len(bytes.Fields(line)) > 1
}

// signal sends sig to the process that e named, not to one that took its number
// since: os.FindProcess holds it by a pidfd, and then it is looked at again.
func (e entry) signal(sig syscall.Signal) {
	p, err := os.FindProcess(e.pid)
	if err != nil {
		return
	}
	defer p.Release()
	if now, ok := readEntry(e.pid); ok && now.start == e.start {
		_ = p.Signal(sig) // it may be gone meanwhile
	}
}

// endChild kills e, an orphan that is our child now, and reaps it. It waits for
// as long as that takes, within the limit.
func (e entry) endChild() {
	fd, err := unix.PidfdOpen(e.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	e.signal(syscall.SIGKILL)
	deadline := time.Now().Add(goneLimit)
	for left := goneLimit; left > 0; left = time.Until(deadline) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, int(left.Milliseconds())+1); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_, _ = syscall.Wait4(e.pid, nil, syscall.WNOHANG, nil)
}

// marked reports whether the mark in the environment of a process has token.
func marked(pid int, token string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if mark, ok := bytes.CutPrefix(kv, []byte(Mark+"=")); ok && bytes.Contains(mark, []byte(token)) {
			return true
		}
	}
	return false
}

// family is what belongs together: the session and group of a leader (0 when it
// is reaped), whoever carries the token, and all their descendants.
type family struct {
	leader int
	token  string
}

func processes() []entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // a partial list is better than none
	var all []entry
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if e, ok := readEntry(pid); ok {
				all = append(all, e)
			}
		}
	}
	return all
}

// Children returns the children of a process.
func Children(process int) []int {
	pids, ok := childrenOf(process)
	if ok {
		return pids
	}
	for _, e := range processes() {
		if e.ppid == process {
			pids = append(pids, e.pid)
		}
	}
	return pids
}

// members returns the family, dead ones that were not reaped left out. The
// leader is the first when it lives. Kerf itself is never in it.
func (f family) members() []entry {
	all := processes()
	since := f.since()
	in := make(map[int]bool)
	for _, e := range all {
		if e.start >= since && e.pid != os.Getpid() && f.own(e) {
			in[e.pid] = true
		}
	}
	for grown := len(in) > 0; grown; {
		grown = false
		for _, e := range all {
			if in[e.ppid] && !in[e.pid] && e.pid != os.Getpid() {
				in[e.pid], grown = true, true
			}
		}
	}
	var members []entry
	for _, e := range all {
		if in[e.pid] && e.state != 'Z' && e.state != 'X' {
			members = append(members, e)
		}
	}
	order.By(members, func(a, b entry) int {
		if (a.pid == f.leader) != (b.pid == f.leader) {
			if a.pid == f.leader {
				return -1
			}
			return 1
		}
		return a.pid - b.pid
	})
	return members
}

// since is the earliest start a member can have: Kerf is older than what it runs.
func (f family) since() uint64 {
	pid := f.leader
	if pid == 0 {
		pid = os.Getpid()
	}
	e, _ := readEntry(pid)
	return e.start
}

func (f family) own(e entry) bool {
	if f.leader != 0 && (e.pid == f.leader || e.sid == f.leader || e.pgrp == f.leader) {
		return true
	}
	return f.token != "" && marked(e.pid, f.token)
}

// end kills the family until nobody is left, or the limit is over.
func (f family) end() {
	deadline := time.Now().Add(goneLimit)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		members := f.members()
		if len(members) == 0 {
			return
		}
		// Stopped processes cannot fork while the others are killed.
		for _, e := range members {
			e.signal(syscall.SIGSTOP)
		}
		for _, e := range members {
			e.signal(syscall.SIGKILL)
		}
		theGuard().expect(members)
		if time.Now().After(deadline) {
			return
		}
		time.Sleep(pause)
		theGuard().reap()
	}
}
