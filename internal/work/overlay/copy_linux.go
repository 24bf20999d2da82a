package overlay

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"kerf/internal/text/order"
)

// Copied says what a copy of a directory took.
type Copied struct {
	Files  int
	Bytes  int64 // that were written; files that share their blocks count nothing
	Shared int   // files that share the blocks of what they are copies of
	Left   int   // pipes, sockets and devices, which are not copied
}

// mark is how a copied path is known again: what changes it changes one of these.
type mark struct {
	Ino   uint64
	Ctime int64
	Dir   bool
	Mode  uint32 // the permission bits; all that changes them changes Ctime
}

func markOf(st *syscall.Stat_t) mark {
	return mark{st.Ino, st.Ctim.Nano(), st.Mode&syscall.S_IFMT == syscall.S_IFDIR, st.Mode & 0o777}
}

// Weight is what a copy of a directory would take: its files, and the bytes of disk, about.
type Weight struct {
	Files int
	Bytes int64
}

// block is what a small file, a directory or a link takes.
const block = 4096

// Weigh looks at what a copy of the lower directory would take, without making it. Where files
// can share their blocks, each takes no more than its entry.
func (l Layer) Weigh() (Weight, error) {
	var w Weight
	shares, asked := false, false
	err := filepath.WalkDir(l.Lower, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && path != l.Lower {
				return nil
			}
			return err
		}
		w.Bytes += block
		if !d.Type().IsRegular() {
			return nil
		}
		w.Files++
		info, err := d.Info()
		if err != nil {
			return nil // gone meanwhile
		}
		size := info.Size()
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			size = min(size, st.Blocks*512) // holes stay holes
		}
		if size <= block {
			return nil
		}
		if !asked {
			shares, asked = l.shares(path), true
		}
		if !shares {
			w.Bytes += size - block
		}
		return nil
	})
	if err != nil {
		return w, fmt.Errorf("look at %s: %w", l.Lower, err)
	}
	return w, nil
}

// shares reports whether a copy of a file can share its blocks.
func (l Layer) shares(path string) bool {
	probe := filepath.Join(l.Work, "probe")
	defer os.Remove(probe)
	from, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer from.Close()
	f, err := os.OpenFile(probe, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.IoctlFileClone(int(f.Fd()), int(from.Fd())) == nil
}

// same reports whether nothing changed the path between two marks.
func (m mark) same(o mark) bool { return m.Ino == o.Ino && m.Ctime == o.Ctime && m.Dir == o.Dir }

// Copy makes the upper directory of a layer a copy of the lower one, and notes in the work
// directory what is in it. Files share their blocks where the file system can do that.
func (l Layer) Copy() (Copied, error) {
	var c Copied
	err := filepath.WalkDir(l.Lower, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = c.one(path, l.over(path), d)
		}
		if errors.Is(err, fs.ErrNotExist) && path != l.Lower {
			return nil // gone meanwhile
		}
		return err
	})
	if err != nil {
		return c, fmt.Errorf("copy %s: %w", l.Lower, err)
	}
	marks := map[string]mark{}
	err = filepath.WalkDir(l.Upper, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == l.Upper {
			return err
		}
		if d.IsDir() { // its time changed with each name that came into it
			if err := timesOf(l.under(path), path); err != nil {
				return err
			}
		}
		info, err := os.Lstat(path)
		if err == nil {
			rel, _ := filepath.Rel(l.Upper, path)
			marks[rel] = markOf(info.Sys().(*syscall.Stat_t))
		}
		return err
	})
	if err != nil {
		return c, fmt.Errorf("copy %s: %w", l.Lower, err)
	}
	f, err := os.OpenFile(l.marks(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return c, err
	}
	return c, errors.Join(gob.NewEncoder(f).Encode(marks), f.Sync(), f.Close())
}

func (l Layer) marks() string { return filepath.Join(l.Work, "copied") }

// over is the place in the copy of a path of the lower directory; under is the reverse.
func (l Layer) over(path string) string { return l.Upper + strings.TrimPrefix(path, l.Lower) }

