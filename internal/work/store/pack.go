package store

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kerf/internal/atomicfile"
	"kerf/internal/text/delta"
	"kerf/internal/text/order"
)

// A pack holds many small objects in one file, DIR/pack/NAME, so that a large commit
// makes and flushes one file instead of thousands:
//
//	"KP1\n"
//	the bodies, one after the other
//	per object: sum (32 bytes), offset (8), length (4), codec (1)
//	number of objects (4), "KP1\n"
//
// Numbers are big-endian. A pack appears whole and is never changed. Objects that
// were removed from it are listed, 32 bytes each, in NAME.dead; with the last of them
// the pack goes.
const (
	packMagic  = "KP1\n"
	packDir    = "pack"
	deadSuffix = ".dead"
	packRow    = 32 + 8 + 4 + 1
	packFoot   = 4 + len(packMagic)
	// Fewer objects than this are not worth a pack.
	minPack = 8
	// Larger contents get a file of their own.
	maxPacked = 256 << 10
	// maxPack bounds the bodies of a pack, and so what is in memory to write it.
	maxPack = 32 << 20
	// Below this size a body in a pack is not compressed; speed matters more.
	minPackCompress = 4096
	// packBuffer is what one call writes of a pack.
	packBuffer = 256 << 10
)

// packs is what is known of the packs of a store.
type packs struct {
	mu    sync.Mutex // guards what follows
	mtime time.Time  // of the directory when it was read
	all   map[string]*pack
	at    map[delta.Sum]packed
}

type pack struct {
	path  string
	total int
	live  int
	dead  int64 // bytes of the list of the dead that have been read
}

type packed struct {
	in    *pack
	off   int64
	n     uint32
	codec byte
}

