// Package ledger keeps the append-only list of what changed in a workspace.
//
// A ledger is one file, ledger.jsonl: one JSON object a line, each with a format
// version "v" and a sequence number "seq" that grows by at least one a line. Every
// process that works in the workspace appends to the same file under a lock.
// Readers need no lock: they tolerate a torn last line, damaged lines and unknown
// fields. The bytes of images are not here but in the store, by their sums.
//
// Each line names the hash of the line of the entry before it, whichever process
// wrote that, and ledger.head names the last line that was made durable. Verify
// follows this chain.
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
	size int64 // size of the file when last was learnt
	last link  // the last entry in the first size bytes
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
	if err := l.f.Sync(); err != nil {
		return err
	}
	if l.unnamed {
		if err := l.ask("syncdir", l.dir); err != nil {
			return err
		}
		if err := atomicfile.SyncDir(l.dir); err != nil {
			return err
		}
		l.unnamed = false
	}
	l.raiseHead()
	return nil
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
func (l *Ledger) Backward() iter.Seq2[Entry, error] { return l.backward }

// Find returns the newest entry with an ID, else nil.
func (l *Ledger) Find(id string) (*Entry, error) {
	for e, err := range l.Backward() {
		if err != nil {
			return nil, err
		}
		if e.ID == id {
			return &e, nil
		}
	}
	return nil, nil
}

func (l *Ledger) backward(yield func(Entry, error) bool) {
	f, err := atomicfile.Open(l.path())
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
	moves := Moves(l.dir)
	err = linesBackward(f, st.Size(), func(line []byte, _ int64) bool {
		e, ok := parse(line)
		return !ok || yield(e.Renamed(moves), nil)
	})
	if err != nil {
		yield(Entry{}, fmt.Errorf("read ledger %s: %w", l.path(), err))
	}
}

func (l *Ledger) path() string { return filepath.Join(l.dir, fileName) }

// hold takes the lock.
func (l *Ledger) hold() error {
	if err := atomicfile.Plain(l.lock.Path()); err != nil {
		return err
	}
	return l.lock.Lock()
}

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
	if err := l.hold(); err != nil {
		return err
	}
	defer l.lock.Unlock()
	size, torn, err := l.refresh()
	if err != nil {
		return err
	}
	stamped := *e
	stamped.V, stamped.Seq, stamped.Prev, stamped.Torn = Format, l.last.seq+1, l.last.hash, torn.hash
	if stamped.Time.IsZero() {
		stamped.Time = time.Now().UTC()
	}
	line, err := json.Marshal(&stamped)
	if err != nil {
		return err
	}
	last := link{stamped.Seq, hash(line)}
	if torn.open {
		line = append([]byte{'\n'}, line...)
	}
	line = append(line, '\n')
	if err := l.write(line, size); err != nil {
		return err
	}
	l.size, l.last = size+int64(len(line)), last
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

// torn is what follows the last entry of a file.
type torn struct {
	open bool   // the file ends in the middle of a line
	hash string // of the bytes between the entries, once that line is closed; "" without any
}

// refresh opens the file if needed and learns its size, its last entry, and what
// follows that. When only this process wrote, it reads nothing.
func (l *Ledger) refresh() (size int64, t torn, err error) {
	if err := l.reopen(); err != nil {
		return 0, t, err
	}
	st, err := l.f.Stat()
	if err != nil {
		return 0, t, err
	}
	size = st.Size()
	if size == l.size && l.last.seq > 0 {
		return size, t, nil
	}
	l.last = link{hash: NoHash}
	end := int64(0) // of the last entry
	err = linesBackward(l.f, size, func(line []byte, at int64) bool {
		e, ok := parse(line)
		if ok {
			l.last, end = link{e.Seq, hash(line)}, at+int64(len(line))
		}
		return !ok
	})
	if err != nil {
		return 0, t, err
	}
	// What was durable and is no longer there was damaged or removed. The chain goes
	// on from what it was, so that Verify finds the place for ever.
	if head := readHead(l.dir); head.seq >= l.last.seq && head.seq > 0 {
		l.last = head
	}
	rest := make([]byte, size-end)
	if _, err := l.f.ReadAt(rest, end); err != nil {
		return 0, t, err
	}
	if end > 0 && len(rest) > 0 { // the line feed of the last entry
		rest = rest[1:]
		t.open = len(rest) > 0 && rest[len(rest)-1] != '\n'
	} else {
		t.open = size > 0 && (len(rest) == 0 || rest[len(rest)-1] != '\n')
	}
	if len(rest) > 0 {
		if t.open {
			rest = append(rest, '\n')
		}
		t.hash = hash(rest)
	}
	return size, t, nil
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
	f, err := atomicfile.OpenFile(l.path(), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	l.f, l.size, l.last = f, 0, link{}
	st, err := f.Stat()
	l.unnamed = err == nil && st.Size() == 0
	return err
}

func (l *Ledger) closeFile() error {
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f, l.size, l.last = nil, 0, link{}
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