func (l Layer) under(path string) string { return l.Lower + strings.TrimPrefix(path, l.Upper) }

// one copies one path.
func (c *Copied) one(path, to string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t)
	switch t := info.Mode().Type(); t {
	case fs.ModeDir:
		if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		if err := os.Symlink(target, to); err != nil {
			return err
		}
	case 0:
		if err := c.file(path, to); err != nil {
			return err
		}
	default:
		c.Left++
		return nil
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(to, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if info.Mode().Type() != fs.ModeSymlink {
		if err := unix.Chmod(to, st.Mode&0o7777); err != nil {
			return err
		}
	}
	return timesOf(path, to)
}

// timesOf gives a path the times of another one.
func timesOf(path, to string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return nil // gone meanwhile
		}
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, to, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

// file copies the content of a file, by sharing it where that is possible.
func (c *Copied) file(path, to string) error {
	from, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	c.Files++
	if unix.IoctlFileClone(int(f.Fd()), int(from.Fd())) == nil {
		c.Shared++
		return f.Close()
	}
	return errors.Join(c.data(f, from), f.Close())
}

// data writes what a file holds. Holes stay holes.
func (c *Copied) data(f, from *os.File) error {
	for at := int64(0); ; {
		begin, err := from.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // nothing but a hole follows
		}
		if err != nil {
			return err
		}
		end, err := from.Seek(begin, unix.SEEK_HOLE)
		if err == nil {
			_, err = from.Seek(begin, io.SeekStart)
		}
		if err == nil {
			_, err = f.Seek(begin, io.SeekStart)
		}
		if err != nil {
			return err
		}
		n, err := io.CopyN(f, from, end-begin)
		if c.Bytes += n; errors.Is(err, io.EOF) {
			break // it became shorter
		}
		if err != nil {
			return err
		}
		at = end
	}
	size, err := from.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return f.Truncate(size)
}

// Changes tells what was done to a copy since it was made, as [Walk] tells it of an upper
// layer: all that differs, and the directories above it.
func (l Layer) Changes() ([]Entry, error) {
	f, err := os.Open(l.marks())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	marks := map[string]mark{}
	if err := gob.NewDecoder(f).Decode(&marks); err != nil {
		return nil, err
	}
	changed := map[string]Entry{}
	add := func(rel string, k Kind) {
		changed[rel] = entry(marks, rel, k)
		for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
			if _, known := changed[dir]; known {
				break
			}
			changed[dir] = entry(marks, dir, Dir)
		}
	}
	there := map[string]bool{}
	err = filepath.WalkDir(l.Upper, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == l.Upper {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(l.Upper, path)
		there[rel] = true
		if was, known := marks[rel]; !known || !was.same(markOf(info.Sys().(*syscall.Stat_t))) {
			add(rel, kindOf(info.Mode()))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for rel := range marks {
		if up := filepath.Dir(rel); !there[rel] && (up == "." || there[up]) && !isFile(changed, up) {
			add(rel, Gone)
		}
	}
	var list []Entry
	for _, e := range changed {
		list = append(list, e)
	}
	order.By(list, func(a, b Entry) int {
		return slices.Compare(strings.Split(a.Path, "/"), strings.Split(b.Path, "/"))
	})
	return list, nil
}

// entry is what became of a path, of which marks tell what it was.
func entry(marks map[string]mark, rel string, k Kind) Entry {
	m, was := marks[rel]
	e := Entry{Path: filepath.ToSlash(rel), Kind: k, Was: was && (k == Gone || m.Dir == (k == Dir))}
	if was && m.Dir && m.Mode != 0 {
		e.Mode = &m.Mode
	}
	return e
}

// isFile reports whether something else than a directory has taken the place of one.
func isFile(changed map[string]Entry, dir string) bool {
	e, ok := changed[dir]
	return ok && e.Kind != Dir
}

func kindOf(m fs.FileMode) Kind {
	switch m.Type() {
	case 0:
		return File
	case fs.ModeDir:
		return Dir
	case fs.ModeSymlink:
		return Symlink
	}
	return Special
}
