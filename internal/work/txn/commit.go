package txn

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/text/order"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn/contents"
	"kerf/internal/work/txn/journal"
	"kerf/internal/work/txn/onefile"
	"kerf/internal/work/txn/tasks"
)

// flushesAtOnce bounds the files that are flushed at the same time; the kernel flushes
// them together.
const flushesAtOnce = 8

// Commit changes files as set says, if every Pre still is what is there. Unless
// o.BestEffort is set it commits everything or, with an error, nothing; should taking
// back fail too, the Outcome tells what landed. An error with a non-empty Committed
// may also mean that the changes landed but could not be flushed.
//
// A path that does not hold its Pre gives *MismatchError. Removing a path that has
// become a link to such a file removes the link. Once names are being traded, ctx is
// no longer obeyed. With *room.Error nothing was begun.
func (w *Workspace) Commit(ctx context.Context, set delta.Set, o CommitOptions) (Outcome, error) {
	if err := w.Room.Check(); err != nil {
		return Outcome{Exact: true}, err
	}
	release, err := w.turn.Take(ctx)
	if err != nil {
		return Outcome{Exact: true}, err
	}
	defer release()
	if w.journal.Pending() {
		if _, err := w.settle(); err != nil {
			return Outcome{Exact: true}, fmt.Errorf("recover what a crash left: %w", err)
		}
	}
	clear(w.back)
	j := &job{w: w, tree: w.Tree, o: o, set: set, id: rand.Text(), out: Outcome{Exact: true}}
	err = j.run(ctx)
	w.note(j.id, j.ops)
	if err == nil && j.out.Entry == nil && len(o.Origin.Undoes) > 0 {
		j.out.Entry = o.entry(j.id) // the files are as wanted already, and it was asked for
		err = w.Ledger.Append(j.out.Entry)
	}
	return j.out, err
}

// job is one commit under way.
type job struct {
	w    *Workspace
	tree *tree.Tree // the workspace's, as the step under way sees it
	o    CommitOptions
	set  delta.Set
	id   string
	ops  []*op
	out  Outcome
	// freed are the paths of files and links that the set removes, as named and as
	// they really are, with their real paths: what is to be below them is not there yet.
	freed map[string]string
	// goes are the directories of o.Prune that are there.
	goes map[string]*op
	// opens are the operations that have opened directories already; begun says that the
	// journal knows of something.
	opens  []*op
	opened map[string]*op // the same by path
	begun  bool
	kept   bool // an operation could not be taken back, so that the journal keeps it for the next recovery
}

// hold begins a step that opens each directory once; what it returns ends it.
func (j *job) hold() (end func()) {
	t, release := j.w.Tree.Hold()
	j.tree = t
	return func() {
		j.tree = j.w.Tree
		release()
	}
}

// each reports whether every file is committed for itself.
func (j *job) each() bool { return j.o.BestEffort || len(j.ops) == 1 && j.ops[0].isChange() }

// fail notes a failure of one path. In best-effort commits the others go on.
func (j *job) fail(path string, err error) error {
	pe := PathError{path, err}
	j.out.Failed = append(j.out.Failed, pe)
	if j.o.BestEffort {
		return nil
	}
	return pe
}

