// Package quota bounds what a command keeps in a directory that is its own. The kernel has
// quotas for users and projects only, which not everybody may set, so the directory is
// looked at while the command runs.
package quota

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// The directory is looked at every interval, and less often when that takes long.
const (
	interval = 200 * time.Millisecond
	share    = 20 // a look may take one part in so many of the time
)

// Watch looks after one directory. A nil Watch looks after none.
type Watch struct {
	most uint64
	over atomic.Bool
	quit chan struct{}
	end  sync.Once
	wg   sync.WaitGroup
}

// Start begins to look at dir, and calls exceeded once, on a goroutine of its own, when
// more than most bytes of the disk lie there. What lies there already when it begins does
// not count as too much, so that a command can remove it.
func Start(dir string, most uint64, exceeded func()) *Watch {
	w := &Watch{most: max(most, Used(dir)), quit: make(chan struct{})}
	w.wg.Go(func() { w.look(dir, exceeded) }) // ends with End
	return w
}

func (w *Watch) look(dir string, exceeded func()) {
	wait := interval
	for {
		select {
		case <-w.quit:
			return
		case <-time.After(wait):
		}
		began := time.Now()
		if Used(dir) > w.most {
			w.over.Store(true)
			exceeded()
			return
		}
		wait = max(interval, share*time.Since(began))
	}
}

// End stops looking, and reports whether it was too much. It may be called again.
func (w *Watch) End() bool {
	if w == nil {
		return false
	}
	w.end.Do(func() { close(w.quit) })
	w.wg.Wait()
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
