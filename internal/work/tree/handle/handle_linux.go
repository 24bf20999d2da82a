package handle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// searchOnly opens directories that may be entered but not listed.
const searchOnly = unix.O_PATH

// openBeneath opens rel below the directory fd, meeting no link.
func openBeneath(fd int, rel string, flags int) (int, error) {
	how := unix.OpenHow{
		// With O_NOFOLLOW a link at the end would count as a file that is no directory.
		Flags:   uint64(flags &^ unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for {
		n, err := unix.Openat2(fd, rel, &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue // EAGAIN: somebody renamed on the way
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV):
			return -1, ErrLink
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.ENAMETOOLONG):
			// Old kernels, some seccomp filters, and paths longer than one call takes.
			return walkBeneath(fd, rel, flags)
		}
		return n, err
	}
}

// openStraight opens an absolute path on which there is no link in one call. When it
// cannot, for whatever reason, the longer way tells why.
func openStraight(path string, flags int) (int, bool) {
	how := unix.OpenHow{
		Flags:   uint64(flags &^ unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	return fd, err == nil
}

// TopFD opens a directory by its absolute path, on which no link lies any more: there
// was none when the root was settled.
func TopFD(path string, flags int) (int, error) {
	top, err := openat(unix.AT_FDCWD, "/", unix.O_DIRECTORY|unix.O_CLOEXEC|searchOnly)
	rest := strings.TrimLeft(path, "/")
	if err != nil || rest == "" {
		return top, err
	}
	defer unix.Close(top)
	return openBeneath(top, rest, flags)
}

// statAt asks for everything in one call.
func statAt(fd int, name string) (Stat, error) {
	const mask = unix.STATX_BASIC_STATS
	var x unix.Statx_t
	at, flags := name, unix.AT_SYMLINK_NOFOLLOW
	if name == "." {
		at, flags = "", flags|unix.AT_EMPTY_PATH
	}
	err := unix.Statx(fd, at, flags, mask, &x)
	if err == unix.ENOSYS || err == unix.EPERM || err == nil &&
		(x.Mask&mask != mask || x.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0) {
		return statByParts(fd, name)
	}
	if err != nil {
		return Stat{}, err
	}
	dev := unix.Mkdev(x.Dev_major, x.Dev_minor)
	s := Stat{Nlink: uint64(x.Nlink), uid: x.Uid, gid: x.Gid, dev: dev}
	s.fixed = x.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0
	s.Signature = Signature{dev, x.Ino, int64(x.Size), x.Mtime.Sec*1e9 + int64(x.Mtime.Nsec),
		x.Ctime.Sec*1e9 + int64(x.Ctime.Nsec), fileMode(uint32(x.Mode))}
	s.mount = s.Mode.IsRegular() && x.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	return s, nil
}

// chmod gives the directory the mode. A descriptor that may only be searched takes a call of
// its own, or the name that the descriptor has in /proc.
func (h Dir) chmod(mode uint32) error {
	if !h.pathOnly {
		return unix.Fchmod(h.fd, mode)
	}
	err := unix.Fchmodat(h.fd, "", mode, unix.AT_EMPTY_PATH)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS { // before Linux 6.6
		err = unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", h.fd), mode)
	}
	return err
}

// Plain reports whether new files in the directory get our own user and group, and no
// attributes by inheritance.
func (h Dir) Plain() bool {
	var st unix.Stat_t
	if h.pathOnly || unix.Fstat(h.fd, &st) != nil || st.Gid != us().gid {
		return false
	}
	names, err := grow(func(buf []byte) (int, error) { return unix.Flistxattr(h.fd, buf) })
	return err == nil && !kept(names)
}

// Bare reports whether the file name has no attributes that copyMeta would copy.
func (h Dir) Bare(name string) bool {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return false
	}
	var buf [256]byte
	n, _, errno := unix.Syscall6(unix.SYS_LISTXATTRAT, uintptr(h.fd), uintptr(unsafe.Pointer(p)),
		unix.AT_SYMLINK_NOFOLLOW, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0)
	// Kernels before 6.13 do not have the call.
	return (errno == 0 || errno == unix.ENOTSUP) && !kept(buf[:n])
}

// flushable are the file systems known to flush everything in syncfs. Others, such as
// those of FUSE, may leave the waiting to someone else.
var flushable = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
	unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC}

func syncFileSystem(fd int) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return err
	}
	if !slices.Contains(flushable, int64(st.Type)) {
		return errors.ErrUnsupported
	}
	_, _, errno := unix.Syscall(unix.SYS_SYNCFS, uintptr(fd), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func renameNoReplace(fd int, name string, toFd int, to string) error {
	return unix.Renameat2(fd, name, toFd, to, unix.RENAME_NOREPLACE)
}

func renameExchange(fd int, a, b string) error {
	return unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE)
}

func statTimes(st *unix.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }

// isMount reports whether something is mounted on the name.
func isMount(fd int, name string) bool {
	var st unix.Statx_t
	err := unix.Statx(fd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_DONT_SYNC, 0, &st)
	return err == nil && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// MadeUp reports whether the kernel makes the file up as it is read. Such files have no
// size, and some block or have effects.
func (f File) MadeUp(size int64) (bool, error) {
	if size > 0 && size != 4096 { // sysfs shows a page for every file
		return false, nil
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(f.fd, &st); err != nil {
		return false, err
	}
	switch uint32(st.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
		unix.SECURITYFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC:
		return true, nil
	}
	return false, nil
}
