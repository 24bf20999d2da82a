// Package journal is the file in which a witness writes down what a command is about to
// change, before it does.
//
// A journal is a directory: the file "journal" with the records, one behind the other,
// and beside it the contents that were too large for it, by number. A record is a
// length, a checksum and a body; the first that is cut off or damaged ends the journal.
// Records that were written survive the end of every process at any moment, not a power
// failure.
package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// Name is the file of the records.
const Name = "journal"

// Kind is what a record tells.
type Kind uint8

// The kinds of records.
const (
	// Began: the ledger's entry of the command is durable; Number is its sequence number,
	// To has the roots, with zero bytes between them.
	Began Kind = iota + 1
	// Touch: Path is about to be changed, and Before is what it held. Touches are numbered.
	Touch
	// Kept: the content of the file of the Touch with that Number, kept later than that.
	Kept
	// InPlace: the file of the Touch with that Number is about to be changed in place, and
	// has more names than one.
	InPlace
	// Foreign: somebody else changed Path after it was touched. Gone says that the
	// command had removed it before.
	Foreign
	// Cut: the records before were collected; Number counts the cuts.
	Cut
	// StillOpen: at the Cut before, the command had Path open for writing.
	StillOpen
	// Gap: changes of others may have been missed here.
	Gap
	// Unread: a call whose names could not be read went on.
	Unread
	// Lost: Path is about to be changed, and what it held at the Touch with that Number
	// cannot be kept; Why tells the reason. Refused says that the call was refused.
	Lost
	// Closed: the command wrote Path and closed it; Before tells what it was then.
	Closed
	// Final: what Path holds after the command, by its Sig.
	Final
	// End: nothing of the command runs any more.
	End
)

// The ways in which a content is kept.
const (
	Nowhere = iota // nothing to keep, or it was not needed yet
	Inline         // in Data
	Apart          // in the file Number
	Prefix         // the file only grows: it is the beginning of what is there
	Same           // it is the content of the Touch with that Number
)

// The kinds of what a name holds.
const (
	Absent = iota
	File
	Link
	Dir
	Special
)

// Sig tells cheaply whether a file was changed.
type Sig struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64 // nanoseconds
	Born         int64 // the same, 0 where it is not known: numbers are used again
}

// State is what a name holds.
type State struct {
	Kind  uint8
	Mode  uint32 // permission bits
	Sig   Sig
	Links uint64 // names that the file has
	How   uint8
	// Number of the file that holds the content, with Apart; of a Touch, with Same.
	Number uint64
	Data   []byte // the content, or the target of a link
}

// Record is one record.
type Record struct {
	Kind    Kind
	Path    string
	To      string
	Before  State
	Number  int64
	Refused bool
	Gone    bool
	Why     string
}

// Writer appends records. It is for one goroutine at a time.
type Writer struct {
	f   *os.File
	buf []byte
	err error
}

// Create makes a journal in dir, which it makes, too.
func Create(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, Name), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{f: f}, nil
}

// File is the file of the records.
func (w *Writer) File() *os.File { return w.f }

// Close closes the file.
func (w *Writer) Close() error { return w.f.Close() }

var table = crc32.MakeTable(crc32.Castagnoli)

// Write appends records with one call. After an error nothing more is written, and
// every call returns that error.
func (w *Writer) Write(list ...*Record) error {
	if w.err != nil {
		return w.err
	}
	w.buf = w.buf[:0]
	for _, r := range list {
		start := len(w.buf)
		w.buf = append(w.buf, 0, 0, 0, 0, 0, 0, 0, 0)
		w.buf = r.append(w.buf)
		body := w.buf[start+8:]
		binary.LittleEndian.PutUint32(w.buf[start:], uint32(len(body)))
		binary.LittleEndian.PutUint32(w.buf[start+4:], crc32.Checksum(body, table))
	}
	if n, err := w.f.Write(w.buf); err != nil {
		if n > 0 {
			if st, serr := w.f.Stat(); serr == nil {
				_ = w.f.Truncate(st.Size() - int64(n)) // a torn record ends the journal for readers
			}
		}
		w.err = err
	}
	return w.err
}

