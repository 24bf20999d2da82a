package patch

import (
	"cmp"
	"fmt"
	"path"

	"kerf/internal/text/delta"
	"kerf/internal/text/patch/unified"
)

// node is one path while a plan is made.
type node struct {
	path    string
	pre     *delta.Image // before the patch
	cur     *delta.Image // now
	base    *delta.Image // before the diffs of this mail
	mail    int          // which mail base belongs to
	from    string       // where cur came from by a move or copy, or empty
	taken   bool         // in this mail another file's content was put here
	gone    bool         // what it held was taken away, or something else put in its place
	changed bool
	kept    bool // it was to go, and could not
}

// planner keeps the state that the operations so far lead to.
type planner struct {
	read    Read
	opt     PlanOptions
	nodes   map[string]*node
	dirs    map[string]*delta.Image // what has the name of a directory, nil for one
	changed []*node                 // in the order of their first change
	mail    int
	gone    map[string]bool // paths that diffs of this mail remove
}

// plan runs all operations; first stops at the first error.
func (p *Patch) plan(read Read, o PlanOptions, first bool) (delta.Set, []FileError) {
	pl := &planner{read: read, opt: o, nodes: map[string]*node{}, dirs: map[string]*delta.Image{}}
	var failed []FileError
	fail := func(path string, err *unified.Error) bool {
		if err == nil {
			return false
		}
		if err.Path == "" {
			err.Path = path
		}
		failed = append(failed, FileError{err.Path, err})
		return first
	}
	ops := p.ops
	if o.Reverse {
		var err *unified.Error
		if ops, err = reversedOps(ops); err != nil {
			fail(err.Path, err)
			return nil, failed
		}
	}
	for _, op := range ops {
		op.path = pl.spaced(op)
		err := pl.taken(op)
		if err == nil {
			err = pl.operation(op)
		}
		if fail(op.path, err) {
			return nil, failed
		} else if err != nil {
			pl.keep(op)
		}
	}
	files, lost := p.files, []*unified.File(nil)
	if o.Reverse {
		files = unified.Reversed(files)
	}
	for i := range files {
		f := &files[i]
		if i == 0 || f.Mail != pl.mail {
			pl.startMail(files[i:])
		}
		if err := pl.diff(f); fail(cmp.Or(f.NewName, f.OldName), err) {
			return nil, failed
		} else if err != nil {
			pl.stays(f, fail)
			lost = append(lost, f)
		}
	}
	pl.stayWith(lost, files, fail)
	for {
		set, blocked := pl.set(), false
		for _, c := range set {
			if c.Pre != nil {
				continue
			}
			if err := pl.obstructed(c.Path); err != nil {
				if fail(c.Path, err) {
					return nil, failed
				}
				pl.leave(pl.nodes[path.Clean(c.Path)], fail)
				blocked = true
			}
		}
		if !blocked {
			return set, failed
		}
	}
}

// stays lets a file be where it was that a diff was to take away, but could not: nothing takes its place.
func (pl *planner) stays(f *unified.File, fail func(string, *unified.Error) bool) {
	oldName, newName, err := pl.names(f)
	if err != nil || f.Copy || oldName == "" || oldName == newName {
		return
	}
	key := path.Clean(oldName)
	delete(pl.gone, key)
	if n := pl.nodes[key]; n != nil && n.taken {
		pl.replaced(n, newName, fail)
	}
}

// stayWith lets files be where they were whose content was to be in one that failed: moves that the diff does not
// call so. It needs the whole ids of contents.
func (pl *planner) stayWith(lost []*unified.File, files []unified.File, fail func(string, *unified.Error) bool) {
	from := map[string]bool{}
	for _, f := range files {
		from[f.OldID] = true
	}
	for i := 0; i < len(lost); i++ { // it grows
		to := lost[i]
		for j := range files {
			f := &files[j]
			if f == to || f.OldID != to.NewID || !unified.FullID(f.OldID) || f.NewID == f.OldID || !f.Remove && !from[f.NewID] {
				continue
			}
			oldName, _, err := pl.names(f)
			toOld, toNew, _ := pl.names(to)
			n := pl.nodes[path.Clean(oldName)]
			if err != nil || n == nil || n.pre == nil || n.pre.Size == 0 || n.pre.Same(n.cur) {
				continue
			}
			fail(oldName, &unified.Error{Path: oldName, Message: fmt.Sprintf("its content could not get to %s, so it was left as it is",
				cmp.Or(toNew, toOld))})
			pl.leave(n, fail)
			lost = append(lost, f)
		}
	}
}

