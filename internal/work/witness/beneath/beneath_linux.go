package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"kerf/internal/atomicfile"
	"kerf/internal/work/witness/journal"
)

// Roots are directories. They are for one goroutine at a time.
type Roots struct {
	roots []string
	dirs  map[string]*os.File // open
	near  *place              // while many names are looked at
}

// Real are directories without links on their way: names are told by where they are.
func Real(list []string) ([]string, error) {
	roots := make([]string, 0, len(list))
	for _, r := range list {
		real, err := filepath.EvalSymlinks(r)
		if err != nil {
			return nil, err
		}
		roots = append(roots, real)
	}
	return roots, nil
}

// New returns roots with these real paths, of which none is open yet.
func New(roots []string) *Roots { return &Roots{roots: roots, dirs: map[string]*os.File{}} }

// Close closes what is open.
func (r *Roots) Close() {
	for _, d := range r.dirs {
		d.Close()
	}
}

const (
	still   = unix.O_NOFOLLOW | unix.O_CLOEXEC
	resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
)

// place is the directory of the name that was looked at last. Names follow each other as
// they were touched, most of them in one directory.
type place struct {
	path string
	fd   int
	err  error
}

// Stay keeps directories open between looks that follow each other, until leave is called.
func (r *Roots) Stay() (leave func()) {
	r.near = &place{fd: -1}
	return func() {
		r.near.close()
		r.near = nil
	}
}

func (p *place) close() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
	}
	p.fd = -1
}

// Within is a directory and a name in it that is the same as a name below one of the
// roots: either the root, or the directory that the name is in.
func (r *Roots) Within(name string) (dir int, rest string, err error) {
	for _, root := range r.roots {
		below, ok := strings.CutPrefix(name, root)
		if root != "/" && ok {
			below, ok = strings.CutPrefix(below, "/")
		}
		if !ok {
			continue
		}
		if r.dirs[root] == nil {
			d, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY, 0)
			if err != nil {
				return -1, "", err
			}
			r.dirs[root] = d
		}
		dir = int(r.dirs[root].Fd())
		slash := strings.LastIndexByte(below, '/')
		if r.near == nil || slash < 0 {
			return dir, below, nil
		}
		if p := r.near; p.path != name[:len(name)-len(below)+slash] {
			p.close()
			p.path = name[:len(name)-len(below)+slash]
			p.fd, p.err = Open(dir, below[:slash], unix.O_PATH|unix.O_DIRECTORY)
		}
		return r.near.fd, below[slash+1:], r.near.err
	}
	return -1, "", errors.New(name + " lies outside of the workspace")
}

// Open opens a name below a directory on a way without links: what the command put
// in the place of a directory leads nowhere.
func Open(dir int, name string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | still, Resolve: resolve}
	for {
		fd, err := unix.Openat2(dir, name, &how)
		switch err {
		case nil:
			return fd, nil
		case unix.EINTR, unix.EAGAIN:
			continue
		case unix.ENOTDIR, unix.ELOOP:
			return -1, fs.ErrNotExist
		}
		return -1, err
	}
}

// Open opens what a name below one of the roots holds.
func (r *Roots) Open(name string, flags uint64) (int, error) {
	dir, rest, err := r.Within(name)
	if err != nil {
		return -1, err
	}
	return Open(dir, rest, flags)
}

// Look is what a name below one of the roots holds now; the content is not read.
func (r *Roots) Look(name string) (journal.State, error) {
	dir, rest, err := r.Within(name)
	if err == nil && strings.Contains(rest, "/") {
		if dir, err = Open(dir, rest, unix.O_PATH); err == nil {
			defer unix.Close(dir)
			rest = ""
		}
	}
	if err == nil {
		var s journal.State
		if s, err = stateAt(dir, rest); err == nil {
			return s, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) || err == unix.ENOTDIR {
		err = nil
	}
	return journal.State{}, err
}

// stateAt is what a name in a directory holds, or what is open itself, if that is empty.
func stateAt(dir int, name string) (journal.State, error) {
	var st unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	if err := unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st); err != nil {
		return journal.State{}, err
	}
	s := journal.StateOf(&st)
	if s.Kind == journal.Link {
		b := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(dir, name, b)
		if err != nil {
			return journal.State{}, err
		}
		s.Data = b[:n]
	}
	return s, nil
}

// smallLimit is the size up to which a content is read at once.
const smallLimit = 64 << 10

// Small reads a file of size bytes at once. ok is false if it is large, or grows; writer says that
// somebody had it open for writing when it was read.
func (r *Roots) Small(name string, size int64) (data []byte, writer, ok bool) {
	if size > smallLimit {
		return nil, false, false
	}
	fd, err := r.Open(name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, false, false
	}
	defer unix.Close(fd)
	data = make([]byte, size+1)
	n, err := unix.Pread(fd, data, 0)
	writer = Written(fd) // who writes no more by now has told so
	return data[:max(n, 0)], writer, err == nil && int64(n) == size
}

// Written asks the kernel for a lease to read, which it does not give while somebody has
// the file open for writing, or mapped. Where it gives none to this process at all that is
// not known, and not said.
func Written(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return err == unix.EAGAIN
}

// OpenKept opens a file that was kept by moving it to a directory of Kerf's user alone. Where its mode
// keeps that user from reading it, and it has no other name, it gets another mode.
func OpenKept(name string) (*os.File, error) {
	f, err := atomicfile.Open(name)
	var st unix.Stat_t
	if !errors.Is(err, fs.ErrPermission) || unix.Lstat(name, &st) != nil || st.Nlink > 1 || os.Chmod(name, 0o444) != nil {
		return f, err
	}
	return atomicfile.Open(name)
}

// Untouched reports whether a content that was kept is as it was then: a copy, or the
// file itself, which nobody wrote to since.
func Untouched(f *os.File, was *journal.Sig) bool {
	var st unix.Statx_t
	if unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st) != nil {
		return false
	}
	now := journal.StateOf(&st).Sig
	return now.Dev != was.Dev || now.Ino != was.Ino || now.Born != was.Born || now.Mtime == was.Mtime
}

// Reachable reports whether a file that was kept by a second name can still be written by
// others: it has more names than ours, or somebody has it open.
func Reachable(f *os.File, st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return !ok || sys.Nlink > 1 || Written(int(f.Fd()))
}
