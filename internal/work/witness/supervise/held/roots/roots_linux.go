package roots

import (
	"strings"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/locate"
)

// Root is a directory in which changes are witnessed.
type Root struct {
	Path string
	FD   int // with O_PATH
}

// Set are the roots of a command. It does not change.
type Set []Root

// Open opens directories. The set holds those that could be opened, also with an error.
func Open(paths []string) (s Set, err error) {
	for _, p := range paths {
		fd, failed := unix.Open(p, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if failed != nil {
			err = failed
			continue
		}
		s = append(s, Root{p, fd})
	}
	return s, err
}

// Find returns the root that a name is in, and the name below it.
func (s Set) Find(name string) (*Root, string) {
	for i := range s {
		r := &s[i]
		if len(name) > len(r.Path) && name[len(r.Path)] == '/' && strings.HasPrefix(name, r.Path) {
			return r, name[len(r.Path)+1:]
		}
		if r.Path == "/" && len(name) > 1 {
			return r, name[1:]
		}
	}
	return nil, ""
}

// Paths are the names of the roots, each but the last with a zero byte behind it.
func (s Set) Paths() string {
	var list []string
	for _, r := range s {
		list = append(list, r.Path)
	}
	return strings.Join(list, "\x00")
}

// Close closes the roots.
func (s Set) Close() {
	for _, r := range s {
		locate.Close(r.FD)
	}
}
