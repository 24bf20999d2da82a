// Package store keeps contents by their SHA-256.
//
// An object lives at DIR/a/bcdef... (the hex of its sum, split after one digit; more
// directories would cost more to make than they save). It begins with the four bytes
// "KS1" and a codec: 'r' for the bytes as they are, 'z' for one zstd stream. Many small
// objects that are put together share a file in DIR/pack, a large one that is much like
// another may be kept as the difference in DIR/splice, and a large file as it is in
// DIR/large. Objects appear whole or not at all, are never changed, and are checked
// against their name when read.
package store

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"kerf/internal/atomicfile"
	"kerf/internal/text/delta"
)

const (
	magic     = "KS1"
	headerLen = len(magic) + 1
	codecRaw  = 'r'
	codecZstd = 'z'
	// Below this size compression saves less than a disk block.
	minCompress = 256
	// Larger contents are compressed as a stream, so that no second copy is in memory.
	maxWhole = 1 << 20
	// maxObject bounds what a damaged object can make Get allocate.
	maxObject = 4 << 30
	// touchAge: an object that is put again is made young if it is older than this,
	// so that a collector that spares young objects does not take it.
	touchAge  = time.Hour
	tmpPrefix = "tmp-"
)

var (
	// ErrNotFound says that the store does not hold a content.
	ErrNotFound = errors.New("not in the store")
	// ErrDamaged says that an object does not have the content its name promises.
	ErrDamaged = errors.New("damaged object")
)

// Store is a directory of objects. Its methods may be called concurrently, also
// from several processes.
type Store struct {
	dir string
	// Hook, when set before the first use, is asked before each call that changes
	// the disk, and its error becomes the call's. It exists for fault tests.
	Hook func(op, path string) error

	lease lease
	codec codec
	packs packs
}

// Open returns the store in dir. Nothing is made on disk before the first Put.
func Open(dir string) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open store %s: path is not absolute", dir)
	}
	return &Store{dir: dir}, nil
}

// Put stores data, unless it is there, and returns its sum. The object may be lost
// in a power failure until Sync.
func (s *Store) Put(data []byte) (delta.Sum, error) { return s.put(data, false) }

// PutSync is Put, durable when it returns.
func (s *Store) PutSync(data []byte) (delta.Sum, error) { return s.put(data, true) }

// Sync makes objects durable, however they are kept.
func (s *Store) Sync(sums ...delta.Sum) error {
	for _, sum := range sums {
		if err := s.refresh(sum, s.path(sum), true); err != nil {
			return fmt.Errorf("sync object %s: %w", sum, err)
		}
	}
	return nil
}

// Has reports whether the store holds sum.
func (s *Store) Has(sum delta.Sum) bool {
	st, err := os.Lstat(s.path(sum))
	// A power failure may leave an object that was not synced empty.
	if err == nil && st.Mode().IsRegular() && st.Size() >= int64(headerLen) {
		return true
	}
	if _, ok := s.find(sum); ok {
		return true
	}
	st, err = os.Lstat(s.splicePath(sum))
	return err == nil && st.Size() >= int64(spliceHead) || s.hasLarge(sum)
}

// Get returns the content with the given sum. It fails with ErrNotFound, or with
// ErrDamaged when what is stored is something else.
func (s *Store) Get(sum delta.Sum) ([]byte, error) {
	data, err := s.get(sum)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("object %s: %w", sum, ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("object %s: %w", sum, err)
	case delta.SumOf(data) != sum:
		return nil, fmt.Errorf("object %s: %w", sum, ErrDamaged)
	}
	return data, nil
}

// get does not check what it finds.
func (s *Store) get(sum delta.Sum) ([]byte, error) {
	raw, err := atomicfile.Read(s.path(sum))
	if errors.Is(err, fs.ErrNotExist) {
		raw, err = s.getPacked(sum)
	}
	if errors.Is(err, fs.ErrNotExist) {
		data, err := s.getSpliced(sum)
		if errors.Is(err, fs.ErrNotExist) {
			return atomicfile.Read(s.contentPath(sum))
		}
		return data, err
	}
	if err != nil {
		return nil, err
	}
	return s.decode(raw)
}

