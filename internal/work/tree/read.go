package tree

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"kerf/internal/text/delta"
	"kerf/internal/work/tree/handle"
)

// Signature tells cheaply whether a path may have changed: two equal signatures, the
// first of them not fresh, mean the same content.
type Signature = handle.Signature

// Read returns the state of the file that path stands for, following links inside
// the roots; nil when nothing is there. A limit above 0 bounds the size in bytes; without
// one, the content of a file that is larger than Whole is not loaded. It
// never blocks on what it opens. Errors are ErrDirectory, *SpecialError,
// *TooLargeError, *OutsideError, *LinkError, or those of the system.
func (t *Tree) Read(path string, limit int64) (*delta.Image, error) {
	return t.read(path, limit, true)
}

// ReadEntry is Read for what the path itself names: a link at its end is an image of
// kind symlink.
func (t *Tree) ReadEntry(path string, limit int64) (*delta.Image, error) {
	return t.read(path, limit, false)
}

func (t *Tree) read(p string, limit int64, follow bool) (*delta.Image, error) {
	var img *delta.Image
	err := t.at(p, follow, func(d *Dir, name string) error {
		at := join(d.path, name)
		if err := t.checkRead(at, nil); err != nil {
			return err
		}
		e, err := d.Look(name, limit)
		if err != nil || e == nil {
			return err
		}
		if e.Links {
			if err := t.checkRead(at, e); err != nil {
				return err
			}
		}
		if e.Image.Kind == delta.Symlink && follow {
			return handle.ErrLink
		}
		img = e.Image
		if e.stable {
			t.known.put(at, e.Sig, img.Version)
		}
		return nil
	})
	if IsAbsent(err) {
		return nil, nil
	}
	return img, err
}

// Sig returns the signature of what path stands for, following links inside the
// roots, and the zero Signature when nothing is there.
func (t *Tree) Sig(path string) (Signature, error) {
	var sig Signature
	err := t.at(path, true, func(d *Dir, name string) error {
		st, err := d.h.Lstat(name)
		if err != nil {
			return err
		}
		if st.Mode&fs.ModeSymlink != 0 {
			return handle.ErrLink
		}
		sig = st.Signature
		return nil
	})
	if IsAbsent(err) {
		return Signature{}, nil
	}
	return sig, err
}

// Version returns the version of what path stands for, zero when nothing is there.
// For a file that was read before and has not changed it costs one stat call.
func (t *Tree) Version(path string) (delta.Version, error) {
	p, err := t.Resolve(path)
	if err != nil {
		return delta.Version{}, err
	}
	// Equal device, inode and times mean the same file by whatever way the name led
	// there, so that this stat need not start at the root.
	if st, err := os.Lstat(filepath.FromSlash(p)); err == nil {
		if v, ok := t.known.get(p, handle.SignatureOf(st)); ok {
			return v, nil
		}
	}
	img, err := t.Read(p, 0)
	return img.At(), err
}

// Entry is what a name in a directory holds.
type Entry struct {
	Image *delta.Image
	Sig   Signature
	// InPlace says that the file must be written in place, because it has other
	// names, another owner or a mount of its own.
	InPlace bool
	// Links says that the file has more than one name.
	Links bool
	// Own says that the mode of the file lets us write it, as its owner.
	Own bool
	own bool // it has our own user and group
	// stable says that the content was not being written while it was read.
	stable bool
}

// Look returns what name in d holds, without following it, and nil when nothing is
// there. Errors are those of Tree.Read.
func (d *Dir) Look(name string, limit int64) (*Entry, error) {
	return d.LookFor(name, limit, nil)
}

// LookFor is Look for a name that is likely to hold img, which may be nil. If it does,
// the bytes are compared with those of img, and img is what the entry has: no memory
// is taken and no sum made. If img is not loaded, what is larger than Whole is not, either.
func (d *Dir) LookFor(name string, limit int64, img *delta.Image) (*Entry, error) {
	want := wanted{limit: limit, whole: limit, img: img}
	if limit <= 0 {
		want.limit = math.MaxInt64 - 1
	}
	if limit <= 0 || img != nil && !img.Loaded {
		want.whole = d.t.whole
	}
	for try := 0; ; try++ {
		e, err := d.lookOnce(name, want)
		if IsAbsent(err) {
			return nil, nil
		}
		if err != nil || e.stable || try == 3 {
			return e, err
		}
	}
}

// wanted says what to read of a file.
type wanted struct {
	limit int64        // the size of the largest file that is read at all
	whole int64        // and that of the largest one whose content is loaded
	img   *delta.Image // what the file is likely to hold, or nil
}

// Known is Look for a name that is expected to hold img, which is loaded or larger than Whole.
// With one call it finds out whether that is certain from what was read before.
func (d *Dir) Known(name string, img *delta.Image) (*Entry, bool) {
	st, err := d.h.Lstat(name)
	if err != nil {
		return nil, false
	}
	if v, ok := d.t.known.get(d.at(name), st.Signature); !ok || v != img.Version {
		return nil, false
	}
	e := entryOf(st)
	e.Image, e.stable = img, true
	return e, true
}

// entryOf is what one call tells.
func entryOf(s handle.Stat) *Entry {
	return &Entry{Sig: s.Signature, InPlace: s.InPlace(), Links: s.Nlink > 1, Own: s.MayWrite(), own: s.Own()}
}

