package locate

import (
	"path"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MaxLinks bounds how many links are followed for one name, as the kernel does.
const MaxLinks = 40

// PathMax is the most that a path has.
const PathMax = 4096

// Locator finds out which file a call means.
type Locator struct {
	Proc int // descriptor of /proc
	// Root is that of the processes, when all have the same one; below zero it is looked
	// up for each call.
	Root int
	// Fixed says that all processes have the same root.
	Fixed bool
	// Known reports whether a name without "." and ".." is that of a directory, with no link
	// on its way. It may be nil.
	Known func(name string) bool
	start start
	text  [PathMax]byte
	link  [PathMax]byte
}

// start is the link in /proc to the directory that the last relative name started at, open. It
// stays that of the same process, wherever its descriptor or working directory leads meanwhile.
type start struct {
	open bool
	fd   int
	tid  int
	dir  int32
	name string // that was read last
}

// Caller is who made a call, while it is looked at.
type Caller struct {
	TID  int
	Root int // descriptor of its root directory
}

// Buffer is room for a name as the kernel takes it. It is faster than the heap.
type Buffer [256]byte

// Text returns a name that ends with a zero byte. It is valid as long as the buffer.
func (b *Buffer) Text(name string) (*byte, error) {
	if len(name) >= len(b) || strings.IndexByte(name, 0) >= 0 {
		return unix.BytePtrFromString(name)
	}
	b[copy(b[:], name)] = 0
	return &b[0], nil
}

// Openat2 opens a path below a directory that stands for the root.
func Openat2(dir int, name string, flags, resolve uint64) (int, error) {
	var b Buffer
	p, err := b.Text(name)
	if err != nil {
		return -1, err
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve}
	for {
		r, _, errno := syscall.RawSyscall6(unix.SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(p)),
			uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		switch errno {
		case 0:
			return int(r), nil
		case unix.EINTR, unix.EAGAIN: // EAGAIN: something was renamed meanwhile
			continue
		}
		return -1, errno
	}
}

// Close closes a descriptor.
func Close(fd int) { _, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// Enter opens the caller's root.
func (l *Locator) Enter(tid int) (Caller, error) {
	if l.Fixed && l.Root >= 0 {
		return Caller{tid, l.Root}, nil
	}
	fd, err := unix.Openat(l.Proc, itoa(tid)+"/root", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return Caller{}, err
	}
	if l.Fixed {
		l.Root = fd
	}
	return Caller{tid, fd}, nil
}

// End closes what is open between the looks at callers.
func (l *Locator) End() {
	l.forget()
	if l.Fixed && l.Root >= 0 {
		Close(l.Root)
	}
}

// Leave ends the look at a caller.
func (l *Locator) Leave(c Caller) {
	if !l.Fixed {
		Close(c.Root)
	}
}

// base is the directory that a relative name starts at, as the caller names it.
func (l *Locator) base(tid int, dir int32) (string, error) {
	s := &l.start
	if s.open && s.tid == tid && s.dir == dir {
		if n, err := readlink(s.fd, "", l.link[:]); err == nil {
			if string(l.link[:n]) != s.name {
				s.name = string(l.link[:n])
			}
			return s.name, nil
		}
	}
	l.forget() // also when its process ended, and another one has its number
	name := itoa(tid) + "/cwd"
	if dir != unix.AT_FDCWD {
		name = itoa(tid) + "/fd/" + itoa(int(dir))
	}
	fd, err := Openat2(l.Proc, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	text, err := Readlink(fd, "", l.link[:])
	*s = start{true, fd, tid, dir, text}
	return text, err
}

func (l *Locator) forget() {
	if l.start.open {
		Close(l.start.fd)
	}
	l.start = start{}
}

// Descriptor is the name of what the caller has open as fd.
func (l *Locator) Descriptor(tid, fd int) (string, error) {
	return Readlink(l.Proc, itoa(tid)+"/fd/"+itoa(fd), l.link[:])
}

// Entry returns the name that a path stands for: its directory with all links
// followed, and its last part as it is.
func (l *Locator) Entry(c Caller, dir int32, p string) (string, error) {
	p = strings.TrimRight(p, "/")
	if p == "" {
		return "/", nil
	}
	slash := strings.LastIndexByte(p, '/')
	name := p[slash+1:]
	if name == "." || name == ".." {
		return l.directory(c, dir, p)
	}
	if slash < 0 {
		base, err := l.base(c.TID, dir)
		return Join(base, name), err
	}
	parent, err := l.directory(c, dir, p[:slash+1])
	if err != nil && err != unix.ELOOP && err != unix.ENOENT || err == nil && !strings.HasPrefix(parent, "/proc/") {
		return Join(parent, name), err
	}
	// To this process, /proc is about itself.
	parent, err = l.expand(c, dir, p[:slash+1])
	return Join(parent, name), err
}

// Join is the name of an entry of a directory.
func Join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// Base is the last part of a name.
func Base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// Parent is the directory of a name.
func Parent(name string) string {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] == '/' {
			return name[:i]
		}
	}
	return "/"
}

// directory resolves the path of a directory.
func (l *Locator) directory(c Caller, dir int32, p string) (string, error) {
	if p == "/" {
		return "/", nil
	}
	if p[0] != '/' {
		base, err := l.base(c.TID, dir)
		if err != nil {
			return "", err
		}
		p = Join(base, p)
	}
	if l.Fixed && l.Known != nil {
		if clean := strings.TrimRight(p, "/"); l.Known(clean) {
			return clean, nil
		}
	}
	fd, err := Openat2(c.Root, p, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return "", err
	}
	name, err := Readlink(l.Proc, "self/fd/"+itoa(fd), l.link[:])
	Close(fd)
	return name, err
}

// Followed returns the target of a name that is a link, as a path to begin anew with;
// ok is false when it is none.
func (l *Locator) Followed(c Caller, name string) (target string, ok bool) {
	fd, err := Openat2(c.Root, name, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return "", false
	}
	text, err := Readlink(fd, "", l.link[:])
	Close(fd)
	if err != nil {
		return "", false
	}
	if !strings.HasPrefix(text, "/") {
		text = Join(path.Dir(name), text)
	}
	return text, true
}

// Own reports whether a name is one of the caller's own descriptors in /proc.
func (l *Locator) Own(c Caller, name string) (fd int, ok bool) {
	rest, ok := strings.CutPrefix(name, "/proc/")
	if !ok {
		return 0, false
	}
	parts := strings.Split(rest, "/")
	if len(parts) >= 4 && parts[1] == "task" {
		parts = append(parts[:1:1], parts[3:]...)
	}
	if len(parts) != 3 || parts[1] != "fd" || !l.itself(c, parts[0]) {
		return 0, false
	}
	for _, d := range parts[2] {
		if d < '0' || d > '9' {
			return 0, false
		}
		fd = fd*10 + int(d-'0')
	}
	return fd, parts[2] != ""
}

// itself reports whether a name in /proc is the caller, by whichever of its numbers.
func (l *Locator) itself(c Caller, name string) bool {
	if name == "self" || name == "thread-self" {
		return true
	}
	fd, err := unix.Openat(l.Proc, itoa(c.TID)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer Close(fd)
	n, _ := unix.Read(fd, l.text[:])
	for line := range strings.Lines(string(l.text[:max(n, 0)])) {
		if ids, ok := strings.CutPrefix(line, "NStgid:"); ok {
			f := strings.Fields(ids)
			return len(f) > 0 && f[len(f)-1] == name
		}
	}
	return false
}

// expand walks a path of a directory step by step where a link of /proc is in it, and
// returns it without that link.
func (l *Locator) expand(c Caller, dir int32, p string) (string, error) {
	base := "/"
	if p[0] != '/' {
		var err error
		if base, err = l.base(c.TID, dir); err != nil {
			return "", err
		}
		p = Join(base, p)
	}
	at, links := "/", 0
	rest := strings.Split(p, "/")
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at != base { // which may be gone: ".." of it stays
				if err := l.isDirectory(c, at); err != nil {
					return "", err
				}
			}
			at = path.Dir(at)
			continue
		}
		next := Join(at, part)
		if next == "/proc/self" || next == "/proc/thread-self" {
			at = "/proc/self"
			continue
		}
		target, ok := l.special(c, next)
		if fd, own := l.Own(c, next); own && !ok {
			text, err := l.Descriptor(c.TID, fd)
			target, ok = text, err == nil && strings.HasPrefix(text, "/")
		}
		if !ok {
			target, ok = l.Followed(c, next)
		}
		if !ok {
			at = next
			continue
		}
		if links++; links > MaxLinks || !strings.HasPrefix(target, "/") {
			return "", unix.ELOOP
		}
		at, rest = "/", append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

// isDirectory returns why no way leads on from a name. What is in /proc this process does
// not see as the caller does.
func (l *Locator) isDirectory(c Caller, name string) error {
	if strings.HasPrefix(name, "/proc/") {
		return nil
	}
	fd, err := Openat2(c.Root, name, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
	if err == nil {
		Close(fd)
	}
	return err
}

// special is where the caller's own links in /proc lead.
func (l *Locator) special(c Caller, name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "/proc/")
	if !ok {
		return "", false
	}
	who, what, _ := strings.Cut(rest, "/")
	if what != "cwd" && what != "root" || !l.itself(c, who) {
		return "", false
	}
	if what == "root" {
		return "/", true
	}
	text, err := l.base(c.TID, unix.AT_FDCWD)
	return text, err == nil
}

// Readlink reads a link relative to a directory.
func Readlink(dir int, name string, buf []byte) (string, error) {
	n, err := readlink(dir, name, buf)
	return string(buf[:n]), err
}

func readlink(dir int, name string, buf []byte) (size int, err error) {
	var b Buffer
	p, err := b.Text(name)
	if err != nil {
		return 0, err
	}
	r, _, errno := syscall.RawSyscall6(unix.SYS_READLINKAT, uintptr(dir), uintptr(unsafe.Pointer(p)),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

func itoa(n int) string { return strconv.Itoa(n) }
