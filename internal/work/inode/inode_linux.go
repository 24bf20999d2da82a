package inode

import (
	"io/fs"
	"syscall"
)

func of(info fs.FileInfo) (changed int64, number uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return st.Ctim.Nano(), st.Ino
}
