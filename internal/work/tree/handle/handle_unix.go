//go:build unix

package handle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"kerf/internal/work/inode"
)

// Dir is a descriptor of a directory.
type Dir struct {
	fd int
	// pathOnly says that the directory may not be listed, and so not be flushed.
	pathOnly bool
}

// Stat is a Signature and what decides how a file is written.
type Stat struct {
	Signature
	Nlink uint64
	uid   uint32
	gid   uint32
	dev   uint64 // of the directory it is in
	mount bool
	fixed bool // nobody may change it, or that is not known
}

// InPlace says that a new inode under the name would lose something.
func (s Stat) InPlace() bool {
	if !s.Mode.IsRegular() {
		return false
	}
	euid := us().uid
	return s.Nlink > 1 || s.mount || s.dev != s.Dev || s.uid != euid && euid != 0
}

// Own reports whether the file has the user and group that our new files get.
func (s Stat) Own() bool { return s.uid == us().uid && s.gid == us().gid }

// MayWrite reports whether the mode alone says that we may write the file: the owner's
// part counts for the owner, whatever the access lists say.
func (s Stat) MayWrite() bool {
	return s.uid == us().uid && s.Mode.IsRegular() && s.Mode&0o200 != 0 && !s.fixed && !s.InPlace()
}

// us is who we are to the file system.
var us = sync.OnceValue(func() identity { return identity{uint32(os.Geteuid()), uint32(os.Getegid())} })

type identity struct{ uid, gid uint32 }

// Open opens the directory rel, which may be empty, below root, meeting no link.
func Open(root, rel string) (Dir, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if fd, ok := openStraight(path.Join(root, rel), flags); ok {
		return Dir{fd: fd}, nil
	}
	fd, err := TopFD(root, flags|searchOnly)
	if err != nil || rel == "" && searchOnly == 0 {
		return Dir{fd: fd}, err
	}
	defer unix.Close(fd)
	if rel == "" {
		rel = "."
	}
	for _, mode := range []int{unix.O_RDONLY, searchOnly} {
		var sub int
		sub, err = openBeneath(fd, rel, flags|mode)
		if err == nil {
			return Dir{sub, mode != unix.O_RDONLY}, nil
		}
		if !errors.Is(err, unix.EACCES) {
			break
		}
	}
	return Dir{}, err
}

// Top opens the directory of an absolute path, on which no link may lie.
func Top(dir string) (Dir, error) {
	d, err := Open(dir, "")
	if errors.Is(err, unix.ELOOP) {
		err = ErrLink
	}
	return d, err
}

// OpenDir opens the directory rel, a path of one or more components below h, so that it can
// be listed. It meets no link, and does not wait where a FIFO took a directory's place: the
// system looks what it is before it opens it.
func (h Dir) OpenDir(rel string) (Dir, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	open := walkBeneath
	if strings.Contains(rel, "/") {
		open = openBeneath // one call for several components
	}
	fd, err := open(h.fd, rel, flags)
	return Dir{fd: fd}, err
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
			err = ErrLink
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

// Close releases the descriptor.
func (h Dir) Close() { _ = unix.Close(h.fd) }

// Lstat tells about name. The directory itself, ".", can also be told about when it may not
// be entered.
func (h Dir) Lstat(name string) (Stat, error) { return statAt(h.fd, name) }

// statByParts is statAt where the system needs several calls for it.
func statByParts(fd int, name string) (Stat, error) {
	var st, dir unix.Stat_t
	if err := unix.Fstat(fd, &dir); err != nil {
		return Stat{}, err
	}
	if name == "." {
		st = dir
	} else if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Stat{}, err
	}
	s := Stat{Nlink: uint64(st.Nlink), uid: st.Uid, gid: st.Gid, dev: uint64(dir.Dev), fixed: true}
	s.Signature = sigOf(&st)
	s.mount = s.Mode.IsRegular() && isMount(fd, name)
	return s, nil
}

func sigOf(st *unix.Stat_t) Signature {
	mtime, ctime := statTimes(st)
	return Signature{uint64(st.Dev), uint64(st.Ino), st.Size, mtime, ctime, fileMode(uint32(st.Mode))}
}

// SignatureOf is the signature that package os found.
func SignatureOf(fi fs.FileInfo) Signature {
	s := Signature{Size: fi.Size(), Mtime: fi.ModTime().UnixNano(), Mode: fi.Mode()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.Dev, s.Ino = uint64(st.Dev), uint64(st.Ino)
		s.Ctime = inode.Changed(fi)
	}
	return s
}