// leave lets a path be as it was before the patch. What was moved there stays where it was, and so on.
func (pl *planner) leave(n *node, fail func(string, *unified.Error) bool) {
	from := pl.nodes[path.Clean(n.from)]
	moved := n.from != "" && from != nil && from != n && from.gone
	to := n.path
	n.cur, n.from, n.gone = n.pre, "", false
	delete(pl.gone, path.Clean(n.path))
	if moved {
		pl.replaced(from, to, fail)
	}
}

// replaced leaves a file that does not get to another path, or is not removed, and reports it if something
// else was to be in its place.
func (pl *planner) replaced(n *node, to string, fail func(string, *unified.Error) bool) {
	if n.cur != nil {
		why := "it could not be removed"
		if to != "" {
			why = "it could not be moved to " + to
		}
		fail(n.path, &unified.Error{Path: n.path, Message: why + ", so it was left as it is"})
	}
	pl.leave(n, fail)
}

// at returns the node of a path and reads it when first asked.
func (pl *planner) at(name string) (*node, *unified.Error) {
	key := path.Clean(name)
	if n := pl.nodes[key]; n != nil {
		if n.mail != pl.mail {
			n.base, n.mail, n.taken = n.cur, pl.mail, false
		}
		return n, nil
	}
	img, err := pl.read(name)
	if err != nil {
		return nil, &unified.Error{Path: name, Message: err.Error(), Cause: err}
	}
	if img != nil && !img.Loaded {
		return nil, &unified.Error{Path: name, Message: "the content of the file is not at hand"}
	}
	n := &node{path: name, pre: img, cur: img, base: img, mail: pl.mail}
	pl.nodes[key] = n
	return n, nil
}

// follow returns the node that a path leads to through links to files.
func (pl *planner) follow(name string) (*node, *unified.Error) {
	for range 40 {
		n, err := pl.at(name)
		if err != nil || n.cur == nil || n.cur.Kind != delta.Symlink {
			return n, err
		}
		target := string(n.cur.Data)
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(name), target)
		}
		name = target
	}
	return nil, &unified.Error{Path: name, Message: "too many links lead from one to the next"}
}

// put gives a node new content.
func (pl *planner) put(n *node, img *delta.Image, from string) {
	n.gone = n.gone || n.cur != nil && (img == nil || from != n.from)
	n.cur, n.from = img, from
	if !n.changed {
		n.changed = true
		pl.changed = append(pl.changed, n)
	}
}

// move takes the content of src, changed to img, to dst. The origin is told from
// the first path that the content had.
func (pl *planner) move(src, dst *node, img *delta.Image) {
	origin := cmp.Or(src.from, src.path)
	pl.put(src, nil, "")
	pl.put(dst, img, origin)
}

// set returns the net changes.
func (pl *planner) set() delta.Set {
	target := map[string]string{}
	for _, n := range pl.changed {
		if n.from != "" && n.cur != nil {
			target[n.from] = n.path
		}
	}
	var set delta.Set
	for _, n := range pl.changed {
		if n.pre.Same(n.cur) {
			continue
		}
		c := delta.Change{Path: n.path, Pre: n.pre, Post: n.cur}
		if src := pl.nodes[path.Clean(n.from)]; n.cur != nil && n.from != n.path && (src == nil || src.pre != nil) {
			c.From = n.from // and not what the patch made and moved
		}
		if to := target[n.path]; to != n.path && (n.cur == nil || n.gone) {
			c.To = to
		}
		set = append(set, c)
	}
	return set
}

