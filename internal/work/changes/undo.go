package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/order"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/changes/together"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// The outcomes of files.
const (
	Restored  = "restored"  // exactly as it was before
	Merged    = "merged"    // as before, with what was changed since kept
	Conflict  = "conflict"  // changed since in the same place
	Unchanged = "unchanged" // is as it was before already
	Missing   = "missing"   // its earlier content was not kept
)

// Left is a change that a plan leaves alone because nobody saw who made it.
type Left struct {
	Path  string `json:"path"`
	Entry int64  `json:"entry"` // its sequence number
}

// FilePlan is what a plan makes of one file.
type FilePlan struct {
	Path    string `json:"path"`
	Outcome string `json:"outcome"`
	Note    string `json:"note,omitempty"`
	// Removed says that the file goes, or would go.
	Removed bool `json:"removed,omitempty"`
	// Moved is where the file may be, which is gone: something much like it is there.
	Moved string `json:"moved,omitempty"`
}

// Plan is an undo or redo that is worked out and not done.
type Plan struct {
	Redo bool
	// What tells which changes are meant, in words. Entries are these, oldest
	// first; Roots the changes of tools and commands that they come down to.
	What    string
	Entries []*ledger.Entry
	Roots   []*ledger.Entry
	// Set is what is to be committed, Files the outcome for every file, by path.
	Set   delta.Set
	Files []FilePlan
	// Problem says why nothing can be done, and is empty otherwise. Set is then
	// empty too.
	Problem string
	// Gaps are files of which the entries do not know all.
	Gaps []ledger.Gap
	// Left are changes that belong to what was named and are left alone.
	Left []Left

	only  []ledger.Path
	paths []string         // that were named, or that the undo to bring back was about; nil for all
	make  []ledger.Dir     // directories that come back
	prune []string         // directories that go
	chmod []ledger.DirMode // directories that get other permission bits
	edits bool             // it takes single edits back, see PlanEdits
}

// ErrConflict says that an undo does not fit what files have become. Nothing was
// written.
var ErrConflict = errors.New("nothing was changed")

// Plan works out how to take back what c names, merged into the present. It
// changes nothing. The error is ErrNothing when there is nothing to take back.
// A plan with conflicts is returned with its Problem set.
func (r Reader) Plan(c Choice, look present.Look) (*Plan, error) {
	b, err := open(r.Ledger)
	if err != nil {
		return nil, err
	}
	return r.plan(b, c, look)
}

func (r Reader) plan(b *book, c Choice, look present.Look) (*Plan, error) {
	if b.fault = r.Fault; b.fault == ForgetTaken {
		b.taken = map[atom]bool{}
	}
	entries, left, err := r.choose(b, &c)
	if err != nil {
		return nil, err
	}
	p := &Plan{Redo: c.Redo, Entries: entries, Left: left, paths: c.Paths}
	if c.Redo && len(c.Paths) == 0 {
		p.paths = together.Only(entries)
	}
	for _, e := range entries {
		for _, root := range b.roots(e) {
			if (!c.Redo || c.means(e, root)) && !slices.Contains(p.Roots, root) {
				p.Roots = append(p.Roots, root)
				if !root.Exact {
					p.Gaps = append(p.Gaps, root.Unknown()...)
				}
			}
		}
	}
	if len(entries) == 0 {
		p.Problem = unseen(left)
		return p, nil
	}
	w := newInverter(r, b, look)
	w.conflicts, w.follows = c.Conflicts, c.Follow
	steps := p.steps(b, c)
	w.stay = func(path string) bool { return slices.ContainsFunc(left, func(l Left) bool { return l.Path == path }) }
	for i, s := range steps {
		w.selected[atom{s.seq, s.path}] = true
		steps[i].carried = s.carried || w.stay(s.from)
	}
	w.run(joined(steps, r.Fault == JoinAll))
	w.result(p)
	p.sayUnseen(b, c)
	for i, f := range p.Files {
		if c.Conflicts == settle.Skip && f.Outcome == Conflict {
			p.Files[i].Outcome, p.Files[i].Note = Unchanged, "skipped: "+f.Note
		}
	}
	p.What = row.Words(p.Roots)
	if r.Fault != ForgetPartial {
		p.settle()
	}
	return p, nil
}

// sayUnseen adds to the files whose change nobody saw being made that others may have had
// a hand in it.
func (p *Plan) sayUnseen(b *book, c Choice) {
	for _, e := range p.Entries {
		if !doubtful(e) || len(e.Undoes) > 0 {
			continue
		}
		asked := setOf(b.asked(e, c))
		for i, f := range p.Files {
			written := f.Outcome == Restored || f.Outcome == Merged
			if written && asked[f.Path] && !strings.Contains(f.Note, Unseen) {
				p.Files[i].Note = strings.TrimPrefix(f.Note+"; "+Unseen, "; ")
			}
		}
	}
}

// Unseen is what is told of a file whose change is taken back although nobody saw who
// made it.
const Unseen = "nobody saw who changed it: what others wrote there is taken back, too"

// unseen is the problem of a plan that leaves everything alone.
func unseen(left []Left) string {
	var names []string
	for _, l := range left {
		names = append(names, l.Path)
	}
	slices.Sort(names)
	return "nobody saw who changed " + settle.Few(slices.Compact(names))
}

// step is one entry's change of one path, or several that follow each other. Images
// of directories are among them.
type step struct {
	path      string
	pre, post *delta.Image
	from, to  string
	seq, last int64
	exact     bool
	carried   bool // what came from there is there no more
}

