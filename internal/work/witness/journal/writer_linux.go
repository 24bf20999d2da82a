package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Writer appends records. It is for one goroutine at a time.
//
// The records are written into memory that is mapped from the file, where the file system
// can set its blocks aside first: that costs no system call for each, and what is in that
// memory is in the file whatever becomes of the process. Elsewhere each is written with a
// call.
type Writer struct {
	f      *os.File
	buf    []byte
	err    error
	end    int64  // of the records
	window []byte // of the file, mapped; it may be empty
	start  int64  // of the window
	calls  bool   // nothing is mapped
	lines  int64
}

// Written, in tests, is called after each record with the number of records so far.
var Written func(lines int64)

// Create makes a journal in dir, which it makes, too.
func Create(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, Name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{f: f}, nil
}

// File is the file of the records.
func (w *Writer) File() *os.File { return w.f }

// Close closes the file, without room behind the last record.
func (w *Writer) Close() error {
	w.unmap()
	return w.f.Close()
}

// Write appends records, all or none. After an error nothing more is written, and every
// call returns that error.
func (w *Writer) Write(list ...*Record) error {
	if w.err != nil {
		return w.err
	}
	w.buf = w.buf[:0]
	now := time.Now().UnixNano()
	for _, r := range list {
		r.time = now
		w.buf = r.frame(w.buf)
	}
	if w.mapped() {
		w.err = w.store()
	} else {
		w.err = w.write()
	}
	if w.err == nil {
		w.end += int64(len(w.buf))
	}
	if w.lines += int64(len(list)); Written != nil {
		Written(w.lines)
	}
	return w.err
}

const (
	firstWindow = 64 << 10
	maxWindow   = 1 << 20
)

// mapped sees to it that what is to be written fits into the window, if there can be one.
func (w *Writer) mapped() bool {
	if w.calls {
		return false
	}
	at := w.end - w.start
	if at+int64(len(w.buf)) <= int64(len(w.window)) {
		return true
	}
	page := int64(os.Getpagesize())
	start := w.end / page * page
	size := max(firstWindow, min(w.end, maxWindow)/firstWindow*firstWindow, int64(len(w.buf))+2*page)
	size = (size + page - 1) / page * page
	w.unmap()
	if err := unix.Fallocate(int(w.f.Fd()), 0, start, size); err == nil {
		w.window, err = unix.Mmap(int(w.f.Fd()), start, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			w.start = start
			return true
		}
	}
	w.calls = true // also when the disk is full: a call may find room for one more record
	w.unmap()
	return false
}

// unmap ends the window, and the file where its records end.
func (w *Writer) unmap() {
	if w.window != nil {
		_ = unix.Munmap(w.window)
		w.window = nil
	}
	if st, err := w.f.Stat(); err == nil && st.Size() > w.end {
		_ = w.f.Truncate(w.end)
	}
}

// store copies records into the window. The length of the first comes last: until then a
// reader finds none of them.
func (w *Writer) store() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { // the disk failed, or somebody cut the file off
		if r := recover(); r != nil {
			err = fmt.Errorf("write the journal: %v", r)
		}
	}()
	at := w.window[w.end-w.start:]
	copy(at[4:], w.buf[4:])
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&at[0])), *(*uint32)(unsafe.Pointer(&w.buf[0])))
	return nil
}

func (w *Writer) write() error {
	if _, err := w.f.WriteAt(w.buf, w.end); err != nil {
		_ = w.f.Truncate(w.end) // a torn record ends the journal for readers
		return err
	}
	return nil
}