// obstructed reports a file where a new path needs a directory.
func (pl *planner) obstructed(name string) *unified.Error {
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		var img *delta.Image
		if n := pl.nodes[dir]; n != nil {
			img = n.cur
		} else {
			img = pl.above(dir)
		}
		if img != nil && img.Kind == delta.File {
			return &unified.Error{Path: name, Message: fmt.Sprintf("%s is a file, not a directory; choose another path or "+
				"remove it first", dir)}
		}
	}
	return nil
}

// above returns what has the name of a directory above some path; nil for a directory,
// and for what cannot be read. Many paths share one, so each is looked at once.
func (pl *planner) above(dir string) *delta.Image {
	img, known := pl.dirs[dir]
	if !known {
		if got, err := pl.read(dir); err == nil {
			img = got
		}
		pl.dirs[dir] = img
	}
	return img
}

// missing says in words that a file is not there.
func (pl *planner) missing(name string) string {
	if pl.opt.IsDir != nil && pl.opt.IsDir(name) {
		return "this is a directory, and there is no file of this name"
	}
	return "there is no such file"
}

// spaced is the path of an operation, with the spaces around it if there is such a file.
func (pl *planner) spaced(op operation) string {
	if op.spaced != "" {
		if n, err := pl.at(op.spaced); err == nil && n.cur != nil {
			return op.spaced
		}
	}
	return op.path
}

// keep notes a file that an operation could not take away.
func (pl *planner) keep(op operation) {
	if n, err := pl.at(op.path); err == nil && (op.kind == Deleted || op.to != "") {
		n.kept = n.cur != nil
	}
}

// taken reports a file that could not be taken away, and whose name the operation needs.
func (pl *planner) taken(op operation) *unified.Error {
	name := op.to
	if op.kind == Added {
		name = op.path
	}
	if name == "" || name == op.path && op.kind != Added {
		return nil
	}
	for _, find := range []func(string) (*node, *unified.Error){pl.at, pl.follow} { // also of what a link leads to
		if n, err := find(name); err == nil && n.kept && n.cur != nil {
			return unified.Errorf(op.line, "%s could not be moved away or deleted, so nothing takes its place", name)
		}
	}
	return nil
}

const newFileMode = 0o644

// operation plans one file of an envelope.
func (pl *planner) operation(op operation) *unified.Error {
	fail := func(err *unified.Error) *unified.Error {
		if err.Line == 0 {
			err.Line = op.line
		}
		return err
	}
	switch op.kind {
	case Added:
		n, err := pl.follow(op.path)
		if err != nil {
			return fail(err)
		}
		mode := uint32(newFileMode)
		if n.cur != nil {
			mode = n.cur.Mode
		}
		pl.put(n, delta.NewFile([]byte(op.text), mode), "")
		return nil
	case Deleted:
		n, err := pl.at(op.path)
		if err != nil {
			return fail(err)
		}
		if n.cur == nil {
			return unified.Errorf(op.line, "%s to delete; check the path", pl.missing(op.path))
		}
		if op.exact && string(n.cur.Data) != op.text {
			return unified.Errorf(op.line, "the file is not what the patch added, so it is not removed; nothing of it would "+
				"be left")
		}
		pl.put(n, nil, "")
		return nil
	}
	if err := pl.update(op); err != nil {
		return fail(err)
	}
	return nil
}

// update plans an Update, with a move perhaps.
func (pl *planner) update(op operation) *unified.Error {
	n, err := pl.follow(op.path)
	if err != nil {
		return err
	}
	if n.cur == nil {
		return &unified.Error{Message: fmt.Sprintf("%s to update; check the path, or create the file "+
			"with '%s'", pl.missing(op.path), addFile+op.path)}
	}
	data, err := updateText(n.cur.Data, op.chunks)
	if err != nil {
		return err
	}
	img := delta.NewFile(data, n.cur.Mode)
	if op.to == "" {
		pl.put(n, img, n.from)
		return nil
	}
	dst, err := pl.follow(op.to)
	if err != nil {
		return err
	}
	if dst == n {
		pl.put(n, img, n.from) // moving a file onto itself only changes it
		return nil
	}
	src, err := pl.at(op.path) // of a link only the link goes
	if err != nil {
		return err
	}
	pl.move(src, dst, img)
	return nil
}
