package witness

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/witness/journal"
)

// loadLimit is the size up to which contents are held in memory and stored; larger ones
// are known by their sums.
const loadLimit = 32 << 20

// touched is a name that a command touched, since the last collection.
type touched struct {
	path string
	was  journal.State
	// image is what it held, when that is known already.
	image   *delta.Image
	loaded  bool // image is set
	foreign bool // somebody else changed it after the command did
	gone    bool // with foreign: the command had removed it before
	lost    string
	from    string // what is here came from this name
	to      string // what was here went to this name
}

// collector makes a report of the records of one journal.
type collector struct {
	dir   string
	roots []string
	store Store
	dirs  map[string]*os.File // the roots, open

	names map[string]*touched
	order []string
	// holder is where a content that was not kept is now, by the name that held it; at
	// is the other way round.
	holder map[string]string
	at     map[string]string
	mixed  []delta.Change // between two touches of the command somebody else wrote
	posts  map[string]*delta.Image
	open   map[string]bool // after the last cut
	notes  []string
	began  int64
	ended  bool
	finals map[string]journal.Sig
	// recovering says that the command and its Kerf are gone: cuts mean nothing, and
	// what nobody saw to its end is not proven.
	recovering bool
}

func newCollector(dir string, roots []string, s Store) *collector {
	c := &collector{dir: dir, roots: roots, store: s, dirs: map[string]*os.File{}, posts: map[string]*delta.Image{}, open: map[string]bool{},
		finals: map[string]journal.Sig{}}
	c.reset()
	return c
}

func (c *collector) close() {
	for _, d := range c.dirs {
		d.Close()
	}
}

func (c *collector) reset() {
	c.names, c.order = map[string]*touched{}, nil
	c.holder, c.at = map[string]string{}, map[string]string{}
	c.mixed, c.notes = nil, nil
}

// take takes in one record.
func (c *collector) take(r *journal.Record) {
	switch r.Kind {
	case journal.Began:
		c.began = r.Number
	case journal.Touch:
		c.touch(r)
	case journal.Kept:
		if t := c.names[r.Path]; t != nil {
			links := t.was.Links
			t.was = r.Before
			t.was.Links = links
		}
		if where, ok := c.holder[r.Path]; ok {
			delete(c.at, where)
			delete(c.holder, r.Path)
		}
	case journal.Moved:
		c.move(r.Path, r.To)
	case journal.Foreign:
		if t := c.names[r.Path]; t != nil && !t.foreign {
			t.foreign, t.gone = true, r.Gone
		}
	case journal.Gap:
		for _, t := range c.names {
			t.foreign = true
		}
		c.notes = append(c.notes, "changes by others may have been missed: "+r.Why)
	case journal.StillOpen:
		c.open[r.Path] = true
	case journal.Unread:
		c.notes = append(c.notes, "a call of the command could not be read and was refused: "+r.Why)
	case journal.Lost:
		if t := c.names[r.Path]; t != nil && !r.Refused {
			t.lost = r.Why
		}
	case journal.Final:
		c.finals[r.Path] = r.Before.Sig
	case journal.End:
		c.ended = true
	}
}

func (c *collector) touch(r *journal.Record) {
	t := c.names[r.Path]
	if t == nil {
		t = &touched{path: r.Path, was: r.Before}
		c.names[r.Path] = t
		c.order = append(c.order, r.Path)
	} else if t.foreign {
		// What was there before the command is one thing, what it found now another:
		// who made the one into the other nobody knows.
		before, ok := c.before(t)
		t.was, t.image, t.loaded, t.foreign, t.lost, t.from = r.Before, nil, false, false, "", ""
		if now, known := c.before(t); ok && known && !before.Same(now) {
			c.mixed = append(c.mixed, delta.Change{Path: t.path, Pre: before, Post: now})
		}
	} else {
		return
	}
	if t.was.Kind == journal.File && t.was.How == journal.Nowhere {
		c.holder[t.path], c.at[t.path] = t.path, t.path
	}
}

func (c *collector) move(from, to string) {
	if t := c.names[from]; t != nil {
		t.to = to
	}
	if t := c.names[to]; t != nil {
		t.from = from
		if f := c.names[from]; f != nil && f.from != "" {
			t.from = f.from
		}
	}
	if owner, ok := c.at[from]; ok {
		delete(c.at, from)
		c.at[to], c.holder[owner] = owner, to
	}
}

// before is what a name held before the command touched it; ok is false when that is not
// known.
func (c *collector) before(t *touched) (*delta.Image, bool) {
	if t.loaded {
		return t.image, t.lost == ""
	}
	t.loaded = true
	var err error
	t.image, err = c.content(t)
	if err != nil && t.lost == "" {
		t.lost = err.Error()
	}
	return t.image, t.lost == ""
}

