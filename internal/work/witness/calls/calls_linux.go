// Package calls lists the system calls that change names or contents of files, and makes
// the seccomp filter that reports them.
package calls

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Op is what a call does, whatever form it has.
type Op uint8

// The kinds of calls.
const (
	None      Op = iota
	Open         // for writing, or to create
	Unlink       // a name, or an empty directory
	Rename       // one name to another
	Mkdir        // a directory
	Link         // a second name
	Create       // a symbolic link, a device or a pipe
	Truncate     // by name
	Chmod        // by name
	Ftruncate    // by descriptor, and other ways to cut what is there
	Fchmod       // by descriptor
	Setflags     // of a descriptor: it may stop to append
)

// Form tells where the arguments of a call are. An index below zero means that the call
// has no such argument; a directory then is the working directory.
type Form struct {
	Op       Op
	Dir      int8 // descriptor of the directory, or the descriptor itself
	Path     int8
	Dir2     int8 // of the second name
	Path2    int8
	Flags    int8
	Fixed    uint32 // flags of calls that have no argument for them
	Writes   bool   // only reported when Flags has a bit of WriteFlags
	IfEquals bool   // only reported when the argument Flags is Fixed
	// Attribute says that Path2 is the name of an attribute, behind which are its value and the size
	// of that. Only [AccessList] is of interest.
	Attribute bool
}

// WriteFlags are the flags of open that make it a change, or a chance for one.
const WriteFlags = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | tmpfile

// tmpfile is O_TMPFILE without O_DIRECTORY.
const tmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY

const no = -1

// numbered is the form of the call with a number. A list of them is made with the program, a map at each start.
type numbered struct {
	number uint32
	Form
}

// common are the calls that all machines have.
var common = []numbered{
	{unix.SYS_OPENAT, Form{Op: Open, Dir: 0, Path: 1, Path2: no, Flags: 2, Writes: true}},
	{unix.SYS_UNLINKAT, Form{Op: Unlink, Dir: 0, Path: 1, Path2: no, Flags: 2}},
	{unix.SYS_RENAMEAT2, Form{Op: Rename, Dir: 0, Path: 1, Dir2: 2, Path2: 3, Flags: 4}},
	{unix.SYS_RENAMEAT, Form{Op: Rename, Dir: 0, Path: 1, Dir2: 2, Path2: 3, Flags: no}},
	{unix.SYS_MKDIRAT, Form{Op: Mkdir, Dir: 0, Path: 1, Path2: no, Flags: no}},
	{unix.SYS_LINKAT, Form{Op: Link, Dir: 0, Path: 1, Dir2: 2, Path2: 3, Flags: 4}},
	{unix.SYS_SYMLINKAT, Form{Op: Create, Dir: 1, Path: 2, Path2: no, Flags: no}},
	{unix.SYS_MKNODAT, Form{Op: Create, Dir: 0, Path: 1, Path2: no, Flags: no}},
	{unix.SYS_TRUNCATE, Form{Op: Truncate, Dir: no, Path: 0, Path2: no, Flags: no}},
	{unix.SYS_FCHMODAT, Form{Op: Chmod, Dir: 0, Path: 1, Path2: no, Flags: no}},
	{unix.SYS_FCHMODAT2, Form{Op: Chmod, Dir: 0, Path: 1, Path2: no, Flags: 3}},
	{unix.SYS_FCHMOD, Form{Op: Fchmod, Dir: 0, Path: no, Path2: no, Flags: no}},
	{unix.SYS_SETXATTR, Form{Op: Chmod, Dir: no, Path: 0, Path2: 1, Flags: no, Attribute: true}},
	{unix.SYS_LSETXATTR, Form{Op: Chmod, Dir: no, Path: 0, Path2: 1, Flags: no, Fixed: unix.AT_SYMLINK_NOFOLLOW,
		Attribute: true}},
	{unix.SYS_FSETXATTR, Form{Op: Fchmod, Dir: 0, Path: no, Path2: 1, Flags: no, Attribute: true}},
	{unix.SYS_FTRUNCATE, Form{Op: Ftruncate, Dir: 0, Path: no, Path2: no, Flags: no}},
	{unix.SYS_FALLOCATE, Form{Op: Ftruncate, Dir: 0, Path: no, Path2: no, Flags: no}},
	{unix.SYS_FCNTL, Form{Op: Setflags, Dir: 0, Path: no, Path2: no, Flags: 1, Fixed: unix.F_SETFL,
		IfEquals: true}},
}

