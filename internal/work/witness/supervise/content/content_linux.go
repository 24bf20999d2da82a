// Package content keeps what files hold before it is changed.
package content

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/locate"
)

// InlineLimit is the size up to which a content goes into the journal itself.
const InlineLimit = 64 << 10

// Inode names a file whatever its names are: numbers are used again, times of birth are
// not.
type Inode struct {
	Dev, Ino uint64
	Born     int64
}

// Thing is what a name holds.
type Thing struct {
	FD       int  // below zero until it is pinned
	Readable bool // FD is; else it is one with O_PATH
	ID       Inode
	State    journal.State
	Linked   bool // it is kept by a link to the file itself
}

// Close closes what was opened.
func (t *Thing) Close() {
	if t.FD >= 0 {
		locate.Close(t.FD)
		t.FD = -1
	}
}

// Beneath keeps what is opened below a directory in there.
const Beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// Open opens what a name below a directory holds, but not its content. That nothing is
// there is no error.
func Open(root int, below string) (Thing, error) {
	fd, err := locate.Openat2(root, below, unix.O_PATH|unix.O_NOFOLLOW, Beneath)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR:
		return Thing{FD: -1}, nil
	default:
		return Thing{FD: -1}, err
	}
	t := Thing{FD: fd}
	if err := t.Stat(fd, ""); err != nil {
		t.Close()
		return t, err
	}
	return t, nil
}

// Stat learns what is open as dir, or what the name there leads to.
func (t *Thing) Stat(dir int, name string) error { return t.statx(dir, name, 0) }

// Lstat is Stat, but for a link tells of itself.
func (t *Thing) Lstat(dir int, name string) error {
	return t.statx(dir, name, unix.AT_SYMLINK_NOFOLLOW)
}

func (t *Thing) statx(dir int, name string, flags int) error {
	var st unix.Statx_t
	var b locate.Buffer
	p, err := b.Text(name)
	if err != nil {
		return err
	}
	if name == "" {
		flags = unix.AT_EMPTY_PATH
	}
	_, _, errno := syscall.RawSyscall6(unix.SYS_STATX, uintptr(dir), uintptr(unsafe.Pointer(p)),
		uintptr(flags|unix.AT_STATX_DONT_SYNC), unix.STATX_BASIC_STATS|unix.STATX_BTIME, uintptr(unsafe.Pointer(&st)), 0)
	if errno != 0 {
		return errno
	}
	t.State = journal.StateOf(&st)
	t.ID = Inode{t.State.Sig.Dev, t.State.Sig.Ino, t.State.Sig.Born}
	return nil
}

// ErrSwapped says that something else has a name by now than a moment ago.
const ErrSwapped = unix.EAGAIN

// Pin lets open open what was looked at, as openat does with flags, so that it stays the same whatever its
// name holds.
func (t *Thing) Pin(open func(flags int) (int, error)) error {
	small := t.State.Kind == journal.File && t.State.Sig.Size <= InlineLimit
	fd, err := -1, error(unix.EACCES)
	if small {
		if fd, err = open(unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOATIME); err == unix.EPERM {
			fd, err = open(unix.O_RDONLY | unix.O_NONBLOCK)
		}
	}
	readable := err == nil
	if err == unix.EACCES || err == unix.EAGAIN { // it may not be read, or somebody has a lease
		fd, err = open(unix.O_PATH)
	}
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENXIO:
		return ErrSwapped
	default:
		return err
	}
	now := Thing{FD: fd, Readable: readable}
	if err = now.Stat(fd, ""); err == nil && now.ID != t.ID {
		err = ErrSwapped
	}
	if err != nil {
		now.Close()
		return err
	}
	*t = now
	return nil
}

// Fate is what will become of a content.
type Fate int

// The fates.
const (
	Written Fate = iota // in place
	Grown               // at its end only
	Removed             // its name goes away
)

