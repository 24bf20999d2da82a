package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/atomicfile"
	"kerf/internal/text/delta"
	"kerf/internal/text/order"
)

// A large content that differs from another in one stretch is kept as that
// difference, in DIR/splice/SUM:
//
//	"KS1s"
//	the sum of the base (32 bytes), an object of its own that is not a splice
//	how many bytes of the base come first (8), how many come last (8)
//	the bytes between
//
// So an edit of a file of 10 MB costs what it changes. The base is young whenever a
// splice on it is made or put again, and no collection takes the base of a splice.
const (
	spliceDir   = "splice"
	codecSplice = 's'
	spliceHead  = headerLen + 32 + 8 + 8
	// Smaller contents are not worth it; those up to this size may be in packs.
	minSplice = maxPacked
)

// Content is what PutAll stores. Sum must be that of Data.
type Content struct {
	Sum  delta.Sum
	Data []byte
	// Base, which may be nil, is a content that comes earlier in the same call and is
	// likely to be much the same.
	Base *Content
}

// splice is a content told by its difference from base.
type splice struct {
	base       delta.Sum
	head, tail int64 // bytes of the base
	mid        []byte
}

func (s *Store) splicePath(sum delta.Sum) string {
	return filepath.Join(s.dir, spliceDir, sum.String())
}

// putSplice stores c as a difference from its base, which the store has. It reports
// false if that would not be worth it.
func (s *Store) putSplice(c Content, durable bool) (bool, error) {
	if c.Base == nil || len(c.Data) <= minSplice || len(c.Base.Data) <= minSplice {
		return false, nil
	}
	head, tail := common(c.Base.Data, c.Data)
	sp := splice{base: c.Base.Sum, head: int64(head), tail: int64(tail)}
	if _, err := os.Lstat(s.path(c.Base.Sum)); err != nil {
		// The base may be a splice itself: what it has in common with its own base
		// bounds what c has.
		below, err := s.readSplice(c.Base.Sum)
		if err != nil {
			return false, nil
		}
		sp = splice{base: below.base, head: min(sp.head, below.head), tail: min(sp.tail, below.tail)}
	}
	sp.mid = c.Data[sp.head : int64(len(c.Data))-sp.tail]
	if len(sp.mid) > len(c.Data)/4 {
		return false, nil
	}
	if err := s.refresh(sp.base, s.path(sp.base), durable); err != nil {
		return false, nil
	}
	return true, s.writeFile(s.splicePath(c.Sum), durable, func(w io.Writer) error {
		_, err := w.Write(sp.bytes())
		return err
	})
}

// common returns how many bytes a and b begin with and end with alike; the two do not
// overlap.
func common(a, b []byte) (head, tail int) {
	n := min(len(a), len(b))
	const block = 32 << 10
	for head+block <= n && bytes.Equal(a[head:head+block], b[head:head+block]) {
		head += block
	}
	for head < n && a[head] == b[head] {
		head++
	}
	n -= head
	for tail+block <= n && bytes.Equal(a[len(a)-tail-block:len(a)-tail], b[len(b)-tail-block:len(b)-tail]) {
		tail += block
	}
	for tail < n && a[len(a)-tail-1] == b[len(b)-tail-1] {
		tail++
	}
	return head, tail
}

