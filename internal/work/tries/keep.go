package tries

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/order"
	"kerf/internal/work/boundary"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/homes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/overlay"
	"kerf/internal/work/repo"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
	"kerf/internal/work/workspace"
)

// Options say what of a try is kept.
type Options struct {
	// Paths are the absolute paths of files, and of directories with all that is in them;
	// empty is everything. What is named is kept although git ignores it.
	Paths []string
	// Ignored keeps new files that git ignores, too.
	Ignored bool
	// Conflicts says what becomes of files that others changed in the same place.
	Conflicts settle.Way
	// Pick is asked about each hunk of what would be kept; nil keeps them all.
	Pick Pick
}

// Outcome is what becomes of one changed path.
type Outcome string

// The outcomes.
const (
	Kept     Outcome = "kept"     // as the try has it
	Merged   Outcome = "merged"   // with what others did there meanwhile
	Settled  Outcome = "settled"  // in conflict, and settled as Options say
	Conflict Outcome = "conflict" // others changed the same place
	Ignored  Outcome = "ignored"  // new, and git ignores it
	Special  Outcome = "special"  // no file: a pipe, a socket or a device
	Git      Outcome = "git"      // of git itself
	Closed   Outcome = "closed"   // the boundary does not let it be written
	There    Outcome = "there"    // the real tree has it already
	Unpicked Outcome = "unpicked" // nobody chose it
)

// Row is one path that the try changed.
type Row struct {
	Path    string
	Change  delta.Change // from what it was when the try changed it to what the try made of it
	Next    delta.Change // from what it is now to what keeping makes of it
	Outcome Outcome
	Note    string

	upper string // the file in the upper layer; empty for what is gone
}

// Plan is what keeping a try would do.
type Plan struct {
	Rows  []Row
	Make  []ledger.Dir     // new directories, parents first
	Prune []string         // directories that the try removed, deepest first
	Modes []ledger.DirMode // of directories that the try gave other permission bits
	// Parted says that not all hunks were chosen.
	Parted bool
	// Session and Turn are those that changed something last in the try.
	Session, Turn string
}

// Set is what is going to be committed.
func (p *Plan) Set() delta.Set {
	var set delta.Set
	for _, r := range p.Rows {
		if r.writes() {
			set = append(set, r.Next)
		}
	}
	return set
}

// Count counts the rows with one of the outcomes.
func (p *Plan) Count(outcomes ...Outcome) (n int) {
	for _, r := range p.Rows {
		if slices.Contains(outcomes, r.Outcome) {
			n++
		}
	}
	return n
}

// Empty reports whether there is nothing to commit.
func (p *Plan) Empty() bool { return len(p.Set())+len(p.Make)+len(p.Prune)+len(p.Modes) == 0 }

// Diff is what the try changed, as a git diff, without what is not kept.
func (p *Plan) Diff(base string) string {
	var set delta.Set
	for _, r := range p.Rows {
		switch r.Outcome {
		case Ignored, Special, Git, Closed:
		default:
			if !r.Change.Pre.Same(r.Change.Post) {
				set = append(set, r.Change)
			}
		}
	}
	rel := func(path string) string { return changes.Relative(base, path) }
	return string(diff.Unified(delta.Files(set, rel)))
}

// largest is the size in bytes of the largest file that is read whole.
const largest = 1 << 30

// planner makes a plan.
type planner struct {
	o     Options
	t     *Try
	tree  *tree.Tree // the real one
	plan  Plan
	was   map[string]bool         // what was there when the try began, as far as is known
	base  map[string]*delta.Image // by path, what the try found there first; nil is nothing
	modes map[string]uint32       // by directory, the mode that the try found
	young map[string]bool         // directories that were made since the try began
	again map[string]bool         // what was kept before
	// shone is what others made of a path before the try changed it, as the try saw it.
	shone map[string][]*delta.Image
	kept  *store.Store      // the contents that the try's records have; nil is none
	moved map[string]string // by path, where the try moved it from
}

