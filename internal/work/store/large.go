package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"kerf/internal/atomicfile"
	"kerf/internal/text/delta"
	"kerf/internal/work/room"
)

// A large content may be a file of its own, so that some GB are never in memory:
//
//	DIR/large/SUM/content   the bytes, with no header
//	DIR/large/SUM/kept      one line of JSON, see Kept
//
// The content may be a clone (reflink) of the file that it came from, or a second name
// (hard link) of it; then it costs no space as long as the file is there. The directory
// appears whole, by a rename, and its time is when the object was last put: the times of
// a link are those of the user's file, and stay as they are.
//
// A link stays what it was only while nobody writes to the file through another name. If
// somebody does, readers find that the sum is another one: ErrDamaged.
const (
	largeDir    = "large"
	contentName = "content"
	keptName    = "kept"
	// chunk is what is in memory of a file that is read or copied.
	chunk = 256 << 10
)

// How says how the store came to a large content.
type How string

// The ways of keeping a file, the cheapest first.
const (
	Known  How = "known"  // the store had the content
	Taken  How = "taken"  // the file itself was moved into the store
	Cloned How = "cloned" // it shares its blocks with the file until one of them is written
	Linked How = "linked" // it is a second name of the file
	Packed How = "packed" // it was copied and compressed
	Copied How = "copied" // it was copied as it is
)

// Source is a file that PutFile keeps.
type Source struct {
	// File is a regular file that is open for reading.
	File *os.File
	// Take, when not empty, is the file's name, and the file is the caller's to give
	// away: the store moves it to itself, or copies it and removes the name.
	Take string
	// Link, when not empty, is a name of the file, which is about to vanish: the store
	// may give the file a second name instead of copying it. Nobody should write to the
	// file any more.
	Link string
	// Leave is how many bytes must be free in the store's file system after a copy;
	// with less PutFile fails with ErrNoRoom before it copies. Clones and links need
	// no room.
	Leave int64
	// Durable asks that the object survives a loss of power.
	Durable bool
}

// Kept tells what PutFile did. In the store it is the line beside the content.
type Kept struct {
	Sum  delta.Sum `json:"-"`
	Size int64     `json:"size"`
	How  How       `json:"how"`
	// Mtime is that of a linked file when it was kept, in Unix nanoseconds.
	Mtime int64 `json:"mtime,omitempty"`
}

// ErrNoRoom says that a file was not copied because the disk would become too full.
var ErrNoRoom = errors.New("not enough room to keep it")

var errUnsteady = errors.New("the file changed while it was kept")

// PutFile keeps the content of a file. It needs memory for a small part of it at a time,
// whatever its size. The content that it keeps is one that the file had, or, if somebody
// wrote to it meanwhile, a mixture; the sum is that of what is kept.
func (s *Store) PutFile(src Source) (Kept, error) {
	kept, err := s.putFile(src)
	if err != nil {
		return kept, fmt.Errorf("store %s: %w", src.File.Name(), err)
	}
	return kept, nil
}

func (s *Store) putFile(src Source) (Kept, error) {
	s.hold()
	st, err := src.File.Stat()
	switch {
	case err != nil:
		return Kept{}, err
	case !st.Mode().IsRegular():
		return Kept{}, fs.ErrInvalid
	case st.Size() <= maxWhole:
		if kept, ok, err := s.putSmallFile(src); ok || err != nil {
			return kept, err
		}
	}
	parent := filepath.Join(s.dir, largeDir)
	if err := s.makeDir(parent); err != nil {
		return Kept{}, err
	}
	tmp := filepath.Join(parent, tmpPrefix+rand.Text())
	if err := s.ask("mkdir", tmp); err != nil {
		return Kept{}, err
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return Kept{}, err
	}
	defer os.RemoveAll(tmp) // unless it was renamed
	in := incoming{s: s, src: src, size: st.Size(), path: filepath.Join(tmp, contentName)}
	err = in.bring()
	if err == nil {
		err = in.arrive(tmp)
	}
	if err != nil && in.kept.How == Taken {
		err = errors.Join(err, os.Rename(in.path, src.Take)) // nothing else may have the content
	}
	return in.kept, err
}

// arrive makes an object of what is in the directory tmp.
func (in *incoming) arrive(tmp string) error {
	s, src := in.s, in.src
	err := s.refresh(in.kept.Sum, s.path(in.kept.Sum), src.Durable)
	switch {
	case err == nil:
		in.kept.How = Known
	case !errors.Is(err, ErrNotFound):
		return err
	case in.kept.How == Packed:
		err = s.appear(in.path, s.path(in.kept.Sum), src.Durable)
	default:
		err = in.settle(tmp)
	}
	if err != nil || src.Take == "" {
		return err
	}
	if err = os.Remove(src.Take); errors.Is(err, fs.ErrNotExist) {
		err = nil // it was taken
	}
	return err
}

