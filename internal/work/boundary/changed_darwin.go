package boundary

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt is when a file's inode last changed, which nobody can set back.
func changedAt(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(st.Ctimespec.Unix())
}
