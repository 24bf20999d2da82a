package rollout

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"kerf/internal/atomicfile"
)

// A session goes on from its last compaction: what lies before counts only as
// far as a digest of it tells. The digest, and where the part that follows it
// begins, are kept in rollout.mark. That file is a cache: it is checked against
// the record, left aside when it does not fit, and made anew from the record.

// markName is the name of the file; markFormat the version of its content.
const (
	markName   = "rollout.mark"
	markFormat = 1
)

// wholeLimit is the size up to which a record is read whole anyway, so that
// damage anywhere in it is found when the session is resumed. That of larger
// ones is found by Verify and Read.
const wholeLimit = 8 << 20

// maxMark bounds a mark that is read.
const maxMark = 64 << 20

// Digester condenses records. Records of type Cut begin a part that stands
// alone but for the digest of all before it.
type Digester struct {
	Cut string
	// Digest returns JSON for what prior, a digest or nil, and the records that
	// follow it amount to.
	Digest func(prior json.RawMessage, records []Record) (json.RawMessage, error)
	// From is the size in bytes from which the end alone is read, 0 for a default.
	From int64
}

// Tail is the end of a rollout, and what stands for the records before it.
type Tail struct {
	Digest  json.RawMessage // nil: there are none
	Records []Record
}

// mark says where the part begins that the digest does not cover.
type mark struct {
	Format int             `json:"v"`
	Offset int64           `json:"offset"`
	Seq    int64           `json:"seq"`  // of the record before
	Prev   string          `json:"prev"` // its hash
	Digest json.RawMessage `json:"digest"`
}

// at reports whether both name the same place.
func (m mark) at(other mark) bool {
	return m.Offset == other.Offset && m.Seq == other.Seq && m.Prev == other.Prev
}

// Resume is Open for sessions of any size: it needs the time and the memory of
// the records since the last cut.
func Resume(dir string, o Options) (*Writer, Tail, *Damage, error) {
	w, s, err := open(dir, o)
	if err != nil {
		return nil, Tail{}, nil, err
	}
	if s.damage.none() {
		return w, Tail{w.mark.Digest, s.records}, nil, nil
	}
	return w, Tail{w.mark.Digest, s.records}, &s.damage, nil
}

// scan reads the end of the record where that is enough, otherwise all of it.
func (w *Writer) scan(f *os.File) (*scanner, error) {
	if w.o.Digest == nil {
		return scan(f)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > cmp.Or(w.o.From, wholeLimit) {
		if s, err := w.scanTail(f, st.Size()); s != nil || err != nil {
			return s, err
		}
	}
	s := &scanner{digester: w.o.Digester}
	if err := s.run(f); err != nil {
		return nil, err
	}
	if s.mark.Offset > 0 && !s.damage.none() && !s.tornOnly { // a repair needs all records
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		return scan(f)
	}
	return s, nil
}

// scanTail reads from the mark on. It returns nil where the mark does not fit or
// something is wrong with the rest.
func (w *Writer) scanTail(f *os.File, size int64) (*scanner, error) {
	m, ok := readMark(filepath.Join(w.dir, markName))
	if !ok || m.Offset > size {
		return nil, nil
	}
	s := &scanner{digester: w.o.Digester, mark: m, whole: m.Offset, line: int(m.Seq)}
	if err := s.run(io.NewSectionReader(f, m.Offset, size-m.Offset)); err != nil {
		return nil, err
	}
	if !s.fits || !s.damage.none() && !s.tornOnly {
		return nil, nil
	}
	return s, nil
}

// cut is called before the record h is kept. One that begins a part moves the
// mark there, if all is well so far.
func (s *scanner) cut(h head, at int64) {
	first := len(s.records) == 0
	if first && s.mark.Offset == at && at > 0 && h.seq == s.mark.Seq+1 && h.prev == s.mark.Prev {
		s.fits = true
		return
	}
	if s.digester.Digest == nil || h.kind != s.digester.Cut || first || !s.damage.none() || !s.rising() {
		return
	}
	digest, err := s.digester.Digest(s.mark.Digest, s.records)
	if err != nil {
		return // the records stay, and are enough
	}
	last := s.records[len(s.records)-1]
	s.mark = mark{markFormat, at, last.Seq, hash(last.Raw), digest}
	s.records = nil
}

func (s *scanner) rising() bool {
	before := s.mark.Seq
	for _, r := range s.records {
		if r.Seq <= before {
			return false
		}
		before = r.Seq
	}
	return true
}

func readMark(path string) (mark, bool) {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxMark {
		return mark{}, false
	}
	b, err := os.ReadFile(path)
	var m mark
	if err != nil || json.Unmarshal(b, &m) != nil || m.Format != markFormat || m.Offset <= 0 {
		return mark{}, false
	}
	return m, true
}

func saveMark(dir string, m mark) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.WriteCache(filepath.Join(dir, markName), append(b, '\n'))
}

// advance moves the mark to the record at the offset at, which begins a part.
// Without it the next Resume is slower, nothing else. It must be called with mu
// held.
func (w *Writer) advance(at int64) {
	m, err := w.digest(at)
	if err == nil {
		err = saveMark(w.dir, m)
	}
	if err == nil {
		w.mark = m
	}
}

var errNoPart = errors.New("the records do not make a part")

func (w *Writer) digest(at int64) (mark, error) {
	f, err := openRegular(filepath.Join(w.dir, rolloutName), os.O_RDONLY)
	if err != nil {
		return mark{}, err
	}
	defer f.Close()
	s := scanner{}
	if err := s.run(io.NewSectionReader(f, w.mark.Offset, at-w.mark.Offset)); err != nil {
		return mark{}, err
	}
	if len(s.records) == 0 || !s.damage.none() {
		return mark{}, errNoPart
	}
	digest, err := w.o.Digest(w.mark.Digest, s.records)
	if err != nil {
		return mark{}, fmt.Errorf("digest: %w", err)
	}
	return mark{markFormat, at, s.lastSeq(), s.lastHash, digest}, nil
}
