package rollout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"kerf/internal/atomicfile"
)

// maxPending bounds the bytes of records that wait in memory for a disk that
// takes no more.
const maxPending = 64 << 20

// file is what a Writer needs of an *os.File.
type file interface {
	WriteAt(b []byte, off int64) (int, error)
	Truncate(size int64) error
	Stat() (os.FileInfo, error)
	Sync() error
	Close() error
}

// Writer appends to the rollout of one session. It holds the session's lock
// until Close, or the end of the process. Its methods may be called
// concurrently; records are in the order of the calls.
type Writer struct {
	dir  string
	o    Options
	lock *flock.Flock

	mu      sync.Mutex // guards what follows
	file    file
	head    file     // may be nil
	size    int64    // bytes of whole lines in the file
	torn    bool     // part of a line is behind them, which could not be cut off
	seq     int64    // of the last record taken
	prev    string   // its hash
	pending []byte   // lines taken and not yet written
	waiting int      // how many
	mark    mark     // the last that is known
	diffs   int      // number of the last diff, -1 before the first look
	loose   []string // files beside it that may not be on the disk yet, by their names in dir
	names   bool     // the names in dir may not be on the disk yet
	fresh   bool     // the names above dir may not be on the disk yet
	behind  bool     // the file has bytes that may not be on the disk yet
	closed  bool
}

// Create makes the directory of a new session, which must not exist, and its
// empty rollout. Missing parents are made, too.
func Create(dir string, o Options) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	w, err := create(dir, o)
	if err != nil {
		_ = os.RemoveAll(dir) // it is ours and holds nothing
		return nil, fmt.Errorf("create session: %w", err)
	}
	return w, nil
}

func create(dir string, o Options) (*Writer, error) {
	if err := os.Chmod(dir, 0o700); err != nil { // the umask may have taken more
		return nil, err
	}
	w := &Writer{dir: dir, o: o.filled(), diffs: -1, names: true, fresh: true, behind: true}
	if err := w.acquire(); err != nil {
		return nil, err
	}
	f, err := private(filepath.Join(dir, rolloutName), os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		w.release()
		return nil, err
	}
	w.file = f
	w.openHead()
	return w, nil
}

// private opens a file of ours and makes sure that it is nobody else's to read.
func private(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil && st.Mode().Perm() != 0o600 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (w *Writer) acquire() error {
	path := filepath.Join(w.dir, lockName)
	f, err := private(path, os.O_RDWR|os.O_CREATE) // flock would follow a link, and obey the umask
	if err != nil {
		return err
	}
	f.Close()
	w.lock = flock.New(path)
	ok, err := w.lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		_ = w.lock.Close()
		return fmt.Errorf("%s: %w", w.dir, ErrLive)
	}
	return nil
}

func (w *Writer) release() { _ = w.lock.Close() }

// openHead opens the head file. Without it everything works, only a cut at the
// end of the rollout can no longer be seen.
func (w *Writer) openHead() {
	if f, err := private(filepath.Join(w.dir, headName), os.O_RDWR|os.O_CREATE); err == nil {
		w.head = f
	}
}

// Dir is the directory of the session.
func (w *Writer) Dir() string { return w.dir }

// Size is how many bytes of whole lines the record has.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

// Append takes entries as the next records and writes them, in one piece. When
// it returns nil the system has them. If the error is ErrPending they are kept
// and will be written later; with any other error none of them was taken: an
// entry does not make a record, the Writer is closed, or (ErrFull) too much
// waits already. The file never holds part of a line after a failed write,
// unless it cannot be cut back; then the next write overwrites that part.
func (w *Writer) Append(entries ...Entry) error {
	bodies := make([][]byte, len(entries))
	for i, e := range entries {
		b, err := encode(e, w.o.Redact)
		if err != nil {
			return fmt.Errorf("append: %w", err)
		}
		bodies[i] = b
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("append: %w", os.ErrClosed)
	}
	size := 0
	for _, b := range bodies {
		size += len(b) + 256
	}
	if len(w.pending) > 0 && len(w.pending)+size > maxPending {
		if err := w.flush(); err != nil {
			return fmt.Errorf("append: %w: %w", ErrFull, err)
		}
	}
	now := w.o.Now()
	cut := -1 // where in pending the last part begins
	for i, e := range entries {
		start := len(w.pending)
		if e.Type == w.o.Cut && w.o.Digest != nil && w.seq > 0 {
			cut = start
		}
		w.pending = appendLine(w.pending, w.seq+1, now, e.Type, w.prev, bodies[i])
		w.prev = hash(w.pending[start:])
		w.pending = append(w.pending, '\n')
		w.seq++
		w.waiting++
	}
	waiting := len(w.pending)
	if err := w.flush(); err != nil {
		return fmt.Errorf("append: %w: %w", ErrPending, err)
	}
	if cut >= 0 {
		w.advance(w.size - int64(waiting-cut))
	}
	if w.o.Sync {
		if err := w.file.Sync(); err != nil {
			return fmt.Errorf("append: %w", err)
		}
	}
	return nil
}

