// Package onefile tells the file that was staged for a change from others, and takes back what was done with it.
package onefile

import (
	"errors"
	"io/fs"
	"syscall"

	"kerf/internal/text/delta"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn/contents"
)

// Staged identifies a file that was staged. Ino is 0 where the platform hides it, and in a copy of a tree: files are
// told by their contents then.
type Staged struct {
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
	Mode uint32 `json:"mode"`
}

// Is reports whether name is the file that was staged with post, whatever is in it.
func (s Staged) Is(d *tree.Dir, name string, post *delta.Image) (bool, error) {
	if s.Ino == 0 {
		return d.Holds(name, post.At())
	}
	sig, err := d.Sig(name)
	if IsAbsent(err) {
		return false, nil
	}
	if err != nil || sig.Ino != s.Ino || sig.Dev != s.Dev {
		return false, err
	}
	// The number of a file that is gone may have been given to a directory that an
	// earlier recovery made in its place.
	return sig.Mode.IsRegular() == (post.Kind == delta.File) && !sig.Mode.IsDir(), nil
}

// Whole reports whether name is the file that was staged with post, and holds that.
func (s Staged) Whole(d *tree.Dir, name string, post *delta.Image) (bool, error) {
	mine, err := s.Is(d, name, post)
	if err != nil || !mine {
		return false, err
	}
	return d.Holds(name, post.At())
}

// IsForeign reports whether tmp, which was the staged file with post, is another one now or holds something else; false
// where files are told by their contents.
func (s Staged) IsForeign(d *tree.Dir, tmp string, post *delta.Image) (bool, error) {
	if s.Ino == 0 {
		return false, nil
	}
	if _, err := d.Sig(tmp); err != nil {
		if IsAbsent(err) {
			err = nil
		}
		return false, err
	}
	whole, err := s.Whole(d, tmp, post)
	return err == nil && !whole, err
}

// SwapBack trades the names of what was staged with post, which is name, and of what it replaced, which is tmp. What
// somebody saved since one looked keeps the name, which stays tells.
func (s Staged) SwapBack(d *tree.Dir, tmp, name string, post *delta.Image) (stays bool, err error) {
	if err := d.Swap(tmp, name); err != nil {
		return false, err
	}
	if whole, err := s.Whole(d, tmp, post); err != nil || whole {
		return false, err
	}
	return true, d.Swap(tmp, name)
}

// MoveBack takes away name, which is what was staged with post, by giving it the name tmp in aside. What somebody saved
// since one looked gets its name back, which stays tells, and has the name tmp if there is something else by then.
func (s Staged) MoveBack(d *tree.Dir, name string, aside *tree.Dir, tmp string, post *delta.Image) (bool, error) {
	if err := d.Move(name, aside, tmp); err != nil {
		return false, err
	}
	if whole, err := s.Whole(aside, tmp, post); err != nil || whole {
		return false, err
	}
	return true, Return(aside, tmp, d, name)
}

// Return gives tmp its name back, if that is free.
func Return(aside *tree.Dir, tmp string, d *tree.Dir, name string) error {
	err := aside.Move(tmp, d, name)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// InPlace is a write of post over pre into the file that both were of.
type InPlace struct {
	Pre, Post *delta.Image
	Begun     bool // by this process; else nobody knows whether it began
}

// Undo writes what the file held before, if it holds a mixture of both. What else it holds stays. A mixture that may be
// somebody's, who wrote alike, is in the store then.
func (w InPlace) Undo(s *store.Store, whole int64, d *tree.Dir, name string) (stays bool, err error) {
	if same, err := d.Holds(name, w.Pre.At()); err != nil || same {
		return false, err
	}
	pre, err := contents.Here(s, w.Pre, whole)
	if err != nil {
		return false, err
	}
	post, err := contents.Here(s, w.Post, whole)
	if err != nil {
		return false, err
	}
	sig, err := d.Sig(name)
	if err != nil {
		return false, err
	}
	torn, err := d.Torn(name, pre, post, s)
	if err != nil || !torn {
		return err == nil, err
	}
	if !w.Begun {
		if _, err := contents.Save(s, d, name, post.At()); err != nil {
			return false, err
		}
	}
	_, err = d.WriteInPlace(name, pre, &tree.Entry{Sig: sig}, true, s)
	if errors.Is(err, tree.ErrChanged) {
		return true, nil
	}
	return false, err
}

// IsAbsent reports whether err says that there is nothing by that name.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
