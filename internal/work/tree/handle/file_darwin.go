package handle

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Sync flushes the content, through the cache of the disk.
func (f File) Sync() error {
	_, err := again(func() (int, error) { return unix.FcntlInt(uintptr(f.fd), unix.F_FULLFSYNC, 0) })
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) {
		_, err = again(func() (int, error) { return 0, unix.Fsync(f.fd) })
	}
	return err
}
