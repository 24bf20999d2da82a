// Package parcel reads a tree of files that somebody else made, from a directory or from a
// git repository, as bytes and within bounds. Nothing of it is run or checked out, and no
// link in it leads out of it.
package parcel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/order"
)

// The bounds of one parcel.
const (
	MaxFiles   = 3000
	MaxBytes   = 48 << 20
	maxEntries = 200_000 // of the tree that it is taken from
	maxLinks   = 10      // that follow each other
	maxLinked  = 10_000  // links of a commit
)

// entry is one name of a tree: a file, a link or a directory.
type entry struct {
	kind fs.FileMode // 0, fs.ModeSymlink or fs.ModeDir
	exec bool
	link string // where it leads, as it says
	id   string // of the content, in git
	size int64
}

// wanted is a file that is read.
type wanted struct {
	name string
	entry
}

// Tree is a tree of files that can be read. Names have slashes; "." is the root.
type Tree struct {
	// Commit is the name of the commit, where it is one of git.
	Commit  string
	entries map[string]entry
	below   map[string][]string
	read    func(list []wanted) ([][]byte, error)
	close   func()
}

// Close removes what was fetched.
func (t *Tree) Close() {
	if t.close != nil {
		t.close()
	}
}

// File is one file of a parcel.
type File struct {
	Name string
	Exec bool
	Data []byte
}

// Dir is the tree in a directory. Directories of git in it are left out.
func Dir(dir string) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	t := newTree(func(list []wanted) (all [][]byte, err error) {
		for _, w := range list {
			info, err := root.Lstat(filepath.FromSlash(w.name))
			if err != nil {
				return nil, err
			}
			if !info.Mode().IsRegular() || info.Size() != w.size {
				return nil, fmt.Errorf("%s changed while it was read", w.name)
			}
			data, err := root.ReadFile(filepath.FromSlash(w.name))
			if err != nil {
				return nil, err
			}
			all = append(all, data)
		}
		return all, nil
	})
	t.close = func() { root.Close() }
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if len(t.entries) > maxEntries {
			return errors.New("it has too many files")
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode(); {
		case mode.IsDir():
			t.add(name, entry{kind: fs.ModeDir})
		case mode.IsRegular():
			t.add(name, entry{exec: mode&0o111 != 0, size: info.Size()})
		case mode&fs.ModeSymlink != 0:
			to, err := root.Readlink(filepath.FromSlash(name))
			if err != nil {
				return err
			}
			t.add(name, entry{kind: fs.ModeSymlink, link: filepath.ToSlash(to)})
		}
		return nil
	})
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	return t, nil
}

func newTree(read func([]wanted) ([][]byte, error)) *Tree {
	return &Tree{entries: map[string]entry{".": {kind: fs.ModeDir}}, below: map[string][]string{}, read: read}
}

// add adds an entry and the directories above it.
func (t *Tree) add(name string, e entry) {
	if _, ok := t.entries[name]; ok {
		return
	}
	t.entries[name] = e
	up := path.Dir(name)
	t.below[up] = append(t.below[up], name)
	t.add(up, entry{kind: fs.ModeDir})
}

// clean is a name below the root, or an error.
func clean(name string) (string, error) {
	name = path.Clean(strings.TrimSuffix(name, "/"))
	if name == "" || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\\x00") {
		return "", fmt.Errorf("%q leads out of the directory", name)
	}
	return name, nil
}

// Has reports whether a file is there, as a file.
func (t *Tree) Has(name string) bool {
	name, err := clean(name)
	if err != nil {
		return false
	}
	e, ok := t.entries[name]
	return ok && e.kind == 0
}

// Read is the content of one small file, which is no link.
func (t *Tree) Read(name string) ([]byte, error) {
	name, err := clean(name)
	if err != nil {
		return nil, err
	}
	e, ok := t.entries[name]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case e.kind != 0:
		return nil, fmt.Errorf("%s is no file", name)
	case e.size > 1<<20:
		return nil, fmt.Errorf("%s is larger than a megabyte", name)
	}
	all, err := t.read([]wanted{{name, e}})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Files are the files below a directory of the tree, sorted by name, with names from there.
// Links that lead to something below the directory are what they lead to. Left names those
// that do not, and what is neither file nor link.
func (t *Tree) Files(dir string) (files []File, left []string, err error) {
	if dir, err = clean(dir); err != nil {
		return nil, nil, err
	}
	if e, ok := t.entries[dir]; !ok || e.kind != fs.ModeDir {
		return nil, nil, fmt.Errorf("there is no directory %s", dir)
	}
	c := &collecting{tree: t, root: dir}
	if err := c.directory(dir, ".", 0); err != nil {
		return nil, nil, err
	}
	all, err := t.read(c.wanted)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		c.files[i].Data = all[i]
	}
	order.By(c.files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return c.files, c.left, nil
}

// collecting takes the files below root.
type collecting struct {
	tree  *Tree
	root  string
	files []File
	// wanted are what is read for files.
	wanted []wanted
	left   []string
	bytes  int64
	seen   int
}

// directory adds what is below from, under the name as. Links counts those that led here.
func (c *collecting) directory(from, as string, links int) error {
	names := slices.Clone(c.tree.below[from])
	slices.Sort(names)
	for _, name := range names {
		if c.seen++; c.seen > maxEntries {
			return errors.New("it has too many files")
		}
		to := path.Join(as, path.Base(name))
		at, followed, ok := c.follow(name)
		e := c.tree.entries[at]
		switch {
		case !ok:
			c.left = append(c.left, to+" (a link that leads to nothing of it)")
		case links+followed > maxLinks:
			c.left = append(c.left, to+" (too many links)")
		case e.kind == fs.ModeDir:
			if err := c.directory(at, to, links+followed); err != nil {
				return err
			}
		default:
			if err := c.file(at, to, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *collecting) file(at, as string, e entry) error {
	if len(c.files) == MaxFiles || c.bytes+e.size > MaxBytes {
		return fmt.Errorf("it has more than %d files, or %d bytes", MaxFiles, MaxBytes)
	}
	c.bytes += e.size
	c.files, c.wanted = append(c.files, File{Name: as, Exec: e.exec}), append(c.wanted, wanted{at, e})
	return nil
}

// follow is what a name stands for when its links are followed below the root, each part of
// a path by itself, and how many there were.
func (c *collecting) follow(name string) (at string, links int, ok bool) {
	at = name
	for {
		e, found := c.tree.entries[at]
		if !found {
			return "", links, false
		}
		if e.kind != fs.ModeSymlink {
			return at, links, true
		}
		if links++; links > maxLinks || path.IsAbs(e.link) || strings.ContainsAny(e.link, "\\:") {
			return "", links, false
		}
		// The parts of the target are real directories, or this is not followed: a link in
		// the middle of a path is rare, and what it would mean is not worth a guess.
		at = path.Join(path.Dir(at), e.link)
		if at != c.root && c.root != "." && !strings.HasPrefix(at, c.root+"/") || !filepath.IsLocal(filepath.FromSlash(at)) {
			return "", links, false
		}
	}
}
