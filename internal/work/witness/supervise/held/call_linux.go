//lint:file-ignore SA5001 what a failed look returns is closed, too; closing what is not open does nothing.

package held

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/calls"
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/locate"
	"kerf/internal/work/witness/supervise/content"
	"kerf/internal/work/witness/supervise/held/roots"
	"kerf/internal/work/witness/supervise/listener"
)

// call is a call of the command while it is held.
type call struct {
	*watch
	caller      locate.Caller
	form        calls.Form
	notice      *listener.Notice
	pending     *pending
	path, path2 string
	flags       uint64
	fresh       int // how often it was looked at anew, for directories whose notices began
}

// dir is the descriptor argument with an index, or the working directory.
func (c *call) dir(arg int8) int32 {
	if arg < 0 {
		return unix.AT_FDCWD
	}
	return int32(c.notice.Args[arg])
}

// do finds out what the call is about to change, and keeps it.
func (c *call) do() error {
	switch c.form.Op {
	case calls.Open:
		return c.open()
	case calls.Truncate:
		return c.truncate()
	case calls.Chmod:
		return c.chmod()
	case calls.Unlink:
		return c.unlink()
	case calls.Mkdir, calls.Create:
		return c.create()
	case calls.Link:
		return c.link()
	case calls.Rename:
		return c.rename()
	case calls.Fchmod:
		return c.descriptor(looked)
	case calls.Ftruncate, calls.Setflags:
		return c.descriptor(kept)
	}
	return nil
}

// spot is a name in the workspace with what it holds.
type spot struct {
	name  string
	root  *roots.Root
	below string
	content.Thing
}

// at resolves the first or the second path of the call. The root of the result is nil
// when the name lies outside.
func (c *call) at(dir int8, p string) (spot, error) {
	name, err := c.find1.Entry(c.caller, c.dir(dir), p)
	if err != nil {
		return spot{Thing: content.Thing{FD: -1}}, err
	}
	return c.spot(name)
}

func (c *call) spot(name string) (spot, error) {
	s := spot{name: name, Thing: content.Thing{FD: -1}}
	if s.root, s.below = c.roots.Find(name); s.root == nil || c.ignored[name] {
		s.root = nil
		return s, nil
	}
	if n := c.names[name]; n != nil && len(n.waiting) > 0 {
		c.outlast(func(p *pending) bool { return p != c.pending && slices.Contains(n.waiting, p) })
	}
	var err error
	s.Thing, err = c.look(s.root, s.name, s.below)
	return s, err
}

// meets returns the error that the call is going to meet, as the caller sees the name:
// other calls that are under way could change that before it goes on. Where the caller
// sees something else it goes on.
func (c *call) meets(s *spot, errno syscall.Errno) error {
	var seen content.Thing
	err := seen.Lstat(c.caller.Root, strings.TrimPrefix(s.name, "/"))
	switch {
	case s.State.Kind == journal.Absent && (err == unix.ENOENT || err == unix.ENOTDIR):
		return err // a file may stand where a directory would have to
	case s.State.Kind != journal.Absent && err == nil && seen.ID == s.ID:
		return errno
	}
	return nil
}

// quiet are names that are opened for writing all the time and hold nothing.
var quiet = map[string]bool{"/dev/null": true, "/dev/tty": true, "/dev/zero": true}

// target is at, with a link at the end of the path followed.
func (c *call) target() (spot, error) {
	if quiet[c.path] {
		return spot{Thing: content.Thing{FD: -1}}, nil
	}
	s, err := c.at(c.form.Dir, c.path)
	for range locate.MaxLinks {
		if err != nil || s.root != nil && s.State.Kind != journal.Link {
			return s, err
		}
		if fd, own := c.find1.Own(c.caller, s.name); own {
			s.Close()
			return c.opened(fd)
		}
		next, ok := c.find1.Followed(c.caller, s.name)
		if !ok {
			return s, nil
		}
		s.Close()
		name, err := c.find1.Entry(c.caller, unix.AT_FDCWD, next)
		if err != nil {
			return s, err
		}
		if s, err = c.spot(name); err != nil {
			return s, err
		}
	}
	return s, unix.ELOOP
}

