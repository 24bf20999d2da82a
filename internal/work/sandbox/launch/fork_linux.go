package launch

import (
	"syscall"
	"unsafe"
)

// What follows runs in a fork of a Go program. Nothing here may allocate, grow
// the stack or call into the runtime: no append, no interface, no closure, no
// function that is not marked likewise.

// clone makes the first process of the new namespaces.
//
//go:norace
//go:noinline
//go:nocheckptr
func (s *state) clone() (pid int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(s.head.Clone)|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || r != 0 {
		return int(r), errno
	}
	s.first()
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, unavailable, 0, 0)
	}
}

// first is the life of the first process.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *state) first() {
	syscall.RawSyscall(syscall.SYS_PRCTL, setPdeathsig, uintptr(syscall.SIGKILL), 0)
	// A launcher that died before that call has closed the other end.
	syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(s.sync[1]), 0, 0)
	if !s.started() || !s.perform() {
		s.send()
		return
	}
	r, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		s.failed.step, s.failed.errno = failedForkStep, uint64(errno)
		s.send()
		return
	}
	if r == 0 {
		s.command()
		return
	}
	s.pid = r
	syscall.RawSyscall(sysCloseRange, 0, maxDescriptor, 0)
	s.reap()
}

// started waits for the launcher's word that it is there.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *state) started() bool {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(s.sync[0]), uintptr(unsafe.Pointer(&s.tell)), 1)
		if errno != syscall.EINTR {
			return n == 1
		}
	}
}

// perform makes the calls of the list.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *state) perform() bool {
	for i := 0; i < len(s.steps); i++ {
		c := &s.steps[i]
		for j := 0; j < 6; j++ {
			if r := c.In[j]; r != 0 {
				c.Args[j] = uint64(s.registers[r])
			}
		}
		if c.Number == Store {
			*(*uint32)(at(uintptr(c.Args[0]))) = uint32(c.Args[1])
			continue
		}
		r, _, errno := syscall.RawSyscall6(uintptr(c.Number), uintptr(c.Args[0]), uintptr(c.Args[1]), uintptr(c.Args[2]),
			uintptr(c.Args[3]), uintptr(c.Args[4]), uintptr(c.Args[5]))
		switch {
		case errno == syscall.EINTR:
			i--
		case errno != 0 && c.Optional != 0:
			i += int(c.Skip)
		case errno != 0:
			s.failed.step, s.failed.errno = uint64(i), uint64(errno)
			return false
		case c.Out != 0:
			s.registers[c.Out] = r
		}
	}
	return true
}

// send tells the launcher what failed.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *state) send() {
	syscall.RawSyscall(syscall.SYS_WRITE, uintptr(s.report[1]), uintptr(unsafe.Pointer(&s.failed)),
		unsafe.Sizeof(s.failed))
}

// command becomes the command.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *state) command() {
	syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
	if s.head.Terminal != 0 {
		syscall.RawSyscall(syscall.SYS_IOCTL, 0, syscall.TIOCSCTTY, 0)
	}
	s.exec()
	s.send()
}

// exec tells that all is set up, and tries the places where the command can be. It returns when
// none is good.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *state) exec() {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PWRITE64, s.program, uintptr(unsafe.Pointer(&s.mark)), 1, 0, 0, 0)
	if errno != 0 {
		s.failed.step, s.failed.errno = failedMarkStep, uint64(errno)
		return
	}
	syscall.RawSyscall(sysCloseRange, 3+uintptr(s.head.Inherit), maxDescriptor, closeOnExec)
	syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, syscall.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&s.files)), 0, 0, 0)
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&s.mask)), 0, signalSetSize, 0, 0)
	s.failed.step, s.failed.errno = failedExecStep, uint64(syscall.ENOENT)
	for i := 0; i < len(s.paths); i++ {
		_, _, errno := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(s.paths[i])),
			uintptr(unsafe.Pointer(&s.argv[0])), uintptr(unsafe.Pointer(&s.env[0])))
		switch {
		case errno == syscall.ENOENT, errno == syscall.ENOTDIR:
		case errno != syscall.EACCES:
			s.failed.errno = uint64(errno)
			return
		case len(s.paths) == 1 || s.there(s.paths[i]):
			s.failed.errno = uint64(errno)
		} // else a directory of PATH that may not be searched
	}
}

// there reports whether this process can see a file.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *state) there(path *byte) bool {
	_, _, errno := syscall.RawSyscall(syscall.SYS_FACCESSAT, workingDir, uintptr(unsafe.Pointer(path)), 0)
	return errno == 0
}

// reap is what the first process does while the command runs: it buries whoever
// was left to it and ends with the command.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *state) reap() {
	for {
		r, _, errno := syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&s.tell)), wall, 0, 0, 0)
		if errno == syscall.EINTR || errno == 0 && r != s.pid {
			continue
		}
		status := uintptr(s.tell.step & 0xffffffff)
		code := status >> 8 & 0xff
		if status&0x7f != 0 {
			code = 128 + status&0x7f
		}
		if errno != 0 {
			code = unavailable
		}
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, code, 0, 0)
	}
}
