package handle

import (
	"errors"

	"golang.org/x/sys/unix"
)

// searchOnly is O_SEARCH, which package unix does not name.
const searchOnly = 0x40000000 | unix.O_DIRECTORY

func openBeneath(fd int, rel string, flags int) (int, error) { return walkBeneath(fd, rel, flags) }

func openStraight(string, int) (int, bool) { return 0, false }

// TopFD opens a directory by its absolute path, on which no link lies any more: there
// was none when the root was settled.
func TopFD(path string, flags int) (int, error) {
	return openat(unix.AT_FDCWD, path, flags|unix.O_NOFOLLOW_ANY)
}

func statAt(fd int, name string) (Stat, error) { return statByParts(fd, name) }

func (h Dir) chmod(mode uint32) error { return unix.Fchmod(h.fd, mode) }

func syncFileSystem(int) error { return errors.ErrUnsupported }

func renameNoReplace(fd int, name string, toFd int, to string) error {
	return unix.RenameatxNp(fd, name, toFd, to, unix.RENAME_EXCL)
}

func renameExchange(fd int, a, b string) error {
	return unix.RenameatxNp(fd, a, fd, b, unix.RENAME_SWAP)
}

func statTimes(st *unix.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }

// isMount: files cannot be mounted upon.
func isMount(int, string) bool { return false }

// MadeUp is never so here.
func (f File) MadeUp(int64) (bool, error) { return false, nil }

// Plain is never sure: access lists are inherited in ways of their own.
func (h Dir) Plain() bool { return false }

// Bare is never sure either.
func (h Dir) Bare(string) bool { return false }
