package journal

import "golang.org/x/sys/unix"

// StateOf is a state in the form of the journal.
func StateOf(st *unix.Statx_t) State {
	s := State{Mode: uint32(st.Mode) & 0o7777, Links: uint64(st.Nlink), Sig: Sig{
		Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino, Size: int64(st.Size), Mtime: nanoseconds(st.Mtime),
		Ctime: nanoseconds(st.Ctime), Born: nanoseconds(st.Btime)}}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Kind = File
	case unix.S_IFLNK:
		s.Kind = Link
	case unix.S_IFDIR:
		s.Kind = Dir
	default:
		s.Kind = Special
	}
	return s
}

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }
