// Package mounts tells where parts of file systems are mounted, and which other paths lead
// to one place.
package mounts

import (
	"path/filepath"
	"strings"

	"kerf/internal/pathname"
)

// Point is a place where a part of a file system is mounted.
type Point struct {
	Path   string // where
	Device string // which file system
	Root   string // which part of it
}

// Others are the other paths of what has the real path, by the mounts of the
// machine.
func Others(table []Point, path string) []string {
	var at Point
	for _, m := range table { // the last of those that fit as closely lies on top
		if pathname.Under(m.Path, path) && len(m.Path) >= len(at.Path) {
			at = m
		}
	}
	if at.Path == "" {
		return nil
	}
	inside := filepath.Join(at.Root, strings.TrimPrefix(path, at.Path))
	var names []string
	for _, m := range table {
		switch {
		case m.Device != at.Device || m == at:
		case pathname.Under(m.Root, inside):
			names = append(names, filepath.Join(m.Path, strings.TrimPrefix(inside, strings.TrimSuffix(m.Root, "/"))))
		case pathname.Under(inside, m.Root):
			names = append(names, m.Path)
		}
	}
	return names
}