func (c *call) open() error {
	flags := c.flags
	if flags&unix.O_PATH != 0 || flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return nil
	}
	exclusive := flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL
	var s spot
	var err error
	if exclusive || flags&unix.O_NOFOLLOW != 0 {
		s, err = c.at(c.form.Dir, c.path)
	} else {
		s, err = c.target()
	}
	defer s.Close()
	opens := flags&(unix.O_WRONLY|unix.O_RDWR) != 0
	writes := opens || flags&unix.O_TRUNC != 0
	switch {
	case err != nil:
		return err
	case s.root == nil && writes:
		if opens {
			number := c.several.Number(s.ID)
			c.parted(number, 1) // it is closed where nobody is told
			c.several.Of(number).Opened()
		}
		return c.nameless(&s, kept)
	case s.root == nil:
		return nil
	}
	switch s.State.Kind {
	case journal.Absent:
		if flags&unix.O_CREAT == 0 {
			return c.meets(&s, unix.ENOENT)
		}
		n, err := c.touch(&s, kept, content.Written)
		if err != nil {
			return err
		}
		c.expect(n, created)
		if opens {
			c.expect(n, opened)
		}
		return nil
	case journal.File:
		if exclusive {
			return c.meets(&s, unix.EEXIST)
		}
		if !writes { // it could be gone until the call goes on
			_, err := c.touch(&s, looked, content.Removed)
			return err
		}
	default:
		if n := c.names[s.name]; n != nil && opens {
			c.expect(n, opened) // a pipe or a device that the command made
		}
		return nil
	}
	if opens {
		if err := c.pin(&s); err != nil {
			return err
		}
		c.hub.tellApart(c.watch, s.FD)
	}
	need, f := kept, content.Written
	if flags&(unix.O_APPEND|unix.O_TRUNC|unix.O_RDWR) == unix.O_APPEND {
		need = begun
	}
	n, err := c.touch(&s, need, f)
	if err == nil && opens {
		c.expect(n, opened)
	}
	return err
}

// truncate touches a file that is there.
func (c *call) truncate() error {
	s, err := c.target()
	defer s.Close()
	switch {
	case err != nil:
		return err
	case s.root == nil:
		return c.nameless(&s, kept)
	case s.State.Kind == journal.Absent:
		return c.meets(&s, unix.ENOENT)
	case s.State.Kind != journal.File:
		return nil
	}
	_, err = c.touch(&s, kept, content.Written)
	return err
}

func (c *call) chmod() error {
	if c.path == "" && c.form.Flags >= 0 && c.flags&unix.AT_EMPTY_PATH != 0 {
		return c.descriptor(looked)
	}
	var s spot
	var err error
	if c.flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		s, err = c.at(c.form.Dir, c.path)
	} else {
		s, err = c.target()
	}
	defer s.Close()
	switch {
	case err != nil:
		return err
	case s.root == nil:
		return c.nameless(&s, looked)
	case s.State.Kind == journal.Absent:
		return c.meets(&s, unix.ENOENT)
	}
	if _, err = c.touch(&s, looked, content.Written); err == nil {
		err = c.mode(&s)
	}
	return err
}

// mode notes which permissions the call is about to give.
func (c *call) mode(s *spot) error {
	asked, err := c.form.Permissions(&c.notice.Args, c.notice.Read)
	if err != nil {
		return nil // the call is going to meet it
	}
	return c.write(&journal.Record{Kind: journal.Mode, Path: s.name, Number: int64(asked),
		Before: journal.State{Kind: s.State.Kind, Sig: s.State.Sig, Mode: s.State.Mode}})
}

// descriptor handles calls on what is open already, and may have another name by now, or
// none.
func (c *call) descriptor(need level) error {
	s, err := c.opened(int(c.dir(c.form.Dir)))
	defer s.Close()
	if err != nil {
		return err
	}
	if c.form.Op == calls.Setflags {
		if known := c.files[s.ID]; known == nil || known.level != begun {
			return nil
		}
	}
	switch {
	case s.root != nil && (need == looked || s.State.Kind == journal.File):
		_, err = c.touch(&s, need, content.Written)
	case s.root == nil:
		err = c.nameless(&s, need)
	}
	if err == nil && s.ID.Ino != 0 && (c.form.Op == calls.Fchmod || c.form.Op == calls.Chmod) {
		err = c.mode(&s)
	}
	return err
}

