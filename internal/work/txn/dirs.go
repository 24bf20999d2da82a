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

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn/modes"
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
func (j *job) leaving() {
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
}

// removal is the operation that removes a directory, nil if there is none.
func (j *job) removal(real string) (o *op) {
	_ = in(j.tree, real, func(d *tree.Dir, name string) error {
		if sig, err := d.Sig(name); err == nil && sig.Mode.IsDir() {
			o = &op{Kind: opRmdir, Path: ledger.Path(real), Mode: j.modeBefore(real, uint32(sig.Mode.Perm())), Maybe: true}
		}
		return nil
	})
	return o
}

// emptied lists the directories that go, children first: those that must because a
// file takes the name of one of them, and those that may.
func (j *job) emptied(early []*op, writes, made map[string]*op) (must, may []*op) {
	for _, o := range early {
		top := pathname.AboveIn(string(o.Path), writes)
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
		case writes[dir] != nil || pathname.AboveIn(dir, writes) != "":
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
			err = m.add(real, &op{Kind: opMkdir, Path: ledger.Path(real), Mode: dir.Mode, Fixed: dir.Mode != ledger.AnyMode})
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
	if m.removes[dir] != nil || pathname.AboveIn(dir, m.removes) != "" {
		return false, nil
	}
	d, err := m.j.tree.OpenDir(dir)
	if err == nil {
		d.Close()
		return true, nil
	}
	if !tree.IsAbsent(err) {
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

// unlock opens directories that keep us from what the commit is about: those of which it
// changes the mode, and, where modes are given back, all others. What is in some of them can
// only be looked at then. The journal knows of them first.
func (j *job) unlock() error {
	if !j.o.exactModes() && len(j.o.Chmod) == 0 {
		return nil // a mode that stays is obeyed
	}
	shut := modes.In(j.tree)
	for _, c := range j.set {
		if p, err := j.tree.Resolve(c.Path); err == nil {
			shut.Change(p)
		}
	}
	for _, dir := range j.o.Make {
		shut.Change(string(dir.Path))
	}
	for _, dir := range j.o.Prune {
		shut.Change(dir)
	}
	wanted := map[string]ledger.DirMode{}
	j.opened = map[string]*op{}
	for _, m := range j.o.Chmod {
		shut.Reach(string(m.Path))
		wanted[string(m.Path)] = m
	}
	for {
		known := len(j.opens)
		for _, d := range shut.Find() {
			m, changes := wanted[d.Path]
			if changes = changes && m.Pre == d.Was; changes {
				d.Want = m.Post
			}
			if (changes || j.o.exactModes()) && j.opened[d.Path] == nil && j.tree.CheckWrite(d.Path, nil) == nil {
				o := modeOp(d)
				j.opens, j.opened[d.Path] = append(j.opens, o), o
			}
		}
		if len(j.opens) == known {
			return nil
		}
		if err := j.begin(j.opens); err != nil {
			return err
		}
		if err := j.open(j.opens[known:]); err != nil {
			return err
		}
	}
}

// modeOp is the operation that opens d, and gives it its mode in the end.
func modeOp(d modes.Dir) *op {
	return &op{Kind: opChmod, Path: ledger.Path(d.Path), Mode: d.Want, Was: d.Was, Dir: d.ID}
}

// modeBefore is the mode that a directory had before it was opened.
func (j *job) modeBefore(real string, have uint32) uint32 {
	if o := j.opened[real]; o != nil {
		return o.Was
	}
	return have
}

// open opens the directories of ops.
func (j *job) open(ops []*op) error {
	for _, o := range ops {
		if o.Kind != opChmod || o.tried {
			continue
		}
		if err := modes.Begin(j.w.Tree, o.dir()); err != nil {
			o.skip = true
			if err := j.fail(o.name(), err); err != nil {
				return err
			}
		}
		o.tried = true
	}
	return nil
}

// changed are the operations on directories that get other permission bits and are not
// opened yet.
func (j *job) changed() (ops []*op) {
	for _, m := range j.o.Chmod {
		real, err := j.tree.Entry(string(m.Path))
		if err != nil || j.o.Real && real != string(m.Path) || j.tree.CheckWrite(real, nil) != nil || j.opened[real] != nil {
			continue
		}
		have, id, err := modes.Of(j.tree, real)
		if err == nil && have == m.Pre && m.Pre != m.Post {
			ops = append(ops, modeOp(modes.Dir{Path: real, ID: id, Was: m.Pre, Want: m.Post}))
		}
	}
	slices.SortFunc(ops, parentsFirst)
	return ops
}

// dir is what the operation does to the mode of its directory.
func (o *op) dir() modes.Dir {
	d := modes.Dir{Path: string(o.Path), ID: o.Dir, Was: o.Was, Want: o.Mode, Next: o.Mode}
	if o.Kind != opChmod {
		d.Was, d.Made = o.Mode, true
	}
	return d
}

// modesOf are the directories of ops that are opened while the commit works, each with the mode
// that it gets if e is what came of the commit; nil for nothing.
func modesOf(ops []*op, e *ledger.Entry) (dirs []modes.Dir) {
	came := map[any]bool{}
	if e != nil {
		for _, m := range e.Modes {
			came[m] = true
		}
		for _, d := range e.Gone {
			came[d] = true
		}
	}
	for _, o := range ops {
		d := o.dir()
		switch {
		case o.Kind == opChmod && (o.skip || o.Fixed): // older versions closed with it what they made
			continue
		case o.Kind == opChmod:
			if !came[ledger.DirMode{Path: o.Path, Pre: o.Was, Post: o.Mode}] {
				d.Want = d.Was
			}
		case o.Kind == opMkdir && o.Fixed && !o.skip:
		case o.Kind == opRmdir && !came[ledger.Dir{Path: o.Path, Mode: o.Mode}]:
		default:
			continue
		}
		dirs = append(dirs, d)
	}
	return dirs
}

func doMkdir(t *tree.Tree, d *tree.Dir, name string, o *op) error {
	perm := fs.FileMode(0o777)
	if o.Fixed {
		perm = 0o700
	}
	err := d.Mkdir(name, perm)
	if errors.Is(err, fs.ErrExist) {
		if sig, err := d.Sig(name); err == nil && sig.Mode.IsDir() {
			o.skip, o.rests = true, true // somebody else made it
			return nil
		}
	}
	if err != nil || !o.Fixed {
		return err
	}
	made, err := t.OpenDir(string(o.Path))
	if err != nil {
		return err
	}
	defer made.Close()
	return made.Chmod(fs.FileMode(o.dir().Open()))
}

func doRmdir(d *tree.Dir, name string, o *op) error {
	err := d.Rmdir(name)
	if err != nil && o.Maybe {
		o.skip = true // one that is not empty, or not there, is as it should be
		return nil
	}
	return err
}

// undoRmdir makes the directory again, also when that was cut short. It gets its mode in the
// end.
func undoRmdir(d *tree.Dir, name string) error {
	err := d.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