// putSmallFile keeps a file that fits in memory as an object like any other. It reports
// false if the file has grown meanwhile.
func (s *Store) putSmallFile(src Source) (Kept, bool, error) {
	data, err := io.ReadAll(io.NewSectionReader(src.File, 0, maxWhole+1))
	if err != nil || len(data) > maxWhole {
		return Kept{}, false, err
	}
	sum, err := s.put(data, src.Durable)
	if err == nil && src.Take != "" {
		err = os.Remove(src.Take)
	}
	return Kept{Sum: sum, Size: int64(len(data)), How: Copied}, true, err
}

// appear gives a file its name in the store.
func (s *Store) appear(tmp, path string, durable bool) error {
	shard := filepath.Dir(path)
	if err := s.makeDir(shard); err != nil {
		return err
	}
	if err := s.ask("rename", path); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil || !durable {
		return err
	}
	return s.syncDir(shard)
}

// incoming is a file on its way into the store.
type incoming struct {
	s    *Store
	src  Source
	size int64
	path string // where the content is to be
	kept Kept
}

// bring makes the content appear at in.path, in the cheapest way that there is.
func (in *incoming) bring() error {
	for _, way := range []func() (How, error){in.take, in.clone, in.link} {
		how, err := way()
		if err != nil {
			return err
		}
		if how == "" {
			continue
		}
		in.kept.How = how
		if err = in.measure(); !errors.Is(err, errUnsteady) {
			return err
		}
		_ = os.Remove(in.path) // somebody writes to it: a second name is of no use
	}
	return in.copy()
}

func (in *incoming) take() (How, error) {
	if in.src.Take == "" {
		return "", nil
	}
	if err := in.s.ask("rename", in.path); err != nil {
		return "", err
	}
	if os.Rename(in.src.Take, in.path) != nil {
		return "", nil // another file system: copy
	}
	return Taken, nil
}

func (in *incoming) clone() (How, error) {
	if err := in.s.ask("create", in.path); err != nil {
		return "", err
	}
	if err := cloneFile(in.src.File, in.path); err != nil {
		_ = os.Remove(in.path)
		return "", nil // few file systems can
	}
	return Cloned, nil
}

func (in *incoming) link() (How, error) {
	if in.src.Link == "" {
		return "", nil
	}
	if err := in.s.ask("link", in.path); err != nil {
		return "", err
	}
	if os.Link(in.src.Link, in.path) != nil {
		return "", nil // another file system, or one without links
	}
	there, err := os.Lstat(in.path)
	if err == nil {
		var st fs.FileInfo
		if st, err = in.src.File.Stat(); err == nil && os.SameFile(st, there) {
			in.kept.Mtime = st.ModTime().UnixNano()
			return Linked, nil
		}
	}
	_ = os.Remove(in.path) // the name is another file's by now
	return "", nil
}

