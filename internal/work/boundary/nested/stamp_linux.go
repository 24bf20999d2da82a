package nested

import "golang.org/x/sys/unix"

// stamp is what a directory is now; ok is false when that tells nothing.
func (m *Memory) stamp(dir string) (s stamp, ok bool) {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return stamp{}, false
	}
	keeps, known := m.kinds[st.Dev]
	if !known {
		var fs unix.Statfs_t
		keeps = unix.Statfs(dir, &fs) == nil && keepsTimes[int64(fs.Type)]
		m.kinds[st.Dev] = keeps
	}
	return stamp{st.Dev, st.Ino, st.Mtim.Nano(), st.Ctim.Nano()}, keeps
}

// keepsTimes are the file systems of which it is known that a change of a directory sets
// its times, and that programs cannot set the time of the last change.
var keepsTimes = map[int64]bool{unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true,
	unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.F2FS_SUPER_MAGIC: true}
