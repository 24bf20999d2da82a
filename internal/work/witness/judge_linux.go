package witness

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/text/order"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
	"kerf/internal/work/witness/gitkept"
	"kerf/internal/work/witness/journal"
)

// report looks at the touched names and tells what came of them. It ends what was taken
// in so far.
func (c *collector) report(seen func()) Report {
	r := Report{Began: c.began, Ended: c.ended}
	defer c.Stay()() // directories stay open between looks that follow each other
	others := c.read(seen)
	s := &sorter{proven: Part{Certainty: ledger.Proven}, outside: Part{Certainty: ledger.Outside},
		unproven: Part{Certainty: ledger.Unproven}, modes: Part{Certainty: ledger.Unproven}, doubted: map[string]bool{}}
	hidden := gitkept.Names(c.isGit, func(p string) bool { return c.names[p] != nil })
	var waiting []*touched // the rest of their git directory may go, too
	for _, p := range c.order {
		switch {
		case c.names[p].spared:
			if c.open[p] && !c.ended { // it may be changed yet
				waiting = append(waiting, c.names[p])
			}
		case !hidden(p):
			c.judge(c.names[p], s)
		case !c.ended && !tree.IsTemporary(path.Base(p)):
			waiting = append(waiting, c.names[p])
		case strings.HasSuffix(p, "/.git") && c.names[p].made():
			c.gap(p, ledger.LeftThere+": it is a git repository that the command made")
		}
	}
	for _, o := range others {
		c.otherName(o, s)
	}
	first := c.between(others, s)
	if s.lost {
		s.doubtCreated(c.moved(s.proven.Set))
	}
	c.doubtArrivals(s)
	c.pair(s.proven.Set)
	told := maps.Clone(c.open)
	c.alike()
	for _, part := range []Part{first, s.unproven, s.proven, s.modes, s.outside} {
		order.Stably(part.Set, func(a, b delta.Change) int { return cmp.Compare(a.Path, b.Path) })
		slices.Sort(part.Dirs)
		order.By(part.Gone, func(a, b ledger.Dir) int { return cmp.Compare(a.Path, b.Path) })
		order.By(part.Modes, func(a, b ledger.DirMode) int { return cmp.Compare(a.Path, b.Path) })
		if !part.Empty() {
			r.Parts = append(r.Parts, part)
		}
	}
	r.Notes, r.Gaps, r.Unknown = c.notes, c.gaps, c.unknown
	open, were := c.open, make(map[string]journal.State, len(c.open))
	for p := range open {
		if t := c.names[p]; t != nil {
			were[p] = t.now
		}
	}
	shared := c.sharedFiles()
	c.open, c.unnamed = map[string]bool{}, map[fileID]bool{}
	c.reset()
	c.carryOver(open, told, were, shared)
	c.await(waiting)
	return r
}

// made reports whether the command made a directory there.
func (t *touched) made() bool {
	return t.kind == journal.Absent && t.post.kind == journal.Dir && !t.foreign
}

// sorter sorts changes by what is known of them.
type sorter struct {
	proven, outside, unproven Part
	modes                     Part // permissions that others gave to what the command made
	// lost says that what a name held is not known.
	lost bool
	// doubted are the names of which it is not known who changed them, or what they held.
	doubted map[string]bool
}

// doubtCreated takes files that came for unproven. Where what a name held was lost, one of
// them may be the only copy: to take it back would destroy it. One that known says was at
// another name, as it is, is not.
func (s *sorter) doubtCreated(known map[string]bool) {
	var rest delta.Set
	for _, c := range s.proven.Set {
		if c.Pre == nil && c.Post != nil && !known[c.Path] {
			s.unproven.Set = append(s.unproven.Set, c)
		} else {
			rest = append(rest, c)
		}
	}
	s.proven.Set = rest
}