// nameless handles a change of what the caller has open, when its name is gone: only what
// was touched before under that name is of interest.
func (c *call) nameless(s *spot, need level) error {
	if known := c.files[s.ID]; known != nil && s.State.Kind == journal.File {
		c.forget(&s.Thing, content.Written)
		return c.use(known, &s.Thing, need, content.Written)
	}
	return nil
}

// opened is what the caller has open. The root of the result is nil when it has no name
// in the workspace.
func (c *call) opened(fd int) (spot, error) {
	none := spot{Thing: content.Thing{FD: -1}}
	p, err := c.find1.Descriptor(c.caller.TID, fd)
	if err != nil || !strings.HasPrefix(p, "/") {
		return none, nil // a pipe, or nothing at all
	}
	link := strconv.Itoa(c.caller.TID) + "/fd/" + strconv.Itoa(fd)
	var held content.Thing
	if held.Stat(c.find1.Proc, link) != nil {
		return none, nil
	}
	s, err := c.spot(p)
	if err == nil && s.root != nil && s.ID == held.ID {
		return s, nil
	}
	s.Close()
	if c.files[held.ID] == nil {
		return none, nil
	}
	held.FD, err = unix.Openat(c.find1.Proc, link, unix.O_PATH|unix.O_CLOEXEC, 0)
	return spot{Thing: held}, err
}

func (c *call) unlink() error {
	s, err := c.at(c.form.Dir, c.path)
	defer s.Close()
	dir := c.flags&unix.AT_REMOVEDIR != 0
	switch {
	case err != nil || s.root == nil:
		return err
	case s.State.Kind == journal.Absent:
		return c.meets(&s, unix.ENOENT)
	case dir && s.State.Kind != journal.Dir:
		return c.meets(&s, unix.ENOTDIR)
	case !dir && s.State.Kind == journal.Dir:
		return c.meets(&s, unix.EISDIR)
	}
	n, err := c.touch(&s, kept, content.Removed)
	if err == nil {
		c.expect(n, deleted)
	}
	return err
}

func (c *call) create() error {
	s, err := c.vacant(c.form.Dir, c.path)
	defer s.Close()
	if err != nil || s.root == nil {
		return err
	}
	return c.appear(&s)
}

// vacant is at for a name that is about to be made. The call fails if it is there.
func (c *call) vacant(dir int8, p string) (spot, error) {
	s, err := c.at(dir, p)
	if err == nil && s.root != nil && s.State.Kind != journal.Absent {
		err = c.meets(&s, unix.EEXIST)
		s.root = nil
	}
	return s, err
}

// appear touches a name that does not exist and is about to.
func (c *call) appear(s *spot) error {
	n, err := c.touch(s, kept, content.Written)
	if err == nil {
		c.expect(n, map[calls.Op]event{calls.Mkdir: madeDir}[c.form.Op]) // created otherwise
	}
	return err
}

func (c *call) link() error {
	from, err := c.source() // the kernel looks at it first, too
	defer from.Close()
	switch {
	case err != nil:
		return err
	case from.root != nil && from.State.Kind == journal.Absent:
		return c.meets(&from, unix.ENOENT)
	}
	to, err := c.at(c.form.Dir2, c.path2)
	defer to.Close()
	switch {
	case err != nil || to.root == nil:
		return err
	case to.State.Kind == journal.Absent:
	case from.root != nil:
		return c.meets(&to, unix.EEXIST)
	case to.State.Kind == journal.File: // the kernel knows whether there is a source
		_, err := c.touch(&to, looked, content.Removed)
		return err
	default:
		return nil
	}
	if err := c.appear(&to); err != nil || from.root == nil || from.State.Kind != journal.File {
		return err
	}
	// The content is now at both names: who writes one writes the other.
	n, err := c.touch(&from, looked, content.Removed)
	if err == nil {
		err = c.linkedFile(&from, n)
		c.names[to.name].linked = n.linked
	}
	return err
}

