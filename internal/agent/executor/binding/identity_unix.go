//go:build unix

package binding

import (
	"fmt"
	"os"
	"syscall"
)

// identity names a file and the last change of its state.
func identity(info os.FileInfo) string {
	return inode(info) + " " + info.Mode().String()
}

// inode names a file whatever is in it.
func inode(info os.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}