// Keeper keeps contents: small ones where the caller writes what it knows of them, others
// in files of its directory. It is for one goroutine at a time.
type Keeper struct {
	Dir   int              // descriptor of the directory
	apart int              // how many files there are
	own   map[Inode]uint64 // how many of them are names of files that others have
	link  [locate.PathMax]byte
	small [InlineLimit + 1]byte
}

// Keep keeps the content of a thing, so that its state tells where it is. Data of the state
// is valid until the next call.
func (k *Keeper) Keep(t *Thing, f Fate) error {
	s := &t.State
	switch s.Kind {
	case journal.Link:
		target, err := locate.Readlink(t.FD, "", k.link[:])
		s.How, s.Data = journal.Inline, []byte(target)
		return err
	case journal.File:
	default:
		return nil
	}
	if s.Sig.Size == 0 {
		s.How = journal.Inline
		return nil
	}
	if s.Sig.Size <= InlineLimit {
		err := k.readInline(t)
		if err != unix.EACCES || f != Removed {
			return err
		}
	}
	if f == Grown {
		s.How = journal.Prefix
		return nil
	}
	return k.keepApart(t, f)
}

// Reopen opens what is open already in another way, closed when a program is started.
func Reopen(fd, flags int) (int, error) {
	return unix.Open("/proc/self/fd/"+strconv.Itoa(fd), flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
}

// BeingWritten reports whether somebody has a thing that is pinned open for writing, or mapped;
// false where that is not known. The kernel gives no lease to read meanwhile.
func (t *Thing) BeingWritten() bool {
	fd := t.FD
	if !t.Readable {
		var err error
		if fd, err = Reopen(t.FD, unix.O_RDONLY); err != nil {
			return false
		}
		defer locate.Close(fd)
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil && t.Readable {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return err == unix.EAGAIN
}

// KeepLive keeps the file itself whose name is about to go, while somebody writes it: what is
// in it now may be half of what is going to be there.
func (k *Keeper) KeepLive(t *Thing) error {
	k.apart++
	if err := k.linkApart(t, strconv.Itoa(k.apart)); err != nil {
		return err
	}
	t.Linked = true
	t.State.How, t.State.Number = journal.Live, uint64(k.apart)
	return nil
}

func (k *Keeper) linkApart(t *Thing, name string) error {
	if !t.openLater() {
		return unix.EACCES
	}
	err := unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(t.FD), k.Dir, name, unix.AT_SYMLINK_FOLLOW)
	if err == nil {
		if k.own == nil {
			k.own = map[Inode]uint64{}
		}
		k.own[t.ID]++
	}
	return err
}

// openLater reports whether a file may be read now, or once it got another mode.
func (t *Thing) openLater() bool {
	const self = unix.AT_EMPTY_PATH | unix.AT_EACCESS
	return unix.Faccessat(t.FD, "", unix.R_OK, self) != unix.EACCES ||
		unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(t.FD), t.State.Mode&0o7777, 0) == nil
}

// Discount takes the names that the keeper gave to a file, which was just looked at, out of their number.
func (k *Keeper) Discount(t *Thing) { t.State.Links -= min(t.State.Links, k.own[t.ID]) }

func (k *Keeper) readInline(t *Thing) error {
	fd := t.FD
	if !t.Readable {
		var err error
		if fd, err = Reopen(t.FD, unix.O_RDONLY|unix.O_NOATIME); err == unix.EPERM {
			fd, err = Reopen(t.FD, unix.O_RDONLY)
		}
		if err != nil {
			return err
		}
		defer locate.Close(fd)
	}
	n := 0
	for n < len(k.small) {
		r, _, errno := syscall.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&k.small[n])),
			uintptr(len(k.small)-n), uintptr(n), 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return errno
		}
		n += int(r)
		if n < len(k.small) { // a short read of a file is one to its end
			break
		}
	}
	if n > InlineLimit { // it grew
		return k.keepApart(t, Written)
	}
	t.State.How, t.State.Data, t.State.Sig.Size = journal.Inline, k.small[:n], int64(n)
	return nil
}