// Links tells how many names a file has.
func Links(fi fs.FileInfo) uint64 {
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

// Readlink returns the target of the link name.
func (h Dir) Readlink(name string) (string, error) {
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

// OpenRead does not wait for a writer of a FIFO and does not acquire a terminal.
func (h Dir) OpenRead(name string) (File, error) {
	return h.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// OpenWrite opens a file that is there.
func (h Dir) OpenWrite(name string) (*os.File, error) {
	f, err := h.open(name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(f.fd), name), nil
}

// Create makes a file, which must not be there.
func (h Dir) Create(name string, perm fs.FileMode) (File, error) {
	return h.open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, uint32(perm.Perm()))
}

func (h Dir) open(name string, flags int, perm uint32) (File, error) {
	for {
		fd, err := unix.Openat(h.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK):
			return File{}, ErrLink
		case err != nil:
			return File{}, err
		}
		return File{fd}, nil
	}
}

// Access asks for the effective user, as opening would.
func (h Dir) Access(name string) error {
	return unix.Faccessat(h.fd, name, unix.W_OK, unix.AT_EACCESS)
}

// Symlink makes name a link to target.
func (h Dir) Symlink(target, name string) error { return unix.Symlinkat(target, h.fd, name) }

// Link gives the file name one more name.
func (h Dir) Link(name, to string) error { return unix.Linkat(h.fd, name, h.fd, to, 0) }

// Rename replaces what to names.
func (h Dir) Rename(name, to string) error { return unix.Renameat(h.fd, name, h.fd, to) }

// RenameNew is a rename that replaces nothing.
func (h Dir) RenameNew(name string, into Dir, to string) error {
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
	if _, err := into.Lstat(to); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(h.fd, name, into.fd, to)
}

// Exchange lets two files trade names in one step, or fails with
// errors.ErrUnsupported.
func (h Dir) Exchange(a, b string) error {
	if err := renameExchange(h.fd, a, b); !unsupported(err) {
		return err
	}
	return errors.ErrUnsupported
}

func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP)
}

// Unlink removes a file or a link.
func (h Dir) Unlink(name string) error { return unix.Unlinkat(h.fd, name, 0) }

// Mkdir makes a directory; the umask takes its part of the mode.
func (h Dir) Mkdir(name string, perm fs.FileMode) error {
	return unix.Mkdirat(h.fd, name, uint32(perm.Perm()))
}

// Rmdir removes an empty directory.
func (h Dir) Rmdir(name string) error { return unix.Unlinkat(h.fd, name, unix.AT_REMOVEDIR) }

// IsNotEmpty reports whether a directory was not removed because something is in it.
func IsNotEmpty(err error) bool { return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) }

// Sync makes the names in the directory durable.
func (h Dir) Sync() error {
	if h.pathOnly {
		return nil
	}
	err := unix.Fsync(h.fd)
	if unsupported(err) {
		return nil // some network file systems flush names by themselves
	}
	return err
}

// SyncAll flushes the whole file system that the directory is on. It fails with
// errors.ErrUnsupported where that would not be certain.
func (h Dir) SyncAll() error {
	if h.pathOnly {
		return errors.ErrUnsupported
	}
	return syncFileSystem(h.fd)
}

// CopyMeta gives f the owner, the extended attributes and the access lists of like.
func (h Dir) CopyMeta(f File, like string) error {
	var st, mine unix.Stat_t
	if err := unix.Fstatat(h.fd, like, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	if err := unix.Fstat(f.fd, &mine); err != nil {
		return err
	}
	if st.Uid != mine.Uid || st.Gid != mine.Gid {
		// Who may not give the file its owner or group keeps what it can: a file of
		// another owner is written in place, so only the group is at stake.
		if err := unix.Fchown(f.fd, int(st.Uid), int(st.Gid)); err != nil && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	src, err := h.OpenRead(like)
	if errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer src.Close()
	return copyAttributes(src.fd, f.fd)
}

// SamePath reports whether two spellings mean one path.
func SamePath(a, b string) bool { return a == b }

// OpenSync opens for flushing only; on unix any descriptor will do.
func (h Dir) OpenSync(name string) (File, error) { return h.OpenRead(name) }

// Chmod gives the directory itself the permission bits of perm. The others stay; where the
// system would take one away it fails.
func (h Dir) Chmod(perm fs.FileMode) error {
	var st unix.Stat_t
	if err := unix.Fstat(h.fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_ISGID != 0 && !inGroup(st.Gid) {
		return fmt.Errorf("it would lose its setgid bit, since its group %d is not one of yours: %w", st.Gid, unix.EPERM)
	}
	special := uint32(st.Mode) & (unix.S_ISUID | unix.S_ISGID | unix.S_ISVTX)
	return h.chmod(uint32(perm) | special)
}

// inGroup reports whether a file of the group keeps its setgid bit when we change its mode.
func inGroup(gid uint32) bool {
	if us().uid == 0 || us().gid == gid {
		return true
	}
	groups, err := os.Getgroups()
	return err == nil && slices.Contains(groups, int(gid))
}

// Enterable reports whether the names in the directory can be reached.
func (h Dir) Enterable() error { return unix.Faccessat(h.fd, ".", unix.F_OK, unix.AT_EACCESS) }
