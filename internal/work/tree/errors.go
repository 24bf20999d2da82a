package tree

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBadPath says that a path is empty or holds a NUL byte.
	ErrBadPath = errors.New("not a path")
	// ErrDirectory says that a path is a directory where a file is needed.
	ErrDirectory = errors.New("is a directory")
	// ErrUnstable says that a path kept changing while it was looked at.
	ErrUnstable = errors.New("keeps changing")
)

// OutsideError says that a path lies in none of the roots.
type OutsideError struct {
	Path  string
	Via   string // the link target that leads out, or empty
	Roots []string
}

// Error names the path, and the link if one leads out.
func (e *OutsideError) Error() string {
	if e.Via != "" {
		return fmt.Sprintf("%q is a link that leads outside the workspace, to %q", e.Path, e.Via)
	}
	return fmt.Sprintf("%q is outside the workspace (%s)", e.Path, strings.Join(e.Roots, ", "))
}

// SpecialError says that a path is neither file nor directory nor link.
type SpecialError struct {
	Path string
	What string // "FIFO", "socket", "device", ...
}

// Error says what the path is.
func (e *SpecialError) Error() string { return fmt.Sprintf("%q is a %s", e.Path, e.What) }

// TooLargeError says that a file is larger than the reader wants.
type TooLargeError struct {
	Path        string
	Size, Limit int64 // bytes
}

// Error gives both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%q has %d bytes, more than the limit of %d", e.Path, e.Size, e.Limit)
}

// LinkError says that a symbolic link cannot be followed.
type LinkError struct {
	Path string
	What string // "leads nowhere", "leads to itself"
}

// Error says what is wrong with the link.
func (e *LinkError) Error() string { return fmt.Sprintf("link %q %s", e.Path, e.What) }
