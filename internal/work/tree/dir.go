package tree

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/tree/handle"
)

// Dir is an open directory below a root. It is the writing half of the package:
// names are single components, and no operation follows a link. A Dir may be used by
// several goroutines.
type Dir struct {
	t    *Tree
	path string // real, with slashes
	h    handle.Dir

	hold  *hold // that keeps the directory open, or nil
	users int   // who have it from there; guarded by hold
	facts dirFacts
}

// dirFacts are asked for once.
type dirFacts struct {
	writable sync.Once
	noAccess error // what Writable(".") says
	plain    sync.Once
	isPlain  bool
}

// ErrNoAccess says that the system does not let us write a file.
var ErrNoAccess = errors.New("no permission to write")

// OpenDir opens the directory at the real path p, which may be a root. It fails when
// a link lies on the way.
func (t *Tree) OpenDir(p string) (*Dir, error) {
	root, rel, ok := t.rootOf(p)
	if !ok {
		return nil, t.outside(p, "")
	}
	return t.openDir(root, rel)
}

func (t *Tree) openDir(root, rel string) (*Dir, error) {
	at := join(root, rel)
	open := func() (*Dir, error) {
		h, err := handle.Open(root, rel)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", at, err)
		}
		return &Dir{t: t, path: at, h: h}, nil
	}
	if t.held == nil {
		return open()
	}
	return t.held.open(at, open)
}

// Path returns the real path of the directory.
func (d *Dir) Path() string { return d.path }

// Close releases the handle.
func (d *Dir) Close() {
	if d.hold != nil {
		d.hold.leave(d)
		return
	}
	d.h.Close()
}

// Sig returns the signature of name, without following it.
func (d *Dir) Sig(name string) (Signature, error) {
	st, err := d.h.Lstat(name)
	return st.Signature, d.named("stat", name, err)
}

// Writable reports with ErrNoAccess whether the permissions of name forbid writing.
func (d *Dir) Writable(name string) error {
	if name == "." {
		d.facts.writable.Do(func() { d.facts.noAccess = d.access(name) })
		return d.facts.noAccess
	}
	return d.access(name)
}

func (d *Dir) access(name string) error {
	if err := d.h.Access(name); err != nil {
		return fmt.Errorf("%w: %w", ErrNoAccess, err)
	}
	return nil
}

// plain reports whether a new file in the directory gets our own user and group, and
// no attributes.
func (d *Dir) plain() bool {
	d.facts.plain.Do(func() { d.facts.isPlain = d.h.Plain() })
	return d.facts.isPlain
}

// StageOptions say how Stage makes its file.
type StageOptions struct {
	// Like names a file in the same directory whose owner, extended attributes and
	// access lists the new file gets; its set-id bits are dropped, as write does.
	Like string
	// Seen is what Like was found to be, or nil. It spares calls.
	Seen *Entry
	// Exact gives the mode as it is; otherwise the umask takes its part, unless Like
	// is set.
	Exact bool
	// Durable flushes the content.
	Durable bool
	// From has the contents of images that are not loaded.
	From Contents
}

// Contents has the contents of images that are not loaded, as *store.Store does.
type Contents interface {
	// Open returns a reader that fails where the content is not what its sum says.
	Open(delta.Sum) (io.ReadCloser, error)
	// CopyTo writes a content to an empty file.
	CopyTo(delta.Sum, *os.File) error
}

// Stage makes name, which must not exist, with the content of img, and returns its
// signature. After an error the name may exist.
func (d *Dir) Stage(name string, img *delta.Image, o StageOptions) (Signature, error) {
	if img.Kind == delta.Symlink {
		if err := d.call("symlink", name, func() error { return d.h.Symlink(string(img.Data), name) }); err != nil {
			return Signature{}, err
		}
		return d.Sig(name)
	}
	perm := fs.FileMode(img.Mode) & fs.ModePerm
	n := newFile{d: d, name: name, perm: perm, o: o, exact: o.Like != "" || o.Exact}
	// Without attributes to copy, whoever may read the file by its mode may do so from
	// the beginning.
	n.plain = d.plain() && (o.Like == "" || o.Seen != nil && o.Seen.own && d.h.Bare(o.Like))
	first := perm
	if n.exact && !n.plain {
		first = 0o600 // nobody else reads it before it has its mode
	}
	err := d.call("create", name, func() (err error) {
		n.f, err = d.h.Create(name, first)
		return err
	})
	if err != nil {
		return Signature{}, err
	}
	sig, err := n.fill(img)
	return sig, errors.Join(err, n.f.Close())
}