// measure finds out sum and size of a content that is in place.
func (in *incoming) measure() error {
	f, err := atomicfile.Open(in.path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	in.kept.Size, err = io.CopyBuffer(onlyWriter{h}, f, make([]byte, chunk))
	h.Sum(in.kept.Sum[:0])
	if err != nil || in.kept.How != Linked {
		return err
	}
	if st, err := f.Stat(); err != nil || st.Size() != in.kept.Size || st.ModTime().UnixNano() != in.kept.Mtime {
		return errors.Join(errUnsteady, err)
	}
	return nil
}

// copy reads the file once, for its sum and for its copy.
func (in *incoming) copy() error {
	if free, known := room.Free(filepath.Dir(in.path)); known && free-in.size < in.src.Leave {
		return ErrNoRoom
	}
	in.kept = Kept{}
	from := io.NewSectionReader(in.src.File, 0, 1<<62)
	sample := make([]byte, chunk)
	n, err := from.ReadAt(sample, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	in.kept.How = Copied
	if in.s.codec.compressible(sample[:n]) {
		in.kept.How = Packed
	}
	return in.s.writeTemp(in.path, in.src.Durable, func(w io.Writer) error {
		if in.kept.How == Copied {
			return in.through(w, from)
		}
		if _, err := io.WriteString(w, magic+string(rune(codecZstd))); err != nil {
			return err
		}
		// Not the store's own encoder: this may take long, and others want that.
		enc, err := zstd.NewWriter(w, encoderOptions()...)
		if err != nil {
			return err
		}
		return errors.Join(in.through(enc, from), enc.Close())
	})
}

func (in *incoming) through(w io.Writer, from io.Reader) error {
	h := sha256.New()
	var err error
	in.kept.Size, err = io.CopyBuffer(onlyWriter{io.MultiWriter(h, w)}, from, make([]byte, chunk))
	h.Sum(in.kept.Sum[:0])
	return err
}

// onlyWriter hides the other methods of a writer, so that the buffer is used.
type onlyWriter struct{ io.Writer }

// settle gives the directory tmp, which has the content, its name.
func (in *incoming) settle(tmp string) error {
	s, dir := in.s, in.s.largePath(in.kept.Sum)
	line, err := json.Marshal(in.kept)
	if err != nil {
		return err
	}
	about := filepath.Join(tmp, keptName)
	err = s.writeTemp(about, in.src.Durable, func(w io.Writer) error {
		_, err := w.Write(append(line, '\n'))
		return err
	})
	if err == nil && in.src.Durable && in.kept.How != Copied {
		err = s.syncFile(in.path)
	}
	if err == nil && in.src.Durable {
		err = s.syncDir(tmp)
	}
	if err != nil {
		return err
	}
	if err := s.ask("rename", dir); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, there := os.Lstat(dir); there == nil {
			return s.refreshLarge(in.kept.Sum, in.src.Durable) // another process was faster
		}
		return err
	}
	if in.src.Durable {
		return s.syncDir(filepath.Dir(dir))
	}
	return nil
}

func (s *Store) largePath(sum delta.Sum) string {
	return filepath.Join(s.dir, largeDir, sum.String())
}

func (s *Store) contentPath(sum delta.Sum) string {
	return filepath.Join(s.largePath(sum), contentName)
}

// hasLarge reports whether the store has sum as a file of its own, as far as can be told
// without reading it: a power failure may leave one short that was not synced, and
// somebody may have written to a link.
func (s *Store) hasLarge(sum delta.Sum) bool {
	k, ok := s.Kept(sum)
	if !ok {
		return false
	}
	st, err := os.Lstat(s.contentPath(sum))
	return err == nil && st.Mode().IsRegular() && st.Size() == k.Size &&
		(k.How != Linked || st.ModTime().UnixNano() == k.Mtime)
}

// Kept tells how a content is kept that is a file of its own; false if it is not, or
// if that is not known any more.
func (s *Store) Kept(sum delta.Sum) (Kept, bool) {
	line, err := atomicfile.Read(filepath.Join(s.largePath(sum), keptName))
	k := Kept{Sum: sum}
	if err != nil || json.Unmarshal(line, &k) != nil {
		return Kept{}, false
	}
	return k, true
}

// refreshLarge keeps a file that is there: young, and durable if asked. One that is not
// what it was makes room for another.
func (s *Store) refreshLarge(sum delta.Sum, durable bool) error {
	if !s.hasLarge(sum) {
		return errors.Join(ErrNotFound, s.removeLarge(sum))
	}
	dir := s.largePath(sum)
	st, err := os.Lstat(dir)
	if err != nil || time.Since(st.ModTime()) > touchAge && s.touch(dir) != nil {
		return ErrNotFound // collected meanwhile
	}
	if !durable {
		return nil
	}
	if err := s.syncFile(s.contentPath(sum)); err != nil {
		return err
	}
	return errors.Join(s.syncDir(dir), s.syncDir(filepath.Dir(dir)))
}

// removeLarge takes the directory of an object out of sight at once, and then away.
func (s *Store) removeLarge(sum delta.Sum) error {
	dir := s.largePath(sum)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := s.ask("rename", dir); err != nil {
		return err
	}
	tmp := filepath.Join(s.dir, largeDir, tmpPrefix+rand.Text())
	if err := os.Rename(dir, tmp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return os.RemoveAll(tmp)
}

// largeObjects lists the contents that are files of their own, and sweeps what
// interrupted puts and removals left. Blocks that several have in common count once.
func (s *Store) largeObjects() []Object {
	dirs, _ := os.ReadDir(filepath.Join(s.dir, largeDir)) // none, or the next walk sees them
	var list []Object
	seen := map[inode]bool{}
	for _, d := range dirs {
		path := filepath.Join(s.dir, largeDir, d.Name())
		st, err := d.Info()
		if err != nil {
			continue // collected meanwhile
		}
		sum, ok := sumNamed(d.Name())
		if !ok {
			sweep(path, st)
			continue
		}
		content, err := os.Lstat(filepath.Join(path, contentName))
		if err != nil {
			continue
		}
		size, id := onDisk(content)
		if seen[id] && id != (inode{}) {
			size = 0
		}
		seen[id] = true
		list = append(list, Object{sum, size, st.ModTime()})
	}
	return list
}

// inode names a file in its file system; zero where the system does not tell.
type inode struct{ dev, ino uint64 }
