package journal

import "golang.org/x/sys/unix"

// StateOf is a state in the form of the
func StateOf(st *unix.Stat_t) State {
	s := State{Mode: st.Mode & 0o7777, Links: uint64(st.Nlink), Sig: Sig{Dev: uint64(st.Dev), Ino: st.Ino,
		Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}}
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