// keepApart keeps a content in a file of its own: the file itself when its name goes
// away, a copy otherwise, which shares blocks where the file system can.
func (k *Keeper) keepApart(t *Thing, f Fate) error {
	k.apart++
	name := strconv.Itoa(k.apart)
	if f == Removed {
		if k.linkApart(t, name) == nil {
			t.Linked = true
			t.State.How, t.State.Number = journal.Apart, uint64(k.apart)
			return nil
		}
	}
	in, err := Reopen(t.FD, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer locate.Close(in)
	if err := k.copyApart(in, name, t.State.Sig.Size); err != nil {
		return err
	}
	t.State.How, t.State.Number = journal.Apart, uint64(k.apart)
	return nil
}

// copyApart copies what is open as in, up to size.
func (k *Keeper) copyApart(in int, name string, size int64) error {
	out, err := unix.Openat(k.Dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer locate.Close(out)
	if err = unix.IoctlFileClone(out, in); err != nil {
		if err = k.room(size); err == nil {
			err = copyAll(out, in)
		}
	}
	if err == nil {
		err = shorten(out, size)
	}
	if err != nil {
		_ = unix.Unlinkat(k.Dir, name, 0)
	}
	return err
}

// shorten cuts off what was written behind the first size bytes of a file.
func shorten(fd int, size int64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size <= size {
		return err
	}
	return unix.Ftruncate(fd, size)
}

// room fails when a copy of size bytes would leave too little of the disk.
func (k *Keeper) room(size int64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(k.Dir, &st); err != nil {
		return err
	}
	free := int64(st.Bavail) * st.Bsize
	keep := journal.Leave(int64(st.Blocks) * st.Bsize)
	if size > free-keep {
		return fmt.Errorf("a copy of %d bytes does not fit: %d are free where Kerf keeps its data", size, free)
	}
	return nil
}

// copyAll copies a file; its holes stay holes.
func copyAll(out, in int) error { return copyParts(out, in, unix.Seek) }

// copyParts is copyAll with the call that tells where the parts of a file are.
func copyParts(out, in int, seek func(fd int, offset int64, whence int) (int64, error)) error {
	size, err := seek(in, 0, io.SeekEnd)
	for at := int64(0); err == nil && at < size; {
		begin, end := at, size
		if data, seekErr := seek(in, at, unix.SEEK_DATA); seekErr == unix.ENXIO {
			break // a hole up to the end
		} else if hole, holeErr := seek(in, data, unix.SEEK_HOLE); seekErr == nil && holeErr == nil {
			begin, end = data, hole
		} // else the file system does not tell
		err, at = copyPart(out, in, begin, end), end
	}
	if err == nil {
		size, err = seek(in, 0, io.SeekEnd) // it may have become shorter
	}
	if err == nil {
		err = unix.Ftruncate(out, size)
	}
	return err
}

// copyPart copies what lies between two places of a file to the same of another one.
func copyPart(out, in int, at, end int64) error {
	for to := at; at < end; {
		n, err := unix.CopyFileRange(in, &at, out, &to, int(min(end-at, 1<<30)), 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			break
		}
		if n == 0 { // it became shorter
			return nil
		}
	}
	if at == end {
		return nil
	}
	// Between two kinds of file systems the bytes have to go through this process.
	to, from := os.NewFile(uintptr(dup(out)), "kept"), os.NewFile(uintptr(dup(in)), "file")
	defer to.Close()
	defer from.Close()
	_, err := io.Copy(io.NewOffsetWriter(to, at), io.NewSectionReader(from, at, end-at))
	return err
}

func dup(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return n
}

// Part makes a content kept by a link, with its number, a copy, before its bytes are
// changed through another name or a descriptor.
func (k *Keeper) Part(number uint64, t *Thing) error {
	in, err := Reopen(t.FD, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer locate.Close(in)
	const word = "part"
	if err := k.copyApart(in, word, t.State.Sig.Size); err != nil {
		return err
	}
	if err := unix.Renameat(k.Dir, word, k.Dir, strconv.FormatUint(number, 10)); err != nil {
		return err
	}
	if k.own[t.ID] > 0 {
		k.own[t.ID]--
	}
	return nil
}
