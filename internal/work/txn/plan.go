package txn

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn/contents"
)

// maxShown bounds what is read only to say what a file has become.
const maxShown = 64 << 20

// plan validates each change and turns it into operations. Problems go to j.fail.
func (j *job) plan(set delta.Set) error {
	defer j.hold()()
	set, err := set.Net()
	if err != nil {
		return fmt.Errorf("commit: %w: %w", ErrBadSet, err)
	}
	j.free(set)
	j.leaving()
	taken := make(map[string]bool)
	ops, errs := make([]*op, len(set)), make([]error, len(set))
	tasks := make([]func() error, len(set))
	for i, c := range set { // beside each other: all of them, whatever comes of one
		tasks[i] = func() error { ops[i], errs[i] = j.validate(c); return nil }
	}
	_ = j.w.together(tasks, runtime.GOMAXPROCS(0)) // errs has it
	for i, c := range set {
		o, err := ops[i], errs[i]
		if err == nil && o != nil && taken[string(o.Path)] {
			err = fmt.Errorf("%w: two changes of one file", ErrBadSet)
		}
		if err != nil {
			if err := j.fail(c.Path, err); err != nil {
				return err
			}
			continue
		}
		if o == nil {
			continue // nothing to do
		}
		taken[string(o.Path)] = true
		o.At, o.asked = i, c.Path
		j.ops = append(j.ops, o)
	}
	j.spare(set)
	if err := j.shared(); err != nil {
		return err
	}
	if err := j.arrange(set); err != nil {
		return err
	}
	j.o.BestEffort = j.o.BestEffort && !j.tied()
	return nil
}

// tied reports whether the content of a file moves to another path while something else gets its name. Part of that
// could lose the content, so such a commit is all or nothing: what fails later, or dies, is taken back.
func (j *job) tied() bool {
	moved := map[string]bool{}
	for _, o := range j.ops {
		moved[string(o.From)] = o.From != ""
	}
	return slices.ContainsFunc(j.ops, func(o *op) bool { return moved[o.asked] && (o.first || o.Kind != opRemove) })
}

// spare leaves files alone whose content was to get to a path that fails, so that it is not gone.
func (j *job) spare(set delta.Set) {
	for i := 0; i < len(j.out.Failed); i++ { // this adds to them
		failed := j.out.Failed[i]
		at := slices.IndexFunc(set, func(c delta.Change) bool { return c.Path == failed.Path })
		if at < 0 || set[at].From == "" {
			continue
		}
		from := slices.IndexFunc(j.ops, func(o *op) bool {
			return o.asked == set[at].From && (string(o.To) == failed.Path || o.From != "") // what is only copied may change
		})
		if from >= 0 {
			_ = j.fail(j.ops[from].asked, fmt.Errorf("its content did not get to %s: %w", failed.Path, failed.Err))
			j.ops = slices.Delete(j.ops, from, from+1)
		}
	}
}

// validate finds out what stands at the path of c, and that it is what c was made
// for. It returns nil if nothing needs to be done.
func (j *job) validate(c delta.Change) (*op, error) {
	real, err := j.locate(c)
	if err != nil {
		return nil, err
	}
	seen, err := j.look(real, c)
	if err != nil {
		return nil, err
	}
	pre, err := j.compare(real, c, seen)
	if err != nil {
		return nil, err
	}
	if err := j.tree.CheckWrite(real, seen); err != nil {
		return nil, err
	}
	post, err := j.complete(c.Post, pre)
	if err != nil {
		return nil, err
	}
	if pre.Same(post) {
		return nil, nil
	}
	o := &op{Path: ledger.Path(real), pre: pre, post: post, seen: seen, From: ledger.Path(c.From), To: ledger.Path(c.To)}
	switch {
	case post == nil:
		o.Kind = opRemove
	case pre == nil:
		o.Kind = opCreate
	default:
		o.Kind, err = j.howToReplace(real, seen, pre, post)
	}
	o.Pre, o.Post = ledger.VersionOf(pre), ledger.VersionOf(post)
	return o, err
}

// locate returns the real path that c is about. A removal is about the name itself,
// and so is whatever has to do with a link; other changes go through links.
func (j *job) locate(c delta.Change) (string, error) {
	asked, err := j.tree.Resolve(c.Path)
	if err != nil {
		return "", err
	}
	if top := pathname.AboveIn(asked, j.freed); top != "" {
		return j.freed[top] + strings.TrimPrefix(asked, top), nil
	}
	isLink := func(i *delta.Image) bool { return i != nil && i.Kind == delta.Symlink }
	find := j.tree.Target
	if j.o.Real || c.Post == nil || isLink(c.Pre) || isLink(c.Post) {
		find = j.tree.Entry
	}
	real, err := find(asked)
	if err == nil && j.o.Real && real != asked {
		err = &tree.LinkError{Path: asked, What: "was not there when the change was approved"}
	}
	return real, err
}

// look returns what is at real: nil for nothing, and for a directory that c's
// fellow changes may empty.
func (j *job) look(real string, c delta.Change) (*tree.Entry, error) {
	if pathname.AboveIn(real, j.freed) != "" {
		return nil, nil // what is above it is no directory yet
	}
	var seen *tree.Entry
	err := in(j.tree, real, func(d *tree.Dir, name string) (err error) {
		if c.Pre != nil && (c.Pre.Loaded || contents.Large(c.Pre, j.tree.Whole())) {
			if e, ok := d.Known(name, c.Pre); ok {
				seen = e
				return nil
			}
		}
		seen, err = d.LookFor(name, max(c.Pre.At().Size, maxShown), c.Pre)
		return err
	})
	switch {
	case tree.IsAbsent(err):
		return nil, nil
	case errors.Is(err, tree.ErrDirectory) && c.Pre == nil && (j.goes[real] != nil || j.empties(real)):
		return nil, nil
	}
	var large *tree.TooLargeError
	if errors.As(err, &large) {
		have := delta.Version{Kind: delta.File, Size: large.Size}
		return nil, &MismatchError{real, c.Pre.At(), have}
	}
	return seen, err
}