// source is the file that is about to get another name.
func (c *call) source() (spot, error) {
	switch {
	case c.path == "":
		return c.opened(int(c.dir(c.form.Dir)))
	case c.form.Flags >= 0 && c.flags&unix.AT_SYMLINK_FOLLOW != 0:
		return c.target()
	}
	return c.at(c.form.Dir, c.path)
}

func (c *call) rename() error {
	from, err := c.at(c.form.Dir, c.path)
	defer from.Close()
	if err != nil {
		return err
	}
	to, err := c.at(c.form.Dir2, c.path2)
	defer to.Close()
	if err != nil {
		return err
	}
	if from.State.Kind == journal.Dir || to.State.Kind == journal.Dir {
		c.turn(from.name, to.name)
	}
	switch {
	case from.root == nil && to.root == nil, from.name == to.name:
		return nil
	case from.root != nil && from.State.Kind == journal.Absent:
		return c.meets(&from, unix.ENOENT)
	case c.flags&unix.RENAME_EXCHANGE != 0:
		return c.exchange(&from, &to)
	case c.flags&unix.RENAME_NOREPLACE != 0 && to.root != nil && to.State.Kind != journal.Absent:
		return c.meets(&to, unix.EEXIST)
	case from.root == nil:
		n, err := c.touch(&to, kept, content.Removed)
		if err == nil {
			c.expect(n, movedTo)
			c.pending.comes = true
			c.pending.then = func() {
				c.parted(n.linked, n.writers)
				n.linked = 0
			}
		}
		return err
	case to.root == nil:
		return c.leave(&from)
	}
	return c.move(&from, &to)
}

// leave is a rename to a place outside of the workspace.
func (c *call) leave(from *spot) error {
	var inner []*name
	err := c.tree(from, func(s *spot) error {
		n, err := c.touch(s, kept, content.Removed)
		inner = append(inner, n)
		return err
	})
	if err != nil {
		return err
	}
	c.expect(inner[0], movedFrom)
	c.pending.then = func() {
		for _, n := range inner {
			n.gone, n.writers = true, 0
		}
		if len(inner) > 1 {
			c.hub.movedBy(c.watch, inner[0].path)
			c.hub.dirs.Drop(c.hub.dirs.Below(inner[0].path))
		}
	}
	return nil
}

// pair is where something was and where it is going to be.
type pair struct{ from, to *name }

// move is a rename within the workspace. What it moves is not kept now: it goes on to
// be there under another name.
func (c *call) move(from, to *spot) error {
	b, err := c.touch(to, kept, content.Removed)
	if err != nil {
		return err
	}
	var pairs []pair
	err = c.tree(from, func(s *spot) error {
		n, err := c.touch(s, looked, content.Removed)
		if err != nil {
			return err
		}
		there := b
		switch p := to.name + s.name[len(from.name):]; {
		case s.name == from.name:
		case to.State.Kind == journal.Absent:
			there, err = c.touchUnseen(p)
		default:
			there, err = c.exchanged(p)
		}
		pairs = append(pairs, pair{n, there})
		return err
	})
	if err != nil {
		return err
	}
	c.expect(pairs[0].from, movedFrom)
	c.expect(b, movedTo)
	dir := from.State.Kind == journal.Dir
	c.pending.then = func() {
		if dir {
			a := pairs[0].from.path
			pairs = append(pairs, c.went(c.inside(pairs, a), a, b.path)...)
			c.passes(pairs)
		}
		for _, p := range pairs {
			c.parted(p.to.linked, p.to.writers)
			p.to.writers, p.from.writers = p.from.writers, 0
			p.to.counts(p.to.writers)
			p.to.closed, p.from.closed = p.from.closed, content.Inode{}
			p.to.linked, p.from.linked = p.from.linked, 0
			p.from.gone, p.to.gone = true, false
			c.along(p)
		}
		if dir {
			c.hub.movedBy(c.watch, pairs[0].from.path)
			c.hub.dirs.Moved(pairs[0].from.path, b.path)
		}
	}
	return nil
}