// flush writes what is pending. It must be called with mu held.
func (w *Writer) flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	st, err := w.file.Stat()
	if err != nil {
		return err
	}
	if st.Size() != w.size && !w.torn {
		// Someone cut the file under us, or added to it. Go on behind what is
		// there, on a fresh line.
		w.size = st.Size()
		if w.size > 0 {
			w.pending = append([]byte{'\n'}, w.pending...)
		}
	}
	if _, err := w.file.WriteAt(w.pending, w.size); err != nil {
		w.torn = w.file.Truncate(w.size) != nil
		return err
	}
	w.torn, w.behind = false, true
	w.size += int64(len(w.pending))
	w.waiting = 0
	if cap(w.pending) > 1<<20 {
		w.pending = nil
	}
	w.pending = w.pending[:0]
	w.writeHead()
	return nil
}

func (w *Writer) writeHead() {
	if w.head != nil {
		_, _ = w.head.WriteAt(formatHead(w.seq, w.prev), 0) // see openHead
	}
}

// Sync writes what waits and makes all records reach the disk, with the diffs that they name
// and the metadata.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("sync: %w", os.ErrClosed)
	}
	return w.sync()
}

func (w *Writer) sync() error {
	if err := w.flush(); err != nil {
		return fmt.Errorf("sync: %w: %w", ErrPending, err)
	}
	if err := errors.Join(w.syncBeside(), w.syncNames()); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if w.behind {
		if err := w.file.Sync(); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
		w.behind = false
	}
	return nil
}

// syncBeside makes the files beside the rollout reach the disk that were saved since the last
// time.
func (w *Writer) syncBeside() error {
	diffs := false
	for _, name := range w.loose {
		f, err := os.OpenFile(filepath.Join(w.dir, name), os.O_RDWR|noFollow, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody removed it; Verify says so
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		diffs = diffs || name != metadataName
	}
	if diffs {
		if err := atomicfile.SyncDir(filepath.Join(w.dir, diffsName)); err != nil {
			return err
		}
		w.names = true // that of the directory may be new
	}
	w.loose = nil
	return nil
}

// syncNames makes the names reach the disk that lead to the files of the session.
func (w *Writer) syncNames() error {
	if w.names {
		if err := atomicfile.SyncDir(w.dir); err != nil {
			return err
		}
		w.names = false
	}
	if !w.fresh {
		return nil
	}
	sessions := filepath.Dir(w.dir)
	if err := atomicfile.SyncDir(sessions); err != nil {
		return err
	}
	_ = atomicfile.SyncDir(filepath.Dir(sessions)) // it may not be ours to open
	w.fresh = false
	return nil
}

// Close syncs, and gives the session free whether that works or not. Closing
// twice is nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	err := w.sync()
	if err != nil && w.waiting > 0 {
		err = fmt.Errorf("%w (%d records are lost)", err, w.waiting)
	}
	if w.head != nil {
		w.head.Close()
	}
	if e := w.file.Close(); err == nil && e != nil {
		err = fmt.Errorf("close: %w", e)
	}
	w.release()
	return err
}

// SaveDiff writes diff, redacted, as the next file below diffs/ and returns its
// name, "diffs/001.diff" being the first. Numbers rise, also over the runs of a
// session.
func (w *Writer) SaveDiff(diff []byte) (name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return "", fmt.Errorf("save diff: %w", os.ErrClosed)
	}
	dir := filepath.Join(w.dir, diffsName)
	if w.diffs < 0 {
		last, err := lastDiff(dir)
		if err != nil {
			return "", fmt.Errorf("save diff: %w", err)
		}
		w.diffs = last
	}
	diff = w.o.Redact(diff)
	for {
		w.diffs++
		name = fmt.Sprintf("%03d.diff", w.diffs)
		err = writeNew(filepath.Join(dir, name), diff)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			w.diffs--
			return "", fmt.Errorf("save diff: %w", err)
		}
		w.loose = append(w.loose, filepath.Join(diffsName, name))
		return diffsName + "/" + name, nil
	}
}

// lastDiff makes dir if need be and returns the highest number in it.
func lastDiff(dir string) (last int, err error) {
	if err := os.Mkdir(dir, 0o700); err == nil {
		return last, os.Chmod(dir, 0o700)
	} else if !errors.Is(err, fs.ErrExist) {
		return last, err
	}
	if err := checkDir(dir); err != nil {
		return last, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return last, err
	}
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), ".diff")
		if n, err := strconv.Atoi(digits); ok && err == nil && n > last && n < 1<<31 {
			last = n
		}
	}
	return last, nil
}

// writeNew writes a file that must not exist, wholly or not at all.
func writeNew(path string, b []byte) error {
	f, err := private(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}
