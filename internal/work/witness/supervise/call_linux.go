package supervise

import (
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/calls"
	"kerf/internal/work/witness/journal"
)

// call is a call of the command while it is held.
type call struct {
	*watch
	caller      caller
	form        calls.Form
	notice      *notice
	path, path2 string
	flags       uint64
}

func (c *call) tid() uint32 { return c.notice.pid }

// dir is the descriptor argument with an index, or the working directory.
func (c *call) dir(arg int) int32 {
	if arg < 0 {
		return unix.AT_FDCWD
	}
	return int32(c.notice.args[arg])
}

// do finds out what the call is about to change, and keeps it.
func (c *call) do() error {
	switch c.form.Op {
	case calls.Open:
		return c.open()
	case calls.Truncate:
		return c.existing(written, true)
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
	case calls.Ftruncate, calls.Fchmod, calls.Setflags:
		return c.descriptor()
	}
	return nil
}

// spot is a name in the workspace with what it holds.
type spot struct {
	name  string
	root  *root
	below string
	thing
}

// at resolves the first or the second path of the call. The root of the result is nil
// when the name lies outside.
func (c *call) at(dir int, p string) (spot, error) {
	name, err := c.find1.entry(c.caller, c.dir(dir), p)
	if err != nil {
		return spot{thing: thing{fd: -1}}, err
	}
	return c.spot(name)
}

func (c *call) spot(name string) (spot, error) {
	s := spot{name: name, thing: thing{fd: -1}}
	if s.root, s.below = c.find(name); s.root == nil {
		return s, nil
	}
	var err error
	s.thing, err = look(s.root, s.below)
	return s, err
}

// quiet are names that are opened for writing all the time and hold nothing.
var quiet = map[string]bool{"/dev/null": true, "/dev/tty": true, "/dev/zero": true}

// target is at, with a link at the end of the path followed.
func (c *call) target() (spot, error) {
	if quiet[c.path] {
		return spot{thing: thing{fd: -1}}, nil
	}
	s, err := c.at(c.form.Dir, c.path)
	for range maxLinks {
		if err != nil || s.root != nil && s.state.Kind != journal.Link {
			return s, err
		}
		next, ok := c.find1.followed(c.caller, s.name)
		if !ok {
			return s, nil
		}
		s.close()
		name, err := c.find1.entry(c.caller, unix.AT_FDCWD, next)
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
	defer s.close()
	if err != nil || s.root == nil {
		return err
	}
	writes := flags&(unix.O_WRONLY|unix.O_RDWR|unix.O_TRUNC) != 0
	switch s.state.Kind {
	case journal.Absent:
		if flags&unix.O_CREAT == 0 {
			return nil
		}
		n, err := c.touch(s.name, &s.thing, kept, written)
		if err != nil {
			return err
		}
		n.gone = false
		c.expect(c.tid(), n, created)
		if writes {
			c.expect(c.tid(), n, closed)
		}
		return nil
	case journal.File:
		if exclusive || !writes {
			return nil
		}
	default:
		if n := c.names[s.name]; n != nil && writes {
			c.expect(c.tid(), n, closed) // a pipe or a device that the command made
		}
		return nil
	}
	need := kept
	if flags&(unix.O_APPEND|unix.O_TRUNC|unix.O_RDWR) == unix.O_APPEND {
		need = begun
	}
	if need == kept {
		if err := c.part(&s.thing); err != nil {
			return c.lose(&name{path: s.name}, err)
		}
	}
	n, err := c.touch(s.name, &s.thing, need, written)
	if err != nil {
		return err
	}
	if flags&(unix.O_WRONLY|unix.O_RDWR) != 0 {
		c.expect(c.tid(), n, closed)
	}
	return nil
}

// existing touches a file that is there.
func (c *call) existing(f fate, follow bool) error {
	var s spot
	var err error
	if follow {
		s, err = c.target()
	} else {
		s, err = c.at(c.form.Dir, c.path)
	}
	defer s.close()
	if err != nil || s.root == nil || s.state.Kind != journal.File {
		return err
	}
	if err := c.part(&s.thing); err != nil {
		return c.lose(&name{path: s.name}, err)
	}
	_, err = c.touch(s.name, &s.thing, kept, f)
	return err
}

func (c *call) chmod() error {
	var s spot
	var err error
	if c.form.Flags >= 0 && c.flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		s, err = c.at(c.form.Dir, c.path)
	} else {
		s, err = c.target()
	}
	defer s.close()
	if err != nil || s.root == nil || s.state.Kind == journal.Absent {
		return err
	}
	_, err = c.touch(s.name, &s.thing, looked, written)
	return err
}