// inside are the names below a directory that were touched after it was read, by others of the
// command, until it moved: what they hold moved, too, and what is under way may come there.
func (c *call) inside(read []pair, dir string) (list []*name) {
	mark := func(is bool) {
		for _, r := range read {
			r.from.read = is
		}
		for _, p := range c.calls {
			for _, n := range p.names {
				n.under = is && (n.under || len(p.expects) > 0)
			}
		}
	}
	mark(true)
	for p, n := range c.names {
		if strings.HasPrefix(p, dir+"/") && !n.read && (!n.gone || n.under) {
			list = append(list, n)
		}
	}
	mark(false)
	return list
}

// went are names below a directory with those that they have now.
func (c *call) went(list []*name, from, to string) (pairs []pair) {
	for _, n := range list {
		there, err := c.touchUnseen(to + n.path[len(from):])
		if err != nil {
			return nil // no call goes on any more
		}
		pairs = append(pairs, pair{n, there})
	}
	return pairs
}

// exchange is a rename of two names to each other.
func (c *call) exchange(from, to *spot) error {
	switch {
	case to.State.Kind == journal.Absent && to.root != nil:
		return c.meets(to, unix.ENOENT)
	case from.root == nil:
		return c.leave(to)
	case to.root == nil:
		return c.leave(from)
	}
	var pairs []pair
	for _, side := range [][2]*spot{{from, to}, {to, from}} {
		here, other := side[0], side[1]
		err := c.tree(here, func(s *spot) error {
			n, err := c.touch(s, looked, content.Removed)
			if err != nil {
				return err
			}
			there, err := c.exchanged(other.name + s.name[len(here.name):])
			pairs = append(pairs, pair{n, there})
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, n := range []*name{c.names[from.name], c.names[to.name]} {
		c.expect(n, movedFrom)
		c.expect(n, movedTo)
	}
	a, b := from.name, to.name
	c.pending.then = func() {
		one, other := c.inside(pairs, a), c.inside(pairs, b)
		pairs = slices.Concat(pairs, c.went(one, a, b), c.went(other, b, a))
		c.passes(pairs)
		swap(pairs)
		c.along(pairs...)
		c.hub.movedBy(c.watch, a)
		c.hub.movedBy(c.watch, b)
		c.hub.dirs.Exchanged(a, b)
	}
	return nil
}

// exchanged touches the name that something is going to have after an exchange.
func (c *call) exchanged(p string) (*name, error) {
	_, _ = c.hub.dirs.Observe(c.watch, locate.Parent(p)) // before it is looked at
	there, err := c.spot(p)
	defer there.Close()
	if err == nil && there.State.Kind != journal.Absent {
		return c.touch(&there, looked, content.Removed)
	}
	return c.touchUnseen(p)
}

// swap gives names what they were told of each other.
func swap(pairs []pair) {
	type told struct {
		writers int
		closed  content.Inode
		linked  int32
	}
	were := make(map[*name]told, len(pairs))
	for _, p := range pairs {
		were[p.from] = told{p.from.writers, p.from.closed, p.from.linked}
		p.from.gone = true
	}
	for _, p := range pairs {
		p.from.writers, p.from.closed, p.from.linked = 0, content.Inode{}, 0
	}
	for _, p := range pairs {
		p.to.writers, p.to.closed, p.to.linked = were[p.from].writers, were[p.from].closed, were[p.from].linked
		p.to.gone = false
		p.to.counts(p.to.writers)
	}
}

// tree calls f for a name and, if it holds a directory, for all that is below.
func (c *call) tree(s *spot, f func(*spot) error) error {
	if err := f(s); err != nil || s.State.Kind != journal.Dir {
		return err
	}
	if err := c.pin(s); err != nil {
		return err
	}
	_, _ = c.hub.dirs.Observe(c.watch, s.name) // before it is read
	fd, err := content.Reopen(s.FD, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil // who cannot list it has no more to lose than its name
	}
	d := os.NewFile(uintptr(fd), s.name)
	defer d.Close()
	entries, err := d.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		inner, err := c.spot(path.Join(s.name, e))
		if err == nil && inner.State.Kind != journal.Absent {
			err = c.tree(&inner, f)
		}
		inner.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