// judge tells what came of one name.
func (c *collector) judge(t *touched, s *sorter) {
	if c.onlyLooked(t) {
		c.judgeLooked(t, s)
		return
	}
	pre, known := c.before(t.was)
	s.doubted[t.path] = t.post.err != nil || !known || t.foreign || t.was.torn
	if t.post.err != nil {
		c.gap(t.path, t.post.err.Error())
		return
	}
	post := t.post.image
	c.posts[t.path] = post
	c.directory(t, s)
	if !known {
		c.lose(t.path, t.was, post, s)
		return
	}
	change := delta.Change{Path: t.path, Pre: pre, Post: post}
	if t.post.kind == journal.Special && t.kind != journal.Special && !t.foreign {
		c.gap(t.path, ledger.LeftThere+": it is a pipe, a socket or a device")
	}
	if t.was.torn {
		t.foreign, t.gone = true, false
	}
	switch {
	case t.foreign && t.gone:
		s.proven.Set = append(s.proven.Set, change1(t.path, pre, nil)...)
		s.outside.Set = append(s.outside.Set, change1(t.path, nil, post)...)
	case pre.Same(post):
		if t.elsewhere && t.kind|t.post.kind == journal.Absent {
			c.gap(t.path, ledger.LeftThere+": if the command made it, it is where somebody else moved its directory")
		}
	case t.foreign:
		s.unproven.Set = append(s.unproven.Set, change)
	default:
		own, others := c.modes(t, pre, post)
		s.proven.Set = append(s.proven.Set, change1(t.path, pre, own)...)
		s.modes.Set = append(s.modes.Set, others...)
	}
}

// lose notes that it is not known what a name held that holds post now.
func (c *collector) lose(p string, was *held, post *delta.Image, s *sorter) {
	c.gap(p, was.lost)
	c.unknown = append(c.unknown, delta.Change{Path: p, Post: post})
	s.lost = true
}

func change1(p string, pre, post *delta.Image) delta.Set {
	if pre.Same(post) {
		return nil
	}
	return delta.Set{{Path: p, Pre: pre, Post: post}}
}

// pair lets the two halves of a move name each other: what was at the one name is the
// very file at the other. Where the first got something else since, only the other tells.
func (c *collector) pair(set delta.Set) {
	halves := c.halves(set)
	for to := range set {
		switch from, ok := halves[to]; {
		case !ok:
		case set[from].Post != nil:
			set[to].From = set[from].Path
		case set[from].To == "":
			set[from].To, set[to].From = set[to].Path, set[from].Path
		}
	}
}

// moved are the names to which files came that are what they were at another name.
func (c *collector) moved(set delta.Set) map[string]bool {
	whole := map[string]bool{}
	for to, from := range c.halves(set) {
		if set[to].Post.Sum == set[from].Pre.Sum {
			whole[set[to].Path] = true
		}
	}
	return whole
}

// halves finds, for the index of a change by which a file came to a name, that of the one
// by which it went from another.
func (c *collector) halves(set delta.Set) map[int]int {
	gone := map[fileID]int{}
	for i, ch := range set {
		if t := c.names[ch.Path]; t != nil && ch.Pre != nil && ch.Pre.Kind == delta.File &&
			(ch.Post == nil || idOf(&t.now.Sig) != t.file) {
			gone[t.file] = i
		}
	}
	from := map[int]int{}
	for i, ch := range set {
		t := c.names[ch.Path]
		if t == nil || ch.Post == nil || ch.Post.Kind != delta.File {
			continue
		}
		if j, ok := gone[idOf(&t.now.Sig)]; ok && (ch.Pre == nil || t.file != (fileID{}) && t.file != idOf(&t.now.Sig)) {
			from[i] = j
		}
	}
	return from
}

// isGit reports whether a directory is one of git.
func (c *collector) isGit(dir string) bool {
	st, err := c.look(dir + "/HEAD")
	return err == nil && st.Kind != journal.Absent
}

