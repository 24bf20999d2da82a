package sandbox

import (
	"encoding/binary"
	"fmt"
	"kerf/internal/work/sandbox/render"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/seccomp"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// namespaces are those of the first process, but for the network's.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// attributes of everything that is mounted inside.
const (
	tame     = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnly = tame | unix.MOUNT_ATTR_RDONLY
)

// devices are what /dev holds.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// compiler turns a plan into the calls of a launcher:
//
//	who      the user is mapped to itself, groups are frozen
//	sources  every directory that will be mounted is opened in the view of
//	         outside, without following a link, before anything is hidden
//	root     the whole disk, read-only, becomes the root; the old one goes away
//	/dev, /proc, then the mounts of the plan in their order
//	rest     loopback, limits, Landlock, keyring, capabilities, the filter
type compiler struct {
	launch.Program
	plan    boundary.Plan
	sources map[string]launch.Reg
	null    launch.Reg
	// inside says that the launcher runs inside already, where there is no openat2
	// while a witness looks on.
	inside bool
}

// compile returns the program that runs argv under p.
func compile(p boundary.Plan, argv []string) *launch.Program {
	c := &compiler{plan: p, sources: make(map[string]launch.Reg)}
	c.Clone = cloned(p.Network)
	c.Terminal = p.TTY
	c.Argv = argv
	c.Env = render.Environment(p, "kerf")
	c.who()
	c.Call("mounts are shared with outside", unix.SYS_MOUNT, "none", "/", nil, unix.MS_REC|unix.MS_PRIVATE, nil)
	c.open()
	c.root()
	c.dev()
	c.proc()
	for i, m := range p.Mounts {
		c.mount(i, m)
	}
	for _, m := range p.Mounts { // last, when the mount points in them are made
		if m.Kind == boundary.MountHideDir {
			c.seal(m.Path)
		}
	}
	c.network()
	if p.Proxy != nil {
		c.listen()
	}
	c.limits()
	c.Call("working directory "+p.Cwd, unix.SYS_CHDIR, p.Cwd)
	c.restrict()
	if p.Witness != nil {
		fd := launch.FirstFile
		if p.Proxy != nil {
			fd++
		}
		c.report(fd)
	}
	c.confine(seccomp.Filter(seccomp.Reach{Network: p.Network}))
	return &c.Program
}

// cloned are the namespaces of a command with or without the network.
func cloned(network bool) uint64 {
	if network {
		return namespaces
	}
	return namespaces | unix.CLONE_NEWNET
}

func (c *compiler) who() {
	uid, gid := os.Geteuid(), os.Getegid()
	for _, f := range []struct{ file, text string }{
		{"setgroups", "deny"}, {"uid_map", fmt.Sprintf("%d %d 1", uid, uid)}, {"gid_map", fmt.Sprintf("%d %d 1", gid, gid)},
	} {
		note := "users cannot be mapped (" + f.file + ")"
		fd := c.Keep(c.Call(note, unix.SYS_OPENAT, here, "/proc/self/"+f.file, unix.O_WRONLY|unix.O_CLOEXEC, 0))
		c.Call(note, unix.SYS_WRITE, fd, []byte(f.text), len(f.text))
		c.Call(note, unix.SYS_CLOSE, fd)
	}
}

const sizeofMountAttr = 32

// here is AT_FDCWD as an argument.
const here = uint64(1<<64 - 100)

// resolve opens a path on which no link may lie.
func (c *compiler) resolve(note, path string) launch.Reg {
	how := c.Data(words(unix.O_PATH|unix.O_CLOEXEC, 0, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS))
	return c.Keep(c.Call(note, unix.SYS_OPENAT2, here, path, how, unix.SizeofOpenHow))
}

func words(list ...uint64) []byte {
	var b []byte
	for _, w := range list {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

// copyOf makes a mount of what lies at a path, all mounts below included.
func (c *compiler) copyOf(path string) launch.Reg {
	note := "open " + path
	at := c.resolve(note, path)
	tree := c.Keep(c.Call(note, unix.SYS_OPEN_TREE, at, "",
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE))
	c.Call(note, unix.SYS_CLOSE, at)
	return tree
}

// attributes sets attributes of a mount and of all below it.
func (c *compiler) attributes(note string, tree launch.Reg, set uint64) {
	c.Call(note, unix.SYS_MOUNT_SETATTR, tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, c.Data(words(set, 0, 0, 0)),
		sizeofMountAttr)
}

// attach puts a mount at a path, on which no link may lie.
func (c *compiler) attach(tree launch.Reg, path string) {
	note := "mount " + path
	at := c.resolve(note, path)
	c.Call(note, unix.SYS_MOVE_MOUNT, tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	c.Call(note, unix.SYS_CLOSE, at)
}

// open takes hold of all sources.
func (c *compiler) open() {
	for _, name := range devices { // of which root inside could change the mode outside, if not the data alone
		c.sources["/dev/"+name] = c.copyOf("/dev/" + name)
		c.attributes("restrict /dev/"+name, c.sources["/dev/"+name], readOnly&^unix.MOUNT_ATTR_NODEV)
	}
	c.sources["/"] = c.copyOf("/")
	for _, m := range c.plan.Mounts {
		source, set := m.Path, uint64(tame)
		switch m.Kind {
		case boundary.MountRead:
			set = readOnly
		case boundary.MountTmp:
			source = m.Source
		case boundary.MountHideDir, boundary.MountHideFile:
			source = ""
		}
		if source != "" {
			tree := c.copyOf(source)
			c.attributes("restrict "+source, tree, set)
			c.sources["on "+m.Path] = tree
		}
	}
}

// root makes the disk read-only and moves into it; what was there goes away.
func (c *compiler) root() {
	const note = "the root cannot be changed"
	tree := c.sources["/"]
	c.attributes(note, tree, readOnly)
	c.Call(note, unix.SYS_MOVE_MOUNT, tree, "", here, "/proc", unix.MOVE_MOUNT_F_EMPTY_PATH)
	c.Call(note, unix.SYS_FCHDIR, tree)
	c.Call(note, unix.SYS_PIVOT_ROOT, ".", ".")
	c.Call(note, unix.SYS_UMOUNT2, ".", unix.MNT_DETACH)
	c.Call(note, unix.SYS_CHDIR, "/")
	c.Call(note, unix.SYS_CLOSE, tree)
}

const (
	noExec = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	plain  = unix.MS_NOSUID | unix.MS_NODEV
)

func (c *compiler) dev() {
	const note = "/dev cannot be made"
	c.Call(note, unix.SYS_MOUNT, "tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=64m")
	for _, name := range devices {
		c.file(note, "/dev/"+name)
		tree := c.sources["/dev/"+name]
		c.Call(note, unix.SYS_MOVE_MOUNT, tree, "", here, "/dev/"+name, unix.MOVE_MOUNT_F_EMPTY_PATH)
		if name == "null" {
			c.null = tree // masks are made of it
		} else {
			c.Call(note, unix.SYS_CLOSE, tree)
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		c.Call(note, unix.SYS_SYMLINKAT, target, here, "/dev/"+name)
	}
	c.Call(note, unix.SYS_MKDIRAT, here, "/dev/pts", 0o755)
	c.Call(note, unix.SYS_MKDIRAT, here, "/dev/shm", 0o777)
	c.Call(note, unix.SYS_FCHMODAT, here, "/dev/shm", 0o1777)
	for _, m := range c.plan.Mounts { // a workspace may lie there
		for at := "/dev/shm/"; strings.HasPrefix(m.Path, at) && m.Kind != boundary.MountHideFile; {
			name, _, _ := strings.Cut(m.Path[len(at):], "/")
			c.Call(note, unix.SYS_MKDIRAT, here, at+name, 0o755).Optional = 1
			at += name + "/"
		}
	}
	c.Call(note, unix.SYS_MOUNT, "devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=620")
}

// file makes an empty file as a mount point.
func (c *compiler) file(note, path string) {
	s := c.Call(note, unix.SYS_MKNODAT, here, path, unix.S_IFREG|0o666, 0)
	s.Optional = 1 // it is there
}

// settings are the kernel's own, which root inside could change for outside;
// secrets tell of outside or of the kernel.
var (
	settings = []string{"sys", "sysrq-trigger", "irq", "bus", "fs"}
	secrets  = []string{"kcore", "keys", "key-users", "latency_stats", "timer_list", "sched_debug", "kmsg"}
)

func (c *compiler) proc() {
	const note = "/proc cannot be mounted"
	c.Call(note, unix.SYS_MOUNT, "proc", "/proc", "proc", noExec, nil)
	c.numbers()
	for _, name := range settings {
		path := "/proc/" + name
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		tree := c.copyOf(path)
		c.attributes(note, tree, readOnly)
		c.attach(tree, path)
		c.Call(note, unix.SYS_CLOSE, tree)
	}
	for _, m := range hidden() {
		c.hideFile(m.Path)
	}
}

func (c *compiler) hideFile(path string) {
	note := "hide " + path
	tree := c.Keep(c.Call(note, unix.SYS_OPEN_TREE, c.null,
		"", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH))
	c.attach(tree, path)
	c.Call(note, unix.SYS_CLOSE, tree)
}

func (c *compiler) mount(i int, m boundary.Mount) {
	c.point(i, m)
	note := "mount " + m.Path
	switch {
	case m.Kind == boundary.MountHideFile:
		c.hideFile(m.Path)
	case m.Kind == boundary.MountHideDir:
		// Without the x bit nobody gets to what is open below.
		mode := "mode=0000"
		if m.Pass {
			mode = "mode=0111"
		}
		c.fresh(note, m.Path, mode)
	case m.Kind == boundary.MountTmp && m.Source == "":
		c.fresh(note, m.Path, "mode=1777")
	default:
		tree := c.sources["on "+m.Path]
		c.attach(tree, m.Path)
		c.Call(note, unix.SYS_CLOSE, tree)
	}
}

// fresh mounts empty memory, by way of a descriptor: mount(2) follows links.
func (c *compiler) fresh(note, path, options string) {
	at := c.resolve(note, path)
	c.Call(note, unix.SYS_FCHDIR, at)
	c.Call(note, unix.SYS_MOUNT, "tmpfs", ".", "tmpfs", plain, options)
	c.Call(note, unix.SYS_CHDIR, "/")
	c.Call(note, unix.SYS_CLOSE, at)
}

func (c *compiler) seal(path string) {
	note := "seal " + path
	at := c.resolve(note, path)
	c.Call(note, unix.SYS_MOUNT_SETATTR, at, "", unix.AT_EMPTY_PATH, c.Data(words(unix.MOUNT_ATTR_RDONLY, 0, 0, 0)),
		sizeofMountAttr)
	c.Call(note, unix.SYS_CLOSE, at)
}

// point makes the mount point of m where an earlier mount left nothing.
func (c *compiler) point(i int, m boundary.Mount) {
	var over boundary.Mount
	for _, earlier := range c.plan.Mounts[:i] {
		if earlier.Path != m.Path && pathname.Under(earlier.Path, m.Path) {
			over = earlier
		}
	}
	switch over.Kind {
	case boundary.MountHideDir, boundary.MountTmp:
	default:
		return
	}
	note := "mount point " + m.Path
	var dirs []string
	for dir := path.Dir(m.Path); dir != over.Path; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	for j := len(dirs) - 1; j >= 0; j-- {
		c.directory(note, dirs[j])
	}
	if info, err := os.Lstat(m.Path); err == nil && !info.IsDir() {
		c.file(note, m.Path)
		return
	}
	c.directory(note, m.Path)
}

func (c *compiler) directory(note, path string) {
	s := c.Call(note, unix.SYS_MKDIRAT, here, path, 0o755)
	s.Optional = 1 // it is there
}

// network brings the loopback interface up, which a new namespace has down.
func (c *compiler) network() {
	if c.plan.Network {
		return
	}
	const note = "loopback cannot be brought up"
	request := make([]byte, 40) // struct ifreq
	copy(request, "lo")
	binary.NativeEndian.PutUint16(request[16:], unix.IFF_UP|unix.IFF_RUNNING)
	fd := c.Keep(c.Call(note, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))
	c.Call(note, unix.SYS_IOCTL, fd, unix.SIOCSIFFLAGS, request)
	c.Call(note, unix.SYS_CLOSE, fd)
}

// socketFD is where the launcher finds the socket on which it passes the
// listener of a proxy to Kerf.
const socketFD = launch.FirstFile

// listen opens the port of the proxy inside and hands it out: who accepts there
// is outside, and what was accepted is not seen by anybody else inside.
func (c *compiler) listen() {
	const note = "the network filter cannot be set up"
	address := make([]byte, unix.SizeofSockaddrInet4)
	binary.NativeEndian.PutUint16(address, unix.AF_INET)
	binary.BigEndian.PutUint16(address[2:], render.ProxyPort)
	copy(address[4:], []byte{127, 0, 0, 1})
	fd := c.Keep(c.Call(note, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	c.Call(note, unix.SYS_BIND, fd, address, len(address))
	c.Call(note, unix.SYS_LISTEN, fd, 128)
	c.send(note, socketFD, fd)
}

// send passes a descriptor on through a socket, and closes it here.
func (c *compiler) send(note string, socket int, fd launch.Reg) {
	rights := c.Data(unix.UnixRights(0)) // the descriptor is put in below
	c.Call(note, launch.Store, rights.At(uint64(unix.CmsgLen(0))), fd)
	vector := c.Data(words(0, 1))
	c.Point(vector, 0, c.Data([]byte{1}))
	message := c.Data(words(0, 0, 0, 1, 0, uint64(unix.CmsgSpace(4)), 0)) // struct msghdr
	c.Point(message, 16, vector)
	c.Point(message, 32, rights)
	c.Call(note, unix.SYS_SENDMSG, socket, message, 0)
	c.Call(note, unix.SYS_CLOSE, fd)
}

func (c *compiler) limits() {
	for _, l := range limitList(c.plan.Limits) {
		s := c.Call("limits", unix.SYS_PRLIMIT64, 0, l.resource, c.Data(words(l.value, l.value)), 0)
		s.Optional = 1 // a lower hard limit stands already
	}
	// When memory runs out, commands go first.
	text := "800"
	s := c.Call("limits", unix.SYS_OPENAT, here, "/proc/self/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	s.Optional, s.Skip = 1, 2
	fd := c.Keep(s)
	c.Call("limits", unix.SYS_WRITE, fd, []byte(text), len(text)).Optional = 1
	c.Call("limits", unix.SYS_CLOSE, fd)
}

// confine gives up what this process could do more than others.
func (c *compiler) confine(code []unix.SockFilter) {
	const note = "privileges cannot be dropped"
	c.Call(note, unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, nil).Optional = 1 // kernels without keyrings
	c.Call(note, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	c.Call(note, unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if c.Clone != 0 {
		c.Call(note, unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
		for capability := range lastCapability() + 1 {
			c.Call(note, unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		}
	}
	none := make([]byte, 24)
	capHeader := binary.NativeEndian.AppendUint32(nil, unix.LINUX_CAPABILITY_VERSION_3)
	c.Call(note, unix.SYS_CAPSET, c.Data(append(capHeader, 0, 0, 0, 0)), c.Data(none))
	instructions := c.Data(seccomp.Encode(code))
	fprog := make([]byte, 16)
	putUint16(fprog, len(code))
	ref := c.Data(fprog)
	c.Point(ref, 8, instructions)
	c.Call("seccomp is not available", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, ref)
}

func putUint16(b []byte, n int) { binary.NativeEndian.PutUint16(b, uint16(n)) }

// lastCapability is the highest the kernel knows.
func lastCapability() int {
	n := unix.CAP_LAST_CAP
	text, _ := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	_, _ = fmt.Sscan(string(text), &n)
	return n
}

// programFile holds a program as a launcher finds it.
func programFile(p *launch.Program) (*os.File, error) { return memory("kerf-launch", p.Encode()) }

// filterFile holds the filter as bubblewrap reads it, at its beginning.
func filterFile(r seccomp.Reach) (*os.File, error) {
	return memory("kerf-seccomp", seccomp.Encode(seccomp.Filter(r)))
}

// memory is a file without a name.
func memory(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	// Written at an offset, so that the reader starts at the beginning.
	if _, err := f.WriteAt(content, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("sandbox: %s: %w", name, err)
	}
	return f, nil
}