// Plan compares the try with the real tree, which ws has open, and its own records.
func (t *Try) Plan(ctx context.Context, ws *workspace.Workspace, o Options) (*Plan, error) {
	p := planner{o: o, t: t, tree: ws.Tree, was: map[string]bool{}, modes: map[string]uint32{},
		young: map[string]bool{}, again: map[string]bool{}, shone: map[string][]*delta.Image{}}
	if err := p.records(); err != nil {
		return nil, fmt.Errorf("the records of try %d: %w", t.ID, err)
	}
	for i, root := range t.Meta.Roots {
		if i < len(t.Meta.Modes) {
			p.modes[root] = t.Meta.Modes[i]
			p.mode(root, t.layer(i).Upper)
		}
		if err := p.root(root, t.layer(i)); err != nil {
			return nil, fmt.Errorf("try %d: %w", t.ID, err)
		}
		if err := p.ignored(ctx, root); err != nil {
			return nil, fmt.Errorf("try %d: %w", t.ID, err)
		}
	}
	if err := p.decide(); err != nil {
		return nil, fmt.Errorf("try %d: %w", t.ID, err)
	}
	if o.Pick != nil {
		if err := p.pick(); err != nil {
			return nil, err
		}
		p.unpicked()
	}
	p.directories()
	return &p.plan, nil
}

// records reads what the files were that the try changed.
func (p *planner) records() error {
	p.base = map[string]*delta.Image{}
	list, err := p.t.entries()
	if err != nil {
		return err
	}
	kept, err := p.t.readKept()
	if err != nil || len(list)+len(kept) == 0 {
		return err
	}
	if p.kept, err = p.t.store(); err != nil {
		return err
	}
	p.plan.Session, p.plan.Turn = last(list)
	p.moved = movesOf(list)
	mine := map[string]bool{} // what the try changed
	for _, e := range list {
		outside := e.Cause == ledger.CauseOutside
		for _, c := range e.Set() {
			if _, known := p.base[c.Path]; !known {
				p.base[c.Path] = c.Pre
			}
			if mine[c.Path] = mine[c.Path] || !outside; !mine[c.Path] {
				p.shone[c.Path] = append(p.shone[c.Path], c.Post)
			}
		}
		for _, d := range e.Modes {
			if _, known := p.modes[string(d.Path)]; !known && !outside {
				p.modes[string(d.Path)] = d.Pre
			}
		}
	}
	for path, v := range kept {
		p.again[path], p.base[path] = true, v.Image()
	}
	return nil
}

// entries are what the try's own ledger has.
func (t *Try) entries() ([]ledger.Entry, error) {
	dir := homes.Of(t.Dir, t.Meta.Roots[0])
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was recorded
	}
	l, err := ledger.Open(dir)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return l.Read(0)
}

// last is the session that changed something last, and its turn.
func last(list []ledger.Entry) (session, turn string) {
	for _, e := range slices.Backward(list) {
		if len(e.Changes) > 0 {
			return e.Session, e.Turn
		}
	}
	return "", ""
}

// Session is the id of the session that changed something last in the try; empty when none
// did, or that cannot be read.
func (t *Try) Session() string {
	list, err := t.entries()
	if err != nil {
		return ""
	}
	session, _ := last(list)
	return session
}

// wanted reports whether a path is among those that are asked for, and whether it was
// named.
func (p *planner) wanted(path string) (ok, named bool) {
	if len(p.o.Paths) == 0 {
		return true, false
	}
	named = slices.ContainsFunc(p.o.Paths, func(dir string) bool { return pathname.Under(dir, path) })
	return named, named
}

// root goes through what the try wrote over one root.
func (p *planner) root(root string, l overlay.Layer) error {
	entries, err := entriesOf(l)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e overlay.Entry) bool { return trace(root, l, e) })
	skip := "" // a directory with what is in it
	for _, e := range entries {
		if skip != "" && strings.HasPrefix(e.Path, skip) {
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(e.Path))
		if filepath.Base(path) == ".git" {
			if e.Kind != overlay.Dir || committed(entries, e.Path+"/") {
				p.row(path, Git, "")
			}
			skip = e.Path + "/"
			continue
		}
		p.entry(e, path, filepath.Join(l.Upper, filepath.FromSlash(e.Path)))
	}
	return nil
}