func (j *job) run(ctx context.Context) error {
	err := j.unlock()
	if err == nil {
		err = j.plan(j.set)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && j.o.DryRun {
		err = j.permitted()
	}
	if err != nil || j.o.DryRun {
		j.ops = j.opens
		return j.abandon(err)
	}
	if !slices.ContainsFunc(j.ops, (*op).lasts) {
		return j.abandon(j.summary())
	}
	defer j.hold()() // to the end, so that what is taken back and cleaned up is found where its directory went
	if err := j.prepare(); err != nil {
		return j.abandon(err)
	}
	if err := ctx.Err(); err != nil {
		return j.abandon(err)
	}
	if err := j.apply(); err != nil {
		return j.retreat(err)
	}
	if err := j.w.flush(j.tree, j.landed()); err != nil && !j.o.BestEffort {
		return j.retreat(err)
	}
	return j.enter()
}

// permitted reports what the permissions of directories forbid.
func (j *job) permitted() error {
	for _, o := range j.ops {
		if o.Kind == opInPlace || o.Kind == opLinked {
			continue
		}
		if err := j.tree.NamesAreFree(path.Dir(string(o.Path))); err != nil {
			return j.fail(o.name(), err)
		}
	}
	return nil
}

// summary is the error of a best-effort commit in which nothing could be done.
func (j *job) summary() error {
	if len(j.out.Committed) > 0 || len(j.out.Failed) == 0 {
		return nil
	}
	return j.out.Failed[0]
}

// prepare stores the images, stages the new files, and announces both.
func (j *job) prepare() error {
	if err := j.begin(j.ops); err != nil {
		return err
	}
	if err := j.open(j.ops); err != nil {
		return err
	}
	if err := j.stage(); err != nil {
		return err
	}
	if j.many() {
		if err := j.w.flushStaged(j.tree, j.ops); err != nil {
			return err
		}
	}
	intent := record{V: journalFormat, Type: "intent", ID: j.id}
	careful := !j.each() // one rename needs no witness, but two do, and so does a write in place
	for _, o := range j.ops {
		intent.Staged = append(intent.Staged, o.staged)
		careful = careful || o.Kind == opInPlace
	}
	if err := j.w.journal.Add(intent, careful && j.w.Durable); err != nil {
		return fmt.Errorf("intent: %w", err)
	}
	return nil
}

// begin announces what ops touch. It is flushed, so that even a power failure leaves no file
// that nobody knows of.
func (j *job) begin(ops []*op) error {
	j.begun = true
	begin := record{V: journalFormat, Type: "begin", ID: j.id, Each: j.each(), Entry: j.o.entry(j.id), Ops: ops}
	begin.Entry.Time = time.Now().UTC()
	for _, r := range j.w.Tree.Roots() {
		begin.Roots = append(begin.Roots, ledger.Path(r))
	}
	begin.Place = journal.PlaceOf(j.w.Tree, j.w.Tree.Roots()[0])
	if err := j.w.journal.Add(begin, j.w.Durable); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return nil
}

// stage runs the slow part of prepare, several files at a time.
func (j *job) stage() error {
	var loaded []store.Content
	var list []func() error
	for _, o := range j.ops {
		if !o.isChange() {
			continue
		}
		loaded = append(loaded, contents.Of(o.change())...)
		if o.pre != nil && !o.pre.Loaded || o.post != nil && !o.post.Loaded {
			c := o.change() // as staging finds it: that sets the mode meanwhile
			list = append(list, func() error { return j.keep(o, c) })
		}
		if o.Kind == opCreate || o.Kind == opReplace {
			list = append(list, func() error { return j.stageOne(o) })
		}
	}
	put := func() error { return j.w.Store.PutAll(loaded, j.w.Durable) }
	list = order.Insert(list, 0, put)
	if j.w.Durable && !j.many() {
		return j.w.together(list, flushesAtOnce)
	}
	return j.w.together(list, runtime.GOMAXPROCS(0)+1) // nothing waits for the disk
}

// keep has the store know the images of c, the change of o, that are not loaded.
func (j *job) keep(o *op, c delta.Change) error {
	var err error
	if c.Post != nil && !c.Post.Loaded {
		err = j.w.Store.Keep(c.Post.Sum, j.w.Durable)
	}
	if err == nil && c.Pre != nil && !c.Pre.Loaded {
		err = in(j.tree, c.Path, func(d *tree.Dir, name string) error {
			err := contents.Keep(j.w.Store, c.Pre, d, name, j.w.Durable)
			if errors.Is(err, tree.ErrChanged) {
				return mismatch(d, name, o)
			}
			return err
		})
	}
	if err != nil {
		return PathError{o.name(), err}
	}
	return nil
}

// together runs the tasks, so many at a time, and returns the first error.
func (w *Workspace) together(list []func() error, atOnce int) error {
	if w.Before != nil {
		atOnce = 1
	}
	return tasks.Run(list, atOnce)
}

func (j *job) stageOne(o *op) error {
	return in(j.tree, string(o.Tmp), func(d *tree.Dir, name string) error {
		opt := tree.StageOptions{Exact: j.o.exactModes(), Durable: j.w.Durable && !j.many(), From: j.w.Store}
		if o.Kind == opReplace {
			opt.Like, opt.Seen, opt.Exact = path.Base(string(o.Path)), o.seen, true
		}
		sig, err := d.Stage(name, o.post, opt)
		if err != nil {
			return PathError{o.name(), err}
		}
		o.setStaged(onefile.Staged{Dev: sig.Dev, Ino: sig.Ino, Mode: uint32(sig.Mode.Perm())})
		return nil
	})
}

// apply trades the names. In best-effort commits the failure of a file is noted and
// the others go on.
func (j *job) apply() error {
	lost := make(map[string]error)
	for _, f := range j.out.Failed {
		lost[f.Path] = f.Err
	}
	for i, o := range j.ops {
		err := lost[string(o.To)]
		if o.To == "" || err == nil {
			err = do(j.tree, j.w.Store, o)
		} else {
			err = fmt.Errorf("its content did not get to %s: %w", o.To, err)
		}
		if err == nil {
			continue
		}
		if !j.o.BestEffort {
			for _, later := range j.ops[i+1:] {
				later.rests = true
			}
			return j.fail(o.name(), err)
		}
		o.skip = true
		if o.isChange() {
			lost[o.asked] = err
			_ = j.fail(o.asked, err)
			j.undoOne(o)
		}
	}
	return nil
}

// undoOne makes sure that a file whose change failed is as it was, or says so.
func (j *job) undoOne(o *op) {
	landed, err := undo(j.tree, j.w.Store, o)
	switch {
	case err != nil:
		j.out.Exact, j.kept = false, true
		failed := &j.out.Failed[len(j.out.Failed)-1]
		failed.Err = half(o, failed.Err)
	case landed:
		o.skip, j.out.Exact = false, false
	}
}

// do performs one operation, and checks that it takes away only what was seen.
func do(t *tree.Tree, s *store.Store, o *op) error {
	if o.Kind == opChmod {
		return nil // it is open, and gets its mode in the end
	}
	return in(t, string(o.Path), func(d *tree.Dir, name string) error {
		switch o.Kind {
		case opMkdir:
			return doMkdir(t, d, name, o)
		case opRmdir:
			return doRmdir(d, name, o)
		case opLinked:
			if same, err := d.Holds(name, o.post.At()); err != nil || !same {
				return errors.Join(err, mismatch(d, name, o))
			}
			return nil
		case opInPlace:
			return doInPlace(d, name, s, o)
		case opReplace:
			return doReplace(d, name, o)
		}
		return in(t, string(o.Tmp), func(aside *tree.Dir, tmp string) error {
			if o.Kind == opCreate {
				return doCreate(d, name, aside, tmp, o)
			}
			return doRemove(d, name, aside, tmp, o)
		})
	})
}

func doCreate(d *tree.Dir, name string, aside *tree.Dir, tmp string, o *op) error {
	err := aside.Move(tmp, d, name)
	if errors.Is(err, fs.ErrExist) {
		return mismatch(d, name, o)
	}
	return err
}

func doInPlace(d *tree.Dir, name string, s *store.Store, o *op) error {
	err := stillThere(d, name, name, o)
	if err == nil {
		o.begun, err = d.WriteInPlace(name, o.post, o.seen, true, s)
	}
	o.rests = !o.begun
	if errors.Is(err, tree.ErrChanged) {
		return mismatch(d, name, o)
	}
	return err
}

func doReplace(d *tree.Dir, name string, o *op) error {
	tmp := path.Base(string(o.Tmp))
	// This look spares readers a file that comes and goes; the one after counts.
	if sig, err := d.Sig(name); err != nil || sig != o.seen.Sig && !o.seen.Links {
		return mismatch(d, name, o) // what becomes of another name of the file changes its signature
	}
	err := d.Exchange(tmp, name)
	if o.exchanged = err == nil; errors.Is(err, errors.ErrUnsupported) {
		err = d.Swap(tmp, name)
	}
	if err != nil {
		return err
	}
	if err := stillThere(d, tmp, name, o); err != nil {
		_, back := o.staged.SwapBack(d, tmp, name, o.post)
		return errors.Join(err, back)
	}
	return nil
}

func doRemove(d *tree.Dir, name string, aside *tree.Dir, tmp string, o *op) error {
	err := d.Move(name, aside, tmp)
	if errors.Is(err, fs.ErrNotExist) {
		return mismatch(d, name, o)
	}
	if err != nil {
		return err
	}
	if err := stillThere(aside, tmp, name, o); err != nil {
		return errors.Join(err, aside.Move(tmp, d, name))
	}
	return nil
}

// stillThere checks that the file called name in d, which was seen as o.Path, is what
// it was.
func stillThere(d *tree.Dir, name, shown string, o *op) error {
	same, err := d.Unchanged(name, o.seen)
	if err == nil && !same {
		err = mismatch(d, name, o)
	}
	return err
}

func mismatch(d *tree.Dir, name string, o *op) error {
	var have delta.Version
	if e, err := d.Look(name, maxShown); err == nil && e != nil {
		have = e.Image.Version
	}
	return &MismatchError{string(o.Path), o.pre.At(), have}
}

// landed returns the operations that were performed.
func (j *job) landed() []*op {
	return slices.DeleteFunc(slices.Clone(j.ops), func(o *op) bool { return o.skip })
}

// enter writes the entry and cleans up.
func (j *job) enter() error {
	j.setCommitted(j.landed())
	if len(j.landed()) == 0 || len(j.out.Committed) == 0 && len(j.out.Failed) > 0 {
		if _, _, err := undoAll(j.tree, j.w.Store, j.landed()); err != nil { // directories
			j.kept = true
		}
		return errors.Join(j.summary(), j.clean())
	}
	e := j.entryOf(j.landed())
	if err := j.w.Ledger.Append(e); err != nil {
		j.out.Committed = nil
		return j.retreat(err)
	}
	j.out.Entry = e
	var err error
	if j.w.Durable {
		err = j.w.Ledger.Sync()
	}
	_ = j.clean()
	return err
}

// clean removes the temporary files. What cannot be removed now is told, and removed by
// whoever is next.
func (j *job) clean() error {
	if j.kept {
		j.out.Left = j.w.shut(j.tree, j.ops, j.out.Entry)
		return nil
	}
	err := j.w.clean(j.tree, j.ops, j.out.Entry)
	if errors.As(err, (*strays)(&j.out.Left)) {
		return nil
	}
	return err
}

func (j *job) setCommitted(ops []*op) {
	j.out.Committed = nil
	for _, o := range inOrder(ops) {
		j.out.Committed = append(j.out.Committed, o.change())
	}
}

// inOrder returns the operations that are changes, in the order of their set.
func inOrder(ops []*op) []*op {
	ops = slices.DeleteFunc(slices.Clone(ops), func(o *op) bool { return !o.isChange() })
	slices.SortStableFunc(ops, func(a, b *op) int { return a.At - b.At })
	return ops
}

func (j *job) entryOf(ops []*op) *ledger.Entry {
	e := j.o.entry(j.id)
	e.Exact = j.out.Exact
	fillEntry(e, ops)
	return e
}

func fillEntry(e *ledger.Entry, ops []*op) {
	for _, o := range inOrder(ops) {
		e.Changes = append(e.Changes, ledger.Change{
			Path: string(o.Path), Pre: o.Pre, Post: o.Post, From: string(o.From), To: string(o.To)})
	}
	var gone []ledger.Dir
	for _, o := range ops {
		switch o.Kind {
		case opMkdir:
			e.Dirs = append(e.Dirs, o.Path)
		case opRmdir:
			gone = append(gone, ledger.Dir{Path: o.Path, Mode: o.Mode})
		case opChmod:
			if o.lasts() {
				e.Modes = append(e.Modes, ledger.DirMode{Path: o.Path, Pre: o.Was, Post: o.Mode})
			}
		}
	}
	slices.Reverse(gone) // parents first
	e.Gone = append(e.Gone, gone...)
}

// abandon ends a commit that has not traded any name.
func (j *job) abandon(err error) error {
	var pe PathError
	if errors.As(err, &pe) && len(j.out.Failed) == 0 {
		j.out.Failed = append(j.out.Failed, pe)
	}
	if j.begun {
		for _, o := range j.ops {
			o.rests = true
		}
		_ = j.clean()
	}
	return err
}

// retreat takes back what was done. What cannot be taken back has landed.
func (j *job) retreat(err error) error {
	landed, exact, undoErr := undoAll(j.tree, j.w.Store, j.ops)
	_ = j.w.flush(j.tree, j.ops) // the error under way is the one to report
	j.out.Exact = j.out.Exact && exact
	if undoErr == nil && len(landed) == 0 {
		j.kept = false
		_ = j.clean()
		return err
	}
	err = errors.Join(err, undoErr)
	j.setCommitted(landed)
	if len(landed) == 0 || errors.Is(undoErr, errHalf) {
		j.w.shut(j.tree, j.ops, nil)
		return err // the journal keeps it for the next recovery
	}
	e := j.entryOf(landed)
	if appendErr := j.w.Ledger.Append(e); appendErr != nil {
		j.w.shut(j.tree, j.ops, nil)
		return errors.Join(err, appendErr)
	}
	j.out.Entry = e
	_ = j.clean()
	return err
}
