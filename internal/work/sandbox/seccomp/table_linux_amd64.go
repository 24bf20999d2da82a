package seccomp

import "golang.org/x/sys/unix"

const (
	// NativeArch is the one kind of calls that a filter lets through; 0 where no filter
	// is written for the machine.
	NativeArch = unix.AUDIT_ARCH_X86_64
	// x32Bit marks calls of the x32 interface.
	x32Bit = 0x40000000
)

// own are the allowed calls that this machine has beside the common ones.
var own = []uint32{
	unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_UNLINK, unix.SYS_RMDIR, unix.SYS_RENAME, unix.SYS_MKDIR, unix.SYS_LINK,
	unix.SYS_SYMLINK, unix.SYS_MKNOD, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_ACCESS,
	unix.SYS_READLINK, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
	unix.SYS_INOTIFY_INIT, unix.SYS_GETDENTS, unix.SYS_DUP2, unix.SYS_PIPE, unix.SYS_POLL, unix.SYS_SELECT,
	unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_EVENTFD, unix.SYS_SIGNALFD,
	unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_ARCH_PRCTL, unix.SYS_ALARM, unix.SYS_PAUSE, unix.SYS_TIME,
	unix.SYS_GETPGRP,
	// What a program that root traces from outside calls without knowing.
	unix.SYS_URETPROBE, unix.SYS_UPROBE,
}

// ownAttributes are attributes that this machine has beside the common ones.
var ownAttributes = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES,
	unix.SYS_FUTIMESAT}

// ownModes and ownCreates are as modes and creates.
var (
	ownModes   = map[uint32]int{unix.SYS_CHMOD: 1}
	ownCreates = map[uint32][2]int{unix.SYS_OPEN: {2, 1}, unix.SYS_CREAT: {1, -1}, unix.SYS_MKNOD: {1, -1}}
)

// ownRefused are those answered as without privileges.
var ownRefused = []uint32{unix.SYS_IOPERM, unix.SYS_IOPL}
