package txn

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
)

// free notes which files and links the set removes.
func (j *job) free(set delta.Set) {
	j.freed = map[string]string{}
	for _, c := range set {
		if c.Pre == nil || c.Post != nil {
			continue
		}
		asked, err := j.tree.Resolve(c.Path)
		if err != nil {
			continue // validate tells
		}
		if real, err := j.tree.Entry(asked); err == nil {
			j.freed[asked], j.freed[real] = real, real
		}
	}
}

// leaving finds out which directories of o.Prune are there, and their modes. Others
// are as they should be.
func (j *job) leaving() error {
	j.goes = map[string]*op{}
	wanted := map[string]bool{}
	for _, dir := range j.o.Make {
		wanted[string(dir.Path)] = true
	}
	for _, dir := range j.o.Prune {
		real, err := j.tree.Entry(dir)
		if err != nil || j.o.Real && real != dir || slices.Contains(j.tree.Roots(), real) || wanted[dir] ||
			j.tree.CheckWrite(real, nil) != nil {
			continue
		}
		if o := j.removal(real); o != nil {
			j.goes[real] = o
		}
	}
	return nil
}

// removal is the operation that removes a directory, nil if there is none.
func (j *job) removal(real string) (o *op) {
	_ = in(j.tree, real, func(d *tree.Dir, name string) error {
		if sig, err := d.Sig(name); err == nil && sig.Mode.IsDir() {
			o = &op{Kind: opRmdir, Path: ledger.Path(real), Mode: uint32(sig.Mode.Perm()), Maybe: true}
		}
		return nil
	})
	return o
}

// emptied lists the directories that go, children first: those that must because a
// file takes the name of one of them, and those that may.
func (j *job) emptied(early []*op, writes, made map[string]*op) (must, may []*op) {
	for _, o := range early {
		top := ancestorIn(string(o.Path), writes)
		for dir := path.Dir(string(o.Path)); top != ""; dir = path.Dir(dir) {
			if j.goes[dir] == nil {
				if o := j.removal(dir); o != nil {
					j.goes[dir] = o
				}
			}
			if dir == top {
				break
			}
		}
	}
	for dir, o := range j.goes {
		switch {
		case writes[dir] != nil || ancestorIn(dir, writes) != "":
			o.Maybe = false
			must = append(must, o)
		case made[dir] == nil:
			may = append(may, o)
		}
	}
	childrenFirst(must)
	childrenFirst(may)
	return must, may
}

func childrenFirst(ops []*op) {
	slices.SortFunc(ops, func(a, b *op) int { return -parentsFirst(a, b) })
}

func parentsFirst(a, b *op) int {
	if n := strings.Count(string(a.Path), "/") - strings.Count(string(b.Path), "/"); n != 0 {
		return n
	}
	return strings.Compare(string(a.Path), string(b.Path))
}

// directories are those that a commit makes.
type directories struct {
	j       *job
	removes map[string]*op
	at      map[string]*op // by path
}

func (m *directories) list() []*op {
	return slices.SortedFunc(maps.Values(m.at), parentsFirst)
}

