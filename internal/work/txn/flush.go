package txn

import (
	"errors"
	"path"

	"kerf/internal/work/tree"
	"kerf/internal/work/tree/handle"
)

// few files, or directories, are flushed each for itself. For more it is cheaper to
// flush their file system, with whatever else waits there.
const few = 16

// many reports whether the staged files are flushed together.
func (j *job) many() bool { return j.w.Durable && len(j.ops) > few }

// flushStaged makes the contents and the names of the staged files durable.
func (w *Workspace) flushStaged(t *tree.Tree, ops []*op) error {
	return w.flushBy(t, ops, func(o *op) string {
		if o.Kind != opCreate && o.Kind != opReplace {
			return ""
		}
		return string(o.Tmp)
	}, func(d *tree.Dir, name string) error {
		if sig, err := d.Sig(name); err != nil || !sig.Mode.IsRegular() {
			return errors.Join(err, d.Sync()) // a link is in its directory
		}
		return d.SyncFile(name)
	})
}

// flush makes the names in the directories of ops durable.
func (w *Workspace) flush(t *tree.Tree, ops []*op) error {
	return w.flushDirs(t, ops, func(o *op) string {
		if o.Kind == opInPlace || o.Kind == opChmod {
			return ""
		}
		return string(o.Path)
	})
}

// flushSwept makes durable that the temporary files of ops are gone.
func (w *Workspace) flushSwept(t *tree.Tree, ops []*op) error {
	return w.flushDirs(t, ops, func(o *op) string { return string(o.Tmp) })
}

// flushDirs makes the directories durable in which the paths are that of returns for ops.
func (w *Workspace) flushDirs(t *tree.Tree, ops []*op, of func(*op) string) error {
	if !w.Durable {
		return nil
	}
	seen := make(map[string]bool)
	return w.flushBy(t, ops, func(o *op) string {
		name := of(o)
		dir := path.Dir(name)
		if name == "" || seen[dir] {
			return ""
		}
		seen[dir] = true
		return name
	}, func(d *tree.Dir, _ string) error { return d.Sync() })
}

// flushBy flushes the paths that of returns for ops, by one, or, if there are many,
// the file systems they are on.
func (w *Workspace) flushBy(t *tree.Tree, ops []*op, of func(*op) string,
	one func(d *tree.Dir, name string) error) error {
	paths := make(map[uint64][]string) // by device
	n := 0
	for _, o := range ops {
		if p := of(o); p != "" {
			paths[o.device()] = append(paths[o.device()], p)
			n++
		}
	}
	var tasks []func() error
	for dev, same := range paths {
		if n > few && dev != 0 {
			err := in(t, same[0], func(d *tree.Dir, _ string) error { return d.SyncAll() })
			if err == nil {
				continue
			}
			if !errors.Is(err, errors.ErrUnsupported) && !replaced(err) {
				return err
			}
		}
		for _, p := range same {
			tasks = append(tasks, func() error {
				err := in(t, p, one)
				if replaced(err) {
					return nil
				}
				return err
			})
		}
	}
	return w.together(tasks, flushesAtOnce)
}

// replaced reports whether a directory was removed together with what was in it;
// something else may have its name now.
func replaced(err error) bool { return tree.IsAbsent(err) || errors.Is(err, handle.ErrLink) }

// device is the file system of what o is about, 0 if that is not known.
func (o *op) device() uint64 {
	if o.staged.Ino != 0 {
		return o.staged.Dev
	}
	if o.seen != nil {
		return o.seen.Sig.Dev
	}
	return 0
}
