package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"kerf/fleet/git"
	"kerf/fleet/task"
)

// files are what a task has on a worker.
type files struct {
	dir  string   // all of it
	tree string   // the work tree, which the session may write
	home string   // Kerf's home of this task alone
	git  git.Repo // looks at tree; lies outside of it, where no command can write
	kept string   // of the cache
}

func (w *Worker) dir(id string) string { return filepath.Join(w.Root, taskDir, id) }

func (w *Worker) files(id string) files {
	d := w.dir(id)
	f := files{dir: d, tree: filepath.Join(d, "tree"), home: filepath.Join(d, "home")}
	f.git = git.Repo{Dir: filepath.Join(d, "git"), Work: f.tree, Index: filepath.Join(d, "index")}
	return f
}

// Prepare is [flow.Activities].
func (w *Worker) Prepare(ctx context.Context, in task.Given[task.Task], number int) (p task.Place, err error) {
	t := in.Of
	p = task.Place{Number: number, Worker: w.Name, Queue: w.queue}
	defer w.alive(ctx, nothing)()
	ctx, done, err := w.hold(ctx, t.ID)
	if err != nil {
		return p, err
	}
	defer func() { done(err) }()
	if err = in.Later; err == nil {
		err = w.prepare(ctx, t, &p)
	}
	return p, err
}

// prepare makes the files of a task anew.
func (w *Worker) prepare(ctx context.Context, t task.Task, p *task.Place) error {
	f := w.files(t.ID)
	if err := removeAll(f.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(f.home, 0o700); err != nil {
		return err
	}
	last, err := w.lastCheckpoint(ctx, t.ID)
	if err != nil {
		return err
	}
	revision := t.Revision
	if last != nil {
		revision = last.Base // what a branch names may have moved since
	}
	cache, base, err := w.clone(ctx, t.Repository, revision)
	if err != nil {
		return err
	}
	p.Base = base
	if err = f.checkout(ctx, cache, base, t.Repository); err != nil {
		return err
	}
	if err = w.settings(t, f, cache); err != nil {
		return err
	}
	if last == nil {
		return nil
	}
	p.Rounds, p.Event, p.Over = last.Rounds, last.Event, last.Over
	return w.restore(ctx, t, f, last)
}

// checkout makes the work tree with a repository of its own, and the one that Kerf's fleet
// uses to look at it. Both borrow the objects of the cache.
func (f files) checkout(ctx context.Context, cache, base, origin string) error {
	none := git.Repo{}
	if _, err := none.Run(ctx, nil, "init", "-q", "--bare", "--template=", f.git.Dir); err != nil {
		return err
	}
	if _, err := none.Run(ctx, nil, "init", "-q", "--template=", f.tree); err != nil {
		return err
	}
	lines := filepath.Join(cache, "objects") + "\n"
	inner := filepath.Join(f.tree, ".git")
	for _, each := range []struct{ path, text string }{
		{filepath.Join(f.git.Dir, "objects/info/alternates"), lines},
		{filepath.Join(inner, "objects/info/alternates"), lines},
		{filepath.Join(f.git.Dir, "info/attributes"), git.Exact},
		{filepath.Join(inner, "HEAD"), base + "\n"},
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(each.path), 0o755), os.WriteFile(each.path, []byte(each.text), 0o644)); err != nil {
			return err
		}
	}
	if !strings.Contains(origin, "@") { // no names and passwords
		if _, err := (git.Repo{Dir: inner}).Run(ctx, nil, "config", "remote.origin.url", origin); err != nil {
			return err
		}
	}
	if _, err := f.git.Run(ctx, nil, "read-tree", base+"^{tree}"); err != nil {
		return err
	}
	if _, err := f.git.Run(ctx, nil, "checkout-index", "-q", "-a", "-f", "-u"); err != nil {
		return err
	}
	index, err := os.ReadFile(f.git.Index)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(inner, "index"), index, 0o644)
}

// Clean is [flow.Activities].
func (w *Worker) Clean(_ context.Context, t task.Task) error { return w.drop(t.ID) }