// wanted adds those that were asked for.
func (m *directories) wanted() error {
	for _, dir := range m.j.o.Make {
		real, err := m.j.locate(delta.Change{Path: string(dir.Path)})
		if err == nil {
			err = m.j.tree.CheckWrite(real, nil)
		}
		if err == nil {
			err = m.add(real, &op{Kind: opMkdir, Path: ledger.Path(real), Mode: dir.Mode, Fixed: dir.Mode != 0})
		}
		if err != nil {
			if err := m.j.fail(string(dir.Path), err); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds o, which makes the directory dir, unless that is there, and those above.
func (m *directories) add(dir string, o *op) error {
	there, err := m.there(dir)
	if err != nil || there {
		return err
	}
	if have := m.at[dir]; have == nil || o.Fixed {
		m.at[dir] = o
	}
	_, err = m.above(dir)
	return err
}

// there reports whether dir is a directory. Something else that has its name must be
// removed by the set.
func (m *directories) there(dir string) (bool, error) {
	if m.removes[dir] != nil || ancestorIn(dir, m.removes) != "" {
		return false, nil
	}
	d, err := m.j.tree.OpenDir(dir)
	if err == nil {
		d.Close()
		return true, nil
	}
	if !isAbsent(err) {
		return false, err
	}
	img, lookErr := m.j.tree.ReadEntry(dir, 0)
	if lookErr != nil {
		return false, lookErr
	}
	if img != nil {
		return false, fmt.Errorf("%s: %w", dir, syscall.ENOTDIR)
	}
	return false, nil
}

// above adds the directories above p that are not there, and returns the nearest one
// that is.
func (m *directories) above(p string) (base string, err error) {
	for base = path.Dir(p); ; base = path.Dir(base) {
		there, err := m.there(base)
		if err != nil || there {
			return base, err
		}
		if base == path.Dir(base) {
			return "", fmt.Errorf("%s: %w", p, fs.ErrNotExist)
		}
		if m.at[base] == nil {
			m.at[base] = &op{Kind: opMkdir, Path: ledger.Path(base)}
		}
	}
}

// modes are the operations that change permission bits of directories: those that
// open directories to their owner come first, the others last. Directories that are
// made are open until everything is in them.
func (j *job) modes(made []*op) (opened, closed []*op) {
	for _, o := range made {
		if o.Fixed && o.Mode&0o700 != 0o700 {
			closed = append(closed, &op{Kind: opChmod, Path: o.Path, Mode: o.Mode, Was: o.Mode | 0o700, Fixed: true})
		}
	}
	for _, m := range j.o.Chmod {
		real, err := j.tree.Entry(string(m.Path))
		if err != nil || j.o.Real && real != string(m.Path) || j.tree.CheckWrite(real, nil) != nil {
			continue
		}
		if have, err := permsOf(j.tree, real); err != nil || have != m.Pre || m.Pre == m.Post {
			continue
		}
		o := &op{Kind: opChmod, Path: ledger.Path(real), Mode: m.Post, Was: m.Pre}
		if o.Mode&0o700 == 0o700 {
			opened = append(opened, o)
		} else {
			closed = append(closed, o)
		}
	}
	slices.SortFunc(opened, parentsFirst)
	childrenFirst(closed)
	return opened, closed
}

func doMkdir(t *tree.Tree, d *tree.Dir, name string, o *op) error {
	perm := fs.FileMode(0o777)
	if o.Fixed {
		perm = 0o700
	}
	err := d.Mkdir(name, perm)
	if errors.Is(err, fs.ErrExist) {
		if sig, err := d.Sig(name); err == nil && sig.Mode.IsDir() {
			return nil // somebody else made it
		}
	}
	if err != nil || !o.Fixed {
		return err
	}
	// The owner can always get at what is about to be put there.
	return chmodDir(t, string(o.Path), o.Mode|0o700)
}

func doRmdir(d *tree.Dir, name string, o *op) error {
	err := d.Rmdir(name)
	if err != nil && o.Maybe {
		o.skip = true // one that is not empty, or not there, is as it should be
		return nil
	}
	return err
}

// undoRmdir makes the directory again, with its mode, also when that was cut short.
func undoRmdir(t *tree.Tree, d *tree.Dir, name string, o *op) error {
	err := d.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		sig, err := d.Sig(name)
		if err != nil || !sig.Mode.IsDir() || sig.Mode.Perm() != 0o700 {
			return err
		}
	} else if err != nil {
		return err
	}
	if o.Mode == 0 || o.Mode == 0o700 {
		return nil
	}
	return chmodDir(t, string(o.Path), o.Mode)
}

func undoChmod(t *tree.Tree, o *op) error {
	have, err := permsOf(t, string(o.Path))
	if err != nil || have != o.Mode {
		return err
	}
	return chmodDir(t, string(o.Path), o.Was)
}

// permsOf are the permission bits of a directory, which may be a root; no such bits where none is.
func permsOf(t *tree.Tree, real string) (uint32, error) {
	d, err := t.OpenDir(real)
	if isAbsent(err) {
		return ^uint32(0), nil
	}
	if err != nil {
		return 0, err
	}
	defer d.Close()
	sig, err := d.Sig(".")
	return uint32(sig.Mode.Perm()), err
}

func chmodDir(t *tree.Tree, real string, mode uint32) error {
	d, err := t.OpenDir(real)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Chmod(fs.FileMode(mode))
}
