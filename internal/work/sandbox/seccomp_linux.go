package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data, of the low halves of the arguments.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg1   = 24
)

// refused are calls that no build or test needs and that reach other processes,
// the kernel's keyrings, or parts of the kernel that often had holes.
var refused = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_PROCESS_MADVISE,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE_ATTR, unix.SYS_SETNS, unix.SYS_QUOTACTL,
	unix.SYS_QUOTACTL_FD, unix.SYS_CHROOT,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE,
	unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_NFSSERVCTL,
	unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME, unix.SYS_CLOCK_SETTIME, unix.SYS_SETTIMEOFDAY,
}

const (
	allow      = unix.SECCOMP_RET_ALLOW
	eperm      = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	enosys     = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	unfamiliar = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
)

// program assembles BPF. Jumps are relative and short: each test is followed by
// what happens when it holds.
type program []unix.SockFilter

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (p *program) load(offset uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (p *program) ret(verdict uint32) { p.add(unix.BPF_RET|unix.BPF_K, verdict, 0, 0) }

// when skips n instructions unless the loaded word is k.
func (p *program) when(k uint32, n uint8) { p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, n) }

// is answers verdict if the loaded word is k.
func (p *program) is(k, verdict uint32) {
	p.when(k, 1)
	p.ret(verdict)
}

// has answers verdict if the loaded word has any bit of mask.
func (p *program) has(mask, verdict uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, mask, 0, 1)
	p.ret(verdict)
}

// call runs body for one system call and allows it where body has no answer.
func (p *program) call(number uint32, body func(*program)) {
	var inner program
	body(&inner)
	inner.ret(allow)
	p.when(number, uint8(len(inner)))
	*p = append(*p, inner...)
}

// filter is what a sandboxed program may ask of the kernel:
//
//	other word sizes     refused, their numbers mean other calls
//	the refused list     EPERM
//	clone3               ENOSYS, so that libraries use clone, which can be read
//	clone, unshare       EPERM with CLONE_NEWUSER: no new set of capabilities
//	ioctl                EPERM for TIOCSTI and TIOCLINUX, which type for others
//	personality          only the default, and asking
//	socket               by family; AF_UNIX would reach every path of the disk
//	socketpair           not SOCK_DGRAM, which can be sent anywhere
func filter(network bool) []unix.SockFilter {
	var p program
	p.load(offArch)
	p.when(nativeArch, 1)
	p.add(unix.BPF_JMP|unix.BPF_JA, 1, 0, 0)
	p.ret(eperm)
	p.load(offNumber)
	if x32Bit != 0 {
		p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32Bit, 0, 1)
		p.ret(eperm)
	}
	for _, number := range refused {
		p.is(number, eperm)
	}
	p.is(unix.SYS_CLONE3, enosys)
	for _, number := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		p.call(number, func(p *program) {
			p.load(offArg0)
			p.has(unix.CLONE_NEWUSER, eperm)
		})
	}
	p.call(unix.SYS_IOCTL, func(p *program) {
		p.load(offArg1)
		p.is(unix.TIOCSTI, eperm)
		p.is(unix.TIOCLINUX, eperm)
	})
	p.call(unix.SYS_PERSONALITY, func(p *program) {
		p.load(offArg0)
		p.is(0, allow)
		p.is(0xffffffff, allow)
		p.ret(eperm)
	})
	p.call(unix.SYS_SOCKET, func(p *program) {
		families := []uint32{unix.AF_INET, unix.AF_INET6}
		if network {
			families = append(families, unix.AF_NETLINK) // routes and addresses
		}
		p.load(offArg0)
		p.is(unix.AF_UNIX, eperm)
		for _, family := range families {
			p.is(family, allow)
		}
		p.ret(unfamiliar)
	})
	p.call(unix.SYS_SOCKETPAIR, func(p *program) {
		const typeMask = 0xf // without SOCK_CLOEXEC and SOCK_NONBLOCK
		p.load(offArg1)
		p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, typeMask, 0, 0)
		p.is(unix.SOCK_DGRAM, eperm)
		p.is(unix.SOCK_RAW, eperm) // which AF_UNIX takes for SOCK_DGRAM
	})
	p.ret(allow)
	return p
}

// encoded is a filter as the kernel reads it.
func encoded(code []unix.SockFilter) []byte {
	b := make([]byte, 0, 8*len(code))
	for _, i := range code {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}

// filterFile holds the filter as bubblewrap reads it, at its beginning.
func filterFile(network bool) (*os.File, error) {
	fd, err := unix.MemfdCreate("kerf-seccomp", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("seccomp filter: %w", err)
	}
	f := os.NewFile(uintptr(fd), "kerf-seccomp")
	// Written at an offset, so that the reader starts at the beginning.
	if _, err := f.WriteAt(encoded(filter(network)), 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("seccomp filter: %w", err)
	}
	return f, nil
}
