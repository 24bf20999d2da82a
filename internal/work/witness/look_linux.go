package witness

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
)

// opened opens what a name below one of the roots holds, on a way without links: what
// the command put in the place of a directory leads nowhere.
func (c *collector) opened(name string, flags uint64) (*os.File, error) {
	for _, root := range c.roots {
		below, ok := strings.CutPrefix(name, root)
		if root != "/" && ok {
			below, ok = strings.CutPrefix(below, "/")
		}
		if !ok {
			continue
		}
		if c.dirs[root] == nil {
			d, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY, 0)
			if err != nil {
				return nil, err
			}
			c.dirs[root] = d
		}
		how := unix.OpenHow{Flags: flags | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
		for {
			fd, err := unix.Openat2(int(c.dirs[root].Fd()), below, &how)
			switch err {
			case nil:
				return os.NewFile(uintptr(fd), name), nil
			case unix.EINTR, unix.EAGAIN:
				continue
			case unix.ENOTDIR, unix.ELOOP:
				return nil, fs.ErrNotExist
			}
			return nil, err
		}
	}
	return nil, errors.New(name + " lies outside of the workspace")
}

// leave is how much of the disk stays free when a content is copied to it.
func (c *collector) leave() int64 {
	var st unix.Statfs_t
	if unix.Statfs(c.dir, &st) != nil {
		return 0 // the copy itself tells
	}
	return journal.Leave(int64(st.Blocks) * st.Bsize)
}

// look is what a name holds now; the content is not read.
func (c *collector) look(name string) (journal.State, error) {
	f, err := c.opened(name, unix.O_PATH)
	if errors.Is(err, fs.ErrNotExist) {
		return journal.State{}, nil
	}
	if err != nil {
		return journal.State{}, err
	}
	defer f.Close()
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st); err != nil {
		return journal.State{}, err
	}
	s := journal.StateOf(&st)
	if s.Kind == journal.Link {
		b := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(int(f.Fd()), "", b)
		if err != nil {
			return journal.State{}, err
		}
		s.Data = b[:n]
	}
	return s, nil
}

// file opens a regular file for reading.
func (c *collector) file(name string) (*os.File, error) {
	return c.opened(name, unix.O_RDONLY|unix.O_NONBLOCK)
}

// beingWritten reports whether somebody has a file open for writing, or mapped: the
// kernel then gives no lease to read it. Where it gives none to this process at all that
// is not known, and not said.
func beingWritten(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return err == unix.EAGAIN
}
