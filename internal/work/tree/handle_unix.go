//go:build unix

package tree

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle is a descriptor of a directory.
type handle struct {
	fd int
	// pathOnly says that the directory may not be listed, and so not be flushed.
	pathOnly bool
}

// stat is a Signature and what decides how a file is written.
type stat struct {
	Signature
	nlink uint64
	uid   uint32
	dev   uint64 // of the directory it is in
	mount bool
}

// inPlace says that a new inode under the name would lose something.
func (s stat) inPlace() bool {
	if !s.Mode.IsRegular() {
		return false
	}
	euid := uint32(os.Geteuid())
	return s.nlink > 1 || s.mount || s.dev != s.Dev || s.uid != euid && euid != 0
}

func openHandle(root, rel string) (handle, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if fd, ok := openStraight(join(root, rel), flags); ok {
		return handle{fd: fd}, nil
	}
	fd, err := openat(unix.AT_FDCWD, root, flags|searchOnly)
	if err != nil || rel == "" && searchOnly == 0 {
		return handle{fd: fd}, err
	}
	defer unix.Close(fd)
	if rel == "" {
		rel = "."
	}
	for _, mode := range []int{unix.O_RDONLY, searchOnly} {
		var sub int
		sub, err = openBeneath(fd, rel, flags|mode)
		if err == nil {
			return handle{sub, mode != unix.O_RDONLY}, nil
		}
		if !errors.Is(err, unix.EACCES) {
			break
		}
	}
	return handle{}, err
}

// walkBeneath opens rel one component at a time, none of which may be a link.
func walkBeneath(fd int, rel string, flags int) (int, error) {
	at := fd
	for {
		name, rest, more := strings.Cut(rel, "/")
		f := flags
		if more {
			f = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | searchOnly
		}
		next, err := openat(at, name, f)
		if err != nil && isLinkAt(at, name) {
			err = errLink
		}
		if at != fd {
			unix.Close(at)
		}
		if err != nil || !more {
			return next, err
		}
		at, rel = next, rest
	}
}

func isLinkAt(fd int, name string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && uint32(st.Mode)&unix.S_IFMT == unix.S_IFLNK
}

func openat(fd int, name string, flags int) (int, error) {
	for {
		n, err := unix.Openat(fd, name, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func (h handle) close() { _ = unix.Close(h.fd) }

func (h handle) lstat(name string) (stat, error) { return statAt(h.fd, name) }

// statByParts is statAt where the system needs several calls for it.
func statByParts(fd int, name string) (stat, error) {
	var st, dir unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stat{}, err
	}
	if err := unix.Fstat(fd, &dir); err != nil {
		return stat{}, err
	}
	mtime, ctime := statTimes(&st)
	s := stat{nlink: uint64(st.Nlink), uid: st.Uid, dev: uint64(dir.Dev)}
	s.Signature = Signature{uint64(st.Dev), uint64(st.Ino), st.Size, mtime, ctime, fileMode(uint32(st.Mode))}
	s.mount = s.Mode.IsRegular() && isMount(fd, name)
	return s, nil
}

func signatureOf(fi fs.FileInfo) Signature {
	s := Signature{Size: fi.Size(), Mtime: fi.ModTime().UnixNano(), Mode: fi.Mode()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.Dev, s.Ino = uint64(st.Dev), uint64(st.Ino)
		s.Ctime = sysCtime(st)
	}
	return s
}

// linksOf tells how many names a file has.
func linksOf(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// fileMode translates the bits that package os translates, in the same way.
func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	}
	for _, b := range []struct {
		bit  uint32
		mode fs.FileMode
	}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}} {
		if m&b.bit != 0 {
			mode |= b.mode
		}
	}
	return mode
}

func (h handle) readlink(name string) (string, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(h.fd, name, buf)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// openRead does not wait for a writer of a FIFO and does not acquire a terminal.
func (h handle) openRead(name string) (*os.File, error) {
	return h.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

func (h handle) openWrite(name string) (*os.File, error) {
	return h.open(name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

func (h handle) create(name string, perm fs.FileMode) (*os.File, error) {
	return h.open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, uint32(perm.Perm()))
}

func (h handle) open(name string, flags int, perm uint32) (*os.File, error) {
	for {
		fd, err := unix.Openat(h.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK):
			return nil, errLink
		case err != nil:
			return nil, err
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// access asks for the effective user, as opening would.
func (h handle) access(name string) error {
	return unix.Faccessat(h.fd, name, unix.W_OK, unix.AT_EACCESS)
}

func (h handle) symlink(target, name string) error { return unix.Symlinkat(target, h.fd, name) }

func (h handle) link(name, to string) error { return unix.Linkat(h.fd, name, h.fd, to, 0) }

func (h handle) rename(name, to string) error { return unix.Renameat(h.fd, name, h.fd, to) }

// renameNew is a rename that replaces nothing.
func (h handle) renameNew(name string, into handle, to string) error {
	err := renameNoReplace(h.fd, name, into.fd, to)
	if !unsupported(err) {
		return err
	}
	err = unix.Linkat(h.fd, name, into.fd, to, 0)
	if err == nil {
		return unix.Unlinkat(h.fd, name, 0)
	}
	if !unsupported(err) && !errors.Is(err, unix.EPERM) {
		return err
	}
	// Neither is there, as on FAT: look and rename.
	if _, err := into.lstat(to); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(h.fd, name, into.fd, to)
}

func (h handle) exchange(a, b string) error {
	if err := renameExchange(h.fd, a, b); !unsupported(err) {
		return err
	}
	return errors.ErrUnsupported
}

func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP)
}

func (h handle) unlink(name string) error { return unix.Unlinkat(h.fd, name, 0) }

func (h handle) mkdir(name string, perm fs.FileMode) error {
	return unix.Mkdirat(h.fd, name, uint32(perm.Perm()))
}

func (h handle) rmdir(name string) error { return unix.Unlinkat(h.fd, name, unix.AT_REMOVEDIR) }

func (h handle) sync() error {
	if h.pathOnly {
		return nil
	}
	err := unix.Fsync(h.fd)
	if unsupported(err) {
		return nil // some network file systems flush names by themselves
	}
	return err
}

// syncAll flushes the whole file system that the directory is on. It fails with
// errors.ErrUnsupported where that would not be certain.
func (h handle) syncAll() error {
	if h.pathOnly {
		return errors.ErrUnsupported
	}
	return syncFileSystem(h.fd)
}

// copyMeta gives f the owner, the extended attributes and the access lists of like.
func (h handle) copyMeta(f *os.File, like string) error {
	var st, mine unix.Stat_t
	if err := unix.Fstatat(h.fd, like, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	if err := unix.Fstat(int(f.Fd()), &mine); err != nil {
		return err
	}
	if st.Uid != mine.Uid || st.Gid != mine.Gid {
		// Who may not give the file its owner or group keeps what it can: a file of
		// another owner is written in place, so only the group is at stake.
		if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	src, err := h.openRead(like)
	if errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer src.Close()
	return copyAttributes(int(src.Fd()), int(f.Fd()))
}

func samePath(a, b string) bool { return a == b }

// openSync opens for flushing only; on unix any descriptor will do.
func (h handle) openSync(name string) (*os.File, error) { return h.openRead(name) }
