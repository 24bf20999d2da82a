package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// project finds the project root and, when the project is trusted, adds its
// files from the root down to the working directory.
func (l *loader) project() error {
	var markers []string
	if v := l.tree.table["project_root_markers"]; v != nil {
		list, _ := v.leaf.([]any)
		for _, m := range list {
			if s, ok := m.(string); ok {
				markers = append(markers, s)
			}
		}
	}
	l.root = projectRoot(l.o.Cwd, markers)
	for _, dir := range chain(l.root, l.o.Cwd) {
		if isHome(dir, l.o.Home) {
			continue
		}
		file := filepath.Join(dir, ".kerf", "config.toml")
		if !l.o.Trusted {
			if _, err := os.Lstat(file); err == nil {
				l.warn(origin{file: file}, "", "ignored: the project is not trusted")
			}
			continue
		}
		if err := l.projectFile(dir, file); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) projectFile(dir, file string) error {
	data, err := readBeneath(dir, ".kerf/config.toml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Error{File: file, Message: cause(err)}
	}
	v, err := parse(file, data)
	if err != nil {
		return err
	}
	canonical(v)
	profiles := v.table["profiles"]
	v.table = without(v.table, "profiles")
	if err := l.check(v, nil); err != nil {
		return err
	}
	if profiles != nil {
		l.refuse("profiles", profiles)
	}
	l.restrict(v, nil)
	l.tree = merge(l.tree, v)
	return nil
}

// restrict removes from v what a project may not say.
func (l *loader) restrict(v *value, path []string) {
	for _, k := range v.inOrder() {
		sub, here := v.table[k], append(path[:len(path):len(path)], k)
		tag, known := lookup(here)
		switch allowed := tag.Get("project"); {
		case known && allowed == "any":
		case known && allowed != "" && sub.leaf == allowed:
		case known && allowed == "" && sub.table != nil:
			l.restrict(sub, here)
			if len(sub.table) == 0 {
				delete(v.table, k)
			}
		case known:
			l.refuse(Key(here...), sub)
			delete(v.table, k)
		default: // another agent's key; told already
			delete(v.table, k)
		}
	}
}

func (l *loader) refuse(key string, v *value) {
	l.warn(v.from, key, key+": a project cannot set this; ignored")
}

// readBeneath reads a small regular file in dir without following links.
func readBeneath(dir, name string) ([]byte, error) {
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
		if last := i == len(parts)-1; !last && !info.IsDir() {
			return nil, errors.New("expected a directory, no link")
		} else if last {
			if !info.Mode().IsRegular() {
				return nil, errors.New("expected a regular file")
			}
			if info.Size() > maxFile {
				return nil, errors.New("is too large")
			}
		}
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// projectRoot is the nearest directory at or above dir that has a marker, or
// dir itself.
func projectRoot(dir string, markers []string) string {
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

// chain lists the directories from root down to dir, which lies in it.
func chain(root, dir string) []string {
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

// isHome reports whether dir's .kerf is KERF_HOME itself, which is the user's
// and no project's.
func isHome(dir, home string) bool {
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