// empties reports whether the set removes something below dir.
func (j *job) empties(dir string) bool {
	return slices.ContainsFunc(j.set, func(c delta.Change) bool {
		return c.Post == nil && c.Path != dir && pathname.Under(dir, c.Path)
	})
}

// compare checks what was seen against c.Pre and returns the image that the change
// really starts from.
func (j *job) compare(real string, c delta.Change, seen *tree.Entry) (*delta.Image, error) {
	var have *delta.Image
	if seen != nil {
		have = seen.Image
	}
	if have.At() == c.Pre.At() {
		return have, nil
	}
	if c.Post == nil && have.At().Kind == delta.Symlink && c.Pre.At().Kind == delta.File && !j.o.Real {
		// The file was read through a link; removing the name removes the link.
		v, err := j.tree.Version(real)
		if err != nil {
			return nil, err
		}
		if v == c.Pre.Version {
			return have, nil
		}
	}
	return nil, &MismatchError{real, c.Pre.At(), have.At()}
}

// complete loads what post holds, unless it is large, and gives it a mode if it has none.
func (j *job) complete(post, pre *delta.Image) (*delta.Image, error) {
	if post == nil {
		return nil, nil
	}
	img := *post
	if img.Kind == delta.File && img.Mode == 0 && !j.o.exactModes() {
		img.Mode = 0o644
		if pre != nil && pre.Kind == delta.File {
			img.Mode = pre.Mode
		}
	}
	return contents.Here(j.w.Store, &img, j.tree.Whole())
}

// howToReplace chooses between a new file under the old name and new content in the
// old file.
func (j *job) howToReplace(real string, seen *tree.Entry, pre, post *delta.Image) (string, error) {
	if pre.Kind != delta.File || post.Kind != delta.File {
		return opReplace, nil
	}
	kind := opReplace
	err := in(j.tree, real, func(d *tree.Dir, name string) error {
		if seen.InPlace || d.Writable(".") != nil {
			kind = opInPlace
		}
		if kind == opReplace && j.o.exactModes() {
			return nil // the mode is part of what is given back, so it does not protect
		}
		if seen.Own {
			return nil
		}
		return d.Writable(name)
	})
	return kind, err
}

// arrange adds the operations on directories, chooses temporary names and orders
// everything: what frees names, directories, files, what only removes, directories
// that are empty then.
func (j *job) arrange(set delta.Set) error {
	writes, removes := map[string]*op{}, map[string]*op{}
	for _, o := range j.ops {
		if o.Kind == opRemove {
			removes[string(o.Path)] = o
		} else {
			writes[string(o.Path)] = o
		}
	}
	dirs := &directories{j: j, removes: removes, at: map[string]*op{}}
	if err := dirs.wanted(); err != nil {
		return err
	}
	var early, files, late []*op
	for _, o := range j.ops {
		p, stage := string(o.Path), ""
		o.first = false
		if o.Kind == opRemove {
			if above := pathname.AboveIn(p, writes); above != "" {
				o.first = true
				early = append(early, o)
			} else {
				late = append(late, o)
			}
			stage = path.Dir(j.topmost(p, writes))
		} else {
			files = append(files, o)
			base, err := dirs.above(p)
			if err != nil {
				if err := j.fail(o.asked, err); err != nil {
					return err
				}
				j.ops = slices.DeleteFunc(slices.Clone(j.ops), func(failed *op) bool { return failed == o })
				j.spare(set)
				return j.arrange(set)
			}
			stage = base
		}
		if o.Kind != opInPlace && o.Kind != opLinked {
			o.Tmp = ledger.Path(path.Join(stage, tree.TemporaryName()))
		}
	}
	late, early = hoist(late, early, writes, dirs.at)
	must, may := j.emptied(early, writes, dirs.at)
	j.ops = slices.Concat(j.opens, j.changed(), early, must, dirs.list(), files, late, may)
	return nil
}

// topmost returns the uppermost of p and the directories above it that are to go.
func (j *job) topmost(p string, writes map[string]*op) string {
	for dir := path.Dir(p); dir != path.Dir(dir); dir = path.Dir(dir) {
		if writes[dir] != nil || j.goes[dir] != nil {
			p = dir
		}
	}
	return p
}

// hoist moves the removals of files that must become directories to the front.
func hoist(late, early []*op, writes, dirs map[string]*op) (stay, front []*op) {
	above := make(map[string]bool)
	for d := range dirs {
		above[d] = true
	}
	for w := range writes {
		for dir := path.Dir(w); !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	for _, o := range late {
		if above[string(o.Path)] {
			o.first = true
			early = append(early, o)
		} else {
			stay = append(stay, o)
		}
	}
	return stay, early
}

func in(t *tree.Tree, real string, f func(d *tree.Dir, name string) error) error {
	dir, name := path.Split(real)
	if dir != "/" {
		dir = strings.TrimSuffix(dir, "/")
	}
	d, err := t.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(d, name)
}
