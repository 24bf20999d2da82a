package txn

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
)

// makeDirs makes the directories that are not there, with exactly their modes, and
// returns those it made, parents first. With an error none is left.
func (w *Workspace) makeDirs(dirs []ledger.Dir) (made []string, err error) {
	defer func() {
		if err != nil {
			w.prune(reversed(made))
			made = nil
		}
	}()
	for _, dir := range dirs {
		real, err := w.Tree.Entry(string(dir.Path))
		if err != nil {
			return made, err
		}
		if err := w.Tree.CheckWrite(real, false); err != nil {
			return made, err
		}
		err = w.in(real, func(d *tree.Dir, name string) error { return d.Mkdir(name, 0o700) })
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return made, err
		}
		made = append(made, real)
		if err := w.chmodDir(real, fs.FileMode(dir.Mode)); err != nil {
			return made, err
		}
	}
	return made, nil
}

func (w *Workspace) chmodDir(real string, perm fs.FileMode) error {
	d, err := w.Tree.OpenDir(real)
	if err != nil {
		return err
	}
	defer d.Close()
	// The owner can always get at what is about to be put there.
	return d.Chmod(perm | 0o700)
}

func reversed(dirs []string) []string {
	out := slices.Clone(dirs)
	slices.Reverse(out)
	return out
}

// modesOf tells the modes of those directories that are there, parents first.
func (w *Workspace) modesOf(dirs []string) []ledger.Dir {
	var list []ledger.Dir
	for _, dir := range slices.Backward(dirs) {
		d, err := w.Tree.OpenDir(path.Dir(dir))
		if err != nil {
			continue
		}
		if sig, err := d.Sig(path.Base(dir)); err == nil && sig.Mode.IsDir() {
			list = append(list, ledger.Dir{Path: ledger.Path(dir), Mode: uint32(sig.Mode.Perm())})
		}
		d.Close()
	}
	return list
}