func (d *Dir) lookOnce(name string, want wanted) (*Entry, error) {
	st, err := d.h.Lstat(name)
	if err != nil {
		return nil, d.named("stat", name, err)
	}
	e := entryOf(st)
	switch {
	case st.Mode.IsRegular():
		return e, d.readFile(name, want, e)
	case st.Mode&fs.ModeSymlink != 0:
		target, err := d.h.Readlink(name)
		e.Image, e.stable = delta.NewSymlink(target), true
		return e, err
	case st.Mode.IsDir():
		return nil, fmt.Errorf("%s: %w", d.at(name), ErrDirectory)
	}
	return nil, &SpecialError{d.at(name), special(st.Mode)}
}

func (d *Dir) readFile(name string, want wanted, e *Entry) error {
	if e.Sig.Size > want.limit {
		return &TooLargeError{d.at(name), e.Sig.Size, want.limit}
	}
	f, err := d.h.OpenRead(name)
	if err != nil {
		return d.named("open", name, err)
	}
	defer f.Close()
	st, err := f.Sig()
	if err != nil {
		return err
	}
	// The name may have been given to something else since lstat.
	if !st.Mode.IsRegular() {
		return &SpecialError{d.at(name), special(st.Mode)}
	}
	switch made, err := f.MadeUp(st.Size); {
	case err != nil:
		return err
	case made:
		return &SpecialError{d.at(name), "kernel file"}
	}
	perm := uint32(st.Mode.Perm())
	img := want.img
	if !holds(f, st.Size, perm, img) {
		if img, err = want.read(f, st.Size, perm); err != nil {
			if errors.Is(err, errMore) {
				return &TooLargeError{d.at(name), img.Size, want.limit}
			}
			return d.named("read", name, err)
		}
	}
	now, err := f.Sig()
	if err != nil {
		return err
	}
	e.stable = steady(e.Sig, st, now, img.Size)
	e.Sig = now
	if p := uint32(now.Mode.Perm()); p != perm {
		clone := *img
		clone.Mode, img = p, &clone
	}
	e.Image = img
	return nil
}

// steady reports whether a file of which size bytes were read was not being written meanwhile,
// and is the one that its name stood for. Its signature was opened before the reading and now
// after it.
func steady(named, opened, now Signature, size int64) bool {
	return now == opened && now.Size == size && now.SameFile(named)
}

// holds reports whether the file has the content and the mode of img, and leaves it at
// its beginning if not.
func holds(f handle.File, size int64, perm uint32, img *delta.Image) bool {
	if img == nil || !img.Loaded || img.Kind != delta.File || img.Size != size || img.Mode != perm {
		return false
	}
	var buf [64 << 10]byte
	for rest := img.Data; ; {
		n, err := f.Read(buf[:])
		if n > len(rest) || !bytes.Equal(buf[:n], rest[:n]) {
			break
		}
		if rest = rest[n:]; errors.Is(err, io.EOF) {
			if len(rest) == 0 {
				return true
			}
			break
		}
		if err != nil {
			break
		}
	}
	_ = f.Rewind() // the read that follows tells why
	return false
}

var errMore = errors.New("more than the limit")

// hashAhead is how much of a file is read before its sum is begun, beside the reading.
const hashAhead = 256 << 10

// read returns what the file holds, loaded if it is not larger than want.whole. With errMore the
// size of the image is what was read.
func (want wanted) read(f handle.File, size int64, perm uint32) (*delta.Image, error) {
	if size <= want.whole {
		img, err := readImage(f, size, min(want.limit, want.whole), perm)
		if !errors.Is(err, errMore) || want.whole >= want.limit {
			return img, err
		}
		if err := f.Rewind(); err != nil { // it has grown
			return img, err
		}
	}
	img := &delta.Image{Version: delta.Version{Kind: delta.File, Mode: perm}}
	h, buf := sha256.New(), make([]byte, hashAhead)
	for {
		n, err := f.Read(buf)
		h.Write(buf[:n])
		img.Size += int64(n)
		switch {
		case img.Size > want.limit:
			return img, errMore
		case errors.Is(err, io.EOF):
			h.Sum(img.Sum[:0])
			return img, nil
		case err != nil:
			return img, err
		}
	}
}

// readImage reads at most limit bytes. The size is only a hint: the file may grow. With
// errMore the size of the image is what was read.
func readImage(f handle.File, size, limit int64, perm uint32) (*delta.Image, error) {
	img := &delta.Image{Version: delta.Version{Kind: delta.File, Mode: perm}, Loaded: true}
	buf := make([]byte, 0, min(size, limit)+1)
	if size <= 2*hashAhead {
		data, err := readOn(f, size, buf, limit, func([]byte) {})
		img.Data, img.Size, img.Sum = data, int64(len(data)), delta.SumOf(data)
		return img, err
	}
	parts := make(chan []byte, 64)
	var hashing sync.WaitGroup
	hashing.Go(func() {
		h := sha256.New()
		for part := range parts {
			h.Write(part)
		}
		h.Sum(img.Sum[:0])
	})
	data, err := readOn(f, size, buf, limit, func(part []byte) { parts <- part })
	close(parts)
	hashing.Wait()
	img.Data, img.Size = data, int64(len(data))
	return img, err
}

// readOn appends the file to buf, and gives out each part as soon as it is there.
func readOn(f handle.File, size int64, buf []byte, limit int64, part func([]byte)) ([]byte, error) {
	for {
		n, err := f.Read(buf[len(buf):min(cap(buf), len(buf)+hashAhead)])
		part(buf[len(buf) : len(buf)+n : len(buf)+n])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return buf, errMore
		}
		if errors.Is(err, io.EOF) || err == nil && int64(len(buf)) == size && len(buf) < cap(buf) {
			return buf, nil // what came after the size was told shows in the next one
		}
		if err != nil {
			return buf, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

func special(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeNamedPipe != 0:
		return "FIFO"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}
