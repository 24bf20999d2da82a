// Package ledger keeps the append-only list of what changed in a workspace.
//
// A ledger is one file, ledger.jsonl: one JSON object a line, each with a format
// version "v" and a sequence number "seq" that grows by at least one a line. Every
// process that works in the workspace appends to the same file under a lock.
// Readers need no lock: they tolerate a torn last line, damaged lines and unknown
// fields. The bytes of images are not here but in the store, by their sums.
package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"kerf/internal/atomicfile"
)

// Format is the version of the lines that this package writes.
const Format = 1

const (
	fileName = "ledger.jsonl"
	lockName = "ledger.lock"
)

// Ledger appends to and reads one workspace's ledger. Its methods may be called
// concurrently, also from several processes.
type Ledger struct {
	dir string
	// Hook, when set before the first use, is asked before each call that changes
	// the disk, and its error becomes the call's. It exists for fault tests.
	Hook func(op, path string) error

	mu   sync.Mutex // guards what follows, and orders appends of this process
	lock *flock.Flock
	f    *os.File
	size int64 // size of the file when seq was learnt
	seq  int64 // last sequence number in the first size bytes
	// unnamed says that the file is new, and its name not durable yet.
	unnamed bool
}

// Open returns the ledger in dir. Nothing is made on disk before the first append.
func Open(dir string) (*Ledger, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open ledger %s: path is not absolute", dir)
	}
	return &Ledger{dir: dir, lock: flock.New(filepath.Join(dir, lockName))}, nil
}

// Close releases the file. The ledger may be used again afterwards.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closeFile()
}

// Append gives e the next sequence number, the format, and the time if it has none,
// and writes it as one line. After an error the ledger is as before, or ends in a
// torn line that readers skip and the next append closes.
func (l *Ledger) Append(e *Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.append(e); err != nil {
		return fmt.Errorf("append to ledger %s: %w", l.path(), err)
	}
	return nil
}

// Sync makes what this process appended durable.
func (l *Ledger) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	if err := l.ask("sync", l.path()); err != nil {
		return err
	}
	if err := l.f.Sync(); err != nil || !l.unnamed {
		return err
	}
	if err := l.ask("syncdir", l.dir); err != nil {
		return err
	}
	err := atomicfile.SyncDir(l.dir)
	l.unnamed = err != nil
	return err
}

// Read returns the entries after sequence number since, oldest first. Damaged lines
// are left out.
func (l *Ledger) Read(since int64) ([]Entry, error) {
	var entries []Entry
	for e, err := range l.Backward() {
		if err != nil {
			return nil, err
		}
		if e.Seq <= since {
			break
		}
		entries = append(entries, e)
	}
	slices.Reverse(entries)
	return entries, nil
}

// Tail returns the last n entries, oldest first.
func (l *Ledger) Tail(n int) ([]Entry, error) {
	var entries []Entry
	if n <= 0 {
		return nil, nil
	}
	for e, err := range l.Backward() {
		if err != nil {
			return nil, err
		}
		if entries = append(entries, e); len(entries) == n {
			break
		}
	}
	slices.Reverse(entries)
	return entries, nil
}

// Backward yields the entries from the newest to the oldest, reading only as much
// of the file as is asked for. An error ends the sequence.
func (l *Ledger) Backward() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		f, err := os.Open(l.path())
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			yield(Entry{}, err)
			return
		}
		err = linesBackward(f, st.Size(), func(line []byte) bool {
			e, ok := parse(line)
			return !ok || yield(e, nil)
		})
		if err != nil {
			yield(Entry{}, fmt.Errorf("read ledger %s: %w", l.path(), err))
		}
	}
}

func (l *Ledger) path() string { return filepath.Join(l.dir, fileName) }

func (l *Ledger) ask(op, path string) error {
	if l.Hook == nil {
		return nil
	}
	return l.Hook(op, path)
}

func (l *Ledger) append(e *Entry) error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	if err := l.lock.Lock(); err != nil {
		return err
	}
	defer l.lock.Unlock()
	size, torn, err := l.refresh()
	if err != nil {
		return err
	}
	stamped := *e
	stamped.V, stamped.Seq = Format, l.seq+1
	if stamped.Time.IsZero() {
		stamped.Time = time.Now().UTC()
	}
	line, err := json.Marshal(&stamped)
	if err != nil {
		return err
	}
	if torn {
		line = append([]byte{'\n'}, line...)
	}
	line = append(line, '\n')
	if err := l.write(line, size); err != nil {
		return err
	}
	l.size, l.seq = size+int64(len(line)), stamped.Seq
	*e = stamped
	return nil
}

// write appends line, or takes back what it wrote of it.
func (l *Ledger) write(line []byte, size int64) error {
	if err := l.ask("write", l.path()); err != nil {
		return err
	}
	if _, err := l.f.Write(line); err != nil {
		if l.ask("truncate", l.path()) == nil {
			// Best effort: a torn line that stays is skipped by readers.
			_ = l.f.Truncate(size)
		}
		return err
	}
	return nil
}

// refresh opens the file if needed and learns its size, its last sequence number,
// and whether it ends in the middle of a line.
func (l *Ledger) refresh() (size int64, torn bool, err error) {
	if err := l.reopen(); err != nil {
		return 0, false, err
	}
	st, err := l.f.Stat()
	if err != nil {
		return 0, false, err
	}
	size = st.Size()
	if size == l.size {
		return size, false, nil
	}
	l.seq = 0
	err = linesBackward(l.f, size, func(line []byte) bool {
		e, ok := parse(line)
		l.seq = e.Seq
		return !ok
	})
	if err != nil || size == 0 {
		return size, false, err
	}
	var last [1]byte
	if _, err := l.f.ReadAt(last[:], size-1); err != nil {
		return 0, false, err
	}
	return size, last[0] != '\n', nil
}

// reopen makes l.f the file that is at the path now; somebody may have removed or
// replaced it since it was opened.
func (l *Ledger) reopen() error {
	if l.f != nil {
		now, err := os.Stat(l.path())
		mine, err2 := l.f.Stat()
		if err == nil && err2 == nil && os.SameFile(now, mine) {
			return nil
		}
		_ = l.closeFile()
	}
	if err := l.ask("create", l.path()); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path(), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	l.f, l.size, l.seq = f, 0, 0
	st, err := f.Stat()
	l.unnamed = err == nil && st.Size() == 0
	return err
}

func (l *Ledger) closeFile() error {
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f, l.size, l.seq = nil, 0, 0
	return err
}

// parse reads one line; a line that is no entry is not ok. A power loss may leave
// zero bytes where a line should begin.
func parse(line []byte) (Entry, bool) {
	line = bytes.TrimLeft(line, "\x00")
	var e Entry
	if len(line) == 0 || json.Unmarshal(line, &e) != nil || e.Seq <= 0 {
		return Entry{}, false
	}
	return e, true
}
