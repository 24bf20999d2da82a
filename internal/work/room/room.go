// Package room says whether Kerf's home has room for what is about to be recorded.
//
// Nothing runs that cannot be recorded: before a change or a command starts, [Room.Check]
// looks whether the directories can be written and whether there is space left. It costs
// a few system calls and waits for no disk. A reserve is set aside, so that what began
// while there was room can be entered when the disk is full at its end.
package room

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"kerf/internal/atomicfile"
)

const (
	// Least is how many bytes must be free, beside the reserve.
	Least = 2 << 20
	// leastFiles is how many files it must still be possible to make.
	leastFiles = 64
	// reserved is the size of the reserve.
	reserved = 256 << 10
	// probe is what is written to see whether writing works; quotas show in no other way.
	probe = 4 << 10

	reserveName = "reserve"
)

// records are the files of the first directory in which a change is recorded.
var records = [...]string{"ledger.jsonl", "ledger.lock", "journal.jsonl", "lock"}

// Error says why nothing can be recorded.
type Error struct {
	Dir string // where
	Err error  // why, in words for the user
}

// Error is one line: what, where, and how to mend it.
func (e *Error) Error() string {
	if errors.Is(e.Err, ErrFull) {
		return fmt.Sprintf("nothing can be recorded, so nothing is run or changed: %s: %v; make room there", e.Dir, e.Err)
	}
	if errors.Is(e.Err, atomicfile.ErrKind) {
		return fmt.Sprintf("nothing can be recorded, so nothing is run or changed: %s: %v; take it away", e.Dir, e.Err)
	}
	return fmt.Sprintf("nothing can be recorded, so nothing is run or changed: %s: %v; make it writable, or set "+
		"KERF_HOME to a directory that is", e.Dir, e.Err)
}

// Reason is why nothing can be recorded, without what follows from that.
func Reason(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Dir + ": " + e.Err.Error()
	}
	return err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrFull says that there is no space left.
var ErrFull = errors.New("the disk is full")

// Room is what is known of the directories that records are written to. Its methods may
// be called concurrently; those of a nil Room do nothing.
type Room struct {
	mu      sync.Mutex // guards what follows
	dirs    []string
	reserve *os.File
}

// New returns the room of directories, which are made when needed. The first one has
// the reserve.
func New(dirs ...string) *Room { return &Room{dirs: dirs} }

// Watch has another directory looked at from now on.
func (r *Room) Watch(dir string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirs = append(r.dirs, dir)
}

// Check fails with *Error when something could not be recorded now.
func (r *Room) Check() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, dir := range r.dirs {
		err := usable(dir)
		if err == nil && i == 0 {
			err = r.keepReserve(dir)
			for _, name := range records {
				err = cmp.Or(err, atomicfile.Plain(filepath.Join(dir, name)))
			}
		}
		if err != nil {
			return &Error{dir, plain(err)}
		}
	}
	return nil
}

// Usable fails with *Error when nothing can be written to dir, which it makes if needed.
func Usable(dir string) error {
	if err := usable(dir); err != nil {
		return &Error{dir, plain(err)}
	}
	return nil
}

// usable reports whether files can be made and written in dir.
func usable(dir string) error {
	err := writable(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			err = writable(dir)
		}
	}
	if err != nil {
		return err
	}
	if free, known := Free(dir); known && free < Least {
		return fmt.Errorf("%w: %d KB are free, %d KB are needed", ErrFull, free>>10, Least>>10)
	}
	if n, known := files(dir); known && n < leastFiles {
		return fmt.Errorf("%w: %d more files can be made, %d are needed", ErrFull, n, leastFiles)
	}
	return nil
}

// keepReserve sees to it that the reserve is there, and writes a little behind it.
func (r *Room) keepReserve(dir string) error {
	if r.reserve == nil {
		f, err := atomicfile.OpenFile(filepath.Join(dir, reserveName), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		r.reserve = f
	}
	st, err := r.reserve.Stat()
	if err != nil {
		return err
	}
	if st.Size() < reserved {
		if _, err := r.reserve.WriteAt(make([]byte, reserved), 0); err != nil {
			return errors.Join(err, r.reserve.Truncate(0))
		}
	}
	var zeros [probe]byte
	_, err = r.reserve.WriteAt(zeros[:], reserved)
	return errors.Join(err, r.reserve.Truncate(reserved))
}

// Spend gives the reserve up, so that what must be written now has room. Check sets it
// aside again, or fails.
func (r *Room) Spend() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reserve != nil {
		_ = r.reserve.Truncate(0)
	}
}

// Close releases the file of the reserve. The room may be used again afterwards.
func (r *Room) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reserve == nil {
		return nil
	}
	err := r.reserve.Close()
	r.reserve = nil
	return err
}

// Full reports whether err says that a disk or a quota is full.
func Full(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, syscall.ENOSPC) || isQuota(err)
}

// plain takes the operation and the path, which are told already, out of err.
func plain(err error) error {
	switch {
	case errors.Is(err, ErrFull):
		return err
	case errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", ErrFull, syscall.EDQUOT)
	case Full(err):
		return ErrFull
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && errors.Is(err, atomicfile.ErrKind) {
		return fmt.Errorf("%s: %w", filepath.Base(pe.Path), pe.Err)
	} else if pe != nil {
		return pe.Err
	}
	return err
}
