package seccomp

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"kerf/internal/text/order"
)

// Reach is what differs between sandboxes.
type Reach struct {
	// Network lets programs ask for routes and addresses.
	Network bool
	// Sockets lets them have unix sockets; what can be reached by these has to be kept
	// away by other means.
	Sockets bool
	// Alone says that no namespace keeps other processes and the network away, and that
	// nothing may change.
	Alone bool
}

// Offsets in struct seccomp_data, of the low halves of the arguments.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

const (
	allow       = unix.SECCOMP_RET_ALLOW
	kill        = unix.SECCOMP_RET_KILL_PROCESS
	eperm       = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	enosys      = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	enotty      = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOTTY)
	unsupported = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)
	unfamiliar  = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	unknown     = unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)
)

// program assembles BPF. Jumps are relative: each test is followed by what happens when
// it holds.
type program []unix.SockFilter

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (p *program) load(offset uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (p *program) arg(n uint32)       { p.load(offArgs + 8*n) }
func (p *program) mask(m uint32)      { p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, m, 0, 0) }
func (p *program) ret(verdict uint32) { p.add(unix.BPF_RET|unix.BPF_K, verdict, 0, 0) }

// is answers verdict if the loaded word is k.
func (p *program) is(k, verdict uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, 1)
	p.ret(verdict)
}

// isnt answers verdict unless the loaded word is k.
func (p *program) isnt(k, verdict uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 1, 0)
	p.ret(verdict)
}

// has answers verdict if the loaded word has any bit of mask.
func (p *program) has(mask, verdict uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, mask, 0, 1)
	p.ret(verdict)
}

// atLeast answers verdict if the loaded word is k or more.
func (p *program) atLeast(k, verdict uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, k, 0, 1)
	p.ret(verdict)
}

// returns is a program of one verdict.
func returns(verdict uint32) program {
	var p program
	p.ret(verdict)
	return p
}

// Filter is what a program inside may ask of the kernel:
//
//	other word sizes     end the process, for their numbers mean other calls
//	calls of no table    ENOSYS, as from a kernel without them
//	refused calls        EPERM
//	clone3               ENOSYS, so that libraries use clone, which can be read
//	clone, unshare       EPERM with a flag that makes a namespace
//	ioctl                EPERM for what types into a terminal, ENOTTY for what changes files by the way
//	openat2              ENOSYS, since what it asks for lies in memory; programs use openat
//	chmod and its like   EPERM for a file that runs as its owner (set-user-ID); so for a new one, or
//	                     one that runs as its group. Directories may have a group of their own
//	pwritev2             EOPNOTSUPP for writing over a file that is open to append
//	personality          only the default, and asking
//	socket               by family, kind and protocol; AF_UNIX would reach every path
//	socketpair           not SOCK_DGRAM, which can be sent anywhere
//
// Calls that take more than their numbers are decided by the low halves of arguments;
// the kernel looks at no more of those.
//
// The filter is made once for each reach and must not be changed.
func Filter(r Reach) []unix.SockFilter {
	if made, ok := filters.Load(r); ok {
		return made.([]unix.SockFilter)
	}
	made, _ := filters.LoadOrStore(r, filter(r))
	return made.([]unix.SockFilter)
}

// filters are the filters that were made, by their [Reach].
var filters sync.Map

func filter(r Reach) []unix.SockFilter {
	var p program
	p.load(offArch)
	p.isnt(NativeArch, kill)
	p.load(offNumber)
	if x32Bit != 0 {
		p.is(^uint32(0), enosys) // no call at all, which programs ask for to see
		p.atLeast(x32Bit, kill)
	}
	return append(p, search(stretches(verdicts(r)))...)
}