// newFile is a file that Stage makes.
type newFile struct {
	d     *Dir
	f     handle.File
	name  string
	perm  fs.FileMode
	o     StageOptions
	exact bool // perm is the mode, whatever the umask
	plain bool // it needs no more than content and mode
}

func (n *newFile) fill(img *delta.Image) (sig Signature, err error) {
	err = n.d.call("write", n.name, func() error {
		if img.Loaded {
			return n.f.WriteAll(img.Data)
		}
		return n.f.Lend(func(f *os.File) error { return n.o.From.CopyTo(img.Sum, f) })
	})
	if err == nil && n.o.Like != "" && !n.plain {
		err = n.d.call("meta", n.name, func() error { return n.d.h.CopyMeta(n.f, n.o.Like) })
	}
	if err == nil {
		sig, err = n.f.Sig()
	}
	if err == nil && n.exact && sig.Mode != n.perm {
		if err = n.d.call("chmod", n.name, func() error { return n.f.Chmod(n.perm) }); err == nil {
			sig, err = n.f.Sig()
		}
	}
	if err == nil && n.o.Durable {
		err = n.d.call("sync", n.name, n.f.Sync)
	}
	return sig, err
}

// ErrChanged says that somebody else wrote to a file while it was being written.
var ErrChanged = errors.New("written by somebody else at the same time")

