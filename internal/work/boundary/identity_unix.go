//go:build unix

package boundary

import (
	"io/fs"
	"syscall"
)

func IdentityOf(info fs.FileInfo) (FileID, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}, false
	}
	return FileID{uint64(st.Dev), st.Ino}, st.Nlink > 1
}
