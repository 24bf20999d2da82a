//go:build unix

package quota

import (
	"io/fs"
	"syscall"
)

// allocated is what a file that Lstat tells of takes on the disk, in bytes, which for a sparse
// one is less than its size.
func allocated(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Blocks) * 512 }
