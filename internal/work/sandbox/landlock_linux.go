package sandbox

import (
	"errors"
	"kerf/internal/work/sandbox/render"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/grants"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/seccomp"
	"os"

	"golang.org/x/sys/unix"
)

// The rights over files that Landlock knows, by what they do.
const (
	landRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	landNet    = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	landScopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	// ofFile are the rights that fit a file; more is an error.
	ofFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// expressible says why Landlock alone cannot enforce p, or nil. It grants access
// to whole trees: a single name in a tree that is open cannot be closed, but for
// reading everything else can be named instead.
func expressible(p boundary.Plan) error {
	switch {
	case p.Mode != boundary.ReadOnly:
		return errors.New("it protects no single name in a directory that is writable")
	case p.Network || p.Proxy != nil:
		return errors.New("it does not filter the network")
	}
	for _, m := range p.Mounts {
		if m.Kind == boundary.MountWrite || m.Kind == boundary.MountTmp && m.Source != "" {
			return errors.New("it gives no private directories")
		}
	}
	return nil
}

// compileLandlock returns the program that runs argv under a plan that is
// expressible. There are no namespaces: processes of others can be seen, but
// neither signalled nor looked into, and there is no network at all.
func compileLandlock(p boundary.Plan, argv []string) *launch.Program {
	c := &compiler{plan: p}
	c.Argv, c.Terminal = argv, p.TTY
	c.Env = append(render.Environment(p, boundary.Landlock), "KERF_SANDBOX_PROCESSES_VISIBLE=1")
	const note = "Landlock is not available in version 6 or later"
	attributes := words(landRead|landWrite, landNet, landScopes)
	// PR_SET_NO_NEW_PRIVS has to be there before the rules.
	c.Call(note, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	rules := c.Keep(c.Call(note, unix.SYS_LANDLOCK_CREATE_RULESET, c.Data(attributes), len(attributes), 0))
	for _, path := range grants.Readable(p.Mounts) {
		c.grant(rules, path, landRead)
	}
	for _, name := range devices {
		c.grant(rules, "/dev/"+name, landRead|unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	}
	c.Call(note, unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0)
	c.limits()
	c.Call("working directory "+p.Cwd, unix.SYS_CHDIR, p.Cwd)
	c.confine(seccomp.Filter(seccomp.Reach{Alone: true}))
	return &c.Program
}

// grant allows access to a path and, when it is a directory, to all below it. What it
// opens is closed with the start of the command.
func (c *compiler) grant(rules launch.Reg, path string, rights uint64) {
	note := "open " + path + " for reading"
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		return // a link is followed to what was granted, or is not
	}
	if !info.IsDir() {
		rights &= ofFile
	}
	var open *launch.Step
	if c.inside {
		open = c.Call(note, unix.SYS_OPENAT, here, path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	} else {
		how := c.Data(words(unix.O_PATH|unix.O_CLOEXEC, 0, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS))
		open = c.Call(note, unix.SYS_OPENAT2, here, path, how, unix.SizeofOpenHow)
	}
	open.Optional, open.Skip = 1, 2    // gone meanwhile, or not for this user
	alone := c.Clone == 0 && !c.inside // there may be more rules than descriptors then
	if alone {
		open.Skip++
	}
	at := c.Keep(open)
	beneath := c.Data(append(words(rights), 0, 0, 0, 0)) // struct landlock_path_beneath_attr, packed
	c.Call(note, launch.Store, beneath.At(8), at)
	c.Call(note, unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, beneath, 0)
	if alone {
		c.Call(note, unix.SYS_CLOSE, at)
	}
}
