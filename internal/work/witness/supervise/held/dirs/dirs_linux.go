package dirs

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/locate"
)

// User is a command that works in directories.
type User interface {
	comparable
	// Root returns the root that a name is in, open, and the name below that; fd is below zero
	// where it is in none.
	Root(name string) (fd int, below string)
}

// Openings are told, too: they tell whether a call to open succeeded, and keep two
// notices of closing from becoming one.
const watched = unix.IN_OPEN | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_CLOSE_WRITE | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// Dir is a directory of which notices are taken. Users are the commands that work in it, or below it.
type Dir[U User] struct {
	Path  string
	Told  string // what notices of closings name it by, or empty
	FD    int    // with O_PATH, or below zero
	Users map[U]bool
	wd    int32
	mask  uint32
	moves int // expected moves of itself
}

// Whole reports whether all is told of what is in the directory.
func (d *Dir[U]) Whole() bool { return d.mask == watched }

// Expected takes a notice that the directory itself was moved as that of a command, if one of its
// calls did so.
func (d *Dir[U]) Expected() bool {
	if d.moves > 0 {
		d.moves--
		return true
	}
	return false
}

// Set are the directories of all commands. It is for one goroutine at a time.
type Set[U User] struct {
	fd      int // of inotify, below zero where there is none
	byWD    map[int32]*Dir[U]
	byPath  map[string]*Dir[U]
	held    []*Dir[U] // whose FD is open, the oldest first
	last    *Dir[U]   // that Hold returned, for
	lastFor U
	begins  func(*Dir[U])
	ends    func(*Dir[U])
}

// New returns a set without directories, whose notices come from an open inotify. begins and ends
// are called with each directory of which all is told, from then on and no more.
func New[U User](fd int, begins, ends func(*Dir[U])) *Set[U] {
	return &Set[U]{fd: fd, byWD: make(map[int32]*Dir[U]), byPath: make(map[string]*Dir[U]), begins: begins, ends: ends}
}

// Told returns the directory of a notice, or nil.
func (s *Set[U]) Told(wd int32) *Dir[U] { return s.byWD[wd] }

// At returns the directory with a path, or nil.
func (s *Set[U]) At(path string) *Dir[U] { return s.byPath[path] }

// Gone forgets a directory of which the kernel tells no more.
func (s *Set[U]) Gone(d *Dir[U]) {
	delete(s.byWD, d.wd)
	s.ends(d)
	s.Forget(d)
}

var errNoNotices = errors.New("changes of others cannot be noticed here")

// above are the directories above those in which a command works: moved or replaced they
// take with them what is below.
const above = unix.IN_MOVE_SELF | unix.IN_DELETE | unix.IN_MOVED_TO | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW

// Observe begins to take notices of a directory for a command. fresh says that there were none
// until now: what was seen in it before may have changed since.
func (s *Set[U]) Observe(w U, path string) (fresh bool, err error) {
	if s.lastHeld(w, path) != nil {
		return false, nil
	}
	if d := s.byPath[path]; d != nil && d.mask == watched {
		d.Users[w] = true
		return false, nil
	}
	if err := s.add(w, path, watched); err != nil {
		return false, err
	}
	for {
		if fd, _ := w.Root(path); fd < 0 {
			return true, nil
		}
		path = locate.Parent(path)
		if d := s.byPath[path]; d != nil && d.Users[w] {
			return true, nil
		}
		if err := s.add(w, path, above); err != nil {
			return true, err
		}
	}
}

func (s *Set[U]) add(w U, path string, mask uint32) error {
	s.unlast()
	if d := s.byPath[path]; d != nil && d.mask == watched {
		mask = watched
	}
	if s.fd < 0 {
		return errNoNotices
	}
	wd, err := unix.InotifyAddWatch(s.fd, path, mask)
	if err != nil {
		return err
	}
	d := s.byWD[int32(wd)]
	if d != nil && s.byPath[d.Path] == d { // perhaps the same directory by another name: it was moved
		s.Forget(d)
	}
	if d == nil {
		d = &Dir[U]{wd: int32(wd), Users: make(map[U]bool), FD: -1}
		s.byWD[int32(wd)] = d
	}
	d.Path, d.mask = path, mask
	d.Users[w] = true
	s.byPath[path] = d
	if mask == watched && d.Told == "" {
		s.begins(d)
	}
	return nil
}

