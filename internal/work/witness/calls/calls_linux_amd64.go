package calls

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	x32Bit     = 0x40000000
)

// own are the calls that this machine has beside the common ones.
var own = []numbered{
	{unix.SYS_OPEN, Form{Op: Open, Dir: no, Path: 0, Path2: no, Flags: 1, Writes: true}},
	{unix.SYS_CREAT, Form{Op: Open, Dir: no, Path: 0, Path2: no, Flags: no,
		Fixed: unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC}},
	{unix.SYS_UNLINK, Form{Op: Unlink, Dir: no, Path: 0, Path2: no, Flags: no}},
	{unix.SYS_RMDIR, Form{Op: Unlink, Dir: no, Path: 0, Path2: no, Flags: no, Fixed: unix.AT_REMOVEDIR}},
	{unix.SYS_RENAME, Form{Op: Rename, Dir: no, Path: 0, Dir2: no, Path2: 1, Flags: no}},
	{unix.SYS_MKDIR, Form{Op: Mkdir, Dir: no, Path: 0, Path2: no, Flags: no}},
	{unix.SYS_LINK, Form{Op: Link, Dir: no, Path: 0, Dir2: no, Path2: 1, Flags: no}},
	{unix.SYS_SYMLINK, Form{Op: Create, Dir: no, Path: 1, Path2: no, Flags: no}},
	{unix.SYS_MKNOD, Form{Op: Create, Dir: no, Path: 0, Path2: no, Flags: no}},
	{unix.SYS_CHMOD, Form{Op: Chmod, Dir: no, Path: 0, Path2: no, Flags: no}},
}
