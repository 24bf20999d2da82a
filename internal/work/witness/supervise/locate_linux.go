package supervise

import (
	"path"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxLinks bounds how many links are followed for one name, as the kernel does.
const maxLinks = 40

// locator finds out which file a call means.
type locator struct {
	proc int // descriptor of /proc
	// root is that of the processes, when all have the same one; below zero it is looked
	// up for each call.
	root  int
	fixed bool
	text  [2 * pageSize]byte
	link  [pageSize]byte
}

// caller is who made a call, while it is looked at.
type caller struct {
	tid  int
	root int // descriptor of its root directory
}

// openat2 opens a path below a directory that stands for the root.
func openat2(dir int, name string, flags, resolve uint64) (int, error) {
	p, err := unix.BytePtrFromString(name)
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

func closeFD(fd int) { _, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// enter opens the caller's root.
func (l *locator) enter(tid int) (caller, error) {
	if l.fixed && l.root >= 0 {
		return caller{tid, l.root}, nil
	}
	fd, err := unix.Openat(l.proc, itoa(tid)+"/root", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return caller{}, err
	}
	if l.fixed {
		l.root = fd
	}
	return caller{tid, fd}, nil
}

func (l *locator) leave(c caller) {
	if !l.fixed {
		closeFD(c.root)
	}
}

// base is the directory that a relative name starts at, as the caller names it.
func (l *locator) base(tid int, dir int32) (string, error) {
	name := itoa(tid) + "/cwd"
	if dir != unix.AT_FDCWD {
		name = itoa(tid) + "/fd/" + itoa(int(dir))
	}
	return readlink(l.proc, name, l.link[:])
}

// descriptor is the name of what the caller has open as fd.
func (l *locator) descriptor(tid, fd int) (string, error) {
	return readlink(l.proc, itoa(tid)+"/fd/"+itoa(fd), l.link[:])
}

// entry returns the name that a path stands for: its directory with all links
// followed, and its last part as it is.
func (l *locator) entry(c caller, dir int32, p string) (string, error) {
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
		base, err := l.base(c.tid, dir)
		return join(base, name), err
	}
	parent, err := l.directory(c, dir, p[:slash+1])
	if err != nil && err != unix.ELOOP && err != unix.ENOENT || err == nil && !strings.HasPrefix(parent, "/proc/") {
		return join(parent, name), err
	}
	// To this process, /proc is about itself.
	parent, err = l.expand(c, dir, p[:slash+1])
	return join(parent, name), err
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// directory resolves the path of a directory.
func (l *locator) directory(c caller, dir int32, p string) (string, error) {
	if p == "/" {
		return "/", nil
	}
	if p[0] != '/' {
		base, err := l.base(c.tid, dir)
		if err != nil {
			return "", err
		}
		p = join(base, p)
	}
	fd, err := openat2(c.root, p, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return "", err
	}
	name, err := readlink(l.proc, "self/fd/"+itoa(fd), l.link[:])
	closeFD(fd)
	return name, err
}

// followed returns the target of a name that is a link, as a path to begin anew with;
// ok is false when it is none.
func (l *locator) followed(c caller, name string) (target string, ok bool) {
	if fd, magic := l.magic(c, name); magic {
		text, err := l.descriptor(c.tid, fd)
		return text, err == nil && strings.HasPrefix(text, "/")
	}
	fd, err := openat2(c.root, name, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return "", false
	}
	text, err := readlink(fd, "", l.link[:])
	closeFD(fd)
	if err != nil {
		return "", false
	}
	if !strings.HasPrefix(text, "/") {
		text = join(path.Dir(name), text)
	}
	return text, true
}

// magic reports whether a name is one of the caller's own descriptors in /proc.
func (l *locator) magic(c caller, name string) (fd int, ok bool) {
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
func (l *locator) itself(c caller, name string) bool {
	if name == "self" || name == "thread-self" {
		return true
	}
	fd, err := unix.Openat(l.proc, itoa(c.tid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer closeFD(fd)
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
func (l *locator) expand(c caller, dir int32, p string) (string, error) {
	if p[0] != '/' {
		base, err := l.base(c.tid, dir)
		if err != nil {
			return "", err
		}
		p = join(base, p)
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
			at = path.Dir(at)
			continue
		}
		next := join(at, part)
		if next == "/proc/self" || next == "/proc/thread-self" {
			at = "/proc/self"
			continue
		}
		target, ok := l.special(c, next)
		if !ok {
			target, ok = l.followed(c, next)
		}
		if !ok {
			at = next
			continue
		}
		if links++; links > maxLinks || !strings.HasPrefix(target, "/") {
			return "", unix.ELOOP
		}
		at, rest = "/", append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

// special is where the caller's own links in /proc lead.
func (l *locator) special(c caller, name string) (string, bool) {
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
	text, err := l.base(c.tid, unix.AT_FDCWD)
	return text, err == nil
}