// WriteInPlace replaces the content of the file name without giving it a new inode.
// A crash may leave a mixture; the caller's journal mends it. With seen, which may be
// nil, it writes only while nobody else does, and fails with ErrChanged otherwise;
// what the other wrote stays. From has the content if img is not loaded. Begun says that the file may
// be another than before.
func (d *Dir) WriteInPlace(name string, img *delta.Image, seen *Entry, durable bool,
	from Contents) (begun bool, err error) {
	f, err := d.h.OpenWrite(name)
	if err != nil {
		return false, d.named("open", name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := inPlace{d: d, f: f, name: name}
	if err := w.begin(seen); err != nil {
		return false, err
	}
	if img.Loaded {
		half := len(img.Data) / 2 // two calls, so that fault tests can stop between them
		w.step("write", func() error { _, err := f.WriteAt(img.Data[:half], 0); return err })
		w.step("write", func() error { _, err := f.WriteAt(img.Data[half:], int64(half)); return err })
	} else {
		w.step("write", func() error { return copyFrom(from, img.Sum, f) })
	}
	w.step("truncate", func() error { return f.Truncate(img.Size) })
	if perm := fs.FileMode(img.Mode) & fs.ModePerm; perm != w.mode.Perm() {
		w.step("chmod", func() error { return f.Chmod(perm) })
	}
	if durable {
		w.step("sync", f.Sync)
	}
	return w.begun, w.err
}

// copyFrom writes a content to the beginning of f.
func copyFrom(from Contents, sum delta.Sum, f *os.File) error {
	r, err := from.Open(sum)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(f, r)
	return err
}

// inPlace is a write in place under way. After an error its steps do nothing.
type inPlace struct {
	d     *Dir
	f     *os.File
	name  string
	mode  fs.FileMode
	guard bool      // stop when somebody else writes
	begun bool      // a step was taken
	last  Signature // what the file was after our last step
	err   error
}

func (w *inPlace) begin(seen *Entry) error {
	st, err := w.f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return &SpecialError{w.d.at(w.name), special(st.Mode())}
	}
	w.mode = st.Mode()
	if seen != nil {
		w.guard, w.last = true, seen.Sig
	}
	return nil
}

func (w *inPlace) step(op string, do func() error) {
	if w.err != nil {
		return
	}
	w.err = w.d.call(op, w.name, func() error {
		if err := w.check(); err != nil {
			return err
		}
		w.begun = true
		if err := do(); err != nil {
			return err
		}
		st, err := w.f.Stat()
		if err == nil {
			w.last = handle.SignatureOf(st)
		}
		return err
	})
}

// check compares the open file, and what has its name, with our last step.
func (w *inPlace) check() error {
	if !w.guard {
		return nil
	}
	st, err := w.f.Stat()
	if err != nil {
		return err
	}
	if now := handle.SignatureOf(st); now != w.last {
		return ErrChanged
	}
	if sig, err := w.d.Sig(w.name); err != nil || !sig.SameFile(w.last) {
		return ErrChanged
	}
	return nil
}

// Exchange is Swap where the system can do it in one step, else errors.ErrUnsupported.
func (d *Dir) Exchange(a, b string) error {
	return d.call("exchange", b, func() error { return d.h.Exchange(a, b) })
}

// Swap exchanges the files a and b, so that b's name is never without a file where
// the system can do that. After a crash between, a third name, AsideOf(a), may hold
// what b was; Unswap mends that.
func (d *Dir) Swap(a, b string) error {
	err := d.Exchange(a, b)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	aside := AsideOf(a)
	err = d.call("link", aside, func() error { return d.h.Link(b, aside) })
	if err != nil {
		// No links here either: for a moment b is not there.
		if err := d.call("rename", b, func() error { return d.h.Rename(b, aside) }); err != nil {
			return err
		}
	}
	if err := d.call("rename", b, func() error { return d.h.Rename(a, b) }); err != nil {
		return errors.Join(err, d.Unswap(a, b))
	}
	return d.call("rename", a, func() error { return d.h.Rename(aside, a) })
}

// AsideOf is the third name that Swap(a, b) may use.
func AsideOf(a string) string { return a + ".old" }

// Unswap brings a Swap(a, b) that was cut short to one of its two ends.
func (d *Dir) Unswap(a, b string) error {
	aside := AsideOf(a)
	if _, err := d.h.Lstat(aside); err != nil {
		if IsAbsent(err) {
			return nil
		}
		return err
	}
	if _, err := d.h.Lstat(b); IsAbsent(err) {
		return d.call("rename", b, func() error { return d.h.Rename(aside, b) })
	}
	if _, err := d.h.Lstat(a); IsAbsent(err) {
		return d.call("rename", a, func() error { return d.h.Rename(aside, a) })
	}
	return d.Unlink(aside)
}

// Move gives name the new name to in the directory into; one of the two directories
// must lie in the other. It fails with fs.ErrExist when there is something already.
func (d *Dir) Move(name string, into *Dir, to string) error {
	return into.call("rename", to, func() error { return d.h.RenameNew(name, into.h, to) })
}

// Unlink removes a file or link; it is no error if it is not there.
func (d *Dir) Unlink(name string) error {
	err := d.call("unlink", name, func() error { return d.h.Unlink(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Mkdir makes a directory; the umask takes its part of the mode.
func (d *Dir) Mkdir(name string, perm fs.FileMode) error {
	return d.call("mkdir", name, func() error { return d.h.Mkdir(name, perm) })
}

// Rmdir removes an empty directory.
func (d *Dir) Rmdir(name string) error {
	err := d.call("rmdir", name, func() error { return d.h.Rmdir(name) })
	if err == nil && d.t.held != nil {
		d.t.held.forget(d.at(name))
	}
	return err
}

// Sync makes the names in the directory durable.
func (d *Dir) Sync() error { return d.call("syncdir", "", d.h.Sync) }

// SyncFile makes the content of the file name durable.
func (d *Dir) SyncFile(name string) error {
	return d.call("sync", name, func() error {
		f, err := d.h.OpenSync(name)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// SyncAll makes everything on the directory's file system durable. It fails with
// errors.ErrUnsupported where the system does not promise that.
func (d *Dir) SyncAll() error { return d.call("syncall", "", d.h.SyncAll) }

// Lend gives the regular file name, open for reading, to use, which does not keep it.
func (d *Dir) Lend(name string, use func(*os.File) error) error {
	f, err := d.h.OpenRead(name)
	if err != nil {
		return d.named("open", name, err)
	}
	defer f.Close()
	return f.Lend(use)
}

// Holds reports whether name is a regular file with exactly the content and the mode
// of img, or the same link.
func (d *Dir) Holds(name string, img delta.Version) (bool, error) {
	return d.holds(name, &delta.Image{Version: img})
}

func (d *Dir) holds(name string, img *delta.Image) (bool, error) {
	e, err := d.LookFor(name, img.Size, img)
	var large *TooLargeError
	var special *SpecialError
	if errors.As(err, &large) || errors.As(err, &special) || errors.Is(err, ErrDirectory) {
		return false, nil
	}
	if err != nil || e == nil {
		return false, err
	}
	return e.Image.Version == img.Version, nil
}

// Unchanged reports whether name still holds what was seen as e, although it may
// have been renamed since. A fresh file is read again.
func (d *Dir) Unchanged(name string, e *Entry) (bool, error) {
	now, err := d.Sig(name)
	if err != nil {
		if IsAbsent(err) {
			return false, nil
		}
		return false, err
	}
	was := e.Sig
	same := now.SameFile(was) && now.Size == was.Size && now.Mtime == was.Mtime && now.Mode == was.Mode
	if !same {
		return false, nil
	}
	was.Ctime = was.Mtime // renaming changes the one of now
	if !was.Fresh(time.Now()) {
		return true, nil
	}
	return d.holds(name, e.Image)
}

// Torn reports whether name may be what an interrupted write in place of post over
// pre left: every byte comes from one of them. A hole behind the end of one reads as zero.
// From has the contents that are not loaded.
func (d *Dir) Torn(name string, pre, post *delta.Image, from Contents) (bool, error) {
	st, err := d.h.Lstat(name)
	switch {
	case IsAbsent(err):
		return false, nil
	case err != nil:
		return false, d.named("stat", name, err)
	case st.Mode.IsDir():
		return false, fmt.Errorf("%s: %w", d.at(name), ErrDirectory)
	case !st.Mode.IsRegular():
		return false, nil
	}
	f, err := d.h.OpenRead(name)
	if err != nil {
		return false, d.named("open", name, err)
	}
	defer f.Close()
	m := mixture{of: [2]*delta.Image{pre, post}}
	for i, img := range m.of {
		r, err := reader(img, from)
		if err != nil {
			return false, err
		}
		defer r.Close()
		m.from[i] = bufio.NewReaderSize(r, hashAhead)
	}
	return m.is(bufio.NewReaderSize(f, hashAhead))
}

// reader reads the content of img.
func reader(img *delta.Image, from Contents) (io.ReadCloser, error) {
	if img.Loaded {
		return io.NopCloser(bytes.NewReader(img.Data)), nil
	}
	return from.Open(img.Sum)
}

// mixture is of what a file may be a mixture.
type mixture struct {
	of   [2]*delta.Image
	from [2]*bufio.Reader
}

// is reports whether got may be one.
func (m *mixture) is(got *bufio.Reader) (bool, error) {
	for size := int64(0); ; size++ {
		c, err := got.ReadByte()
		if errors.Is(err, io.EOF) {
			return size >= min(m.of[0].Size, m.of[1].Size), nil
		}
		if err != nil {
			return false, err
		}
		found := false
		for _, r := range m.from {
			b, err := r.ReadByte()
			if err != nil && !errors.Is(err, io.EOF) {
				return false, err
			}
			found = found || b == c
		}
		if !found || size >= max(m.of[0].Size, m.of[1].Size) {
			return false, nil
		}
	}
}

func (d *Dir) at(name string) string { return join(d.path, name) }

// call is the one place through which the disk changes.
func (d *Dir) call(op, name string, do func() error) error {
	if d.t.before != nil {
		if err := d.t.before(op, d.at(name)); err != nil {
			return fmt.Errorf("%s %s: %w", op, d.at(name), err)
		}
	}
	return d.named(op, name, do())
}

// named says what was done to what when err arose, if it is not nil.
func (d *Dir) named(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err // the path below is the full one
	}
	return fmt.Errorf("%s %s: %w", op, d.at(name), err)
}
