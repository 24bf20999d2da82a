// Package presence tells the sessions of a workspace of each other, among all processes.
//
// Each has a file in a directory of the workspace, which it keeps locked while it is open. A
// process that dies leaves a file that nobody holds, and is not counted.
package presence

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// staleAfter is how old a file that nobody holds is when it is removed: younger ones may be
// those of a session that begins.
const staleAfter = time.Minute

// Presence is that of one session. A nil one is alone. It may be used by several goroutines.
type Presence struct {
	dir, id string
	lock    *flock.Flock
}

// Join makes a session known in a directory, which is made where it is not there.
func Join(dir, id string) (*Presence, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("presence: %w", err)
	}
	p := &Presence{dir: dir, id: id, lock: flock.New(filepath.Join(dir, id), flock.SetPermissions(0o600))}
	if ok, err := p.lock.TryLock(); err != nil || !ok {
		_ = p.lock.Close()
		return nil, fmt.Errorf("presence: the session %s is known already, or cannot be made known: %w", id, err)
	}
	return p, nil
}

// Others are the ids of the other sessions that are open, sorted.
func (p *Presence) Others() []string {
	if p == nil {
		return nil
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil // it is told for convenience
	}
	var ids []string
	for _, e := range entries {
		switch {
		case e.Name() == p.id || strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular():
		case p.held(e.Name()):
			ids = append(ids, e.Name())
		default:
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
				_ = os.Remove(filepath.Join(p.dir, e.Name()))
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// held reports whether some process keeps a file locked.
func (p *Presence) held(name string) bool {
	l := flock.New(filepath.Join(p.dir, name), flock.SetPermissions(0o600))
	defer l.Close()
	ok, err := l.TryRLock()
	return err == nil && !ok
}

// Leave takes the session's file away.
func (p *Presence) Leave() error {
	if p == nil {
		return nil
	}
	err := os.Remove(filepath.Join(p.dir, p.id))
	_ = p.lock.Close() // the file is gone
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
