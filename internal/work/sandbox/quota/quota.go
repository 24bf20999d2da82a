// Package quota bounds what a command keeps in a directory that is its own. The kernel has
// quotas for users and projects only, which not everybody may set, so the directory is
// looked at while the command runs.
package quota

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"kerf/internal/work/sandbox/repeat"
)

// interval is how often the directory is looked at.
const interval = 200 * time.Millisecond

// Watch looks after one directory. A nil Watch looks after none.
type Watch struct {
	over atomic.Bool
	loop *repeat.Loop
}

// Start begins to look at dir, and calls exceeded once, on a goroutine of its own, when
// more than most bytes of the disk lie there. What lies there already when it begins does
// not count as too much, so that a command can remove it.
func Start(dir string, most uint64, exceeded func()) *Watch {
	w := &Watch{}
	most = max(most, Used(dir))
	w.loop = repeat.Start(interval, func() bool {
		if Used(dir) <= most {
			return true
		}
		w.over.Store(true)
		exceeded()
		return false
	})
	return w
}

// End stops looking, and reports whether it was too much. It may be called again.
func (w *Watch) End() bool {
	if w == nil {
		return false
	}
	w.loop.End()
	return w.over.Load()
}

// perFile is what a file takes beside its content.
const perFile = 4 << 10

// Used is how much of the disk the files below dir take, in bytes. Links are not followed.
func Used(dir string) (bytes uint64) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it may be gone by now
		}
		bytes += perFile
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			bytes += allocated(info)
		}
		return nil
	})
	return bytes
}
