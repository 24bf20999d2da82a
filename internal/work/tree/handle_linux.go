package tree

import (
	"errors"
	"os"
	"syscall"

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
			return -1, errLink
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.ENAMETOOLONG):
			// Old kernels, some seccomp filters, and paths longer than one call takes.
			return walkBeneath(fd, rel, flags)
		}
		return n, err
	}
}

func renameNoReplace(fd int, name string, toFd int, to string) error {
	return unix.Renameat2(fd, name, toFd, to, unix.RENAME_NOREPLACE)
}

func renameExchange(fd int, a, b string) error {
	return unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE)
}

func statTimes(st *unix.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }

func sysCtime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// isMount reports whether something is mounted on the name.
func isMount(fd int, name string) bool {
	var st unix.Statx_t
	err := unix.Statx(fd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_DONT_SYNC, 0, &st)
	return err == nil && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// checkFileSystem refuses the files that the kernel makes up as they are read. They
// have no size, and some block or have effects.
func checkFileSystem(f *os.File, size int64, path string) error {
	if size > 0 && size != 4096 { // sysfs shows a page for every file
		return nil
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return err
	}
	switch uint32(st.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
		unix.SECURITYFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC:
		return &SpecialError{path, "kernel file"}
	}
	return nil
}
