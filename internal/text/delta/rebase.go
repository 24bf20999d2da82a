package delta

import (
	"fmt"

	"kerf/internal/text/charset"
	"kerf/internal/text/merge"
)

// ConflictError says that a change cannot be made onto what a path is now.
type ConflictError struct {
	Path string
	// Base is what the change was made for, Ours what is there now, Theirs what
	// the change would have made; nil means not there.
	Base, Ours, Theirs *Image
	// Conflicts are the places in the text, empty when the conflict is about the
	// path as a whole.
	Conflicts []merge.Conflict
}

func (e *ConflictError) Error() string {
	switch {
	case len(e.Conflicts) > 0:
		return fmt.Sprintf("%s changed at line %d, where the change applies too", e.Path, e.Conflicts[0].OursLines.Start)
	case e.Ours == nil:
		return fmt.Sprintf("%s is gone, and the change is for %s", e.Path, e.Base.At())
	case e.Base == nil:
		return fmt.Sprintf("%s exists now, and the change would create it", e.Path)
	case e.Theirs == nil:
		return fmt.Sprintf("%s changed, and the change would delete it", e.Path)
	}
	return fmt.Sprintf("%s changed in a way that cannot be merged", e.Path)
}

// Rebase returns c as a change of what its path is now: Pre is now, Post has the
// effects of both. Text is merged by line, mode by mode. If now is already what
// c makes, the result changes nothing. Errors are a *ConflictError, or wrap
// ErrNotLoaded when contents are needed to decide.
func Rebase(c Change, now *Image) (Change, error) {
	out := c
	out.Pre = now
	if now.Same(c.Pre) {
		return out, nil
	}
	if now.Same(c.Post) {
		out.Post = now
		return out, nil
	}
	conflict := &ConflictError{Path: c.Path, Base: c.Pre, Ours: now, Theirs: c.Post}
	if c.Pre == nil || c.Post == nil || now == nil ||
		c.Pre.Kind != File || c.Post.Kind != File || now.Kind != File {
		return Change{}, conflict
	}
	mode, ok := mergeMode(c.Pre.Mode, now.Mode, c.Post.Mode)
	if !ok {
		return Change{}, conflict
	}
	switch c.Pre.Sum {
	case c.Post.Sum: // only the mode is changed
		out.Post = now.withMode(mode)
		return out, nil
	case now.Sum:
		out.Post = c.Post.withMode(mode)
		return out, nil
	}
	if now.Sum == c.Post.Sum {
		out.Post = now.withMode(mode)
		return out, nil
	}
	for _, i := range []*Image{c.Pre, c.Post, now} {
		if !i.Loaded {
			return Change{}, fmt.Errorf("rebase %s: %w", c.Path, ErrNotLoaded)
		}
	}
	merged, _, conflicts := merge.Contents(c.Pre.Data, now.Data, c.Post.Data, charset.Charset{})
	if len(conflicts) > 0 {
		conflict.Conflicts = conflicts
		return Change{}, conflict
	}
	out.Post = NewFile(merged, mode)
	return out, nil
}

func (i *Image) withMode(mode uint32) *Image {
	j := *i
	j.Mode = mode
	return &j
}

// mergeMode merges permission bits three ways.
func mergeMode(base, ours, theirs uint32) (uint32, bool) {
	switch {
	case ours == theirs, theirs == base:
		return ours, true
	case ours == base:
		return theirs, true
	}
	return 0, false
}
