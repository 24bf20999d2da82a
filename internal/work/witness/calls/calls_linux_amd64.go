package calls

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	x32Bit     = 0x40000000
)

// own are the calls that this machine has beside the common ones.
var own = map[uint32]Form{
	unix.SYS_OPEN: {Op: Open, Dir: no, Path: 0, Path2: no, Flags: 1, Writes: true},
	unix.SYS_CREAT: {Op: Open, Dir: no, Path: 0, Path2: no, Flags: no,
		Fixed: unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC},
	unix.SYS_UNLINK:  {Op: Unlink, Dir: no, Path: 0, Path2: no, Flags: no},
	unix.SYS_RMDIR:   {Op: Unlink, Dir: no, Path: 0, Path2: no, Flags: no, Fixed: unix.AT_REMOVEDIR},
	unix.SYS_RENAME:  {Op: Rename, Dir: no, Path: 0, Dir2: no, Path2: 1, Flags: no},
	unix.SYS_MKDIR:   {Op: Mkdir, Dir: no, Path: 0, Path2: no, Flags: no},
	unix.SYS_LINK:    {Op: Link, Dir: no, Path: 0, Dir2: no, Path2: 1, Flags: no},
	unix.SYS_SYMLINK: {Op: Create, Dir: no, Path: 1, Path2: no, Flags: no},
	unix.SYS_MKNOD:   {Op: Create, Dir: no, Path: 0, Path2: no, Flags: no},
	unix.SYS_CHMOD:   {Op: Chmod, Dir: no, Path: 0, Path2: no, Flags: no},
}
