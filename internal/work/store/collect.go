package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"kerf/internal/text/delta"
	"kerf/internal/text/order"
)

// How an object that is still needed is never collected:
//
//   - The collector spares what the caller names, and what was put lately. A put of
//     an object that is there makes it young again.
//   - A process that puts holds a lease: a file in DIR/live, locked until the process
//     ends. What was put since the oldest lease began is spared, for its holder may
//     refer to it yet.
//   - The last look at an object and its removal happen under a lock that a put takes
//     before it makes an old object young. So a put finds the object and keeps it, or
//     finds it gone and writes it anew.
//   - What a splice is made on stays as long as the splice, and one collection longer.
//
// A collector that is killed has removed some of what it would have removed.
const (
	liveDir  = "live"
	lockName = "collect.lock"
	// Least is the age below which nothing is collected, whatever is asked for. It
	// must be well above touchAge.
	Least = 2 * time.Hour
)

// Swept is what a collection found and did, or would do.
type Swept struct {
	Objects, Removed    int
	Bytes, RemovedBytes int64 // on disk
}

// lease is the sign that this process uses the store.
type lease struct {
	once sync.Once
	mu   sync.Mutex // guards lock
	lock *flock.Flock
}

// hold takes the lease, once. Without it young objects are spared all the same.
func (s *Store) hold() {
	s.lease.once.Do(func() {
		dir := filepath.Join(s.dir, liveDir)
		for range 10 {
			if os.MkdirAll(dir, 0o700) != nil {
				return
			}
			l := flock.New(filepath.Join(dir, rand.Text()), flock.SetPermissions(0o600))
			if l.Lock() != nil {
				return
			}
			if _, err := os.Lstat(l.Path()); err == nil {
				s.lease.mu.Lock()
				s.lease.lock = l
				s.lease.mu.Unlock()
				return
			}
			_ = l.Unlock() // a collector took it for a dead one's; try again
		}
	})
}

// Close gives the lease up. The store may still be read.
func (s *Store) Close() error {
	s.lease.mu.Lock()
	defer s.lease.mu.Unlock()
	l := s.lease.lock
	if l == nil {
		return nil
	}
	s.lease.lock = nil
	return errors.Join(os.Remove(l.Path()), l.Unlock())
}

// Horizon is the time since when objects may be needed by those who use the store
// now; what was last put before it is needed only if something refers to it. Leases
// of processes that are gone are swept.
func (s *Store) Horizon(now time.Time) time.Time {
	horizon := now.Add(-Least)
	files, err := os.ReadDir(filepath.Join(s.dir, liveDir))
	if err != nil {
		return horizon
	}
	for _, f := range files {
		path := filepath.Join(s.dir, liveDir, f.Name())
		st, err := f.Info()
		if err != nil || !f.Type().IsRegular() {
			continue
		}
		l := flock.New(path)
		if got, err := l.TryLock(); err == nil && got {
			_ = os.Remove(path) // nobody holds it; the next collection tries again
			_ = l.Unlock()
			continue
		}
		if since := st.ModTime().Add(-touchAge - time.Minute); since.Before(horizon) {
			horizon = since
		}
	}
	return horizon
}

// Sweep removes the objects that were last put before horizon and that keep does not
// want, and compresses what is left. It may run beside processes that use the store.
// With dry set it only counts.
func (s *Store) Sweep(ctx context.Context, horizon time.Time, keep func(Object) bool, dry bool) (Swept, error) {
	var done Swept
	// A splice that is made from here on makes its base young.
	bases, err := s.bases()
	if err != nil {
		return done, fmt.Errorf("sweep store %s: %w", s.dir, err)
	}
	err = s.Walk(func(o Object) error {
		done.Objects++
		done.Bytes += o.Size
		if err := ctx.Err(); err != nil {
			return err
		}
		if !o.Time.Before(horizon) || keep(o) || bases[o.Sum] {
			if dry || o.Size <= maxWhole {
				return nil
			}
			return s.shrink(o)
		}
		if !dry {
			gone, err := s.removeOld(o.Sum, horizon)
			if err != nil || !gone {
				return err
			}
		}
		done.Removed++
		done.RemovedBytes += o.Size
		return nil
	})
	if err != nil {
		return done, fmt.Errorf("sweep store %s: %w", s.dir, err)
	}
	return done, nil
}

// removeOld removes an object unless it has become young.
func (s *Store) removeOld(sum delta.Sum, horizon time.Time) (bool, error) {
	l := flock.New(filepath.Join(s.dir, lockName), flock.SetPermissions(0o600))
	if err := l.Lock(); err != nil {
		return false, err
	}
	defer l.Unlock()
	if !s.lastPut(sum).Before(horizon) {
		return false, nil
	}
	return true, s.Remove(sum)
}

// lastPut is when an object, loose or packed, was last put.
func (s *Store) lastPut(sum delta.Sum) time.Time {
	var last time.Time
	paths := []string{s.path(sum), s.splicePath(sum), s.largePath(sum)}
	if p, ok := s.find(sum); ok {
		paths = append(paths, p.in.path)
	}
	for _, path := range paths {
		if st, err := os.Lstat(path); err == nil && st.ModTime().After(last) {
			last = st.ModTime()
		}
	}
	return last
}

// touch makes an old object young, unless a collector was faster.
func (s *Store) touch(path string) error {
	l := flock.New(filepath.Join(s.dir, lockName), flock.SetPermissions(0o600))
	if err := l.RLock(); err != nil {
		return err
	}
	defer l.Unlock()
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return nil
}

// Oldest returns the objects of the store by the time they were last put, the oldest
// first.
func (s *Store) Oldest() ([]Object, error) {
	var all []Object
	err := s.Walk(func(o Object) error {
		all = append(all, o)
		return nil
	})
	order.Stably(all, func(a, b Object) int { return a.Time.Compare(b.Time) })
	return all, err
}