// PutAll stores each of the contents that is not there; many small ones go into one
// file. Unless durable is set they may be lost in a power failure; they are never
// damaged by one. It is for those who wait: large contents are not compressed before
// the next collection.
func (s *Store) PutAll(contents []Content, durable bool) error {
	s.hold()
	if len(contents) < minPack {
		return s.putEach(contents, durable)
	}
	s.find(delta.Sum{}) // looks at the packs of others once
	var small []Content
	size := 0
	seen := make(map[delta.Sum]bool, len(contents))
	found := make(map[*pack]bool)
	for _, c := range contents {
		if seen[c.Sum] {
			continue
		}
		seen[c.Sum] = true
		if len(c.Data) > maxPacked {
			if err := s.putOne(c, durable); err != nil {
				return err
			}
			continue
		}
		switch there, err := s.knows(c.Sum, durable, found); {
		case err != nil:
			return fmt.Errorf("store %s: %w", c.Sum, err)
		case there:
			continue
		}
		small = append(small, c)
		if size += len(c.Data); size > maxPack {
			if err := s.putPack(small, durable); err != nil {
				return err
			}
			small, size = nil, 0
		}
	}
	for p := range found { // whoever made it may not have waited for the disk
		if !durable {
			break
		}
		if err := s.sync(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.putPack(small, durable)
}

func (s *Store) putEach(contents []Content, durable bool) error {
	for _, c := range contents {
		if err := s.putOne(c, durable); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) putOne(c Content, durable bool) error {
	path := s.path(c.Sum)
	err := s.refresh(c.Sum, path, durable)
	if errors.Is(err, ErrNotFound) {
		var done bool
		if done, err = s.putSplice(c, durable); err == nil && !done {
			err = s.writeFile(path, durable, func(w io.Writer) error {
				if len(c.Data) > maxWhole {
					return writeAll(w, codecRaw, c.Data)
				}
				return s.encode(w, c.Data)
			})
		}
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", c.Sum, err)
	}
	return nil
}

// knows is refresh for one of many. It notes the packs that are young now, which are to
// be flushed: from then on nobody takes anything out of them.
func (s *Store) knows(sum delta.Sum, durable bool, found map[*pack]bool) (bool, error) {
	p, isPacked := s.inPack(sum)
	var err error
	switch {
	case isPacked && found[p.in]:
		return true, nil
	case isPacked:
		var in *pack
		if in, err = s.refreshPacked(sum, false); err == nil {
			found[in] = true
		}
	default:
		if _, err := os.Lstat(s.path(sum)); err != nil {
			return false, nil
		}
		err = s.refresh(sum, s.path(sum), durable)
	}
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// inPack returns where sum was packed at the last look.
func (s *Store) inPack(sum delta.Sum) (packed, bool) {
	s.packs.mu.Lock()
	defer s.packs.mu.Unlock()
	p, ok := s.packs.at[sum]
	return p, ok
}

func (s *Store) putPack(contents []Content, durable bool) error {
	if len(contents) < minPack {
		return s.putEach(contents, durable)
	}
	path := filepath.Join(s.dir, packDir, rand.Text())
	if err := s.writeFile(path, durable, func(w io.Writer) error { return s.encodePack(w, contents) }); err != nil {
		return fmt.Errorf("store %d contents: %w", len(contents), err)
	}
	return nil
}

func (s *Store) encodePack(to io.Writer, contents []Content) error {
	w := bufio.NewWriterSize(to, packBuffer)
	off := uint64(0)
	write := func(b []byte) {
		_, _ = w.Write(b) // Flush tells
		off += uint64(len(b))
	}
	write([]byte(packMagic))
	index := make([]byte, 0, len(contents)*packRow+packFoot)
	for _, c := range contents {
		codec, z := byte(codecRaw), c.Data
		if len(z) >= minPackCompress {
			if small := s.codec.compress(z); len(small) < len(z) {
				codec, z = codecZstd, small
			}
		}
		index = append(index, c.Sum[:]...)
		index = binary.BigEndian.AppendUint64(index, off)
		index = binary.BigEndian.AppendUint32(index, uint32(len(z)))
		index = append(index, codec)
		write(z)
	}
	index = binary.BigEndian.AppendUint32(index, uint32(len(contents)))
	write(append(index, packMagic...))
	return w.Flush()
}

// makeDir makes a directory below the store's, and its name durable, whatever it is made for: what is
// put there later, and is to survive, finds it there and does not look at it again.
func (s *Store) makeDir(dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return nil
	}
	if err := s.ask("mkdir", dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := s.syncDir(s.dir); err != nil {
		return err
	}
	return s.syncDir(filepath.Dir(s.dir))
}

// find returns where sum is packed, after a look at what other processes did.
func (s *Store) find(sum delta.Sum) (packed, bool) {
	s.packs.mu.Lock()
	defer s.packs.mu.Unlock()
	if !s.packs.look(filepath.Join(s.dir, packDir)) {
		return packed{}, false
	}
	p, ok := s.packs.at[sum]
	if !ok {
		return packed{}, false
	}
	if s.packs.bury(p.in) {
		s.packs.all = nil // another pack may have it: read all again
		s.packs.look(filepath.Join(s.dir, packDir))
		p, ok = s.packs.at[sum]
	}
	return p, ok
}

// look reads the directory if it has changed; false means that there is none.
func (p *packs) look(dir string) bool {
	st, err := os.Stat(dir)
	if err != nil {
		return false
	}
	if p.all != nil && st.ModTime().Equal(p.mtime) {
		return true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	there := make(map[string]bool, len(entries))
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, tmpPrefix) && !strings.HasSuffix(name, deadSuffix) {
			there[filepath.Join(dir, name)] = true
		}
	}
	known := 0
	for path := range there {
		if p.all[path] != nil {
			known++
		}
	}
	if p.all == nil || known < len(p.all) { // a pack is gone; another may have what it had
		p.all, p.at = make(map[string]*pack), make(map[delta.Sum]packed)
	}
	for path := range there {
		if p.all[path] != nil {
			continue
		}
		if rows, err := readIndex(path); err == nil {
			p.add(&pack{path: path}, rows)
		}
	}
	// A directory that changed a moment ago may change again with the same time.
	if p.mtime = st.ModTime(); time.Since(p.mtime) < 100*time.Millisecond {
		p.mtime = time.Time{}
	}
	return true
}

// add enters the live objects of a pack. The same object may be in several.
func (p *packs) add(in *pack, rows []byte) {
	p.all[in.path] = in
	in.total = len(rows) / packRow
	dead := in.buried()
	for ; len(rows) >= packRow; rows = rows[packRow:] {
		if sum := delta.Sum(rows[:32]); !dead[sum] {
			p.at[sum] = packed{in, int64(binary.BigEndian.Uint64(rows[32:])), binary.BigEndian.Uint32(rows[40:]), rows[44]}
		}
	}
}

// bury takes out what has come into the pack's list of the dead, and reports whether
// anything has.
func (p *packs) bury(in *pack) bool {
	st, err := os.Stat(in.path + deadSuffix)
	if err != nil || st.Size() == in.dead {
		return false
	}
	for sum := range in.buried() {
		if at, ok := p.at[sum]; ok && at.in == in {
			delete(p.at, sum)
		}
	}
	return true
}

// buried reads the list of the dead.
func (in *pack) buried() map[delta.Sum]bool {
	list, err := atomicfile.Read(in.path + deadSuffix)
	in.live = in.total
	if err != nil {
		return nil
	}
	in.dead = int64(len(list))
	dead := make(map[delta.Sum]bool, len(list)/32)
	for ; len(list) >= 32; list = list[32:] {
		dead[delta.Sum(list[:32])] = true
	}
	in.live = in.total - len(dead)
	return dead
}

func readIndex(path string) ([]byte, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return indexOf(f, st.Size())
}

// indexOf are the rows of a pack of so many bytes.
func indexOf(f io.ReaderAt, all int64) ([]byte, error) {
	foot := make([]byte, packFoot)
	if _, err := f.ReadAt(foot, all-int64(packFoot)); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(foot)) * packRow
	start := all - int64(packFoot) - size
	if string(foot[4:]) != packMagic || start < int64(len(packMagic)) {
		return nil, ErrDamaged
	}
	rows := make([]byte, size)
	_, err := f.ReadAt(rows, start)
	return rows, err
}

func (s *Store) getPacked(sum delta.Sum) ([]byte, error) {
	p, ok := s.find(sum)
	if !ok {
		return nil, fs.ErrNotExist
	}
	f, err := atomicfile.Open(p.in.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw := make([]byte, headerLen+int(p.n))
	copy(raw, magic)
	raw[len(magic)] = p.codec
	if _, err := f.ReadAt(raw[headerLen:], p.off); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return raw, nil
}

// refreshPacked keeps a packed object that is there: young, and durable if asked. It
// returns the pack.
func (s *Store) refreshPacked(sum delta.Sum, durable bool) (*pack, error) {
	p, ok := s.find(sum)
	if !ok {
		return nil, ErrNotFound
	}
	st, err := os.Lstat(p.in.path)
	if err != nil {
		return nil, ErrNotFound
	}
	if time.Since(st.ModTime()) > touchAge {
		if s.touch(p.in.path) != nil {
			return nil, ErrNotFound
		}
	}
	// From here on nothing is taken out of the pack: what was, was before it became young.
	if now, ok := s.find(sum); !ok || now.in != p.in {
		return nil, ErrNotFound
	}
	if durable {
		return p.in, s.sync(p.in.path) // whoever made it may not have waited for the disk
	}
	return p.in, nil
}

// removePacked takes sum out of its pack, and the pack away with its last object.
func (s *Store) removePacked(sum delta.Sum) error {
	p, ok := s.find(sum)
	if !ok {
		return nil
	}
	list := p.in.path + deadSuffix
	if err := s.ask("write", list); err != nil {
		return err
	}
	f, err := atomicfile.OpenFile(list, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(sum[:])
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	s.packs.mu.Lock()
	defer s.packs.mu.Unlock()
	if s.packs.bury(p.in); p.in.live > 0 {
		return nil
	}
	for _, path := range []string{p.in.path, list} { // the pack first: a list alone is harmless
		if err := s.ask("unlink", path); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// packedObjects lists the live objects of all packs by the first hex digit of their
// sums, and sweeps what interrupted puts and removals left.
func (s *Store) packedObjects() map[byte][]Object {
	dir := filepath.Join(s.dir, packDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if st, err := e.Info(); err == nil {
			sweep(path, st)
		}
		if of, ok := strings.CutSuffix(path, deadSuffix); ok {
			if _, err := os.Lstat(of); errors.Is(err, fs.ErrNotExist) {
				_ = os.Remove(path)
			}
		}
	}
	s.find(delta.Sum{}) // for its look at the directory
	s.packs.mu.Lock()
	defer s.packs.mu.Unlock()
	times := make(map[*pack]time.Time)
	for _, p := range s.packs.all {
		if st, err := os.Lstat(p.path); err == nil {
			times[p] = st.ModTime()
		}
	}
	objects := make(map[byte][]Object)
	for sum, p := range s.packs.at {
		if t, ok := times[p.in]; ok {
			digit := sum.String()[0]
			objects[digit] = append(objects[digit], Object{sum, int64(p.n), t})
		}
	}
	for _, o := range objects {
		order.By(o, func(a, b Object) int { return bytes.Compare(a.Sum[:], b.Sum[:]) })
	}
	return objects
}