// trace reports whether an entry is what the sandbox of a command left in the try: a placeholder
// for a protected name, or that one of the real tree is gone.
func trace(root string, l overlay.Layer, e overlay.Entry) bool {
	name := "/" + e.Path
	if !strings.Contains(name, "/"+boundary.Git) && !strings.Contains(name, "/"+boundary.Kerf) {
		return false
	}
	if e.Kind != overlay.Gone {
		return (boundary.Disk{}).Placeholder(filepath.Join(l.Upper, filepath.FromSlash(e.Path)))
	}
	real := filepath.Join(root, filepath.FromSlash(e.Path))
	_, err := os.Lstat(real)
	return errors.Is(err, fs.ErrNotExist) || (boundary.Disk{}).Placeholder(real)
}

// entriesOf is what a try wrote over a root, directories before what is in them.
func entriesOf(l overlay.Layer) ([]overlay.Entry, error) {
	if l.Copied {
		return l.Changes()
	}
	var list []overlay.Entry
	err := overlay.Walk(l.Upper, func(e overlay.Entry) error {
		list = append(list, e)
		return nil
	})
	return list, err
}

// entry adds what was written at one path.
func (p *planner) entry(e overlay.Entry, path, upper string) {
	switch e.Kind {
	case overlay.File, overlay.Symlink:
		p.row(path, Kept, upper)
		p.was[path] = e.Was
		p.gone(path, "") // what a directory of that name had
	case overlay.Special:
		p.row(path, Special, "")
	case overlay.Gone:
		p.gone(path, "")
		if !isDir(path) {
			p.row(path, Kept, "")
		}
	case overlay.Dir:
		p.was[path] = e.Was
		if e.Mode != nil {
			p.modes[path] = *e.Mode
		}
		p.directory(path, upper, e.Opaque)
	}
}

// row adds a path with the file that the try has there.
func (p *planner) row(path string, o Outcome, upper string) {
	if ok, _ := p.wanted(path); !ok {
		return
	}
	note := ""
	if o == Kept {
		if err := p.tree.CheckWrite(filepath.ToSlash(path), nil); err != nil {
			o, note = Closed, why(err)
		}
	}
	p.plan.Rows = append(p.plan.Rows, Row{Path: path, Outcome: o, Note: note, Change: delta.Change{Path: path}, upper: upper})
}

// why is the reason in a refusal, without the path.
func why(err error) string {
	var refused *boundary.RefusedError
	if errors.As(err, &refused) {
		return refused.Why
	}
	return err.Error()
}

// gone adds the files that the real tree has below dir and the try has not: all, or those
// that are not in upper.
func (p *planner) gone(dir, upper string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir && !d.IsDir() {
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		if upper != "" && path != dir {
			if _, err := os.Lstat(filepath.Join(upper, rel)); err == nil {
				return nil // the walk of the upper one comes to it
			}
		}
		switch {
		case d.IsDir():
			if ok, _ := p.wanted(path); ok && (upper == "" || path != dir) {
				p.plan.Prune = append(p.plan.Prune, path)
				p.young[path] = overlay.Born(path).After(p.t.Meta.Started)
			}
		case d.Type().IsRegular() || d.Type() == fs.ModeSymlink:
			p.row(path, Kept, "")
		}
		return nil
	})
}

// directory notes what the try did to a directory itself.
func (p *planner) directory(path, upper string, opaque bool) {
	if opaque {
		p.gone(path, upper)
	}
	if ok, _ := p.wanted(path); !ok {
		return
	}
	mine, err := os.Stat(upper)
	if err != nil {
		return
	}
	st, err := p.lstat(path)
	if err == nil && st.IsDir() {
		p.mode(path, upper)
		return
	}
	p.plan.Make = append(p.plan.Make, ledger.Dir{Path: ledger.Path(path), Mode: uint32(mine.Mode().Perm())})
	if err == nil {
		p.row(path, Kept, "") // a file gave way to it
	}
}

