package treehash

import (
	"io/fs"
	"os"
	"syscall"
)

// changed is when the status of a file changed last, and its number.
func changed(st fs.FileInfo) (ctime int64, ino uint64) {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano(), s.Ino
	}
	return 0, 0
}

// open opens a file, and never waits for what took its place.
func open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}
