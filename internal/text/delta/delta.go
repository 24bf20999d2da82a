// Package delta describes changes of files: what a path was, and what it is now.
//
// A [Set] is an ordered list of changes, each from one [Image] to another. Sets
// can be inverted, composed and folded into their net effect. The package is
// pure; images are immutable once they are part of a change.
package delta

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Sum is the SHA-256 of a content.
type Sum [sha256.Size]byte

// String returns the sum in lower-case hex.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// SumOf returns the sum of b.
func SumOf(b []byte) Sum { return sha256.Sum256(b) }

// Kind is what a path holds.
type Kind string

// The kinds of images. A symlink's content is its target.
const (
	File    Kind = "file"
	Symlink Kind = "symlink"
)

// Version identifies the state of one path. Nil pointers to an Image, and the
// zero Version, stand for a path that is not there.
type Version struct {
	Kind Kind   `json:"kind"`
	Mode uint32 `json:"mode"` // permission bits, 0 for symlinks
	Size int64  `json:"size"`
	Sum  Sum    `json:"-"`
}

// Absent reports whether v stands for a path that is not there.
func (v Version) Absent() bool { return v.Kind == "" }

// Image is the whole state of one path.
type Image struct {
	Version
	// Data is the content. It is nil when only the version is known (Loaded
	// tells); whoever needs the bytes gets them from the store by Sum.
	Data   []byte
	Loaded bool
}

// WithMode is the image with other permissions.
func (i *Image) WithMode(mode uint32) *Image {
	if i.Mode == mode {
		return i
	}
	other := *i
	other.Mode = mode
	return &other
}

// NewFile returns the image of a regular file.
func NewFile(data []byte, mode uint32) *Image {
	return &Image{Version{File, mode, int64(len(data)), SumOf(data)}, data, true}
}

// NewSymlink returns the image of a symbolic link.
func NewSymlink(target string) *Image {
	return &Image{Version{Symlink, 0, int64(len(target)), SumOf([]byte(target))}, []byte(target), true}
}

// At returns the version of i, which may be nil.
func (i *Image) At() Version {
	if i == nil {
		return Version{}
	}
	return i.Version
}

// Same reports whether i and j, which may be nil, are the same state.
func (i *Image) Same(j *Image) bool { return i.At() == j.At() }

// Change is one path going from Pre to Post; nil means not there. Paths are
// absolute, cleaned, with slashes.
type Change struct {
	Path string
	Pre  *Image
	Post *Image
	// From is the path that a move or copy took its content from, or empty. The
	// other half of a move is a change of its own, whose To names this path.
	From string
	To   string
}

// Op names what the change does, in the words of the rollout.
func (c Change) Op() string {
	switch {
	case c.Pre == nil:
		return "created"
	case c.Post == nil:
		return "deleted"
	}
	return "modified"
}

// Set is an ordered list of changes. A path may occur more than once.
type Set []Change

// Paths returns the paths of s, each once, in the order of their first change.
func (s Set) Paths() []string {
	seen := make(map[string]bool, len(s))
	var paths []string
	for _, c := range s {
		if !seen[c.Path] {
			seen[c.Path] = true
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// Net is the set with one change for each path, in the order of first appearance.
func (s Set) Net() (Set, error) {
	at := make(map[string]int, len(s))
	var out Set
	for _, c := range s {
		i, seen := at[c.Path]
		if !seen {
			at[c.Path] = len(out)
			out = append(out, c)
			continue
		}
		have := &out[i]
		if !have.Post.Same(c.Pre) {
			return nil, fmt.Errorf("%s: a change does not start where the one before ends", c.Path)
		}
		have.Post = c.Post
		have.From, have.To = cmp.Or(c.From, have.From), cmp.Or(c.To, have.To)
	}
	return out, nil
}