func (r *Record) append(b []byte) []byte {
	flags := byte(0)
	if r.Refused {
		flags |= 1
	}
	if r.Gone {
		flags |= 2
	}
	b = append(b, byte(r.Kind), flags)
	for _, s := range []string{r.Path, r.To, r.Why} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendVarint(b, r.Number)
	s := &r.Before
	b = append(b, s.Kind, s.How)
	if s.Kind == Absent {
		return b
	}
	for _, v := range []uint64{uint64(s.Mode), s.Sig.Dev, s.Sig.Ino, uint64(s.Sig.Size), uint64(s.Sig.Mtime),
		uint64(s.Sig.Ctime), uint64(s.Sig.Born), s.Links, s.Number, uint64(len(s.Data))} {
		b = binary.AppendUvarint(b, v)
	}
	return append(b, s.Data...)
}

// errCut says that the rest of a journal is no record.
var errCut = errors.New("the journal ends in the middle of a record")

// Reader reads a journal from its beginning, also while it grows.
type Reader struct {
	dir string
	f   *os.File
	at  int64
}

// Open opens the journal in dir. The error wraps fs.ErrNotExist when there is none: the
// command touched nothing.
func Open(dir string) (*Reader, error) {
	f, err := os.Open(filepath.Join(dir, Name))
	if err != nil {
		return nil, err
	}
	return &Reader{dir: dir, f: f}, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.f.Close() }

// Written is when the last record was written, in nanoseconds.
func (r *Reader) Written() int64 {
	st, err := r.f.Stat()
	if err != nil {
		return 0
	}
	return st.ModTime().UnixNano()
}

// More reports whether the journal has more than Next returned so far.
func (r *Reader) More() bool {
	st, err := r.f.Stat()
	return err == nil && st.Size() > r.at
}

// Leave is how much of a disk of size bytes stays free when contents are copied to it.
func Leave(size int64) int64 { return min(1<<30, size/10) }

// ApartPath is the path of a content that is kept beside the records.
func ApartPath(dir string, number uint64) string {
	return filepath.Join(dir, strconv.FormatUint(number, 10))
}

// Next returns the records that were written since the last call. whole is false when
// what follows them is cut off or damaged.
func (r *Reader) Next() (list []Record, whole bool, err error) {
	st, err := r.f.Stat()
	if err != nil {
		return nil, false, err
	}
	b := make([]byte, st.Size()-r.at)
	n, err := r.f.ReadAt(b, r.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("read journal %s: %w", r.dir, err)
	}
	b = b[:n]
	for len(b) > 0 {
		rec, size, err := parse(b)
		if err != nil {
			return list, false, nil
		}
		list = append(list, rec)
		b = b[size:]
		r.at += int64(size)
	}
	return list, true, nil
}

func parse(b []byte) (Record, int, error) {
	if len(b) < 8 {
		return Record{}, 0, errCut
	}
	size := int(binary.LittleEndian.Uint32(b))
	if size < 2 || size > len(b)-8 {
		return Record{}, 0, errCut
	}
	body := b[8 : 8+size]
	if crc32.Checksum(body, table) != binary.LittleEndian.Uint32(b[4:]) {
		return Record{}, 0, errCut
	}
	d := decoder{b: body}
	r := Record{Kind: Kind(d.byte())}
	flags := d.byte()
	r.Refused, r.Gone = flags&1 != 0, flags&2 != 0
	r.Path, r.To, r.Why = string(d.bytes()), string(d.bytes()), string(d.bytes())
	r.Number = d.varint()
	s := &r.Before
	s.Kind, s.How = d.byte(), d.byte()
	if s.Kind != Absent {
		s.Mode = uint32(d.uvarint())
		s.Sig = Sig{d.uvarint(), d.uvarint(), int64(d.uvarint()), int64(d.uvarint()), int64(d.uvarint()),
			int64(d.uvarint())}
		s.Links, s.Number = d.uvarint(), d.uvarint()
		s.Data = d.bytes()
	}
	if d.bad {
		return Record{}, 0, errCut
	}
	return r, 8 + size, nil
}

// decoder reads what append wrote.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) skip(n int) {
	if n <= 0 {
		d.bad, d.b = true, nil
		return
	}
	d.b = d.b[n:]
}

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}
