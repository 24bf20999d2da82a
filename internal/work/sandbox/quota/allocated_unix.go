//go:build unix

package quota

import (
	"io/fs"
	"syscall"
)

// allocated is what a file takes on the disk, in bytes, which for a sparse one is less
// than its size.
func allocated(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Blocks) * 512
	}
	return uint64(info.Size())
}
