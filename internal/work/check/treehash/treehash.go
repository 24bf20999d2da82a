// Package treehash names the state of the files below some directories by one hash: their
// paths, kinds, permission bits and contents.
package treehash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kerf/internal/work/inode"
)

// Lister lists the files and links below a directory, as absolute paths with slashes, and
// whether it left some out.
type Lister func(ctx context.Context, root string) (paths []string, more bool, err error)

// Hasher hashes the files that List lists. It remembers contents by size and times, so that
// the next hash reads only what changed. It may be used by several goroutines.
type Hasher struct {
	Roots []string
	List  Lister

	mu   sync.Mutex
	seen map[string]content
}

// content is what was read of a file, and how the file looked then.
type content struct {
	size  int64
	mtime time.Time
	ctime int64
	ino   uint64
	read  time.Time
	sum   [sha256.Size]byte
}

// settle is how old a change must be for its time to tell that there was no other one since:
// file systems count in steps.
const settle = 50 * time.Millisecond

// ErrMany says that there are too many files.
var ErrMany = errors.New("there are too many files to name the state of all")

// Tree is the hash of what the files are now, in hex.
func (h *Hasher) Tree(ctx context.Context) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all, seen := sha256.New(), map[string]content{}
	for i, root := range h.Roots {
		paths, more, err := h.List(ctx, root)
		if err != nil {
			return "", fmt.Errorf("hash the files of %s: %w", root, err)
		}
		if more {
			return "", fmt.Errorf("hash the files of %s: %w", root, ErrMany)
		}
		slices.Sort(paths)
		for _, name := range paths {
			if err := ctx.Err(); err != nil {
				return "", err
			}
			rel, err := filepath.Rel(root, filepath.FromSlash(name))
			if err != nil {
				return "", err
			}
			if err := h.file(all, seen, filepath.FromSlash(name), fmt.Sprintf("%d/%s", i, filepath.ToSlash(rel))); err != nil {
				return "", fmt.Errorf("hash the files of %s: %w", root, err)
			}
		}
	}
	h.seen = seen
	return hex.EncodeToString(all.Sum(nil)), nil
}

// Newest is when one of the files, or a directory with some, was changed last, by their times.
func (h *Hasher) Newest(ctx context.Context) (newest time.Time, err error) {
	seen := map[string]bool{}
	look := func(name string) {
		if st, err := os.Lstat(name); err == nil && !seen[name] {
			seen[name] = true
			for _, at := range []time.Time{st.ModTime(), ctimeOf(st)} {
				if at.After(newest) {
					newest = at
				}
			}
		}
	}
	for _, root := range h.Roots {
		paths, _, err := h.List(ctx, root)
		if err != nil {
			return newest, fmt.Errorf("look at the files of %s: %w", root, err)
		}
		look(root)
		for _, name := range paths {
			if ctx.Err() != nil {
				return newest, ctx.Err()
			}
			name = filepath.FromSlash(name)
			look(name)
			for dir := filepath.Dir(name); !seen[dir] && len(dir) > len(root); dir = filepath.Dir(dir) {
				look(dir)
			}
		}
	}
	return newest, nil
}

// ctimeOf is when anything of a file was changed; the zero time where that is not known.
func ctimeOf(st fs.FileInfo) time.Time {
	ctime := inode.Changed(st)
	if ctime == 0 {
		return time.Time{}
	}
	return time.Unix(0, ctime)
}

// file adds one file. One that went away meanwhile, or that cannot be read, counts as such.
func (h *Hasher) file(all io.Writer, seen map[string]content, name, rel string) error {
	st, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	what := ""
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(name)
		if err != nil {
			return err
		}
		what = "link " + to
	case st.Mode().IsRegular():
		c, err := h.content(name, st)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, fs.ErrPermission):
			what = "unreadable"
		case err != nil:
			return err
		default:
			seen[name] = c
			what = fmt.Sprintf("file %o %x", st.Mode().Perm(), c.sum)
		}
	default:
		what = "other"
	}
	_, err = fmt.Fprintf(all, "%s\x00%s\x00", rel, what)
	return err
}

func (h *Hasher) content(name string, st fs.FileInfo) (content, error) {
	c := content{size: st.Size(), mtime: st.ModTime(), read: time.Now()}
	c.ctime, c.ino = inode.Changed(st), inode.Number(st)
	if was, ok := h.seen[name]; ok && was.size == c.size && was.mtime.Equal(c.mtime) && was.ctime == c.ctime &&
		was.ino == c.ino && was.read.Sub(was.mtime) > settle {
		return was, nil
	}
	f, err := open(name)
	if err != nil {
		return c, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return c, err
	}
	sum.Sum(c.sum[:0])
	return c, nil
}
