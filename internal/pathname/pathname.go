// Package pathname compares names of files and carries them through JSON, without
// looking at the disk.
package pathname

import (
	"path"
	"path/filepath"
	"strings"
)

// Rel returns path as seen from dir, and whether it is dir or lies below it. Both are
// absolute, or both are relative to the same directory; links are not followed.
func Rel(dir, path string) (rel string, inside bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// Inside reports whether path is dir or lies below it, as [Rel] does.
func Inside(dir, path string) bool {
	_, ok := Rel(dir, path)
	return ok
}

// Short returns path as seen from dir where it lies there, and else as it is.
func Short(dir, path string) string {
	if rel, ok := Rel(dir, path); ok && dir != "" {
		return rel
	}
	return path
}

// Under is Inside for names that are clean and have slashes. It allocates nothing.
func Under(dir, path string) bool {
	if dir == path {
		return true
	}
	dir = strings.TrimSuffix(dir, "/")
	return len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}

// AboveIn returns the nearest directory above p, which has slashes, that is a key of m, or "".
func AboveIn[V any](p string, m map[string]V) string {
	for dir := path.Dir(p); dir != path.Dir(dir); dir = path.Dir(dir) {
		if _, ok := m[dir]; ok {
			return dir
		}
	}
	return ""
}