// verdicts says for each call of the tables what becomes of it.
func verdicts(r Reach) map[uint32]program {
	all := make(map[uint32]program)
	set := func(verdict program, numbers ...uint32) {
		for _, n := range numbers {
			all[n] = verdict
		}
	}
	set(returns(allow), allowed...)
	set(returns(allow), own...)
	set(returns(eperm), refused...)
	set(returns(eperm), ownRefused...)
	for number, body := range special(r) {
		body.ret(allow)
		all[number] = body
	}
	if r.Alone {
		set(returns(eperm), shared...)
		set(returns(eperm), unix.SYS_SOCKET)
		set(returns(eperm), attributes...)
		set(returns(eperm), ownAttributes...)
	} else {
		set(returns(allow), shared...)
	}
	return all
}

// namespaces are the flags of clone and unshare that make one. CLONE_NEWTIME is a part
// of the signal's number to clone.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Requests of ioctl, and the flag of pwritev2, by which a program changes names, or what
// a file holds that it may only append to. File systems have them beside the calls that
// do the same and that are seen.
const (
	extMove      = 0xc028660f // EXT4_IOC_MOVE_EXT
	enableVerity = 0x40806685 // FS_IOC_ENABLE_VERITY
	getAttribute = 0x801c581f // FS_IOC_FSGETXATTR
	setAttribute = 0x401c5820 // FS_IOC_FSSETXATTR
	setFlags     = 0x40086602 // FS_IOC_SETFLAGS
	setVersion   = 0x40087601 // FS_IOC_SETVERSION
	kindOf       = 0xff00     // the letter of a request
	ofBtrfs      = 0x9400     // subvolumes; also of FICLONE and its like
	ofXFS        = 0x5800     // FS_IOC_UNRESVSP, FS_IOC_ZERO_RANGE and more
	ofF2FS       = 0xf500
	ofBcachefs   = 0xbc00
	ofCIFS       = 0xcf00
	overAppend   = 0x20 // RWF_NOAPPEND
)

// ioctl closes what types into a terminal, and what changes files past the calls for it.
func ioctl(p *program) {
	p.arg(1)
	p.is(unix.TIOCSTI, eperm)
	p.is(unix.TIOCLINUX, eperm)
	p.is(extMove, enotty)
	p.is(enableVerity, enotty)
	for _, request := range []uint32{unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE, getAttribute, setAttribute} {
		p.is(request, allow)
	}
	p.mask(kindOf)
	for _, kind := range []uint32{ofBtrfs, ofXFS, ofF2FS, ofBcachefs, ofCIFS} {
		p.is(kind, enotty)
	}
}

// special are the calls that are decided by their arguments.
func special(r Reach) map[uint32]program {
	bodies := make(map[uint32]program)
	call := func(number uint32, build func(*program)) {
		var p program
		build(&p)
		bodies[number] = p
	}
	call(unix.SYS_CLONE, func(p *program) { p.arg(0); p.has(namespaces, eperm) })
	call(unix.SYS_UNSHARE, func(p *program) { p.arg(0); p.has(namespaces|unix.CLONE_NEWTIME, eperm) })
	call(unix.SYS_IOCTL, func(p *program) {
		if r.Alone { // no mount is read-only, and Landlock looks at devices only
			p.arg(1)
			for _, request := range []uint32{setFlags, setVersion, setAttribute} {
				p.is(request, eperm)
			}
		}
		ioctl(p)
	})
	call(unix.SYS_PWRITEV2, func(p *program) { p.arg(5); p.has(overAppend, unsupported) })
	call(unix.SYS_PERSONALITY, func(p *program) {
		p.arg(0)
		p.is(0, allow)
		p.isnt(0xffffffff, eperm)
	})
	call(unix.SYS_SOCKET, func(p *program) { socket(p, r) })
	call(unix.SYS_SOCKETPAIR, func(p *program) {
		p.arg(0)
		p.isnt(unix.AF_UNIX, unfamiliar)
		p.arg(1)
		p.mask(kindMask)
		p.is(unix.SOCK_DGRAM, eperm)
		p.is(unix.SOCK_RAW, eperm) // which AF_UNIX takes for SOCK_DGRAM
	})
	for _, all := range []map[uint32]int{modes, ownModes} {
		for number, mode := range all {
			call(number, func(p *program) { p.arg(uint32(mode)); p.has(unix.S_ISUID, eperm) })
		}
	}
	for _, all := range []map[uint32][2]int{creates, ownCreates} {
		for number, at := range all {
			call(number, func(p *program) { create(p, at[0], at[1]) })
		}
	}
	for _, number := range ofProcess {
		call(number, func(p *program) {
			if r.Alone {
				p.arg(0)
				p.isnt(0, eperm)
			}
		})
	}
	for number, process := range ofSome {
		call(number, func(p *program) {
			if r.Alone {
				p.arg(0)
				p.isnt(process, eperm)
				p.arg(1)
				p.isnt(0, eperm)
			}
		})
	}
	return bodies
}

