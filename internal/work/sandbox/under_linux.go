package sandbox

import (
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/grants"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/render"
)

// landlockVersion is what the kernel knows of Landlock; 0 where it has none, or
// where it is off.
var landlockVersion = sync.OnceValue(func() int {
	v, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
})

// maxGrants bounds the rules for reading: each of them holds a descriptor. Where more
// are needed reading is left to the mounts.
const maxGrants = 400

// handled returns the rights and scopes of a ruleset of the given version, as the
// kernel reads it. TCP is left to the namespace: Landlock tells ports apart and not
// hosts, and commands talk to servers of their own.
func handled(version int, reads bool) (attributes []byte, rights uint64) {
	const nameRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	rights = landWrite
	if reads {
		rights |= nameRights
	}
	for _, r := range []struct {
		since int
		right uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV}} {
		if version < r.since {
			rights &^= r.right
		}
	}
	attributes = words(rights)
	if version >= 6 {
		attributes = words(rights, 0, landScopes)
	}
	return attributes, rights
}

// restrict puts a Landlock ruleset below the mounts, made of the same plan: should a
// mount be wrong, what a command can write or read is still bounded. It holds as far
// as Landlock can tell it, which grants whole trees: names that are closed within a
// writable tree are closed by mounts only. Kernels without Landlock do without.
//
// What lies beside something hidden is named one by one, as it is when the command
// begins.
func (c *compiler) restrict() {
	version := landlockVersion()
	if version == 0 {
		return
	}
	const note = "Landlock rules cannot be set"
	reads := grants.Readable(c.plan.Mounts)
	if len(reads) > maxGrants {
		reads = nil
	}
	attributes, rights := handled(version, reads != nil)
	c.Call(note, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	rules := c.Keep(c.Call(note, unix.SYS_LANDLOCK_CREATE_RULESET, c.Data(attributes), len(attributes), 0))
	for _, path := range reads {
		c.grant(rules, path, rights&landRead)
	}
	const nodes = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	for _, m := range c.plan.Mounts {
		if m.Kind == boundary.MountWrite || m.Kind == boundary.MountTmp {
			c.grant(rules, m.Path, rights&^(nodes|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV))
		}
	}
	c.grant(rules, "/dev", rights&^nodes)
	for _, name := range devices { // which the streams of a command may be, too
		c.grant(rules, "/dev/"+name, rights&^nodes)
	}
	c.streams(rules, rights)
	c.Call(note, unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0)
	c.Call(note, unix.SYS_CLOSE, rules)
}

// streams lets a command open its own streams again by the names they have, such as
// /dev/stdout. A directory must not get there, for it would be granted with all below
// it: none can be mapped or written to.
func (c *compiler) streams(rules launch.Reg, rights uint64) {
	const note = "Landlock rules of the streams"
	add := func(fd int, rights uint64) {
		beneath := c.Data(append(words(rights), 0, 0, 0, 0))
		c.Call(note, launch.Store, beneath.At(8), fd)
		c.Call(note, unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, beneath, 0).Optional = 1
	}
	probe := c.Call(note, unix.SYS_MMAP, 0, 1, unix.PROT_READ, unix.MAP_PRIVATE, 0, 0)
	probe.Optional, probe.Skip = 1, 2
	add(0, rights&unix.LANDLOCK_ACCESS_FS_READ_FILE)
	for _, fd := range []int{1, 2} {
		probe := c.Call(note, unix.SYS_WRITE, fd, []byte{0}, 0)
		probe.Optional, probe.Skip = 1, 2
		add(fd, rights&ofFile&^unix.LANDLOCK_ACCESS_FS_EXECUTE)
	}
}

// restricted returns the program that runs argv within the rules of a plan, and
// nothing else: what bubblewrap starts inside.
func restricted(p boundary.Plan, argv []string) *launch.Program {
	c := &compiler{plan: p, inside: true}
	c.Argv = argv
	c.restrict()
	return &c.Program
}

// within makes argv run by a launcher that bubblewrap starts inside, and returns the
// files for that. It is there without Landlock, too: bubblewrap leaves these files open,
// and the launcher closes them.
func within(p boundary.Plan, argv []string) (inner []string, files []*os.File, err error) {
	program, err := programFile(restricted(p, argv))
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		program.Close()
		return nil, nil, err
	}
	inner = []string{"/proc/self/fd/" + strconv.Itoa(render.LauncherFD), launch.Flag}
	return inner, []*os.File{program, self}, nil
}