// parents are the directories above a path, up to its root without that.
func (p *planner) parents(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		dir := filepath.Dir(path)
		for !slices.Contains(p.t.Meta.Roots, dir) && dir != filepath.Dir(dir) && yield(dir) {
			dir = filepath.Dir(dir)
		}
	}
}

// lstat is what the real tree has at a path: nothing where a name above it is no directory,
// also where that is a link which leads to one.
func (p *planner) lstat(path string) (fs.FileInfo, error) {
	for dir := range p.parents(path) {
		if !isDir(dir) {
			return nil, fs.ErrNotExist
		}
	}
	return os.Lstat(path)
}

func isDir(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.IsDir()
}

// committed reports whether something was written below a directory of git's that would be
// missed: commits and other references, settings, hooks, a merge or rebase under way.
func committed(entries []overlay.Entry, dir string) bool {
	return slices.ContainsFunc(entries, func(e overlay.Entry) bool {
		name, ok := strings.CutPrefix(e.Path, dir)
		return ok && e.Kind != overlay.Dir && !passing(name)
	})
}

// passing reports whether a file below a directory of git's is no loss: an index that was only
// read again, objects that nothing names, and what git notes for itself.
func passing(name string) bool {
	switch top, _, _ := strings.Cut(name, "/"); top {
	case "index", "objects", "logs", "COMMIT_EDITMSG", "FETCH_HEAD", "ORIG_HEAD", "gc.log", "gc.pid":
		return true
	default:
		return strings.HasPrefix(top, "fsmonitor") || strings.HasPrefix(top, "sharedindex.") ||
			strings.HasSuffix(name, ".lock")
	}
}

// image is what a path of an upper layer holds.
func image(path string) (*delta.Image, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if st.Mode()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(path)
		if err != nil {
			return nil, err
		}
		return delta.NewSymlink(to), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return delta.NewFile(data, uint32(st.Mode().Perm())), nil
}