// other is another name of a file that was changed in place, with what it holds.
type other struct {
	path string
	was  *held
	now  journal.State
	post found
}

// namesOfLinked finds the other names of files that were changed in place: a change through one
// name is one of all.
func (c *collector) namesOfLinked() (list []other) {
	wanted := map[fileID]*held{}
	for _, n := range c.inPlace {
		if h := c.held[n]; h != nil && !c.complete(h) {
			wanted[idOf(&h.Sig)] = h.origin()
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, root := range c.roots {
		_ = filepath.WalkDir(filepath.FromSlash(root), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !d.Type().IsRegular() {
				return nil
			}
			name := filepath.ToSlash(p)
			if c.names[name] != nil {
				return nil
			}
			st, err := c.look(name)
			if h := wanted[idOf(&st.Sig)]; h != nil && err == nil {
				list = append(list, other{name, h, st, c.after(name)})
			}
			return nil
		})
	}
	return list
}

// complete reports whether all names of a file were touched.
func (c *collector) complete(h *held) bool {
	names := uint64(0)
	links := uint64(1) << 63
	for _, p := range c.order {
		if sig := c.names[p].now.Sig; c.names[p].now.Kind == journal.File && sig.Dev == h.Sig.Dev && sig.Ino == h.Sig.Ino {
			names++
			links = c.names[p].now.Links
		}
	}
	return names >= links
}

// otherName adds what came of a name that was not touched, of a file that was.
func (c *collector) otherName(o other, s *sorter) {
	pre, known := c.before(o.was)
	if e := c.entered[o.path]; e != nil {
		pre, known = e.was.image, true
	}
	post, id := o.post.image, idOf(&o.now.Sig)
	if o.post.err != nil && !errors.Is(o.post.err, fs.ErrNotExist) {
		c.gap(o.path, o.post.err.Error())
	}
	if o.post.err != nil || o.post.file != id || known && pre.Same(post) {
		return
	}
	open := c.openFile(id)
	closed, wrote := c.wrote[id]
	foreign := !open && (o.post.writer || wrote && (closed.Size != o.now.Sig.Size || closed.Mtime != o.now.Sig.Mtime))
	for _, t := range c.names {
		foreign = foreign || t.foreign && (t.was == o.was || t.now.Kind == journal.File && idOf(&t.now.Sig) == id)
	}
	change := delta.Change{Path: o.path, Pre: pre, Post: post}
	t := &touched{path: o.path, was: o.was, kind: journal.File, file: id, now: o.now, post: o.post}
	switch {
	case !known && c.onlyLooked(t):
		c.judgeLooked(t, s)
	case !known:
		c.lose(o.path, o.was, post, s)
	case foreign:
		s.unproven.Set = append(s.unproven.Set, change)
	default:
		s.proven.Set = append(s.proven.Set, change)
	}
	c.posts[o.path], c.names[o.path] = post, t
	c.order = append(c.order, o.path)
}

// alike lets all names of a file be open of which one is.
func (c *collector) alike() {
	files := maps.Clone(c.unnamed)
	for p := range c.open {
		if t := c.names[p]; t != nil && t.now.Kind == journal.File {
			files[idOf(&t.now.Sig)] = true
		}
	}
	for _, p := range c.order {
		if t := c.names[p]; t.now.Kind == journal.File && files[idOf(&t.now.Sig)] {
			c.open[p] = true
		}
	}
}

// fileID names a file whatever its names are.
type fileID struct {
	dev, ino uint64
	born     int64
}

func idOf(s *journal.Sig) fileID { return fileID{s.Dev, s.Ino, s.Born} }

// sharedFiles are those that are changed in place and have more names than one.
func (c *collector) sharedFiles() map[fileID]bool {
	files := maps.Clone(c.unnamed)
	for _, n := range c.inPlace {
		if h := c.held[n]; h != nil {
			files[idOf(&h.Sig)] = true
		}
	}
	return files
}
