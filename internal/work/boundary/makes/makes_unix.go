//go:build unix

// Package makes tells whether this user, and so a command, can make something in a directory.
package makes

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// In tells whether that is so now, and whether it ever can be: it asks the kernel. In a directory
// of the user's own that is only closed by its mode something could be made, since the mode can
// be changed.
func In(dir string) (now, ever bool) {
	err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	switch {
	case errors.Is(err, unix.EROFS):
		return false, false
	case !errors.Is(err, unix.EACCES):
		return true, true
	}
	info, err := os.Stat(dir)
	if err != nil {
		return false, true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return false, !ok || int(st.Uid) == os.Geteuid()
}