// makes are the flags with which a call to open makes a file; else the mode means nothing.
const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// create closes files that run as their owner or group from the beginning.
func create(p *program, mode, flags int) {
	if flags >= 0 {
		p.arg(uint32(flags))
		p.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, makes, 1, 0)
		p.ret(allow)
	}
	p.arg(uint32(mode))
	p.has(unix.S_ISUID|unix.S_ISGID, eperm)
}

// kindMask leaves out SOCK_CLOEXEC and SOCK_NONBLOCK.
const kindMask = 0xf

// socket lets through streams and datagrams of the internet, over TCP, UDP and ICMP.
// Other protocols, such as MPTCP, SCTP and SMC, are answered as missing: programs then
// use TCP, and no rule about TCP can be passed by.
func socket(p *program, r Reach) {
	p.arg(0)
	if r.Sockets {
		p.is(unix.AF_UNIX, allow)
	} else {
		p.is(unix.AF_UNIX, eperm)
	}
	if r.Network {
		var routes program // and addresses
		routes.arg(2)
		routes.is(unix.NETLINK_ROUTE, allow)
		routes.ret(unknown)
		p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_NETLINK, 0, uint8(len(routes)))
		*p = append(*p, routes...)
	}
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_INET, 2, 0)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_INET6, 1, 0)
	p.ret(unfamiliar)
	p.arg(1)
	p.mask(kindMask)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.SOCK_STREAM, 2, 0)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.SOCK_DGRAM, 1, 0)
	p.ret(eperm) // what needs privileges
	p.arg(2)
	for _, protocol := range []uint32{0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6} {
		p.is(protocol, allow)
	}
	p.ret(unknown)
}

// stretch is a row of numbers with one verdict; it ends where the next begins.
type stretch struct {
	from    uint32
	verdict program
}

// stretches covers all numbers: those of no table get ENOSYS.
func stretches(verdicts map[uint32]program) []stretch {
	numbers := make([]uint32, 0, len(verdicts))
	for n := range verdicts {
		numbers = append(numbers, n)
	}
	order.By(numbers, cmp.Compare[uint32])
	all := []stretch{{0, returns(enosys)}}
	put := func(from uint32, verdict program) {
		last := &all[len(all)-1]
		switch {
		case slices.Equal(last.verdict, verdict):
		case last.from == from:
			last.verdict = verdict
		default:
			all = append(all, stretch{from, verdict})
		}
	}
	next := uint32(0)
	for _, n := range numbers {
		if n != next {
			put(next, returns(enosys))
		}
		put(n, verdicts[n])
		next = n + 1
	}
	put(next, returns(enosys))
	return all
}

// search finds the stretch of the loaded number in as few steps as there may be.
func search(all []stretch) program {
	if len(all) == 1 {
		return all[0].verdict
	}
	middle := len(all) / 2
	low, high := search(all[:middle]), search(all[middle:])
	var p program
	if len(low) < 256 {
		p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, all[middle].from, uint8(len(low)), 0)
	} else { // a test cannot jump that far
		p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, all[middle].from, 0, 1)
		p.add(unix.BPF_JMP|unix.BPF_JA, uint32(len(low)), 0, 0)
	}
	return append(append(p, low...), high...)
}

// Encode is a filter as the kernel reads it.
func Encode(code []unix.SockFilter) []byte {
	b := make([]byte, 0, 8*len(code))
	for _, i := range code {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}