// Remove takes sum out of the store; it is no error if it was not there.
func (s *Store) Remove(sum delta.Sum) error {
	if err := s.ask("unlink", s.path(sum)); err != nil {
		return err
	}
	if err := os.Remove(s.path(sum)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(s.splicePath(sum)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(s.removePacked(sum), s.removeLarge(sum))
}

// Object is what Walk tells about an object.
type Object struct {
	Sum  delta.Sum
	Size int64     // on disk
	Time time.Time // when it was last put, to the hour
}

// Walk calls fn for each object, in the order of their sums, and removes what
// interrupted puts left more than a day ago. An error of fn ends the walk.
func (s *Store) Walk(fn func(Object) error) error {
	packed := merged(s.splicedObjects(s.packedObjects()), s.largeObjects())
	for _, digit := range "0123456789abcdef" {
		shard := string(digit)
		loose, err := os.ReadDir(filepath.Join(s.dir, shard))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		rest := packed[byte(digit)]
		err = s.walkShard(shard, loose, func(o Object) error {
			for len(rest) > 0 && bytes.Compare(rest[0].Sum[:], o.Sum[:]) <= 0 {
				if rest[0].Sum != o.Sum {
					if err := fn(rest[0]); err != nil {
						return err
					}
				}
				rest = rest[1:]
			}
			return fn(o)
		})
		if err != nil {
			return err
		}
		for _, o := range rest {
			if err := fn(o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) walkShard(shard string, files []fs.DirEntry, fn func(Object) error) error {
	for _, f := range files {
		st, err := f.Info()
		if err != nil {
			continue // collected meanwhile
		}
		o := Object{Size: st.Size(), Time: st.ModTime()}
		var ok bool
		if o.Sum, ok = sumNamed(shard + f.Name()); !ok {
			sweep(filepath.Join(s.dir, shard, f.Name()), st)
			continue
		}
		if err := fn(o); err != nil {
			return err
		}
	}
	return nil
}

// sumNamed is the sum that a name tells in full.
func sumNamed(name string) (sum delta.Sum, ok bool) {
	if len(name) != hex.EncodedLen(len(sum)) {
		return sum, false
	}
	_, err := hex.Decode(sum[:], []byte(name))
	return sum, err == nil
}

// sweep removes an old temporary file or directory; a young one may belong to a living put.
func sweep(path string, st fs.FileInfo) {
	if strings.HasPrefix(filepath.Base(path), tmpPrefix) && time.Since(st.ModTime()) > 24*time.Hour {
		_ = os.RemoveAll(path) // the next walk tries again
	}
}

func (s *Store) path(sum delta.Sum) string {
	h := sum.String()
	return filepath.Join(s.dir, h[:1], h[1:])
}

func (s *Store) ask(op, path string) error {
	if s.Hook == nil {
		return nil
	}
	return s.Hook(op, path)
}

func (s *Store) put(data []byte, durable bool) (delta.Sum, error) {
	s.hold()
	sum := delta.SumOf(data)
	path := s.path(sum)
	err := s.refresh(sum, path, durable)
	if errors.Is(err, ErrNotFound) {
		err = s.write(path, data, durable)
	}
	if err != nil {
		return sum, fmt.Errorf("store %s: %w", sum, err)
	}
	return sum, nil
}

// refresh keeps an object that is there: young, and durable if asked.
func (s *Store) refresh(sum delta.Sum, path string, durable bool) error {
	st, err := os.Lstat(path)
	if err != nil || st.Size() < int64(headerLen) {
		if _, err := s.refreshPacked(sum, durable); !errors.Is(err, ErrNotFound) {
			return err
		}
		if err := s.refreshSpliced(sum, durable); !errors.Is(err, ErrNotFound) {
			return err
		}
		return s.refreshLarge(sum, durable)
	}
	return s.refreshFile(path, durable)
}

// refreshFile keeps a file of the store, if it is there.
func (s *Store) refreshFile(path string, durable bool) error {
	st, err := os.Lstat(path)
	if err != nil || st.Size() < int64(headerLen) {
		return ErrNotFound
	}
	if time.Since(st.ModTime()) > touchAge {
		if s.touch(path) != nil {
			return ErrNotFound // collected meanwhile, or not ours: write it anew
		}
	}
	if durable {
		return s.sync(path)
	}
	return nil
}

func (s *Store) write(path string, data []byte, durable bool) error {
	return s.writeFile(path, durable, func(w io.Writer) error { return s.encode(w, data) })
}

// writeFile makes a file of the store appear whole.
func (s *Store) writeFile(path string, durable bool, fill func(io.Writer) error) error {
	shard := filepath.Dir(path)
	if err := s.makeDir(shard); err != nil {
		return err
	}
	tmp := filepath.Join(shard, tmpPrefix+rand.Text())
	if err := s.writeTemp(tmp, durable, fill); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if err := s.ask("rename", path); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if durable {
		return s.syncDir(shard)
	}
	return nil
}

func (s *Store) writeTemp(tmp string, durable bool, fill func(io.Writer) error) (err error) {
	if err := s.ask("create", tmp); err != nil {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := s.ask("write", tmp); err != nil {
		return err
	}
	if err := fill(f); err != nil || !durable {
		return err
	}
	if err := s.ask("sync", tmp); err != nil {
		return err
	}
	return f.Sync()
}

// sync flushes an object and its name.
func (s *Store) sync(path string) error {
	if err := s.syncFile(path); err != nil {
		return err
	}
	return s.syncDir(filepath.Dir(path))
}

func (s *Store) syncFile(path string) error {
	if err := s.ask("sync", path); err != nil {
		return err
	}
	f, err := openForSync(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncDir makes the names in a directory durable.
func (s *Store) syncDir(dir string) error {
	if err := s.ask("syncdir", dir); err != nil {
		return err
	}
	return atomicfile.SyncDir(dir)
}

// encode writes the header and data, compressed when that is smaller.
func (s *Store) encode(w io.Writer, data []byte) error {
	if len(data) > maxWhole && s.codec.compressible(data[:maxWhole/4]) {
		return s.encodeStream(w, data)
	}
	if len(data) >= minCompress && len(data) <= maxWhole {
		if z := s.codec.compress(data); len(z) < len(data) {
			return writeAll(w, codecZstd, z)
		}
	}
	return writeAll(w, codecRaw, data)
}

func writeAll(w io.Writer, codec byte, data []byte) error {
	if len(data) <= maxWhole {
		_, err := w.Write(append([]byte{magic[0], magic[1], magic[2], codec}, data...))
		return err
	}
	if _, err := w.Write([]byte{magic[0], magic[1], magic[2], codec}); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// codec compresses and decompresses, one content at a time.
type codec struct {
	mu  sync.Mutex // guards enc and dec, which are made when first needed
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func (c *codec) compressible(sample []byte) bool {
	return len(c.compress(sample)) < len(sample)/10*9
}

func (c *codec) compress(data []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.encoder().EncodeAll(data, make([]byte, 0, len(data)/2))
}

func (s *Store) encodeStream(w io.Writer, data []byte) error {
	if _, err := w.Write([]byte{magic[0], magic[1], magic[2], codecZstd}); err != nil {
		return err
	}
	s.codec.mu.Lock()
	defer s.codec.mu.Unlock()
	enc := s.codec.encoder()
	enc.Reset(w)
	defer enc.Reset(nil)
	if _, err := enc.Write(data); err != nil {
		return err
	}
	return enc.Close()
}

// encoder needs the codec lock. Small windows and one goroutine keep it near 1 MB.
func (c *codec) encoder() *zstd.Encoder {
	if c.enc == nil {
		// The options are constants; they cannot be refused.
		c.enc, _ = zstd.NewWriter(nil, encoderOptions()...)
	}
	return c.enc
}

func encoderOptions() []zstd.EOption {
	return []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(256 << 10), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false)}
}

func (s *Store) decode(raw []byte) ([]byte, error) {
	if len(raw) < headerLen || !bytes.HasPrefix(raw, []byte(magic)) {
		return nil, ErrDamaged
	}
	body := raw[headerLen:]
	switch raw[len(magic)] {
	case codecRaw:
		return body, nil
	case codecZstd:
		return s.codec.decompress(body)
	}
	return nil, ErrDamaged
}

func (c *codec) decompress(body []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dec == nil {
		c.dec, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(maxObject))
	}
	data, err := c.dec.DecodeAll(body, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return data, nil
}
