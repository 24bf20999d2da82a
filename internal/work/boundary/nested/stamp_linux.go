package nested

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"kerf/internal/pathname"
)

// stamp is what a directory is now; ok is false when that tells nothing.
func (m *Memory) stamp(dir string) (s stamp, ok bool) {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return stamp{}, false
	}
	s.top = versionOf(&st)
	if m.keeps(st.Dev, func(fs *unix.Statfs_t) error { return unix.Statfs(dir, fs) }) {
		return s, true
	}
	for _, l := range m.layers {
		if pathname.Under(l.Root, dir) {
			s.below, ok = m.below(l, dir, s.top)
			return s, ok
		}
	}
	return s, false
}

// still reports whether a directory has the stamp that it had when it was remembered. Where
// it was in the lower layer alone, one look is enough: one that is copied into the upper
// layer changes with that.
func (m *Memory) still(dir string, was stamp) bool {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil || versionOf(&st) != was.top {
		return false
	}
	if was.below == (version{}) {
		return true
	}
	for _, l := range m.layers {
		if pathname.Under(l.Root, dir) {
			below, err := at(l.Lower, l.Root, dir)
			return err == nil && below == was.below
		}
	}
	return false
}

// below is what the lower layer says of a directory that both layers have. ok is false when
// it is not sure that the overlay shows what the layers have at its name: an overlay goes on
// showing a directory that others replaced in the lower layer.
func (m *Memory) below(l Layer, dir string, top version) (below version, ok bool) {
	if !m.keepsAt(l.Lower) || !m.keepsAt(l.Upper) || !isItself(l.Root, dir, top) {
		return version{}, false
	}
	upper, err := at(l.Upper, l.Root, dir)
	if err == unix.ENOENT {
		return version{}, true // what the overlay says is the lower one's
	}
	below, missing := at(l.Lower, l.Root, dir)
	switch {
	case err != nil:
		return version{}, false
	case dir == l.Root: // both are there as long as the overlay is
		return below, missing == nil
	case upper.dev != m.dev(l.Lower):
		return version{}, false // the number of the directory tells nothing
	case missing == unix.ENOENT:
		return version{}, top.ino == upper.ino
	}
	return below, missing == nil && below.dev == upper.dev && below.ino == top.ino
}

// isItself reports whether a directory of the overlay is what is at its name there: that
// no link is on the way, and nothing mounted.
func isItself(root, dir string, top version) bool {
	var st [2]unix.Statx_t
	for i, path := range []string{root, dir} {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_NO_SYMLINKS})
		if err != nil {
			return false
		}
		err = unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &st[i])
		_ = unix.Close(fd)
		if err != nil || st[i].Mask&unix.STATX_MNT_ID == 0 {
			return false
		}
	}
	return st[1].Ino == top.ino && st[1].Mnt_id == st[0].Mnt_id
}

// at is what a layer, an open directory, says of a directory of the overlay. No link is
// followed.
func at(layer int, root, dir string) (version, error) {
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return version{}, err
	}
	fd, err := unix.Openat2(layer, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV})
	if err != nil {
		return version{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	return versionOf(&st), err
}

func versionOf(st *unix.Stat_t) version {
	return version{st.Dev, st.Ino, st.Mtim.Nano(), st.Ctim.Nano()}
}

// dev is the device of an open directory; 0 is none.
func (m *Memory) dev(dir int) uint64 {
	var st unix.Stat_t
	if unix.Fstat(dir, &st) != nil {
		return 0
	}
	return st.Dev
}

func (m *Memory) keepsAt(dir int) bool {
	dev := m.dev(dir)
	return dev != 0 && m.keeps(dev, func(fs *unix.Statfs_t) error { return unix.Fstatfs(dir, fs) })
}

// keeps reports whether the file system of a device is known to keep times.
func (m *Memory) keeps(dev uint64, ask func(*unix.Statfs_t) error) bool {
	keeps, known := m.kinds[dev]
	if !known {
		var fs unix.Statfs_t
		keeps = ask(&fs) == nil && keepsTimes[int64(fs.Type)]
		m.kinds[dev] = keeps
	}
	return keeps
}

// keepsTimes are the file systems of which it is known that a change of a directory sets
// its times, and that programs cannot set the time of the last change.
var keepsTimes = map[int64]bool{unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true,
	unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.F2FS_SUPER_MAGIC: true}
