package main

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// namespaces are the flags of clone and unshare that make one.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// begin refuses the calls from now on, to this process and to all that it starts.
func (c calls) begin() error {
	if c == (calls{}) {
		return nil
	}
	code := c.filter()
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	set := func() unix.Errno {
		_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
			uintptr(unsafe.Pointer(&program)))
		return errno
	}
	errno := set()
	if errno == unix.EACCES { // an ordinary user first gives up what programs may gain; all threads do, with the filter
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("no new privileges: %w", err)
		}
		errno = set()
	}
	if errno != 0 {
		return fmt.Errorf("filter of system calls: %w", errno)
	}
	return nil
}

// filter looks at the number of a call, and at the flags of those that make processes. clone3 has its
// flags in memory, where no filter looks; callers take clone where it is not there.
func (c calls) filter() []unix.SockFilter {
	const number, firstArgument = 0, 16
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	refuse := func(errno unix.Errno) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	is := func(k uint32, skip uint8) unix.SockFilter { // skips so many where it is another
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: skip}
	}
	code := []unix.SockFilter{load(number)}
	if c.landlock {
		code = append(code, is(unix.SYS_LANDLOCK_CREATE_RULESET, 1), refuse(unix.EOPNOTSUPP))
	}
	if c.namespaces {
		code = append(code, is(unix.SYS_CLONE3, 1), refuse(unix.ENOSYS))
		for _, call := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
			code = append(code, is(call, 3), load(firstArgument),
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: namespaces, Jf: 1}, refuse(unix.EPERM),
				load(number))
		}
	}
	return append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}
