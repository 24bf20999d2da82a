// Package overlay runs a program over directories that it sees as its own to change and
// that stay as they are: each of them is the lower layer of an overlay file system, and
// what is written goes into an upper layer elsewhere.
//
//	run     starts the holder in name spaces of its own, and waits for it
//	hold    the holder: mounts the layers, then starts the program and reaps what is left
//	upper   what an upper layer says about its lower one
//	copy    where there can be no overlay: a copy that is shown in the place of the directory
//
// The mounts are in the holder's name space alone, so they are gone when it ends, whatever
// ends it. Linux only: elsewhere nothing is run.
package overlay

import "errors"

// Flag, as the first argument, makes the binary a holder.
const Flag = "--kerf-overlay"

// Spec is what is mounted and what runs over it.
type Spec struct {
	Layers []Layer
	Binds  []Bind
	Dir    string   // the program's working directory
	Argv   []string // the program and its arguments
	Env    []string
	// Shown has the program see the layers themselves, read-only: see [Take].
	Shown bool
}

// Layer is a directory with the two that take what is written there. Upper and Work are
// empty directories of one file system, outside of Lower, or those of an earlier run.
type Layer struct {
	Lower string
	Upper string
	Work  string
	// Copied says that Upper is a copy of Lower, which is shown in its place.
	Copied bool
}

// Bind shows the directory From at To.
type Bind struct {
	From string
	To   string
}

// Shown are the two directories of an overlay, as a program sees them that runs over it. They
// are read-only, and open in this process alone.
type Shown struct {
	Root         string // where the overlay is
	Lower, Upper int    // descriptors
}

// shownEnv tells a program which layers it is shown: the quoted roots, and their descriptors
// from shownFD on.
const (
	shownEnv = "KERF_LAYERS"
	shownFD  = 3
)

// ErrImpossible says that there can be no overlay here; why is said by what wraps it.
var ErrImpossible = errors.New("an overlay is not possible here")

// ErrMount says that an overlay could not be mounted; a copy may be shown all the same.
var ErrMount = errors.New("the mount was refused")

// Entry is what an upper layer has at a path of its lower one.
type Entry struct {
	Path string // relative, with slashes
	Kind Kind
	// Opaque says of a directory that nothing of the lower one shows through.
	Opaque bool
	// Was says that the lower one had this path when it was changed first. A file that took
	// the place of another one by its name alone does not say so.
	Was bool
	// Mode is what a directory had as its mode before; nil where that is not known.
	Mode *uint32
}

// Kind is what an entry is.
type Kind int

// The kinds of entries.
const (
	File    Kind = iota
	Symlink      // a symbolic link
	Dir          // a directory that is new, or in which something changed
	Gone         // what is below was removed
	Special      // a pipe, socket or device
)
