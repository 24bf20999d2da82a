package txn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"kerf/internal/pathname"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/tree/handle"
	"kerf/internal/work/txn/contents"
	"kerf/internal/work/txn/journal"
	"kerf/internal/work/txn/modes"
	"kerf/internal/work/txn/onefile"
)

// Report is what Recover found and did.
type Report struct {
	Finished  int // transactions that had been committed and only needed cleaning
	TakenBack int // transactions whose files are as they were before
	Kept      int // files committed each for itself whose entry was written now
	// Conflicts are files that somebody else changed after the crash, which were left as they are, and those of a
	// root that is not there.
	Conflicts []PathError
}

// Recover brings the tree to before or after every transaction that a crash cut
// short. It may itself be cut short and run again.
func (w *Workspace) Recover(ctx context.Context) (Report, error) {
	release, err := w.turn.Take(ctx)
	if err != nil {
		return Report{}, err
	}
	defer release()
	return w.settle()
}

// settle is Recover under the lock.
func (w *Workspace) settle() (Report, error) {
	var r Report
	txs, err := readJournal(&w.journal)
	if err != nil {
		return r, err
	}
	moves := ledger.Moves(w.Dir)
	var left error // one transaction whose files cannot be removed does not keep the others
	for _, tx := range txs {
		tx.renamed(moves)
		if len(tx.Roots) > 0 && tx.Place != [2]uint64{} && tx.Place != journal.PlaceOf(w.Tree, string(tx.Roots[0])) {
			tx.forgetInodes()
		}
		err := w.settleOne(tx, &r)
		var stray strays
		if errors.As(err, &stray) {
			left = errors.Join(left, fmt.Errorf("recover transaction %s: %w", tx.ID, err))
		} else if err != nil {
			return r, fmt.Errorf("recover transaction %s: %w", tx.ID, err)
		}
	}
	if left != nil {
		return r, left
	}
	if !w.journal.Pending() {
		return r, nil
	}
	return r, w.journal.Clear()
}

func (w *Workspace) settleOne(tx *transaction, r *Report) error {
	t, err := w.treeFor(tx)
	if err != nil || t == nil {
		return err
	}
	tx.letGo(t.Roots())
	for _, o := range tx.Ops {
		o.pre, o.post = o.Pre.Image(), o.Post.Image()
		o.rests = w.back[o.key(tx.ID)] // what its file holds by now says nothing of it
	}
	defer w.note(tx.ID, tx.Ops)
	e, err := w.Ledger.Find(tx.ID)
	if err != nil {
		return err
	}
	modes.Again(t, modesOf(tx.Ops, e))
	switch {
	case e != nil:
		r.Finished++
		err = w.mend(t, tx, e)
	case tx.Each: // also without the intent, which is not flushed for one file
		e, err = w.settleEach(t, tx, r)
	case !tx.intent:
		r.TakenBack++
	default:
		e, err = w.settleAll(t, tx, r)
	}
	if err != nil {
		w.shut(t, tx.Ops, nil) // until the next recovery
		return err
	}
	return w.sweep(t, tx.Ops, e)
}

// mend takes back the operations that failed, should that have failed, too, when e was entered without them.
func (w *Workspace) mend(t *tree.Tree, tx *transaction, e *ledger.Entry) error {
	if e.Exact || !tx.Each {
		return nil
	}
	for _, o := range tx.Ops {
		o.rests = o.rests || !o.isChange()
		for i := range e.Changes {
			o.rests = o.rests || e.Changes[i].Path == string(o.Path)
		}
	}
	landed, _, err := undoAll(t, w.Store, tx.Ops)
	if err != nil || len(landed) == 0 {
		return err
	}
	rest := *tx
	rest.ID += "-rest"
	if e, err = w.Ledger.Find(rest.ID); e == nil && err == nil {
		_, err = w.enterLate(&rest, landed, false)
	}
	return err
}

// note remembers what was taken back of a transaction, should its lines stay in the journal.
func (w *Workspace) note(id string, ops []*op) {
	for _, o := range ops {
		if o.rests && w.journal.Pending() {
			w.back[o.key(id)] = true
		}
	}
}

// settleAll takes a transaction back, and enters what cannot be.
func (w *Workspace) settleAll(t *tree.Tree, tx *transaction, r *Report) (*ledger.Entry, error) {
	landed, exact, err := undoAll(t, w.Store, tx.Ops)
	if err != nil {
		return nil, err // trouble with the disk: try again later, also what is half written
	}
	if flushErr := w.flush(t, tx.Ops); flushErr != nil {
		return nil, flushErr
	}
	if len(landed)+len(tx.away) == 0 && exact {
		r.TakenBack++
		return nil, nil
	}
	r.conflicts(errConflict, landed...)
	r.conflicts(errAway, tx.away...)
	return w.enterLate(tx, append(landed, tx.away...), false)
}