func (sp splice) bytes() []byte {
	b := make([]byte, 0, spliceHead+len(sp.mid))
	b = append(append(b, magic...), codecSplice)
	b = append(b, sp.base[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(sp.head))
	b = binary.BigEndian.AppendUint64(b, uint64(sp.tail))
	return append(b, sp.mid...)
}

func (s *Store) readSplice(sum delta.Sum) (splice, error) {
	raw, err := atomicfile.Read(s.splicePath(sum))
	if err != nil {
		return splice{}, err
	}
	return parseSplice(raw)
}

func parseSplice(raw []byte) (splice, error) {
	if len(raw) < spliceHead || !bytes.HasPrefix(raw, []byte(magic)) || raw[len(magic)] != codecSplice {
		return splice{}, ErrDamaged
	}
	sp := splice{base: delta.Sum(raw[headerLen:]), mid: raw[spliceHead:]}
	sp.head = int64(binary.BigEndian.Uint64(raw[headerLen+32:]))
	sp.tail = int64(binary.BigEndian.Uint64(raw[headerLen+40:]))
	if sp.head < 0 || sp.tail < 0 || sp.head > maxObject || sp.tail > maxObject {
		return splice{}, ErrDamaged
	}
	return sp, nil
}

// getSpliced puts a spliced content together.
func (s *Store) getSpliced(sum delta.Sum) ([]byte, error) {
	sp, err := s.readSplice(sum)
	if err != nil {
		return nil, err
	}
	raw, err := atomicfile.Read(s.path(sp.base))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("its base %s: %w", sp.base, ErrNotFound)
		}
		return nil, err
	}
	base, err := s.decode(raw)
	if err != nil {
		return nil, err
	}
	size := int64(len(base))
	if sp.head > size || sp.tail > size {
		return nil, ErrDamaged
	}
	data := make([]byte, 0, sp.head+sp.tail+int64(len(sp.mid)))
	data = append(append(append(data, base[:sp.head]...), sp.mid...), base[size-sp.tail:]...)
	return data, nil
}

// refreshSpliced is refresh for a content that may be kept as a splice.
func (s *Store) refreshSpliced(sum delta.Sum, durable bool) error {
	path := s.splicePath(sum)
	if _, err := os.Lstat(path); err != nil {
		return ErrNotFound
	}
	sp, err := s.readSplice(sum)
	if err != nil {
		return ErrNotFound // damaged: write it anew
	}
	if err := s.refreshFile(s.path(sp.base), durable); err != nil {
		return err
	}
	return s.refreshFile(path, durable)
}

// splicedObjects adds the splices to objects, which are sorted by sum below the first
// digit of each, and sweeps what interrupted puts left.
func (s *Store) splicedObjects(objects map[byte][]Object) map[byte][]Object {
	files, _ := os.ReadDir(filepath.Join(s.dir, spliceDir)) // none, or the next walk sees them
	var list []Object
	for _, f := range files {
		st, err := f.Info()
		if err != nil {
			continue // collected meanwhile
		}
		sum, ok := sumNamed(f.Name())
		if !ok {
			sweep(filepath.Join(s.dir, spliceDir, f.Name()), st)
			continue
		}
		list = append(list, Object{sum, st.Size(), st.ModTime()})
	}
	return merged(objects, list)
}

// merged adds the objects of list that are not there yet.
func merged(objects map[byte][]Object, list []Object) map[byte][]Object {
	if objects == nil {
		objects = make(map[byte][]Object)
	}
	for _, o := range list {
		digit := o.Sum.String()[0]
		at, found := slices.BinarySearchFunc(objects[digit], o,
			func(a, b Object) int { return bytes.Compare(a.Sum[:], b.Sum[:]) })
		if !found {
			objects[digit] = order.Insert(objects[digit], at, o)
		}
	}
	return objects
}

// bases returns the objects that splices are made on.
func (s *Store) bases() (map[delta.Sum]bool, error) {
	files, err := os.ReadDir(filepath.Join(s.dir, spliceDir))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	bases := make(map[delta.Sum]bool)
	for _, f := range files {
		if strings.HasPrefix(f.Name(), tmpPrefix) {
			continue
		}
		head, err := readHead(filepath.Join(s.dir, spliceDir, f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // collected meanwhile
		}
		if err != nil {
			return nil, err
		}
		if sp, err := parseSplice(head); err == nil {
			bases[sp.base] = true
		}
	}
	return bases, nil
}

func readHead(path string) ([]byte, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, spliceHead)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
	}
	return head[:n], err
}

// shrink compresses a large object that PutAll had no time for. It leaves one that
// does not get smaller. The object counts as put now, once.
func (s *Store) shrink(o Object) error {
	path := s.path(o.Sum)
	head, err := readHead(path)
	if err != nil || len(head) < headerLen || string(head[:headerLen]) != magic+string(rune(codecRaw)) {
		return nil // not loose, collected meanwhile, or compressed already
	}
	data, err := s.Get(o.Sum)
	if err != nil || len(data) <= maxWhole || !s.codec.compressible(data[:maxWhole/4]) {
		return nil // a damaged one is for those to find who want it
	}
	return s.writeFile(path, true, func(w io.Writer) error { return s.encodeStream(w, data) })
}
