//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

func idOf(info fs.FileInfo) (fileID, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), st.Ino}, st.Nlink > 1
}