// maxHeld is how many directories are held open: as many as commands work in by turns.
const maxHeld = 32

// Hold returns the directory with a path, open, or nil if a command's work in it and
// above it was not noticed from some moment on. Until the next notice that path leads
// there, with no link on its way.
func (s *Set[U]) Hold(w U, path string) *Dir[U] {
	if d := s.lastHeld(w, path); d != nil {
		return d
	}
	d := s.byPath[path]
	if d == nil || d.mask != watched || !d.Users[w] {
		return nil
	}
	if d.FD >= 0 {
		s.last, s.lastFor = d, w
		return d
	}
	root, below := w.Root(path)
	if root < 0 {
		return nil
	}
	fd, err := locate.Openat2(root, below, unix.O_PATH|unix.O_DIRECTORY,
		unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil
	}
	if len(s.held) == maxHeld {
		s.letGo(s.held[0])
	}
	d.FD = fd
	s.held = append(s.held, d)
	s.last, s.lastFor = d, w
	return d
}

// lastHeld is what hold returned last, if that was for this command and path.
func (s *Set[U]) lastHeld(w U, path string) *Dir[U] {
	if d := s.last; d != nil && s.lastFor == w && d.FD >= 0 && d.Path == path {
		return d
	}
	return nil
}

// letGo closes a directory. What is removed goes only when nobody holds it.
func (s *Set[U]) letGo(d *Dir[U]) {
	if d.FD < 0 {
		return
	}
	locate.Close(d.FD)
	d.FD = -1
	s.held = slices.DeleteFunc(s.held, func(other *Dir[U]) bool { return other == d })
}

// Forget no longer takes a directory for what its path leads to.
func (s *Set[U]) Forget(d *Dir[U]) {
	s.letGo(d)
	if s.byPath[d.Path] == d {
		delete(s.byPath, d.Path)
	}
}

// Moved gives the watched directories below one name another one. An empty one that was
// there went.
func (s *Set[U]) Moved(from, to string) {
	if d := s.byPath[to]; d != nil {
		s.Forget(d)
	}
	s.rename(s.Below(from), from, to)
}

// Exchanged gives those below two names each other's.
func (s *Set[U]) Exchanged(a, b string) {
	one, other := s.Below(a), s.Below(b)
	s.rename(one, a, b)
	s.rename(other, b, a)
}

// Below are the watched directories at and below a name.
func (s *Set[U]) Below(name string) []*Dir[U] {
	var list []*Dir[U]
	for _, d := range s.byWD {
		if rest, ok := strings.CutPrefix(d.Path, name); ok && (rest == "" || rest[0] == '/') {
			list = append(list, d)
		}
	}
	return list
}

func (s *Set[U]) rename(list []*Dir[U], from, to string) {
	for _, d := range list {
		if d.Path == from {
			d.moves++
		}
		s.Forget(d)
		d.Path = to + d.Path[len(from):]
		s.byPath[d.Path] = d
	}
}

// Drop takes no more notices of directories.
func (s *Set[U]) Drop(list []*Dir[U]) {
	for _, d := range list {
		s.Gone(d)
		_, _ = unix.InotifyRmWatch(s.fd, uint32(d.wd)) // it may be gone
	}
}

// Release forgets a command.
func (s *Set[U]) Release(w U) {
	s.unlast()
	for wd, d := range s.byWD {
		delete(d.Users, w)
		if len(d.Users) == 0 {
			s.Gone(d)
			_, _ = unix.InotifyRmWatch(s.fd, uint32(wd)) // the directory may be gone
		}
	}
}

func (s *Set[U]) unlast() {
	var none U
	s.last, s.lastFor = nil, none
}
