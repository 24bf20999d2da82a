//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

func openForSync(path string) (*os.File, error) { return os.Open(path) }

// onDisk is the space that a file takes, and which file it is.
func onDisk(st fs.FileInfo) (int64, inode) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return st.Size(), inode{}
	}
	return int64(sys.Blocks) * 512, inode{uint64(sys.Dev), uint64(sys.Ino)}
}
