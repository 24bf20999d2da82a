//go:build linux

package trust

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// node is one file of a tree.
type node struct {
	kind  fs.FileMode // its type bits
	mode  fs.FileMode // its permissions; 0 for links
	data  string      // content, or where a link leads
	inode uint64
	mtime int64
}

// sum is the content hash as kerf log shows it.
func (n node) sum() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(n.data))) }

// same reports whether two nodes are the same to a reader.
func (n node) same(m node) bool { return n.kind == m.kind && n.mode == m.mode && n.data == m.data }

func (n node) String() string {
	if len(n.data) > 300 {
		return fmt.Sprintf("%v%v %d bytes, sha256 %.12s", n.kind, n.mode, len(n.data), n.sum())
	}
	return fmt.Sprintf("%v%v %q", n.kind, n.mode, n.data)
}

// tree is everything below a directory by its path from there, apart from what lies in
// directories .git.
type tree map[string]node

// look reads a tree. Somebody else may be changing it: what vanishes meanwhile is not in
// it.
func look(dir string) (tree, error) {
	t := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			if os.IsNotExist(err) || os.IsPermission(err) {
				return nil
			}
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if n, err := nodeAt(path); err == nil && n.kind == fs.ModeSocket {
			return nil // where the sandbox puts something in the way; no recipe makes one
		} else if err == nil {
			t[strings.TrimPrefix(path, dir+"/")] = n
		} else if !os.IsNotExist(err) {
			return err
		}
		return nil
	})
	return t, err
}

func nodeAt(path string) (node, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return node{}, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return node{}, fmt.Errorf("stat %s: no inode", path)
	}
	n := node{kind: st.Mode().Type(), mode: st.Mode().Perm(), inode: sys.Ino,
		mtime: sys.Mtim.Sec*1e9 + sys.Mtim.Nsec}
	switch {
	case n.kind == fs.ModeSymlink:
		n.mode = 0
		n.data, err = os.Readlink(path)
	case n.kind.IsRegular():
		var b []byte
		b, err = os.ReadFile(path)
		n.data = string(b)
	}
	return n, err
}

// differ returns the paths that are not the same in both trees, sorted.
func differ(a, b tree) []string {
	var paths []string
	for p, n := range a {
		if m, ok := b[p]; !ok || !n.same(m) {
			paths = append(paths, p)
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// describe tells how a path differs, for messages.
func describe(path string, a, b tree) string {
	show := func(t tree) string {
		if n, ok := t[path]; ok {
			return n.String()
		}
		return "not there"
	}
	return fmt.Sprintf("%s: %s, then %s", path, show(a), show(b))
}

// below reports whether a path is dir or lies below it.
func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// put writes files: a path that ends in a slash is a directory.
func put(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
