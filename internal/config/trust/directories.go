package trust

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/config/document"
	"kerf/internal/config/peers"
)

// ReadBeneath reads a small regular file in dir without following links. Where a socket
// stands in place of a directory the file does not exist.
func ReadBeneath(dir, name string) ([]byte, error) {
	if err := missing(dir, name); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	parts := strings.Split(name, "/")
	for i := range parts {
		info, err := root.Lstat(filepath.Join(parts[:i+1]...))
		if err != nil {
			return nil, err
		}
		if last := i == len(parts)-1; !last && isPlaceholder(info) {
			return nil, fs.ErrNotExist
		} else if !last && !info.IsDir() {
			return nil, errors.New("expected a directory that is not a link")
		} else if last {
			if !info.Mode().IsRegular() {
				return nil, errors.New("expected a regular file")
			}
			if info.Size() > document.MaxFile {
				return nil, errors.New("is too large")
			}
		}
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, document.MaxFile))
}

// missing is why nothing can stand at name in dir: its first part is not there. Most of the
// files that are looked for are in no project, and this is one call for each.
func missing(dir, name string) error {
	first, _, _ := strings.Cut(name, "/")
	if _, err := os.Lstat(filepath.Join(dir, first)); errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// maxNames bounds a directory whose names are read.
const maxNames = 200

// NamesBeneath are the names in a directory in dir, sorted. No link is followed, and what
// holds more than 200 names is not read.
func NamesBeneath(dir, name string) []string {
	if missing(dir, name) != nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	parts := strings.Split(name, "/")
	for i := range parts {
		if info, err := root.Lstat(filepath.Join(parts[:i+1]...)); err != nil || !info.IsDir() {
			return nil
		}
	}
	d, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil
	}
	defer d.Close()
	list, err := d.ReadDir(maxNames + 1)
	if err != nil || len(list) > maxNames {
		return nil
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

// once are the files of a project, each read one time.
type once struct {
	texts map[[2]string]text
	names map[[2]string][]string
}

type text struct {
	data []byte
	err  error
}

// Once are the files of a project, each read when it is first asked for, and never again: so
// what was hashed is what is used, also where a file is changed in between. It is for one
// goroutine.
func Once() peers.Files {
	return &once{map[[2]string]text{}, map[[2]string][]string{}}
}

func (o *once) Read(dir, name string) ([]byte, error) {
	at := [2]string{dir, name}
	t, ok := o.texts[at]
	if !ok {
		t.data, t.err = ReadBeneath(dir, name)
		o.texts[at] = t
	}
	return t.data, t.err
}

// held is a file that was read before.
func (o *once) held(dir, name string) ([]byte, bool) {
	if o == nil {
		return nil, false
	}
	t, ok := o.texts[[2]string{dir, name}]
	return t.data, ok && t.err == nil
}

func (o *once) Names(dir, name string) []string {
	at := [2]string{dir, name}
	list, ok := o.names[at]
	if !ok {
		list = NamesBeneath(dir, name)
		o.names[at] = list
	}
	return list
}

// HeldFree reports whether a sandbox keeps commands from making dir's .kerf: a
// placeholder stands there, and no settings.
func HeldFree(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, ".kerf"))
	return err == nil && isPlaceholder(info)
}

// isPlaceholder reports whether a socket stands there, as sandboxes put one where commands
// must make nothing. It holds no settings.
func isPlaceholder(info fs.FileInfo) bool { return info.Mode().Type() == fs.ModeSocket }

// Root is the nearest directory at or above dir that has a marker, or
// dir itself.
func Root(dir string, markers []string) string {
	for at := dir; ; at = filepath.Dir(at) {
		for _, m := range markers {
			if m == "" || !filepath.IsLocal(m) {
				continue
			}
			if _, err := os.Lstat(filepath.Join(at, m)); err == nil {
				return at
			}
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// Chain lists the directories from root down to dir, which lies in it.
func Chain(root, dir string) []string {
	var dirs []string
	for at := dir; ; at = filepath.Dir(at) {
		dirs = append(dirs, at)
		if at == root || at == filepath.Dir(at) {
			break
		}
	}
	slices.Reverse(dirs)
	return dirs
}

// IsHome reports whether dir's .kerf is KERF_HOME itself, which is the user's
// and no project's.
func IsHome(dir, home string) bool {
	path := filepath.Join(dir, ".kerf")
	if path == filepath.Clean(home) {
		return true
	}
	a, err := os.Stat(path)
	if err != nil {
		return false
	}
	b, err := os.Stat(home)
	return err == nil && os.SameFile(a, b)
}

// Directories are those from root down to cwd in which a project has settings: not the
// user's home, nor the one that holds KERF_HOME.
func Directories(root, cwd, home string) (dirs []string) {
	user, err := os.UserHomeDir()
	for _, dir := range Chain(root, cwd) {
		if err == nil && dir == filepath.Clean(user) || IsHome(dir, home) {
			continue
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// MadeFrom is the root of the working tree that a work tree of the user's was made from by
// Kerf, which notes that beside it in home; empty for any other directory. Nobody but Kerf
// and the user writes there.
func MadeFrom(home, root string) string {
	if missing(home, "worktrees") != nil {
		return "" // most homes have none
	}
	place, err := filepath.EvalSymlinks(filepath.Join(home, "worktrees"))
	if err != nil || filepath.Dir(filepath.Dir(root)) != place {
		return ""
	}
	text, err := ReadBeneath(filepath.Dir(root), filepath.Base(root)+".json")
	if err != nil {
		return ""
	}
	var meta struct {
		Root string `json:"root"`
	}
	if json.Unmarshal(text, &meta) != nil {
		return ""
	}
	return meta.Root
}
