//go:build unix

package room

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Free tells how many bytes an ordinary user may still write to the file system of dir;
// false if that is not known.
func Free(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// files tells how many files can still be made in the file system of dir; false if that
// is not known, or not limited.
func files(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Files == 0 {
		return 0, false
	}
	return int64(st.Ffree), true
}

// writable asks for the effective user, as opening would.
func writable(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}

func isQuota(err error) bool { return errors.Is(err, unix.EDQUOT) }
