package rollout

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Hold keeps writers away from a session that nobody has, until release is
// called. The error is ErrLive when the session is in use.
func Hold(dir string) (release func(), err error) {
	if err := checkDir(dir); err != nil {
		return nil, fmt.Errorf("hold session: %w", err)
	}
	w := &Writer{dir: dir}
	if err := w.acquire(); err != nil {
		return nil, fmt.Errorf("hold session: %w", err)
	}
	return w.release, nil
}

// Extend is Open for those who only append.
func Extend(dir string, o Options) (*Writer, *Damage, error) {
	w, _, damage, err := Resume(dir, o)
	return w, damage, err
}

// Live reports whether a writer has the session of a directory. A writer that comes at this
// very moment may find the session in use; it waits and tries again.
func Live(dir string) bool {
	path := filepath.Join(dir, lockName)
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	l := flock.New(path)
	ok, err := l.TryRLock()
	_ = l.Close()
	return !ok && err == nil
}
