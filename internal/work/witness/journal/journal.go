// Package journal is the file in which a witness writes down what a command is about to
// change, before it does.
//
// A journal is a directory: the file "journal" with the records, one behind the other,
// and beside it the contents that were too large for it, by number. A record is a
// length, a checksum and a body; the first that is cut off or damaged ends the journal, and
// so does a length of zero: the file may have room for more records behind the last. A body
// ends with the time at which it was written and zeros up to a multiple of eight bytes.
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
	"slices"
	"strconv"

	"kerf/internal/atomicfile"
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
	// command had removed it before. Why is not empty if what it made may be elsewhere. Path is empty of
	// a file that the command has open by a name that went; Before names it.
	Foreign
	// Cut: the records before were collected; Number counts the cuts.
	Cut
	// StillOpen: at the Cut before, the command had Path open for writing. Before is what that held
	// if Number is Looked; in older journals it is not known. Path is empty if it opened the file that
	// Before names by a name that it does not have any more.
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
	// Mode: the command is about to give what Path holds, which is in Before, the
	// permissions in Number.
	Mode
)

// Looked is the Number of a StillOpen that tells what the name held.
const Looked = 1

// The ways in which a content is kept.
const (
	Nowhere = iota // nothing to keep, or it was not needed yet
	Inline         // in Data
	Apart          // in the file Number
	Prefix         // the file only grows: it is the beginning of what is there
	Same           // it is the content of the Touch with that Number
	Live           // in the file Number, which is the file itself: somebody was writing it
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
	// At is where in the journal the content is, by Sig.Size bytes, when a Reader left it
	// there; see Content.
	At int64
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

	time int64 // when it was written, in nanoseconds
}

// Time is when the record was written, in nanoseconds; 0 in older journals.
func (r *Record) Time() int64 { return r.time }

var table = crc32.MakeTable(crc32.Castagnoli)

// frame appends a record with its length and checksum.
func (r *Record) frame(b []byte) []byte {
	start := len(b)
	b = r.append(append(b, make([]byte, head)...))
	b = append(b, make([]byte, -len(b)&7)...)
	body := b[start+head:]
	binary.LittleEndian.PutUint32(b[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[start+4:], crc32.Checksum(body, table))
	return b
}

// head is the size of a record's length and checksum.
const head = 8

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
		return binary.AppendVarint(b, r.time)
	}
	for _, v := range []uint64{uint64(s.Mode), s.Sig.Dev, s.Sig.Ino, uint64(s.Sig.Size), uint64(s.Sig.Mtime),
		uint64(s.Sig.Ctime), uint64(s.Sig.Born), s.Links, s.Number, uint64(len(s.Data))} {
		b = binary.AppendUvarint(b, v)
	}
	b = append(b, s.Data...)
	return binary.AppendVarint(b, r.time)
}

// errCut says that the rest of a journal is no record.
var errCut = errors.New("the journal ends in the middle of a record")

// Reader reads a journal from its beginning, also while it grows.
type Reader struct {
	dir string
	f   *os.File
	at  int64
	// seen is when the last record was written that Next returned.
	seen int64
}

// Open opens the journal in dir. The error wraps fs.ErrNotExist when there is none: the
// command touched nothing.
func Open(dir string) (*Reader, error) {
	f, err := atomicfile.Open(filepath.Join(dir, Name))
	if err != nil {
		return nil, err
	}
	return &Reader{dir: dir, f: f}, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.f.Close() }

// Written is the last moment, in nanoseconds, of which it is known that the helper was
// there: it wrote a record that Next returned, or gave a sign.
func (r *Reader) Written() int64 {
	st, err := r.f.Stat()
	if err != nil {
		return 0
	}
	return max(st.ModTime().UnixNano(), r.seen)
}

// More reports whether the journal has more than Next returned so far.
func (r *Reader) More() bool {
	var length [4]byte
	_, err := r.f.ReadAt(length[:], r.at)
	return err == nil && length != [4]byte{}
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
	for b := make([]byte, min(st.Size()-r.at, step)); ; {
		n, err := r.f.ReadAt(b, r.at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, false, fmt.Errorf("read journal %s: %w", r.dir, err)
		}
		size := 0
		list, size, err = r.some(list, b[:n])
		switch left := st.Size() - r.at; {
		case err == nil && (size == 0 || left == 0):
			return list, true, nil
		case err != nil && size == 0 && int64(len(b)) >= left:
			return list, false, nil
		case size == 0: // a record is larger than what was read
			b = make([]byte, min(left, 2*int64(len(b))))
		}
	}
}

const (
	// step is how much of a journal is read at once.
	step = 1 << 20
	// brief is the size up to which contents stay with their records.
	brief = 512
)

// some appends the records that b begins with, which is read from where r is. size is what
// they have. The error says that something else follows.
func (r *Reader) some(list []Record, b []byte) (_ []Record, size int, err error) {
	for len(b) > 0 && !unused(b) {
		rec, n, err := parse(b)
		if err != nil {
			return list, size, err
		}
		if s := &rec.Before; s.Kind == File && len(s.Data) > brief && s.Sig.Size == int64(len(s.Data)) {
			s.At, s.Data = s.At+r.at, nil
		} else {
			s.At, s.Data = 0, slices.Clone(s.Data)
		}
		list = append(list, rec)
		b = b[n:]
		size += n
		r.at += int64(n)
		r.seen = max(r.seen, rec.time)
	}
	return list, size, nil
}

// Content reads a content that a Reader left in the journal in dir.
func Content(dir string, s *State) ([]byte, error) {
	if s.At == 0 {
		return slices.Clone(s.Data), nil
	}
	f, err := atomicfile.Open(filepath.Join(dir, Name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, s.Sig.Size)
	_, err = f.ReadAt(data, s.At)
	return data, err
}

// unused reports whether b is room for records that were not written.
func unused(b []byte) bool { return len(b) >= 4 && binary.LittleEndian.Uint32(b) == 0 }

func parse(b []byte) (Record, int, error) {
	if len(b) < head {
		return Record{}, 0, errCut
	}
	size := int(binary.LittleEndian.Uint32(b))
	if size < 2 || size > len(b)-head {
		return Record{}, 0, errCut
	}
	body := b[head : head+size]
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
		s.At = int64(head + len(body) - len(d.b) - len(s.Data))
	}
	if len(d.b) > 0 { // older journals have no times
		r.time = d.varint()
	}
	if d.bad {
		return Record{}, 0, errCut
	}
	return r, head + size, nil
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