func (c *collector) content(t *touched) (*delta.Image, error) {
	s := &t.was
	mode := s.Mode & 0o777
	switch s.Kind {
	case journal.Link:
		return delta.NewSymlink(string(s.Data)), nil
	case journal.File:
	case journal.Special:
		return nil, errors.New("it was no regular file")
	default:
		return nil, nil
	}
	if t.lost != "" {
		return nil, errors.New(t.lost)
	}
	switch s.How {
	case journal.Inline:
		return delta.NewFile(slices.Clone(s.Data), mode), nil
	case journal.Apart:
		return c.apart(s, mode)
	case journal.Prefix:
		f, err := c.file(t.path)
		if err != nil {
			return nil, err
		}
		return c.load(f, s.Sig.Size, mode)
	}
	where, ok := c.holder[t.path]
	if !ok {
		return nil, errors.New("what it held was not kept")
	}
	if o := c.names[where]; where != t.path && o != nil && o.gone {
		return nil, errors.New("what it held went away with " + where)
	}
	f, err := c.file(where)
	if err != nil {
		return nil, err
	}
	return c.load(f, -1, mode)
}

// apart is a content that is kept in a file of its own. A large one goes to the store
// as it is.
func (c *collector) apart(s *journal.State, mode uint32) (*delta.Image, error) {
	name := journal.ApartPath(c.dir, s.Number)
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if s.Sig.Size <= loadLimit {
		return c.load(f, s.Sig.Size, mode)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Size() != s.Sig.Size {
		return nil, errors.New("what it held was changed after it was kept")
	}
	return c.put(store.Source{File: f, Take: name, Leave: spare}, mode)
}

// spare is how much of the disk stays free when a content is copied.
const spare = 1 << 30

func (c *collector) put(src store.Source, mode uint32) (*delta.Image, error) {
	kept, err := c.store.PutFile(src)
	if err != nil {
		return nil, err
	}
	return &delta.Image{Version: delta.Version{Kind: delta.File, Mode: mode, Size: kept.Size, Sum: kept.Sum}}, nil
}

// load reads the first size bytes of a file, or all of it, and closes it.
func (c *collector) load(f *os.File, size int64, mode uint32) (*delta.Image, error) {
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if size < 0 {
		size = st.Size()
	}
	if st.Size() < size {
		return nil, errors.New("its beginning is gone")
	}
	if size > loadLimit && size == st.Size() {
		if img, err := c.put(store.Source{File: f, Leave: spare}, mode); err == nil {
			return img, nil
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return read(io.LimitReader(f, size), size, mode)
}

func read(r io.Reader, size int64, mode uint32) (*delta.Image, error) {
	if size <= loadLimit {
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		return delta.NewFile(data, mode), nil
	}
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return nil, err
	}
	return &delta.Image{Version: delta.Version{Kind: delta.File, Mode: mode, Size: n, Sum: delta.Sum(h.Sum(nil))}}, nil
}

// after is what a name holds now.
func (c *collector) after(name string) (img *delta.Image, kind uint8, mode uint32, err error) {
	st, err := c.look(name)
	mode = st.Mode & 0o777
	switch {
	case err != nil:
		return nil, journal.Absent, 0, err
	case st.Kind == journal.Link:
		return delta.NewSymlink(string(st.Data)), st.Kind, 0, nil
	case st.Kind != journal.File:
		return nil, st.Kind, mode, nil
	}
	f, err := c.file(name)
	if err != nil {
		return nil, journal.File, mode, err
	}
	img, err = c.load(f, -1, mode)
	return img, journal.File, mode, err
}

// report looks at the touched names and tells what came of them. It ends what was taken
// in so far.
func (c *collector) report() Report {
	r := Report{Began: c.began, Ended: c.ended}
	proven, outside, unproven := Part{Certainty: ledger.Proven}, Part{Certainty: ledger.Outside},
		Part{Certainty: ledger.Unproven}
	hidden := c.gitKept()
	for _, p := range c.order {
		if hidden(p) {
			continue
		}
		t := c.names[p]
		pre, known := c.before(t)
		post, kind, mode, err := c.after(p)
		if err != nil {
			c.notes = append(c.notes, p+" ("+err.Error()+")")
			continue
		}
		c.posts[p] = post
		c.directory(t, kind, mode, &proven, &unproven)
		if !known {
			c.notes = append(c.notes, p+" ("+t.lost+")")
			continue
		}
		change := delta.Change{Path: p, Pre: pre, Post: post}
		switch {
		case t.foreign && t.gone:
			proven.Set = append(proven.Set, change1(p, pre, nil)...)
			outside.Set = append(outside.Set, change1(p, nil, post)...)
		case pre.Same(post):
		case t.foreign:
			unproven.Set = append(unproven.Set, change)
		default:
			proven.Set = append(proven.Set, change)
		}
	}
	proven.Set = append(proven.Set, c.linked(proven.Set)...)
	c.pair(proven.Set)
	first := Part{Certainty: ledger.Unproven, Set: c.mixed}
	for _, part := range []Part{first, unproven, proven, outside} {
		slices.SortStableFunc(part.Set, func(a, b delta.Change) int { return cmp.Compare(a.Path, b.Path) })
		slices.Sort(part.Dirs)
		slices.SortFunc(part.Gone, func(a, b ledger.Dir) int { return cmp.Compare(a.Path, b.Path) })
		slices.SortFunc(part.Modes, func(a, b ledger.DirMode) int { return cmp.Compare(a.Path, b.Path) })
		if len(part.Set)+len(part.Dirs)+len(part.Gone)+len(part.Modes) > 0 {
			r.Parts = append(r.Parts, part)
		}
	}
	r.Notes = c.notes
	c.reset()
	return r
}

func change1(p string, pre, post *delta.Image) delta.Set {
	if pre.Same(post) {
		return nil
	}
	return delta.Set{{Path: p, Pre: pre, Post: post}}
}

// directory notes a directory that came or went.
func (c *collector) directory(t *touched, kind uint8, mode uint32, proven, unproven *Part) {
	to := proven
	if t.foreign {
		to = unproven
	}
	switch was := t.was.Kind; {
	case was == kind && kind == journal.Dir && t.was.Mode&0o777 != mode&0o777:
		to.Modes = append(to.Modes, ledger.DirMode{Path: ledger.Path(t.path), Pre: t.was.Mode & 0o777, Post: mode & 0o777})
	case was == kind:
	case kind == journal.Dir:
		to.Dirs = append(to.Dirs, ledger.Path(t.path))
	case was == journal.Dir:
		to.Gone = append(to.Gone, ledger.Dir{Path: ledger.Path(t.path), Mode: t.was.Mode & 0o777})
	}
}

// pair lets the two halves of a move name each other.
func (c *collector) pair(set delta.Set) {
	at := make(map[string]int, len(set))
	for i, ch := range set {
		at[ch.Path] = i
	}
	for i, ch := range set {
		t := c.names[ch.Path]
		if t == nil || t.from == "" || ch.Pre != nil || ch.Post == nil || ch.Post.Kind != delta.File {
			continue
		}
		j, ok := at[t.from]
		if !ok {
			continue
		}
		if o := &set[j]; o.Pre != nil && o.Pre.Kind == delta.File && o.Post == nil && o.To == "" {
			o.To, set[i].From = ch.Path, o.Path
		}
	}
}

// gitKept returns which names are left to git: those in a git directory that is still
// there. One that went with all it held is like other files.
func (c *collector) gitKept() func(string) bool {
	there := map[string]bool{}
	return func(p string) bool {
		if ours(path.Base(p)) {
			return true
		}
		for rest, at := p, 0; ; {
			i := strings.Index(rest, "/.git")
			if i < 0 {
				return false
			}
			at += i + len("/.git")
			rest = p[at:]
			if rest != "" && rest[0] != '/' {
				continue
			}
			dir := p[:at]
			is, ok := there[dir]
			if !ok {
				st, err := c.look(dir + "/HEAD")
				is = err == nil && st.Kind != journal.Absent
				there[dir] = is
			}
			if is || rest == "" && c.names[p] == nil {
				return true
			}
		}
	}
}

// ours reports whether name is one that Kerf gives to files that are about to be
// renamed.
func ours(name string) bool {
	name, ok := strings.CutPrefix(name, ".kerf-")
	if !ok {
		return false
	}
	name, ok = strings.CutSuffix(name, ".tmp")
	return ok && len(name) == 16 && strings.Trim(name, "0123456789abcdef") == ""
}

// linked finds the other names of files that were changed in place: a change through one
// name is one of all.
func (c *collector) linked(set delta.Set) delta.Set {
	wanted := map[fileID]delta.Change{}
	for _, ch := range set {
		t := c.names[ch.Path]
		if ch.Pre == nil || ch.Post == nil || t.was.Kind != journal.File || t.was.Links < 2 {
			continue
		}
		st, err := c.look(ch.Path)
		if err == nil && st.Sig.Ino == t.was.Sig.Ino && st.Sig.Dev == t.was.Sig.Dev && st.Links > 1 {
			wanted[fileID{st.Sig.Dev, st.Sig.Ino}] = ch
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	var more delta.Set
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
			if ch, is := wanted[fileID{st.Sig.Dev, st.Sig.Ino}]; is && err == nil {
				more = append(more, delta.Change{Path: name, Pre: ch.Pre, Post: ch.Post})
			}
			return nil
		})
	}
	return more
}

// fileID names a file whatever its names are.
type fileID struct{ dev, ino uint64 }

// carryOver begins the next part of a journal that was cut: names that were open for
// writing are touched already, and held what was found at the cut.
func (c *collector) carryOver(open map[string]bool) {
	for p := range open {
		img, ok := c.posts[p]
		if !ok {
			continue
		}
		t := &touched{path: p, image: img, loaded: true, was: journal.State{Kind: journal.File}}
		if img == nil {
			t.was.Kind = journal.Absent
		} else if st, err := c.look(p); err == nil && st.Kind == journal.File {
			t.was.Sig, t.was.Links = st.Sig, st.Links
		}
		c.names[p] = t
		c.order = append(c.order, p)
	}
}