// settleEach keeps the files whose change landed.
func (w *Workspace) settleEach(t *tree.Tree, tx *transaction, r *Report) (*ledger.Entry, error) {
	var landed []*op
	exact := true
	for _, o := range tx.Ops {
		ok, err := finished(t, o)
		if err == nil && !ok && (o.Kind == opInPlace || o.moves()) {
			var stays bool
			if stays, err = undo(t, w.Store, o); stays && err == nil {
				r.conflicts(errConflict, o)
				ok, exact = o.moves(), exact && !o.moves()
			}
		}
		if err != nil {
			return nil, err
		}
		if ok {
			landed = append(landed, o)
		}
	}
	if len(tx.away) == 0 && !slices.ContainsFunc(landed, (*op).isChange) {
		r.TakenBack++
		for _, o := range slices.Backward(landed) { // only directories
			if _, err := undo(t, w.Store, o); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	r.Kept += len(landed)
	if err := w.flush(t, tx.Ops); err != nil {
		return nil, err
	}
	r.conflicts(errAway, tx.away...)
	return w.enterLate(tx, append(landed, tx.away...), exact && len(tx.away) == 0)
}

func (w *Workspace) enterLate(tx *transaction, landed []*op, exact bool) (*ledger.Entry, error) {
	e := &ledger.Entry{Cause: ledger.CauseTool}
	if tx.Entry != nil {
		*e = *tx.Entry
	}
	e.ID, e.Exact = tx.ID, exact
	fillEntry(e, landed)
	if err := w.Ledger.Append(e); err != nil || !w.Durable {
		return e, err
	}
	return e, w.Ledger.Sync()
}

// treeFor returns a tree over the roots of the transaction, which may have had more
// of them than this workspace. It is nil when none of them is there any more.
func (w *Workspace) treeFor(tx *transaction) (*tree.Tree, error) {
	var roots []string
	for _, r := range tx.Roots {
		if st, err := os.Stat(filepath.FromSlash(string(r))); err == nil && st.IsDir() {
			roots = append(roots, string(r))
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if slices.Equal(roots, w.Tree.Roots()) {
		return w.Tree, nil
	}
	if len(roots) == 0 {
		return nil, nil
	}
	if own := w.Tree.Roots()[0]; roots[0] == string(tx.Roots[0]) && roots[0] != own {
		return nil, fmt.Errorf("%s is about %s, and not about %s; take it away", w.journal.Path, roots[0], own)
	}
	return tree.Open(tree.Options{Roots: roots})
}

// letGo drops the operations outside of the roots that are there. Those that change a file are away: their root may
// come back, with the change or without.
func (t *transaction) letGo(roots []string) {
	t.Ops = slices.DeleteFunc(t.Ops, func(o *op) bool {
		out := !slices.ContainsFunc(roots, func(root string) bool { return pathname.Under(root, string(o.Path)) })
		if out && o.isChange() {
			t.away = append(t.away, o)
		}
		return out
	})
}

func (r *Report) conflicts(why error, ops ...*op) {
	for _, o := range ops {
		r.Conflicts = append(r.Conflicts, PathError{string(o.Path), why})
	}
}

var errConflict = errors.New("changed by somebody else after an interrupted commit; left as it is")

var errAway = errors.New("its directory is away after an interrupted commit; it may hold the change")

var errHalf = errors.New("a file is neither as it was nor as wanted; when the disk is well again run: kerf recover")

// half is err, of which the user is told more if the file of o may be half written, or aside.
func half(o *op, err error) error {
	if o.Kind != opInPlace && !o.takes() {
		return err
	}
	return fmt.Errorf("%w; %w", err, errHalf)
}

// undoAll takes ops back, the last first. What somebody else has changed since stays,
// and is returned as landed; exact is false if it cannot be told what such a path has
// got. Among the reasons is errHalf if an entry cannot tell what came of it.
func undoAll(t *tree.Tree, s *store.Store, ops []*op) (landed []*op, exact bool, err error) {
	exact = true
	for _, o := range slices.Backward(ops) {
		stays, oneErr := undo(t, s, o)
		if oneErr != nil {
			done, lookErr := finished(t, o)
			if !done {
				oneErr = half(o, oneErr)
			}
			err = errors.Join(err, oneErr)
			stays = done
			exact = exact && lookErr == nil && (done || !errors.Is(oneErr, errHalf))
		} else if stays {
			exact = false
		}
		if stays {
			landed = append(landed, o)
		}
	}
	landed = withOtherNames(t, ops, landed)
	if !slices.ContainsFunc(landed, (*op).isChange) {
		landed = nil // directories alone are no change
	}
	return landed, exact, err
}

// withOtherNames adds to the operations that landed, the last first, the other names of files that
// were written in place. The result has the order of ops.
func withOtherNames(t *tree.Tree, ops, landed []*op) []*op {
	return slices.DeleteFunc(slices.Clone(ops), func(o *op) bool {
		if o.Kind != opLinked || !slices.ContainsFunc(landed, func(main *op) bool {
			return main.Kind == opInPlace && main.pre.Same(o.pre) && main.post.Same(o.post)
		}) {
			return !slices.Contains(landed, o)
		}
		is, err := t.Version(string(o.Path))
		return err != nil || is == o.pre.At()
	})
}

// undo brings the path of o to what it was before, wherever o was cut short, and may
// be repeated. It looks at the disk only. stays says that the change has landed and
// somebody else has built upon it.
func undo(t *tree.Tree, s *store.Store, o *op) (stays bool, err error) {
	if o.rests || o.Kind == opChmod {
		return false, nil // it gets its mode in the end
	}
	full := false
	err = in(t, string(o.Path), func(d *tree.Dir, name string) error {
		switch o.Kind {
		case opMkdir:
			err := d.Rmdir(name)
			if full = handle.IsNotEmpty(err); full || tree.IsAbsent(err) {
				return nil
			}
			return err
		case opRmdir:
			return undoRmdir(d, name)
		case opLinked:
			return nil // the operation on the other name does it
		case opCreate:
			stays, err = undoCreate(t, d, name, o)
		case opReplace:
			stays, err = undoReplace(d, name, o)
		case opInPlace:
			stays, err = onefile.InPlace{Pre: o.pre, Post: o.post, Begun: o.begun}.Undo(s, t.Whole(), d, name)
		case opRemove:
			stays, err = undoRemove(t, d, name, o)
		}
		return err
	})
	if stays && err == nil && o.moves() {
		err = keepTaken(t, s, o)
	}
	if !tree.IsAbsent(err) {
		o.rests = err == nil && !stays && !full
		return stays, err
	}
	// Not even the directory is there, or no longer. What was taken out of it is gone then.
	if o.Kind == opRemove {
		return isAside(t, o)
	}
	return stays, nil
}

// keepTaken keeps what o took away, should that be something else than it was to take: somebody saved it in the last
// moment. Then that is what o replaced or removed.
func keepTaken(t *tree.Tree, s *store.Store, o *op) error {
	err := in(t, string(o.Tmp), func(d *tree.Dir, tmp string) error {
		img, err := contents.Save(s, d, tmp, o.pre.At())
		if img != nil {
			o.pre, o.Pre = img, ledger.VersionOf(img)
		}
		return err
	})
	if tree.IsAbsent(err) {
		return nil
	}
	return err
}

// tookRight reports whether what o took away, if that is there still, is what it was to take.
func tookRight(t *tree.Tree, o *op) (right bool, err error) {
	err = in(t, string(o.Tmp), func(d *tree.Dir, tmp string) error {
		if _, err := d.Sig(tmp); err != nil {
			return err
		}
		right, err = d.Holds(tmp, o.pre.At())
		return err
	})
	if tree.IsAbsent(err) {
		return true, nil
	}
	return right, err
}

// isAside reports whether there is something at the temporary name of o.
func isAside(t *tree.Tree, o *op) (bool, error) {
	err := in(t, string(o.Tmp), func(d *tree.Dir, tmp string) error {
		_, err := d.Sig(tmp)
		return err
	})
	if tree.IsAbsent(err) {
		return false, nil
	}
	return err == nil, err
}

func undoCreate(t *tree.Tree, d *tree.Dir, name string, o *op) (stays bool, err error) {
	err = in(t, string(o.Tmp), func(aside *tree.Dir, tmp string) error {
		switch foreign, err := o.staged.IsForeign(aside, tmp, o.post); {
		case err != nil:
			return err
		case foreign: // an earlier recovery was killed when it had moved that
			stays = true
			return onefile.Return(aside, tmp, d, name)
		}
		if done, err := created(t, d, name, o); err != nil || !done {
			return err
		}
		if whole, err := d.Holds(name, o.post.At()); err != nil || !whole {
			stays = err == nil
			return err
		}
		stays, err = o.staged.MoveBack(d, name, aside, tmp, o.post)
		return err
	})
	return stays, err
}

// created reports whether the file that o creates has its name. Where files are told by their
// contents it must have lost its temporary one.
func created(t *tree.Tree, d *tree.Dir, name string, o *op) (bool, error) {
	if o.staged.Ino == 0 {
		if aside, err := isAside(t, o); err != nil || aside {
			return false, err
		}
	}
	return o.staged.Is(d, name, o.post)
}

func undoReplace(d *tree.Dir, name string, o *op) (stays bool, err error) {
	tmp := path.Base(string(o.Tmp))
	if err := d.Unswap(tmp, name); err != nil {
		return false, err
	}
	mine, err := o.staged.Is(d, name, o.post)
	if err != nil {
		return false, err
	}
	if !mine { // not traded yet, or already traded back, or something else has the name since
		return o.staged.IsForeign(d, tmp, o.post)
	}
	whole, err := d.Holds(name, o.post.At())
	if err != nil {
		return false, err
	}
	if _, err := d.Sig(tmp); tree.IsAbsent(err) || err == nil && !whole {
		return true, nil
	} else if err != nil {
		return false, err
	}
	return o.staged.SwapBack(d, tmp, name, o.post)
}

func undoRemove(t *tree.Tree, d *tree.Dir, name string, o *op) (stays bool, err error) {
	err = in(t, string(o.Tmp), func(aside *tree.Dir, tmp string) error {
		if _, err := aside.Sig(tmp); err != nil {
			return err
		}
		return aside.Move(tmp, d, name)
	})
	switch {
	case errors.Is(err, fs.ErrExist):
		return true, nil
	case tree.IsAbsent(err):
		return false, nil
	}
	return false, err
}

// finished reports whether o has been performed to its end.
func finished(t *tree.Tree, o *op) (done bool, err error) {
	if o.rests || o.Kind == opChmod {
		return !o.rests, nil // with the others
	}
	if o.Kind == opRemove {
		if done, err = isAside(t, o); err != nil || !done {
			return false, err
		}
		return tookRight(t, o)
	}
	err = in(t, string(o.Path), func(d *tree.Dir, name string) error {
		switch o.Kind {
		case opMkdir:
			sig, err := d.Sig(name)
			done = err == nil && sig.Mode.IsDir()
			return err
		case opRmdir:
			_, err := d.Sig(name)
			done = tree.IsAbsent(err)
			return err
		case opReplace:
			if err := d.Unswap(path.Base(string(o.Tmp)), name); err != nil {
				return err
			}
			done, err = o.staged.Is(d, name, o.post)
			return err
		case opCreate:
			done, err = created(t, d, name, o)
			return err
		}
		done, err = d.Holds(name, o.post.At())
		return err
	})
	if tree.IsAbsent(err) {
		err = nil
	}
	if done && err == nil && o.takes() {
		return tookRight(t, o)
	}
	return done, err
}

// clean sweeps and empties the journal.
func (w *Workspace) clean(t *tree.Tree, ops []*op, e *ledger.Entry) error {
	if err := w.sweep(t, ops, e); err != nil {
		return err
	}
	return w.journal.Clear()
}

// strays are temporary files that could not be removed, and directories that could not be given
// their modes; the journal keeps their names.
type strays []PathError

// Error names the first one and its reason.
func (s strays) Error() string {
	if len(s) == 1 {
		return fmt.Sprintf("clean up %s: %v", s[0].Path, s[0].Err)
	}
	return fmt.Sprintf("clean up %d files and directories, such as %s: %v", len(s), s[0].Path, s[0].Err)
}

// Unwrap returns the first reason.
func (s strays) Unwrap() error { return s[0].Err }

// shut gives the directories of ops the modes that they have if e is what came of them; nil
// for nothing.
func (w *Workspace) shut(t *tree.Tree, ops []*op, e *ledger.Entry) (left strays) {
	modes.End(t, modesOf(ops, e), w.Durable, func(path string, err error) { left = append(left, PathError{path, err}) })
	return left
}

// sweep removes the temporary files of ops, for good: once the journal is empty nobody
// knows of them any more. Then it gives directories the modes that e, what came of ops,
// leaves them. What cannot be removed or changed does not keep the others; the error is
// strays then.
func (w *Workspace) sweep(t *tree.Tree, ops []*op, e *ledger.Entry) error {
	left, err := w.unlinkAll(t, ops)
	left = append(left, w.shut(t, ops, e)...)
	if err == nil && len(left) > 0 {
		return left
	}
	return err
}

func (w *Workspace) unlinkAll(t *tree.Tree, ops []*op) (left strays, err error) {
	held, release := t.Hold()
	defer release()
	for _, o := range ops {
		if o.Tmp == "" {
			continue
		}
		err := in(held, string(o.Tmp), func(d *tree.Dir, name string) error {
			if o.Kind == opReplace && !o.exchanged {
				if err := d.Unswap(name, path.Base(string(o.Path))); err != nil {
					return err
				}
			}
			err := d.Unlink(name)
			if _, look := d.Sig(name); err != nil && tree.IsAbsent(look) {
				return nil // it became the file
			}
			return err
		})
		if err != nil && !tree.IsAbsent(err) {
			left = append(left, PathError{string(o.Tmp), err})
		}
	}
	return left, w.flushSwept(t, ops)
}
