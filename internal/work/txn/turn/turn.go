// Package turn says whose turn it is to change a workspace, in a process and among processes.
package turn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"kerf/internal/atomicfile"
)

// Turn is taken by one at a time. Its methods may be called concurrently.
type Turn struct {
	token chan struct{} // holds one: whose turn it is in this process
	lock  *flock.Flock  // whose turn it is among processes
}

// New returns a turn that is free, with the lock file at path. That is made when it is first taken.
func New(path string) *Turn {
	t := &Turn{make(chan struct{}, 1), flock.New(path)}
	t.token <- struct{}{}
	return t
}

// Here waits for the turn in this process alone.
func (t *Turn) Here() (release func()) {
	<-t.token
	return func() { t.token <- struct{}{} }
}

// Take waits for the turn, and makes the directory of the lock file.
func (t *Turn) Take(ctx context.Context) (release func(), err error) {
	select {
	case <-t.token:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	release = func() { t.token <- struct{}{} }
	if err := errors.Join(os.MkdirAll(filepath.Dir(t.lock.Path()), 0o700), atomicfile.Plain(t.lock.Path())); err != nil {
		release()
		return nil, err
	}
	got, err := t.lock.TryLock()
	if err == nil && !got {
		got, err = t.lock.TryLockContext(ctx, time.Millisecond)
	}
	if err != nil || !got {
		release()
		return nil, fmt.Errorf("lock workspace: %w", errors.Join(err, ctx.Err()))
	}
	return func() {
		_ = t.lock.Unlock() // closing the file is what counts, and it cannot fail
		t.token <- struct{}{}
	}, nil
}
