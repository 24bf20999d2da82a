// Package modes gives directories the permission bits that they are to have. A commit
// opens a directory to its owner before it works there, and gives it its mode at the very
// end:
//
//	Was             before
//	Was with rwx    while the commit works in it; nobody but the owner gets more
//	Want            in the end
//
// The journal has Was and Want before anything is opened, so what a crash left open is
// known. A directory that has another mode than the one that it was opened with is
// somebody else's by then, and stays as it is; so is one that took its place.
package modes

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"kerf/internal/text/order"
	"kerf/internal/work/tree"
	"kerf/internal/work/tree/handle"
)

// ErrMode says that a directory could not be given the mode that it is to have.
var ErrMode = errors.New("give the directory its mode")

// owner are the bits that let the owner list, change and enter a directory.
const owner = 0o700

// ID is the device and the inode of a directory; zero if they are not known.
type ID [2]uint64

// Dir is a directory whose mode changes. It may be a root.
type Dir struct {
	Path      string // real
	ID        ID
	Was, Want uint32
	// Next is the mode that older versions of Kerf gave it before the end. These did not tell
	// its ID.
	Next uint32
	// Made says that the commit, or who takes it back, makes the directory. It has the
	// owner's bits alone at first.
	Made bool
}

// Open is the mode of the directory while a commit works in it.
func (d Dir) Open() uint32 { return d.Was | owner }

// Of returns the permission bits of the directory at the real path, and what identifies it.
func Of(t *tree.Tree, real string) (perm uint32, id ID, err error) {
	d, err := t.OpenDir(real)
	if err != nil {
		return 0, ID{}, err
	}
	defer d.Close()
	return of(d)
}

func of(d *tree.Dir) (uint32, ID, error) {
	sig, err := d.Sig(".")
	return uint32(sig.Mode.Perm()), ID{sig.Dev, sig.Ino}, err
}

// Begin opens d to its owner, also if it is open: whether its mode can be changed shows
// before anything else is done.
func Begin(t *tree.Tree, d Dir) error {
	h, err := t.OpenDir(d.Path)
	if err != nil {
		return err
	}
	defer h.Close()
	have, id, err := of(h)
	if err != nil {
		return err
	}
	if have != d.Was || d.ID != (ID{}) && d.ID != id {
		return fmt.Errorf("the directory %s has changed", d.Path)
	}
	if err := h.Chmod(fs.FileMode(d.Open())); err != nil && d.Open() != d.Was {
		return fmt.Errorf("the directory is closed by its mode %04o and cannot be opened: %w", d.Was, err)
	} else if err != nil {
		return err
	}
	return nil
}

// Again opens directories that a crash, or a recovery that was cut short, left closed, so
// that what is in them can be reached. One that cannot be opened stays as it is.
func Again(t *tree.Tree, dirs []Dir) {
	for _, d := range outermost(dirs) {
		h, err := t.OpenDir(d.Path)
		if err != nil {
			continue
		}
		have, id, err := of(h)
		if err == nil && (have == d.Was || have == d.Want) && d.is(id) && refused(h.Writable(".")) {
			_ = h.Chmod(fs.FileMode(d.Open())) // who needs it open says so
		}
		h.Close()
	}
}

// End gives each directory the mode that it is to have if it has the one that it was opened
// with, and flushes it if asked. What failed is told to failed.
func End(t *tree.Tree, dirs []Dir, durable bool, failed func(path string, err error)) {
	for _, d := range slices.Backward(outermost(dirs)) {
		if err := end(t, d, durable); err != nil && !isAbsent(err) && !errors.Is(err, handle.ErrLink) {
			failed(d.Path, fmt.Errorf("%w %04o: %w", ErrMode, d.Want, err))
		}
	}
}

func end(t *tree.Tree, d Dir, durable bool) error {
	h, err := t.OpenDir(d.Path)
	if err != nil {
		return err
	}
	defer h.Close()
	have, id, err := of(h)
	left := have == d.Open() || d.Made && have == owner || d.ID == ID{} && have == d.Next
	if err != nil || !left || !d.is(id) {
		return err
	}
	if have != d.Want {
		err = h.Chmod(fs.FileMode(d.Want))
	}
	if err == nil && durable {
		err = h.Sync()
	}
	return err
}

func (d Dir) is(id ID) bool { return d.ID == ID{} || d.ID == id }

// outermost orders directories, those above before those in them.
func outermost(dirs []Dir) []Dir {
	sorted := slices.Clone(dirs)
	order.By(sorted, func(a, b Dir) int {
		if n := strings.Count(a.Path, "/") - strings.Count(b.Path, "/"); n != 0 {
			return n
		}
		return strings.Compare(a.Path, b.Path)
	})
	return sorted
}

func refused(err error) bool { return errors.Is(err, fs.ErrPermission) }

func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
