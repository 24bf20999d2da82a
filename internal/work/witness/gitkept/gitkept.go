// Package gitkept tells which names are left to git.
package gitkept

import (
	"path"
	"strings"

	"kerf/internal/work/tree"
)

// Names returns what reports whether a name, with slashes, is left to git: one in a git directory that
// is still there, and the `.git` that nobody touched. A git directory that went with all it held is
// like other files. Temporary files of Kerf are left alone, too. there is asked once for each
// directory that may be one of git; the result is for one goroutine.
func Names(there, touched func(name string) bool) func(name string) bool {
	known := map[string]bool{}
	return func(name string) bool {
		if tree.IsTemporary(path.Base(name)) {
			return true
		}
		for rest, at := name, 0; ; {
			i := strings.Index(rest, "/.git")
			if i < 0 {
				return false
			}
			at += i + len("/.git")
			rest = name[at:]
			if rest != "" && rest[0] != '/' {
				continue
			}
			dir := name[:at]
			is, ok := known[dir]
			if !ok {
				is = there(dir)
				known[dir] = is
			}
			if is || rest == "" && !touched(name) {
				return true
			}
		}
	}
}