// descriptor handles calls on what is open already.
func (c *call) descriptor() error {
	p, err := c.find1.descriptor(c.caller.tid, int(c.dir(c.form.Dir)))
	if err != nil || !strings.HasPrefix(p, "/") {
		return nil // a pipe, or nothing at all
	}
	n := c.names[p]
	if c.form.Op == calls.Setflags && (n == nil || n.level != begun) {
		return nil
	}
	s, err := c.spot(p)
	defer s.close()
	if err != nil || s.root == nil || s.state.Kind == journal.Absent {
		return nil
	}
	need := kept
	if c.form.Op == calls.Fchmod {
		need = looked
	} else if s.state.Kind != journal.File {
		return nil
	}
	if need == kept {
		if err := c.part(&s.thing); err != nil {
			return c.lose(&name{path: s.name}, err)
		}
	}
	_, err = c.touch(s.name, &s.thing, need, written)
	return err
}

func (c *call) unlink() error {
	s, err := c.at(c.form.Dir, c.path)
	defer s.close()
	if err != nil || s.root == nil || s.state.Kind == journal.Absent {
		return err
	}
	dir := c.flags&unix.AT_REMOVEDIR != 0
	if dir != (s.state.Kind == journal.Dir) {
		return nil
	}
	n, err := c.touch(s.name, &s.thing, kept, removed)
	if err != nil {
		return err
	}
	n.gone = true
	c.expect(c.tid(), n, deleted)
	return nil
}

func (c *call) create() error {
	s, err := c.at(c.form.Dir, c.path)
	defer s.close()
	if err != nil || s.root == nil || s.state.Kind != journal.Absent {
		return err
	}
	return c.appear(&s)
}

// appear touches a name that does not exist and is about to.
func (c *call) appear(s *spot) error {
	n, err := c.touch(s.name, &s.thing, kept, written)
	if err != nil {
		return err
	}
	n.gone = false
	c.expect(c.tid(), n, created)
	return nil
}

func (c *call) link() error {
	to, err := c.at(c.form.Dir2, c.path2)
	defer to.close()
	if err != nil || to.root == nil || to.state.Kind != journal.Absent {
		return err
	}
	var from spot
	if c.path != "" {
		from, err = c.at(c.form.Dir, c.path)
		defer from.close()
	}
	if err := c.appear(&to); err != nil {
		return err
	}
	if err != nil || from.root == nil || from.state.Kind != journal.File {
		return nil
	}
	// The content is now at both names: who writes one writes the other.
	a, err := c.touch(from.name, &from.thing, looked, written)
	if err == nil {
		c.names[to.name].held = a.held
	}
	return err
}