// steps are the changes to invert, oldest first, and p.only what they leave out.
func (p *Plan) steps(b *book, c Choice) []step {
	var steps []step
	partial := len(c.Paths) > 0 // other files that the call lost are not meant
	told := map[string]bool{}
	for _, e := range p.Entries {
		asked := b.asked(e, c)
		partial = partial || len(asked) < len(b.scope(e.Seq))
		stands := make(map[string]bool, len(asked))
		for _, path := range asked {
			stands[path] = true
			if !told[path] {
				told[path] = true
				p.only = append(p.only, ledger.Path(path))
			}
		}
		wanted := b.wanted(e, c.Paths)
		found := stepsOfEntry(e, func(path string) bool {
			if len(e.Undoes) > 0 {
				return below(path, c.Paths) || wanted[path]
			}
			return stands[path]
		})
		if b.fault == ForgetKind {
			found = slices.DeleteFunc(found, func(s step) bool { return present.IsDir(s.pre) && !present.IsDir(s.post) })
		}
		steps = append(steps, found...)
	}
	if !partial {
		p.only = nil
	}
	return steps
}

// joined makes one step of those of a path that begin where the one before ended:
// nobody else's change lies between them.
func joined(steps []step, always bool) []step {
	var out []step
	at := map[string]int{}
	for _, s := range steps {
		if i, ok := at[s.path]; ok && (always || present.Same(out[i].post, s.pre)) {
			have := &out[i]
			if have.pre == nil && s.from == "" { // still what came from there
				s.from, s.carried = have.from, have.carried
			}
			s.pre, s.seq = have.pre, have.seq
			have.path = "" // replaced
		}
		at[s.path] = len(out)
		out = append(out, s)
	}
	out = slices.DeleteFunc(out, func(s step) bool { return s.path == "" })
	order.Stably(out, func(a, b step) int { return cmp.Compare(a.last, b.last) })
	return out
}

// settle decides whether the plan can be carried out.
func (p *Plan) settle() {
	var conflicts, missing []string
	others, lost := 0, lostOf(p.Gaps, p.paths)
	for _, f := range p.Files {
		switch told := f.Path + " (" + f.Note + ")"; f.Outcome {
		case Conflict:
			conflicts = append(conflicts, told)
		case Missing:
			missing = append(missing, told)
		default:
			others++
		}
	}
	switch {
	case len(conflicts) > 0:
		p.Problem = "conflict in " + strings.Join(conflicts, "; ")
	case len(missing) > 0 && others == 0:
		p.Problem = "none of it can be brought back: " + settle.Few(missing)
	case len(p.Files) == 0 && !p.Redo && len(lost) > 0:
		p.Problem = "none of it can be brought back: " + settle.Few(lost)
	}
	if p.Problem != "" {
		p.Set, p.make, p.prune, p.chmod = nil, nil, nil, nil
	}
}

// Diff is what the plan would change.
func (r Reader) Diff(p *Plan) ([]byte, error) {
	net, err := r.loadSet(slices.Clone(p.Set))
	if err != nil {
		return nil, err
	}
	return diff.Unified(delta.Files(net, func(path string) string { return Relative(r.Base, path) })), nil
}

// Commit carries the plan out: all of it, or, with an error, nothing. A file that
// changed since it was planned is a conflict.
func (p *Plan) Commit(ctx context.Context, w *txn.Workspace, o txn.Origin) (txn.Outcome, error) {
	if p.Problem != "" {
		return txn.Outcome{Exact: true}, fmt.Errorf("%s: %w", p.Problem, ErrConflict)
	}
	if p.edits {
		return conflicting(w.Commit(ctx, p.Set, txn.CommitOptions{Origin: o, Cause: ledger.CauseTool, Real: true}))
	}
	for _, e := range p.Entries {
		o.Undoes = append(o.Undoes, e.Seq)
	}
	o.Only = p.only
	co := txn.CommitOptions{Origin: o, Cause: ledger.CauseUndo, Real: true, Prune: p.prune, Make: p.make,
		Chmod: p.chmod}
	if p.Redo {
		co.Cause = ledger.CauseRedo
	}
	out, err := conflicting(w.Commit(ctx, p.Set, co))
	if err == nil {
		p.stayed(out.Entry, &p.Files)
	}
	return out, err
}

// stayed tells in files of directories that were to go, could not be looked into, and stay because
// something is in them.
func (p *Plan) stayed(e *ledger.Entry, files *[]FilePlan) {
	for _, dir := range p.prune {
		if e != nil && slices.ContainsFunc(e.Gone, func(d ledger.Dir) bool { return string(d.Path) == dir }) {
			continue
		}
		if _, err := os.Lstat(filepath.FromSlash(dir)); err != nil {
			continue
		}
		stays := FilePlan{Path: dir, Outcome: Unchanged, Note: "directory: something is in it"}
		if i := slices.IndexFunc(*files, func(f FilePlan) bool { return f.Path == dir }); i >= 0 {
			(*files)[i] = stays
		} else {
			*files = append(*files, stays)
		}
	}
}

// conflicting lets the error of a commit be ErrConflict.
func conflicting(out txn.Outcome, err error) (txn.Outcome, error) {
	if err != nil {
		return out, fmt.Errorf("%w (%w)", err, ErrConflict)
	}
	return out, nil
}
