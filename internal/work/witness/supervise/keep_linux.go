package supervise

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/locate"
)

// inlineLimit is the size up to which a content goes into the journal itself.
const inlineLimit = 64 << 10

// root is a directory in which changes are witnessed.
type root struct {
	path string
	fd   int
}

// find returns the root that a name is in, and the name below it.
func (w *watch) find(name string) (*root, string) {
	for i := range w.roots {
		r := &w.roots[i]
		if len(name) > len(r.path) && name[len(r.path)] == '/' && strings.HasPrefix(name, r.path) {
			return r, name[len(r.path)+1:]
		}
		if r.path == "/" && len(name) > 1 {
			return r, name[1:]
		}
	}
	return nil, ""
}

// thing is what a name holds.
type thing struct {
	fd       int  // below zero until it is pinned
	readable bool // fd is; else it is one with O_PATH
	id       inode
	state    journal.State
	linked   bool // it is kept by a link to the file itself
}

func (t *thing) close() {
	if t.fd >= 0 {
		locate.Close(t.fd)
		t.fd = -1
	}
}

const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// look returns what a name holds now. The content is not read.
func (w *watch) look(r *root, name, below string) (thing, error) {
	d := w.hub.hold(w, locate.Parent(name))
	if d == nil {
		return lookPinned(r, below)
	}
	t := thing{fd: -1}
	err := t.lstat(d.fd, locate.Base(name))
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return thing{fd: -1}, nil
	}
	return t, err
}

// lookPinned is look, and opens what is there.
func lookPinned(r *root, below string) (thing, error) {
	fd, err := locate.Openat2(r.fd, below, unix.O_PATH|unix.O_NOFOLLOW, beneath)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR:
		return thing{fd: -1}, nil
	default:
		return thing{fd: -1}, err
	}
	t := thing{fd: fd}
	if err := t.stat(fd, ""); err != nil {
		t.close()
		return t, err
	}
	return t, nil
}

// errSwapped says that something else has a name by now than a moment ago.
const errSwapped = unix.EAGAIN

// pin opens what was looked at, so that it stays the same whatever its name holds.
func (c *call) pin(s *spot) error {
	if s.fd >= 0 {
		return nil
	}
	small := s.state.Kind == journal.File && s.state.Sig.Size <= inlineLimit
	fd, err := -1, error(unix.EACCES)
	if small {
		if fd, err = c.openNow(s, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOATIME); err == unix.EPERM {
			fd, err = c.openNow(s, unix.O_RDONLY|unix.O_NONBLOCK)
		}
	}
	readable := err == nil
	if err == unix.EACCES || err == unix.EAGAIN { // it may not be read, or somebody has a lease
		fd, err = c.openNow(s, unix.O_PATH)
	}
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENXIO:
		return errSwapped
	default:
		return err
	}
	now := thing{fd: fd, readable: readable}
	if err = now.stat(fd, ""); err == nil && now.id != s.id {
		err = errSwapped
	}
	if err != nil {
		now.close()
		return err
	}
	s.thing = now
	return nil
}

// openNow opens what a name leads to now.
func (c *call) openNow(s *spot, flags int) (int, error) {
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC
	if d := c.hub.hold(c.watch, locate.Parent(s.name)); d != nil {
		return locate.Openat2(d.fd, locate.Base(s.name), uint64(flags), 0)
	}
	return locate.Openat2(s.root.fd, s.below, uint64(flags), beneath)
}

var emptyPath = [1]byte{}

// stat learns what is open as dir, or what the name there leads to.
func (t *thing) stat(dir int, name string) error { return t.statx(dir, name, 0) }

// lstat is stat, but for a link tells of itself.
func (t *thing) lstat(dir int, name string) error {
	return t.statx(dir, name, unix.AT_SYMLINK_NOFOLLOW)
}

func (t *thing) statx(dir int, name string, flags int) error {
	var st unix.Statx_t
	p := &emptyPath[0]
	if name != "" {
		var err error
		if p, err = unix.BytePtrFromString(name); err != nil {
			return err
		}
	} else {
		flags = unix.AT_EMPTY_PATH
	}
	_, _, errno := syscall.RawSyscall6(unix.SYS_STATX, uintptr(dir), uintptr(unsafe.Pointer(p)),
		uintptr(flags|unix.AT_STATX_DONT_SYNC), unix.STATX_BASIC_STATS|unix.STATX_BTIME, uintptr(unsafe.Pointer(&st)), 0)
	if errno != 0 {
		return errno
	}
	t.state = journal.StateOf(&st)
	t.id = inode{t.state.Sig.Dev, t.state.Sig.Ino, t.state.Sig.Born}
	return nil
}

