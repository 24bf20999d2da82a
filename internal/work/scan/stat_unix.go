//go:build linux || darwin

package scan

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	treehandle "kerf/internal/work/tree/handle"
)

// grain is how long a change may leave no trace in a file's times: kernels stamp
// them by a clock that ticks every 10 ms at the slowest, and two ticks are sure.
const grain = 20 * time.Millisecond

// nonblock keeps an open from waiting where a FIFO took a file's place.
const nonblock = unix.O_NONBLOCK

// listable says that a directory's signature tells whether its names changed.
const listable = true

// handle is an open directory.
type handle struct{ fd int }

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openTop opens a root, on the way to which no link lies.
func openTop(dir string) (handle, sig, error) {
	fd, err := retry(func() (int, error) { return treehandle.TopFD(dir, dirFlags) })
	if err != nil {
		return handle{}, sig{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return handle{}, sig{}, err
	}
	return handle{fd}, sigOf(&st), nil
}

// open opens a directory in h.
func (h handle) open(name string) (handle, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(h.fd, name, dirFlags, 0) })
	return handle{fd}, err
}

func (h handle) close() { _ = unix.Close(h.fd) }

// names lists h, unsorted. It may be called once.
func (h handle) names() ([]string, error) {
	buf := make([]byte, 16<<10)
	var names []string
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(h.fd, buf) })
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// stat looks at a name in h and follows nothing.
func (h handle) stat(name string) (sig, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstatat(h.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return sig{}, err
	}
	return sigOf(&st), nil
}

func fileSig(f *os.File) (sig, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return sig{}, err
	}
	return sigOf(&st), nil
}

func pathSig(name string) (sig, error) {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return sig{}, err
	}
	return sigOf(&st), nil
}

func sigOf(st *unix.Stat_t) sig {
	s := sig{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano()}
	s.mode = fs.FileMode(st.Mode & 0o777)
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		s.mode |= fs.ModeDir
	case unix.S_IFLNK:
		s.mode = fs.ModeSymlink
	case unix.S_IFIFO:
		s.mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		s.mode |= fs.ModeSocket
	case unix.S_IFCHR:
		s.mode |= fs.ModeCharDevice | fs.ModeDevice
	default:
		s.mode |= fs.ModeDevice
	}
	return s
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// gone reports whether err says that there is no such thing, or no longer.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
