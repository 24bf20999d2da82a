package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"kerf/internal/work/tree/handle"
)

const (
	maxLinks = 40 // as many as the Linux kernel follows
	// maxTries bounds the race with somebody who exchanges names under our feet.
	maxTries = 16
)

// Target returns the real path of an absolute path: the same for most, the file a
// link stands for, and for a path that is not there the place where it would be. It
// fails with *OutsideError or *LinkError for links that may not be followed.
func (t *Tree) Target(p string) (string, error) {
	p, err := t.Resolve(p)
	if err != nil {
		return "", err
	}
	return t.real(p, true)
}

// Entry is Target for what the path itself names: links on the way are followed, a
// link at its end is not.
func (t *Tree) Entry(p string) (string, error) {
	p, err := t.Resolve(p)
	if err != nil {
		return "", err
	}
	return t.real(p, false)
}

// real resolves the links in p, which lies in a root. The answer may be stale when
// it is given; opening it meets no link or fails.
func (t *Tree) real(p string, follow bool) (string, error) {
	if t.held != nil {
		if real, ok := t.heldReal(p, follow); ok {
			return real, nil
		}
	}
	return t.findReal(p, follow)
}

func (t *Tree) findReal(p string, follow bool) (string, error) {
	asked, via := p, ""
	for range maxLinks + 1 {
		next, target, err := t.expand(p, follow)
		if err != nil {
			return "", t.linkError(asked, via, err)
		}
		if next == "" {
			return p, nil
		}
		// What a link with a closed name leads to is not to be had through it.
		if err := t.checkRead(p, nil); err != nil {
			return "", err
		}
		via = target
		if next, ok := t.afterLink(next); ok {
			p = next
			continue
		}
		return "", t.outside(asked, via)
	}
	return "", &LinkError{asked, "leads to itself"}
}

// linkError names the link that was asked for when what it leads to is the trouble.
func (t *Tree) linkError(asked, via string, err error) error {
	if errors.Is(err, errDotDot) {
		return t.outside(asked, via)
	}
	return err
}

var errDotDot = errors.New("leads above the root")

// expand replaces the first link in p by its target. It returns "" when there is
// none. p may hold ".." that came from an earlier link; they are resolved against the
// directories they really follow.
func (t *Tree) expand(p string, follow bool) (next, target string, err error) {
	cur, rest, ok := t.rootOf(p)
	if !ok {
		return "", "", errDotDot
	}
	top, dotted := cur, false
	for rest != "" {
		name, tail, _ := strings.Cut(rest, "/")
		rest = tail
		if name == ".." {
			if cur == top {
				return "", "", errDotDot
			}
			cur, dotted = path.Dir(cur), true
			continue
		}
		here := join(cur, name)
		st, err := os.Lstat(filepath.FromSlash(here))
		switch {
		case IsAbsent(err):
			return t.expandMissing(p, here, rest, dotted)
		case err != nil:
			return "", "", err
		case st.Mode()&fs.ModeSymlink == 0 || rest == "" && !follow:
			cur = here
			continue
		}
		return t.splice(cur, here, rest)
	}
	if dotted {
		return cur, "", nil
	}
	return "", "", nil
}

// expandMissing ends an expansion at a name that is not there.
func (t *Tree) expandMissing(p, here, rest string, dotted bool) (next, target string, err error) {
	if strings.Contains("/"+rest+"/", "/../") {
		return "", "", &LinkError{p, "leads nowhere"}
	}
	if dotted {
		return join(here, rest), "", nil
	}
	return "", "", nil
}

// splice puts the target of the link here, which is in the directory dir, in its
// place.
func (t *Tree) splice(dir, here, rest string) (next, target string, err error) {
	target, err = os.Readlink(filepath.FromSlash(here))
	if err != nil {
		return "", "", err
	}
	to := filepath.ToSlash(target)
	if filepath.IsAbs(target) {
		next = to
	} else {
		for to == ".." || strings.HasPrefix(to, "../") {
			dir, to = path.Dir(dir), strings.TrimLeft(strings.TrimPrefix(to, ".."), "/")
		}
		next = join(dir, to)
	}
	if _, ok := t.afterLink(next); !ok {
		return "", "", t.outside(here, target)
	}
	// Whether it leads to itself findReal counts: where names move meanwhile, Linux sees circles in chains of 20 links.
	if _, err := os.Stat(filepath.FromSlash(here)); IsAbsent(err) {
		return "", "", &LinkError{here, "leads nowhere"}
	}
	return join(next, rest), target, nil
}

// afterLink brings a path that came out of a link into canonical spelling, keeping
// those ".." that only the file system can resolve.
func (t *Tree) afterLink(p string) (string, bool) {
	parts := strings.Split(p, "/")
	kept := parts[:0]
	for i, name := range parts {
		if name == "." || name == "" && i > 0 {
			continue
		}
		kept = append(kept, name)
	}
	p = strings.Join(kept, "/")
	if p == "" {
		p = "/"
	}
	return t.contain(p)
}

// open opens the directory of the real path p and returns the last component. The
// error is handle.ErrLink when p turns out not to be real.
func (t *Tree) open(p string) (*Dir, string, error) {
	root, rel, ok := t.rootOf(p)
	if !ok {
		return nil, "", t.outside(p, "")
	}
	if rel == "" {
		return nil, "", fmt.Errorf("%s: %w", p, ErrDirectory)
	}
	dir, base := path.Split(rel)
	d, err := t.openDir(root, strings.TrimSuffix(dir, "/"))
	return d, base, err
}

// at runs f on the directory and the name that p stands for, following links in
// directories, and the last one if follow is set. f returns handle.ErrLink when it meets a
// link it may not use.
func (t *Tree) at(p string, follow bool, f func(d *Dir, name string) error) error {
	p, err := t.Resolve(p)
	if err != nil {
		return err
	}
	real := p
	for range maxTries {
		err := t.try(real, f)
		if !errors.Is(err, handle.ErrLink) {
			return err
		}
		if real, err = t.real(p, follow); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", p, ErrUnstable)
}

func (t *Tree) try(real string, f func(d *Dir, name string) error) error {
	d, name, err := t.open(real)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(d, name)
}

// IsAbsent reports whether err says that there is nothing at a path: no such name,
// or a file where a directory would have to be.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
