package room

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Free tells how many bytes the user may still write to the file system of dir; false if
// that is not known.
func Free(dir string) (int64, bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, false
	}
	return int64(free), true
}

// files tells how many files can still be made in the file system of dir; not known here.
func files(string) (int64, bool) { return 0, false }

// writable reports whether dir is there; permissions show when something is written.
func writable(dir string) error {
	_, err := os.Stat(dir)
	return err
}

func isQuota(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
