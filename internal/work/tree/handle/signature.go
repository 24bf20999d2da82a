// Package handle opens directories and does in them what each system can. Names are
// single components, and no operation follows a link.
package handle

import (
	"errors"
	"io/fs"
	"time"
)

// ErrLink says that a symbolic link lies on the way; the caller works out the real
// path and tries again.
var ErrLink = errors.New("symbolic link on the way")

// Signature tells cheaply whether a path may have changed: two equal signatures, the
// first of them not fresh, mean the same content. Times are Unix nanoseconds.
type Signature struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64
	Mode         fs.FileMode // with the type
}

// Fresh reports whether the path changed so shortly before now that another change
// might leave the signature as it is. Time stamps tick with the kernel's clock, at
// worst every 10 ms, and every 2 s on some old file systems, which show whole seconds.
func (s Signature) Fresh(now time.Time) bool {
	last := max(s.Mtime, s.Ctime)
	tick := 50 * time.Millisecond
	if last%int64(time.Second) == 0 {
		tick = 2100 * time.Millisecond
	}
	return now.UnixNano()-last < int64(tick)
}

// SameFile reports whether two signatures belong to the same inode. Where the platform
// does not tell inodes it cannot say no.
func (s Signature) SameFile(other Signature) bool {
	return s.Ino == 0 || other.Ino == 0 || s.Dev == other.Dev && s.Ino == other.Ino
}