func (c *call) rename() error {
	from, err := c.at(c.form.Dir, c.path)
	defer from.close()
	if err != nil {
		return err
	}
	to, err := c.at(c.form.Dir2, c.path2)
	defer to.close()
	if err != nil {
		return err
	}
	if from.root == nil && to.root == nil || from.root != nil && from.state.Kind == journal.Absent {
		return nil
	}
	if c.flags&unix.RENAME_EXCHANGE != 0 {
		return c.exchange(&from, &to)
	}
	switch {
	case c.flags&unix.RENAME_NOREPLACE != 0 && to.state.Kind != journal.Absent,
		from.name == to.name,
		to.state.Kind != journal.Absent && from.state.Sig.Dev == to.state.Sig.Dev && from.state.Sig.Ino == to.state.Sig.Ino:
		return nil
	case from.root == nil:
		n, err := c.touch(to.name, &to.thing, kept, removed)
		if err == nil {
			n.gone = false
			c.expect(c.tid(), n, movedTo)
		}
		return err
	case to.root == nil:
		if from.state.Kind == journal.Dir {
			return c.tree(&from, func(s *spot) error {
				_, err := c.touch(s.name, &s.thing, kept, removed)
				return err
			})
		}
		n, err := c.touch(from.name, &from.thing, kept, removed)
		if err == nil {
			n.gone = true
			c.expect(c.tid(), n, movedFrom)
		}
		return err
	}
	return c.move(&from, &to)
}

// move is a rename within the workspace. What it moves is not kept now: it goes on to
// be there under another name.
func (c *call) move(from, to *spot) error {
	b, err := c.touch(to.name, &to.thing, kept, removed)
	if err != nil {
		return err
	}
	a, err := c.touch(from.name, &from.thing, looked, removed)
	if err != nil {
		return err
	}
	if err := c.carry(a, b); err != nil {
		return err
	}
	if from.state.Kind == journal.Dir {
		err := c.tree(from, func(s *spot) error {
			if s.name == from.name {
				return nil
			}
			inner, err := c.touch(s.name, &s.thing, looked, removed)
			if err != nil {
				return err
			}
			there := to.name + s.name[len(from.name):]
			nothing := thing{fd: -1}
			n, err := c.touchUnseen(there, &nothing)
			if err == nil {
				err = c.carry(inner, n)
			}
			return err
		})
		if err != nil {
			return err
		}
		c.hub.moved(from.name, to.name)
	}
	c.expect(c.tid(), b, movedTo)
	a.expect[movedFrom]++
	return nil
}

// touchUnseen is touch for a name in a directory that is not there yet.
func (c *call) touchUnseen(p string, t *thing) (*name, error) {
	if n := c.names[p]; n != nil && !n.foreign {
		return n, nil
	}
	n := &name{path: p, level: kept}
	c.names[p] = n
	return n, c.write(&journal.Record{Kind: journal.Touch, Path: p, Before: t.state})
}

// carry notes that the content of one name is about to be at another.
func (c *call) carry(a, b *name) error {
	b.held, a.held = a.held, nil
	b.gone, a.gone = false, true
	return c.write(&journal.Record{Kind: journal.Moved, Path: a.path, To: b.path})
}

// exchange keeps both sides whole.
func (c *call) exchange(from, to *spot) error {
	if from.root == nil || to.root == nil || to.state.Kind == journal.Absent {
		return nil
	}
	for _, pair := range [][2]*spot{{from, to}, {to, from}} {
		s, other := pair[0], pair[1]
		err := c.tree(s, func(s1 *spot) error {
			if _, err := c.touch(s1.name, &s1.thing, kept, removed); err != nil {
				return err
			}
			there, err := c.spot(other.name + s1.name[len(s.name):])
			defer there.close()
			if err == nil && there.state.Kind == journal.Absent {
				_, err = c.touchUnseen(there.name, &there.thing)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, s := range []*spot{from, to} {
		if n := c.names[s.name]; n != nil {
			n.expect[movedFrom]++
			n.expect[movedTo]++
		}
	}
	return nil
}

// tree calls f for a name and, if it holds a directory, for all that is below.
func (c *call) tree(s *spot, f func(*spot) error) error {
	if err := f(s); err != nil || s.state.Kind != journal.Dir {
		return err
	}
	fd, err := reopen(s.fd, unix.O_RDONLY|unix.O_DIRECTORY)
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
		if err == nil && inner.state.Kind != journal.Absent {
			err = c.tree(&inner, f)
		}
		inner.close()
		if err != nil {
			return err
		}
	}
	return nil
}
