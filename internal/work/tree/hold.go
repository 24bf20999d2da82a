package tree

import (
	"io/fs"
	"path"
	"sync"
)

// maxHeld bounds the directories that a step keeps open.
const maxHeld = 128

// hold is what a step of work over many files has found out.
type hold struct {
	mu   sync.Mutex
	dirs map[string]*Dir   // open, by their real paths
	gone []*Dir            // open, and removed from the disk
	real map[string]string // real paths of directories
}

// Hold returns a view of t for one step of work over many files. It opens each
// directory once, and remembers the way there, until release is called. A directory
// that somebody moves meanwhile goes with what the step does in it, as if it had been
// moved after the step. A step of a step is one with it.
func (t *Tree) Hold() (held *Tree, release func()) {
	if t.held != nil {
		return t, func() {}
	}
	view := *t
	h := &hold{dirs: make(map[string]*Dir), real: make(map[string]string)}
	view.held = h
	return &view, h.release
}

func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.dirs {
		d.h.Close()
	}
	for _, d := range h.gone {
		d.h.Close()
	}
	h.dirs, h.gone = nil, nil
}

// forget lets go of a directory that was removed, so that one that is made under the
// same name is opened anew.
func (h *hold) forget(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.dirs[path]; d != nil {
		delete(h.dirs, path)
		h.gone = append(h.gone, d)
	}
	delete(h.real, path)
}

// open returns the directory at the real path, which it opens if needed.
func (h *hold) open(path string, open func() (*Dir, error)) (*Dir, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.dirs[path]
	if d == nil {
		var err error
		if d, err = open(); err != nil || !h.room() {
			return d, err
		}
		d.hold, h.dirs[path] = h, d
	}
	d.users++
	return d, nil
}

// room reports whether one more directory can be kept open, closing one if need be.
func (h *hold) room() bool {
	if h.dirs == nil {
		return false // released
	}
	if len(h.dirs) < maxHeld {
		return true
	}
	for path, d := range h.dirs { // any one; the files of a directory mostly come together
		if d.users == 0 {
			d.h.Close()
			delete(h.dirs, path)
			return true
		}
	}
	return false
}

func (h *hold) leave(d *Dir) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d.users--
}

// heldReal is real with the directories that were met before. It is not ok when the
// answer takes the long way.
func (t *Tree) heldReal(p string, follow bool) (real string, ok bool) {
	if _, rel, inside := t.rootOf(p); !inside || rel == "" {
		return "", false
	}
	dir, base := path.Dir(p), path.Base(p)
	t.held.mu.Lock()
	at, known := t.held.real[dir]
	t.held.mu.Unlock()
	if !known {
		var err error
		if at, err = t.findReal(dir, true); err != nil {
			return "", false
		}
		t.held.mu.Lock()
		t.held.real[dir] = at
		t.held.mu.Unlock()
	}
	real = join(at, base)
	if !follow {
		return real, true
	}
	d, err := t.OpenDir(at)
	if err != nil {
		return real, IsAbsent(err)
	}
	defer d.Close()
	st, err := d.h.Lstat(base)
	return real, err == nil && st.Mode&fs.ModeSymlink == 0 || IsAbsent(err)
}