// ignored marks new files that git ignores and that nobody named.
func (p *planner) ignored(ctx context.Context, root string) error {
	if p.o.Ignored {
		return nil
	}
	var ask []string
	for _, r := range p.plan.Rows {
		_, named := p.wanted(r.Path)
		named = named || p.moved[r.Path] != ""
		if was, known := p.base[r.Path]; r.Outcome == Kept && r.upper != "" && !named && (!known || was == nil) &&
			pathname.Under(root, r.Path) {
			ask = append(ask, r.Path)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	are, err := repo.Ignored(ctx, root, ask)
	for i := range p.plan.Rows {
		if r := &p.plan.Rows[i]; are[r.Path] && pathname.Under(root, r.Path) {
			r.Outcome = Ignored
		}
	}
	return err
}

// decide compares each path with what it holds now.
func (p *planner) decide() error {
	rows := p.plan.Rows[:0]
	seen := map[string]bool{}
	for _, r := range p.plan.Rows {
		if seen[r.Path] {
			continue
		}
		seen[r.Path] = true
		if r.Outcome == Kept {
			now, err := p.now(r.Path)
			if err == nil && r.upper != "" { // what is left out was not read
				r.Change.Post, err = image(r.upper)
			}
			if err != nil {
				return err
			}
			if r.Change.Post == nil && now == nil {
				continue // made and removed again, or gone in both
			}
			if p.against(&r, now); r.Outcome == There && r.Change.Pre.Same(r.Change.Post) {
				continue
			}
		}
		rows = append(rows, r)
	}
	p.plan.Rows = rows
	p.inTheWay(Conflict)
	p.hold()
	order.By(p.plan.Rows, func(a, b Row) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// now is what a path of the real tree holds: nothing, too, where it is a directory, whose
// files have rows of their own, or where a name above it is no directory.
func (p *planner) now(path string) (*delta.Image, error) {
	if isDir(path) {
		return nil, nil
	}
	for dir := range p.parents(path) {
		if _, err := os.Lstat(dir); err == nil && !isDir(dir) {
			return nil, nil
		}
	}
	return p.tree.ReadEntry(path, largest)
}

// against decides what becomes of one path that holds now.
func (p *planner) against(r *Row, now *delta.Image) {
	was, known := p.base[r.Path]
	if slices.ContainsFunc(p.shone[r.Path], now.Same) {
		was = now
	}
	if !known {
		was = now
		if now == nil && p.was[r.Path] || now != nil && overlay.Since(r.Path).After(p.t.Meta.Started) {
			p.unknown(r, now)
			return
		}
	}
	r.Change.Pre = was
	c := r.Change
	for _, i := range []**delta.Image{&c.Pre, &c.Post} {
		*i = p.load(*i)
	}
	r.Change = c
	next, err := delta.Rebase(c, now)
	early := err != nil || now != nil && was != nil && now.Sum == was.Sum // if the base is not what it seems
	if early && known && now != nil && !p.again[r.Path] && !overlay.Since(r.Path).After(p.t.Meta.Started) {
		// Nobody changed it outside: something in the try did, before what was recorded first.
		r.Change.Pre, c.Pre = now, now
		next, err = delta.Rebase(c, now)
	}
	var conflict *delta.ConflictError
	switch {
	case errors.As(err, &conflict):
		r.Outcome, r.Note = Conflict, conflict.Error()
		if img, note, ok := settle.Conflict(p.o.Conflicts, c, now, conflict, "in the try"); ok {
			r.Outcome, r.Note, r.Next = Settled, note, delta.Change{Path: r.Path, Pre: now, Post: img}
		}
	case err != nil:
		r.Outcome, r.Note = Conflict, "what it was before the try is not known any more"
	default:
		r.Next = next
		switch {
		case next.Pre.Same(next.Post):
			r.Outcome = There
		case !now.Same(was):
			r.Outcome = Merged
		}
	}
	if len(r.Note) > 0 {
		r.Note = strings.TrimPrefix(r.Note, r.Path+" ")
	}
}

// unknown is a path that others changed after the try began, and of which no record says
// what the try found there.
func (p *planner) unknown(r *Row, now *delta.Image) {
	switch {
	case now.Same(r.Change.Post):
		r.Outcome, r.Next = There, delta.Change{Path: r.Path, Pre: now, Post: now}
	case r.Change.Post == nil:
		r.Outcome, r.Change.Pre = There, nil // new since: it is not what the try removed
	case p.o.Conflicts == settle.Ours:
		r.Outcome, r.Note = Settled, "it stays as it is"
		r.Next = delta.Change{Path: r.Path, Pre: now, Post: now}
	case p.o.Conflicts == settle.Theirs:
		if r.Outcome = Settled; now != nil {
			r.Note = "what was changed in it since is gone"
		}
		r.Next = delta.Change{Path: r.Path, Pre: now, Post: r.Change.Post}
	case now == nil:
		r.Outcome, r.Note = Conflict, "it was written in the try and removed outside"
	default:
		r.Outcome, r.Note = Conflict, "it was changed in the try and outside, and what it was before is not known"
	}
}

func (p *planner) load(img *delta.Image) *delta.Image {
	if img == nil || img.Loaded || p.kept == nil {
		return img
	}
	data, err := p.kept.Get(img.Sum)
	if err != nil {
		return img
	}
	return &delta.Image{Version: img.Version, Data: data, Loaded: true}
}

// Commit carries a plan out: all of it, or nothing.
func (p *Plan) Commit(ctx context.Context, w *txn.Workspace) error {
	_, err := w.Commit(ctx, p.Set(), txn.CommitOptions{
		Origin: txn.Origin{Session: p.Session, Turn: p.Turn, Tool: Tool, Client: "kerf"}, Real: true, AsMade: true,
		Make: p.Make, Prune: p.Prune, Chmod: p.Modes})
	return err
}
