package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"

	"kerf/internal/atomicfile"
	"kerf/internal/text/delta"
)

// Open returns a reader of the content with the given sum. It needs little memory,
// except for a content that is kept as the difference from another. What it reads is
// checked: where io.EOF is due, a content that is not what its name promises gives
// ErrDamaged. Open fails with ErrNotFound.
func (s *Store) Open(sum delta.Sum) (io.ReadCloser, error) {
	r, err := s.open(sum)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", sum, err)
	}
	return &checked{r: r, sum: sum, h: sha256.New()}, nil
}

// CopyTo writes the content with the given sum to f, an empty file that is open for
// reading and writing. Where the file system can, f shares the blocks of the store. When
// it fails, also with ErrDamaged, f may have something in it.
func (s *Store) CopyTo(sum delta.Sum, f *os.File) error {
	if from, err := atomicfile.Open(s.contentPath(sum)); err == nil {
		err = cloneInto(from, f)
		_ = from.Close()
		if err == nil {
			return s.verify(sum, f)
		}
	}
	r, err := s.Open(sum)
	if err != nil {
		return err
	}
	defer r.Close()
	w := sparse{f: f}
	if _, err = io.CopyBuffer(&w, r, make([]byte, chunk)); err == nil {
		err = f.Truncate(w.at)
	}
	return err
}

// sparse writes to an empty file, and leaves holes where there are only zeroes.
type sparse struct {
	f  *os.File
	at int64
}

// leastHole is the size in bytes of the smallest hole: a block of most file systems.
const leastHole = 4 << 10

func (s *sparse) Write(p []byte) (n int, err error) {
	n = len(p)
	if n < leastHole || n > chunk || !bytes.Equal(p, zeroes[:n]) {
		n, err = s.f.WriteAt(p, s.at)
	}
	s.at += int64(n)
	return n, err
}

var zeroes [chunk]byte

// Verify reads the content with the given sum and checks it. It fails with ErrNotFound
// or ErrDamaged.
func (s *Store) Verify(sum delta.Sum) error {
	r, err := s.Open(sum)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.CopyBuffer(onlyWriter{io.Discard}, r, make([]byte, chunk))
	return err
}

// verify checks that f has the content with the given sum.
func (s *Store) verify(sum delta.Sum, f *os.File) error {
	r := &checked{r: io.NopCloser(io.NewSectionReader(f, 0, 1<<62)), sum: sum, h: sha256.New()}
	_, err := io.CopyBuffer(onlyWriter{io.Discard}, r, make([]byte, chunk))
	return err
}

// Keep makes an object that is there young, and durable if asked, as putting it again
// does. It fails with ErrNotFound.
func (s *Store) Keep(sum delta.Sum, durable bool) error {
	s.hold()
	if err := s.refresh(sum, s.path(sum), durable); err != nil {
		return fmt.Errorf("object %s: %w", sum, err)
	}
	return nil
}

// checked is a reader that knows what it should have read.
type checked struct {
	r   io.ReadCloser
	sum delta.Sum
	h   hash.Hash
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.h.Write(p[:n])
	if errors.Is(err, io.EOF) && delta.Sum(c.h.Sum(nil)) != c.sum {
		err = fmt.Errorf("object %s: %w", c.sum, ErrDamaged)
	}
	return n, err
}

func (c *checked) Close() error { return c.r.Close() }

// open does not check what it finds.
func (s *Store) open(sum delta.Sum) (io.ReadCloser, error) {
	f, err := atomicfile.Open(s.path(sum))
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = atomicfile.Open(s.contentPath(sum)); err == nil {
			return f, nil
		}
		data, err := s.get(sum)
		return io.NopCloser(bytes.NewReader(data)), err
	}
	if err != nil {
		return nil, err
	}
	r, err := openObject(f)
	if err != nil {
		_ = f.Close()
	}
	return r, err
}

// openObject returns a reader of the content of a loose object.
func openObject(f *os.File) (io.ReadCloser, error) {
	var head [headerLen]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || string(head[:len(magic)]) != magic {
		return nil, ErrDamaged
	}
	switch head[len(magic)] {
	case codecRaw:
		return f, nil
	case codecZstd:
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		return unpacking{z, f}, err
	}
	return nil, ErrDamaged
}

// unpacking reads a compressed object.
type unpacking struct {
	z *zstd.Decoder
	f *os.File
}

func (u unpacking) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return n, err
}

func (u unpacking) Close() error {
	u.z.Close()
	return u.f.Close()
}
