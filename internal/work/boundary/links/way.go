package links

import (
	"os"
	"path/filepath"
	"strings"
)

// most is how many links a path may pass, no fewer than systems follow (path_resolution(7)); a longer way is a circle.
const most = 255

// Way is what an absolute path leads to, and each link on the way there. What is not there leads nowhere else.
func Way(path string) (real string, passed []string) {
	const separator = string(filepath.Separator)
	for rest := path; rest != ""; {
		if filepath.IsAbs(rest) {
			volume := filepath.VolumeName(rest)
			real, rest = volume+separator, rest[len(volume)+1:]
		}
		name, more, _ := strings.Cut(rest, separator)
		at := filepath.Join(real, name)
		target, err := os.Readlink(at)
		if rest = strings.TrimLeft(more, separator); err != nil {
			real = at
			continue
		}
		if passed = append(passed, at); len(passed) > most {
			return path, passed
		}
		rest = filepath.FromSlash(target) + separator + rest
	}
	return real, passed
}