// fate is what will become of a content.
type fate int

const (
	written fate = iota // in place
	grown               // at its end only
	removed             // its name goes away
)

// keep keeps the content of a thing, so that its state tells where it is.
func (w *watch) keep(t *thing, f fate) error {
	s := &t.state
	switch s.Kind {
	case journal.Link:
		target, err := locate.Readlink(t.fd, "", w.link[:])
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
	if s.Sig.Size <= inlineLimit {
		err := w.readInline(t)
		if err != unix.EACCES || f != removed {
			return err
		}
	}
	if f == grown {
		s.How = journal.Prefix
		return nil
	}
	return w.keepApart(t, f)
}

func reopen(fd, flags int) (int, error) {
	return unix.Open("/proc/self/fd/"+strconv.Itoa(fd), flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
}

func (w *watch) readInline(t *thing) error {
	fd := t.fd
	if !t.readable {
		var err error
		if fd, err = reopen(t.fd, unix.O_RDONLY|unix.O_NOATIME); err == unix.EPERM {
			fd, err = reopen(t.fd, unix.O_RDONLY)
		}
		if err != nil {
			return err
		}
		defer locate.Close(fd)
	}
	n := 0
	for n < len(w.content) {
		r, _, errno := syscall.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), bytesAt(w.content[n:]),
			uintptr(len(w.content)-n), uintptr(n), 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return errno
		}
		n += int(r)
		if n < len(w.content) { // a short read of a file is one to its end
			break
		}
	}
	if n > inlineLimit { // it grew
		return w.keepApart(t, written)
	}
	t.state.How, t.state.Data, t.state.Sig.Size = journal.Inline, w.content[:n], int64(n)
	return nil
}

// keepApart keeps a content in a file of its own: the file itself when its name goes
// away, a copy otherwise, which shares blocks where the file system can.
func (w *watch) keepApart(t *thing, f fate) error {
	w.apart++
	name := strconv.Itoa(w.apart)
	if f == removed {
		err := unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(t.fd), w.dir, name, unix.AT_SYMLINK_FOLLOW)
		if err == nil {
			t.linked = true
			t.state.How, t.state.Number = journal.Apart, uint64(w.apart)
			return nil
		}
	}
	in, err := reopen(t.fd, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer locate.Close(in)
	if err := w.copyApart(in, name, t.state.Sig.Size); err != nil {
		return err
	}
	t.state.How, t.state.Number = journal.Apart, uint64(w.apart)
	return nil
}

// copyApart copies what is open as in.
func (w *watch) copyApart(in int, name string, size int64) error {
	out, err := unix.Openat(w.dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer locate.Close(out)
	if unix.IoctlFileClone(out, in) == nil {
		return nil
	}
	err = w.room(size)
	if err == nil {
		err = copyAll(out, in)
	}
	if err != nil {
		_ = unix.Unlinkat(w.dir, name, 0)
	}
	return err
}

// room fails when a copy of size bytes would leave too little of the disk.
func (w *watch) room(size int64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(w.dir, &st); err != nil {
		return err
	}
	free := int64(st.Bavail) * st.Bsize
	keep := journal.Leave(int64(st.Blocks) * st.Bsize)
	if size > free-keep {
		return fmt.Errorf("a copy of %d bytes does not fit: %d are free where Kerf keeps its data", size, free)
	}
	return nil
}

func copyAll(out, in int) error {
	for {
		n, err := unix.CopyFileRange(in, nil, out, nil, 1<<30, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			break
		}
		if n == 0 {
			return nil
		}
	}
	// Between two kinds of file systems the bytes have to go through this process.
	to, from := os.NewFile(uintptr(dup(out)), "kept"), os.NewFile(uintptr(dup(in)), "file")
	defer to.Close()
	defer from.Close()
	_, err := io.Copy(to, from)
	return err
}

func dup(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return n
}

// part makes a content kept by a link a copy, before its bytes are changed through
// another name or a descriptor.
func (w *watch) part(known *file, t *thing) error {
	number := known.linked
	known.linked = 0
	in, err := reopen(t.fd, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer locate.Close(in)
	const word = "part"
	if err := w.copyApart(in, word, t.state.Sig.Size); err != nil {
		return err
	}
	return unix.Renameat(w.dir, word, w.dir, strconv.Itoa(number))
}
