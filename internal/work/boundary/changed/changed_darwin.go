// Package changed tells when a file was last changed in any way.
package changed

import (
	"io/fs"
	"syscall"
	"time"
)

// At is when a file's inode last changed, which nobody can set back.
func At(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(st.Ctimespec.Unix())
}