// AccessList is the attribute that gives a file permissions, see acl(5): sed -i and cp -p use it.
const AccessList = "system.posix_acl_access"

// Permissions are those that a call of Op Chmod or Fchmod asks for. read reads the memory of the caller.
func (f Form) Permissions(args *[6]uint64, read func(at uint64, to []byte) error) (mode uint32, err error) {
	if !f.Attribute {
		return uint32(args[max(f.Path, f.Dir)+1]) & 0o777, nil
	}
	list := make([]byte, min(args[f.Path2+2], maxList))
	if err := read(args[f.Path2+1], list); err != nil {
		return 0, err
	}
	return permissions(list), nil
}

// maxList is more than the kernel takes, XATTR_SIZE_MAX.
const maxList = 64 << 10

// permissions are those that an access list comes to. Its form is that of
// linux/posix_acl_xattr.h: the version, then entries of tag, permissions and owner.
func permissions(list []byte) (mode uint32) {
	const owner, group, mask, others = 1, 4, 0x10, 0x20
	masked := false
	for i := 4; i+8 <= len(list); i += 8 {
		bits := uint32(list[i+2]) & 7
		switch tag := binary.LittleEndian.Uint16(list[i:]); tag {
		case owner:
			mode |= bits << 6
		case mask:
			mode, masked = mode&^0o070|bits<<3, true
		case group:
			if !masked {
				mode |= bits << 3
			}
		case others:
			mode |= bits
		}
	}
	return mode
}

// Of returns the form of a system call by its number; its Op is None for others.
func Of(number uint32) Form {
	for _, table := range [][]numbered{common, own} {
		for i := range table {
			if table[i].number == number {
				return table[i].Form
			}
		}
	}
	return Form{}
}

// absent are calls that are answered as by a kernel that does not have them: programs
// then use those that can be seen.
var absent = []uint32{unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SETXATTRAT}

const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16 // the low halves, on machines that have them first

	enosys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	notify = unix.SECCOMP_RET_USER_NOTIF
	allow  = unix.SECCOMP_RET_ALLOW
)

// Filter is the program that reports the calls of this package to a listener. Calls of
// other word sizes do not exist under it.
func Filter() []unix.SockFilter {
	var p []unix.SockFilter
	add := func(code uint16, k uint32, yes, no uint8) {
		p = append(p, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
	}
	load := func(offset uint32) { add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
	ret := func(v uint32) { add(unix.BPF_RET|unix.BPF_K, v, 0, 0) }
	equal := func(k uint32, yes, no uint8) { add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, yes, no) }
	load(offArch)
	equal(nativeArch, 1, 0)
	ret(enosys)
	load(offNumber)
	if x32Bit != 0 {
		add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32Bit, 0, 1)
		ret(enosys)
	}
	for _, n := range absent {
		equal(n, 0, 1)
		ret(enosys)
	}
	for _, table := range [][]numbered{common, own} {
		for _, f := range table {
			n := f.number
			switch {
			case f.Writes:
				equal(n, 0, 4)
				load(offArgs + 8*uint32(f.Flags))
				add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, WriteFlags, 0, 1)
				ret(notify)
				ret(allow)
			case f.IfEquals:
				equal(n, 0, 4)
				load(offArgs + 8*uint32(f.Flags))
				equal(f.Fixed, 0, 1)
				ret(notify)
				ret(allow)
			default:
				equal(n, 0, 1)
				ret(notify)
			}
		}
	}
	ret(allow)
	return p
}
