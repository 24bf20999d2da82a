package overlay

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Walk tells of each entry of an upper layer in lexical order, directories before what is
// in them. When fn returns fs.SkipDir, a directory is left out.
func Walk(upper string, fn func(Entry) error) error {
	return filepath.WalkDir(upper, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == upper {
			return nil
		}
		rel, err := filepath.Rel(upper, path)
		if err != nil {
			return err
		}
		e := Entry{Path: filepath.ToSlash(rel)}
		switch t := d.Type(); {
		case t.IsRegular():
			e.Kind, e.Was = File, origin(path)
		case t == fs.ModeSymlink:
			e.Kind = Symlink
		case t.IsDir():
			e.Kind, e.Was = Dir, origin(path)
			e.Opaque = opaque(path)
		case t&fs.ModeCharDevice != 0 && whiteout(d):
			e.Kind, e.Was = Gone, true
		default:
			e.Kind = Special
		}
		return fn(e)
	})
}

// whiteout reports whether d is the device 0/0, with which an overlay marks what is gone.
func whiteout(d fs.DirEntry) bool {
	info, err := d.Info()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Rdev == 0
}

// origin reports whether a path was copied up: the overlay notes from where.
func origin(path string) bool {
	_, err := unix.Lgetxattr(path, "user.overlay.origin", nil)
	return err == nil
}

func opaque(dir string) bool {
	var value [1]byte
	n, err := unix.Lgetxattr(dir, "user.overlay.opaque", value[:])
	return err == nil && n == 1 && value[0] == 'y'
}

// Born is when a path was made, by the clock of its file system; the zero time if that is
// not known.
func Born(path string) time.Time {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}

// Since is when a path was last changed in any way, by the clock of its file system; the
// zero time if that is not known.
func Since(path string) time.Time {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return time.Time{}
	}
	return time.Unix(st.Ctim.Unix())
}
