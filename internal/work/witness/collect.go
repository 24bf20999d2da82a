package witness

import (
	"cmp"
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/text/order"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
	"kerf/internal/work/witness/journal"
)

// touched is a name that a command touched, since the last collection.
type touched struct {
	path   string
	number int64 // of its Touch
	was    *held
	// kind and links are those of the name at its touch.
	kind  uint8
	mode  uint32
	links uint64
	file  fileID
	// foreign says that somebody else changed it after the command did; gone that the
	// command had removed it before.
	foreign, gone bool
	assumed       bool // file is what is there now: which it was is not known
	spared        bool // see spare
	// unheard says that since the last cut nobody tells what others do to the name: it is another
	// one of a file that the command has open.
	unheard bool
	closed  journal.State // what it was when the command had written it
	now     journal.State
	post    found
}

// found is what a name holds after the command.
type found struct {
	image  *delta.Image
	kind   uint8
	mode   uint32
	file   fileID
	writer bool // somebody has it open for writing
	err    error
}

// held is what a name held when it was touched. Names of one file share it.
type held struct {
	journal.State
	path  string
	touch int64 // when it was touched, in nanoseconds
	image *delta.Image
	done  bool // image is set
	lost  string
	// sought says that it was not kept, and read where it is; from is where it was found.
	sought bool
	from   *touched
	// refused says that a call was, since it could not be kept.
	refused bool
	// looked says that the file was to get a name, to lose one, or to get other permissions.
	looked bool
	// torn says that somebody else was writing it when its name went.
	torn  bool
	part  int
	first *held // what the same file held at its first touch, if that is another one
}

// mixed is a name that somebody else wrote between two touches of the command.
type mixed struct {
	path          string
	before, found *held
}

// collector makes a report of the records of one journal.
type collector struct {
	dir   string
	roots []string
	store Store
	places

	names   map[string]*touched
	order   []string
	held    map[int64]*held // by the number of the touch
	inPlace []int64
	at      map[fileID]string      // where files are now
	mixed   []mixed                // in the order of the touches
	nowhere map[fileID][]*held     // whose content was not kept yet
	files   map[fileID]*held       // as they were touched first
	wrote   map[fileID]journal.Sig // when the command closed them
	asked   map[fileID][]asked     // the permissions that the command gave them, ever
	resets  int
	entered map[string]*touched // what the ledger has of names already, when a command is recovered
	written map[fileID]bool     // what they held was kept, since the command might write them
	part    int                 // counts the cuts that ended nothing
	cut     int                 // the last one
	posts   map[string]*delta.Image
	loaded  []*delta.Image // with their contents, of size bytes together
	size    int64
	open    map[string]bool // after the last cut
	notes   []string
	gaps    []ledger.Gap
	began   int64
	first   int64 // when it touched something first, in nanoseconds; 0 where that is not known
	ended   bool
	finals  map[string]journal.Sig
	// since are the names that others changed since the last cut, all if there was a gap.
	since map[string]bool
	all   bool
}

func newCollector(dir string, roots []string, s Store) *collector {
	c := &collector{dir: dir, roots: roots, store: s, places: newPlaces(roots), posts: map[string]*delta.Image{},
		asked: map[fileID][]asked{}, open: map[string]bool{}, finals: map[string]journal.Sig{}, since: map[string]bool{}}
	c.reset()
	return c
}

func (c *collector) close() {
	c.places.Close()
}

func (c *collector) reset() {
	c.names, c.order = map[string]*touched{}, nil
	c.held, c.at, c.nowhere = map[int64]*held{}, nil, map[fileID][]*held{}
	c.files, c.part = map[fileID]*held{}, 0
	c.wrote, c.resets = map[fileID]journal.Sig{}, c.resets+1
	c.written = map[fileID]bool{}
	c.inPlace, c.mixed, c.notes, c.gaps = nil, nil, nil, nil
	c.loaded, c.size = nil, 0 // others have them now
}

// take takes in one record.
func (c *collector) take(r *journal.Record) {
	switch r.Kind {
	case journal.Began:
		c.began = r.Number
	case journal.Touch:
		c.touch(r)
	case journal.Kept:
		if h := c.held[r.Number]; h != nil {
			c.written[idOf(&h.Sig)] = true
			h.How, h.Number, h.Data, h.At = r.Before.How, r.Before.Number, r.Before.Data, r.Before.At
			h.Sig.Size = r.Before.Sig.Size
			c.keptNow(h)
		}
	case journal.InPlace:
		c.inPlace = append(c.inPlace, r.Number)
	case journal.Cut:
		c.cut, c.all = int(r.Number), false
		clear(c.since)
	case journal.Foreign:
		c.since[r.Path] = true
		if t := c.names[r.Path]; t != nil && !t.foreign {
			t.foreign, t.gone = true, r.Gone
		}
	case journal.Gap:
		c.all = true
		for _, t := range c.names {
			t.foreign = true
		}
		c.notes = append(c.notes, "changes by others may have been missed: "+r.Why)
	case journal.StillOpen:
		c.open[r.Path] = true
	case journal.Closed:
		if t := c.names[r.Path]; t != nil {
			t.closed = r.Before
		}
		c.wrote[idOf(&r.Before.Sig)] = r.Before.Sig
	case journal.Mode:
		id := idOf(&r.Before.Sig)
		c.asked[id] = append(c.asked[id], asked{uint32(r.Number), c.resets})
	case journal.Unread:
		c.notes = append(c.notes, "a call of the command could not be read and was refused: "+r.Why)
	case journal.Lost:
		if h := c.held[r.Number]; h != nil {
			c.written[idOf(&h.Sig)] = true
		}
		switch h := c.held[r.Number]; {
		case h != nil && r.Refused:
			h.origin().refused = true
		case h != nil:
			h.origin().lost = r.Why
		}
	case journal.Final:
		c.finals[r.Path] = r.Before.Sig
	case journal.End:
		c.ended = true
	}
}

func (c *collector) touch(r *journal.Record) {
	h := &held{State: r.Before, path: r.Path, touch: r.Time()}
	c.first = cmp.Or(c.first, r.Time())
	if h.looked = h.Kind == journal.File && h.How == journal.Nowhere; !h.looked && h.How != journal.Same {
		c.written[idOf(&h.Sig)] = true
	}
	if first := c.held[int64(r.Before.Number)]; r.Before.How == journal.Same && first != nil {
		h = first
	}
	c.held[r.Number] = h
	if r.Before.How != journal.Same {
		c.keptNow(h)
		h.first = c.firstOf(h)
	}
	h = h.origin()
	c.reopened(r)
	t := c.names[r.Path]
	if t != nil && t.unheard {
		t.unheard = false
		t.foreign = t.foreign || t.kind != r.Before.Kind || t.file != idOf(&r.Before.Sig)
	}
	if t != nil && !t.foreign {
		return
	}
	if t == nil {
		t = &touched{path: r.Path}
		c.names[r.Path] = t
		c.order = append(c.order, r.Path)
	} else {
		c.mixed = append(c.mixed, mixed{t.path, t.was, h})
	}
	*t = touched{path: r.Path, number: r.Number, was: h, kind: r.Before.Kind, mode: r.Before.Mode, links: r.Before.Links,
		file: idOf(&r.Before.Sig)}
}

// reopened forgets what a file was when the command closed it: it is about to be changed again,
// behind a cut that ended nothing.
func (c *collector) reopened(r *journal.Record) {
	id := idOf(&r.Before.Sig)
	if _, closed := c.wrote[id]; r.Before.Kind != journal.File || !closed {
		return
	}
	delete(c.wrote, id)
	for _, t := range c.names {
		if idOf(&t.closed.Sig) == id {
			t.closed = journal.State{}
		}
	}
}

// firstOf is what a file held that was touched by another name, before a cut that ended
// nothing.
func (c *collector) firstOf(now *held) *held {
	if now.Kind != journal.File {
		return nil
	}
	id := idOf(&now.Sig)
	old := c.files[id]
	if old == nil || c.names[old.path].foreign {
		c.files[id] = now
		now.part = c.part
		return nil
	}
	if old.part == c.part {
		return nil
	}
	return old
}

func (h *held) origin() *held {
	if h.first != nil {
		return h.first
	}
	return h
}

// keptNow lets earlier touches know where the content that they found was kept. Such a
// touch is behind a cut, after which contents are kept anew.
func (c *collector) keptNow(now *held) {
	if now.Kind != journal.File {
		return
	}
	id := idOf(&now.Sig)
	if now.How == journal.Prefix {
		for _, h := range c.nowhere[id] {
			if h.How == journal.Nowhere && h.Sig.Size == now.Sig.Size && h.Sig.Mtime == now.Sig.Mtime {
				h.How = journal.Prefix
			}
		}
	}
	if now.How == journal.Nowhere || now.How == journal.Prefix {
		c.nowhere[id] = append(c.nowhere[id], now)
		return
	}
	if now.How == journal.Live { // it need not be what it was
		return
	}
	if now.How == journal.Apart { // perhaps by the file itself, which is written behind a cut
		defer func() { c.nowhere[id] = append(c.nowhere[id], now) }()
	}
	for _, h := range c.nowhere[id] {
		switch {
		case (h.How == journal.Nowhere || h.How == journal.Apart) && h.Sig.Size == now.Sig.Size &&
			h.Sig.Mtime == now.Sig.Mtime,
			h.How == journal.Prefix && now.How == journal.Apart && h.Sig.Size <= now.Sig.Size:
			h.How, h.Number, h.Data, h.At = now.How, now.Number, now.Data, now.At
		case h.How == journal.Prefix && now.How == journal.Inline && h.Sig.Size <= now.Sig.Size:
			h.How, h.Data, h.At = now.How, now.Data, now.At
			if h.At == 0 {
				h.Data = h.Data[:h.Sig.Size]
			}
		}
	}
}

// glance looks at all touched names: what is there, and what nobody told of it.
func (c *collector) glance() {
	c.at = make(map[fileID]string, len(c.order))
	for _, p := range c.order {
		t := c.names[p]
		var err error
		t.now, err = c.look(p)
		if t.unheard && (err != nil || t.now.Kind != t.kind || idOf(&t.now.Sig) != t.file) {
			t.foreign = true
		}
		if err != nil || t.now.Kind != journal.File {
			continue
		}
		sig := t.now.Sig
		if old, is := c.at[idOf(&sig)]; !is || !c.names[old].foreign {
			c.at[idOf(&sig)] = p
		}
		if s := t.closed.Sig; idOf(&s) == idOf(&sig) && !c.open[p] && (s.Size != sig.Size ||
			s.Mtime != sig.Mtime && sig.Mtime == sig.Ctime) {
			t.foreign = true // a write; one that only sets the time differs in the other
		}
	}
}

// spread lets all names of a file be in doubt of which one is: who writes one writes all.
func (c *collector) spread() {
	files := map[fileID]bool{}
	for _, t := range c.names {
		if t.foreign && t.kind == journal.File {
			files[t.file] = true
		}
		if t.foreign && t.now.Kind == journal.File {
			files[idOf(&t.now.Sig)] = true
		}
	}
	for _, t := range c.names {
		if t.now.Kind == journal.File && files[idOf(&t.now.Sig)] {
			t.foreign = true
		}
	}
}

// looks is how often the touched names are looked at, at most, until nothing of them
// moves meanwhile: a call that went on before a cut may come to its end at any moment
// after it.
const looks = 4

// read reads what the touched names held and hold. What others did meanwhile is known
// once seen has returned: then who wrote before something was read has told so, or has it
// still open.
func (c *collector) read(seen func()) {
	for n := 1; ; n++ {
		c.glance()
		c.returned()
		c.spread()
		if c.contents() || n == looks {
			break
		}
		for h := range c.olds() {
			h.forget()
		}
	}
	seen()
	c.spread()
	for h := range c.olds() {
		if h.from != nil && h.from.foreign && h.lost == "" {
			h.lost = "somebody else changed what it held"
		}
	}
}

// olds are the contents that are asked for, of which some occur more than once.
func (c *collector) olds() iter.Seq[*held] {
	return func(yield func(*held) bool) {
		for _, p := range c.order {
			if !c.names[p].spared && !yield(c.names[p].was) {
				return
			}
		}
		for _, m := range c.mixed {
			if !yield(m.before) || !yield(m.found) {
				return
			}
		}
	}
}

// forget lets a content be sought again, if it was sought among what is there.
func (h *held) forget() {
	if h.sought {
		h.done, h.sought, h.image, h.lost, h.from = false, false, nil, "", nil
	}
}

// contents reads what the names held and hold, and reports whether they held still.
func (c *collector) contents() (still bool) {
	still = true
	for _, p := range c.order {
		t := c.names[p]
		if t.spared = t.spare(); t.spared {
			continue
		}
		open := c.open[p] || t.now.Links > 1 && c.openFile(idOf(&t.now.Sig))
		if t.post = c.after(p); t.post.writer && !open {
			t.foreign = true
		}
		still = still && t.post.err == nil && t.post.kind == t.now.Kind && t.post.file == idOf(&t.now.Sig)
		if t.now.Kind == journal.File && t.now.Links > 1 { // others may write it by a name that is not watched
			if now, err := c.look(p); err != nil || now.Sig != t.now.Sig && !open {
				t.foreign = true
			}
		}
	}
	for h := range c.olds() {
		if _, ok := c.before(h); !ok && h.sought {
			still = false
		}
	}
	return still
}

// spare reports whether a name holds what it held and is too large to be read for
// certainty: the command was kept from changing it, or the time of its last change was
// long past at its touch, so that a change since would have given it another.
func (t *touched) spare() bool {
	same := t.was.Sig.Size > loadLimit && t.now.Kind == journal.File && t.now.Sig == t.was.Sig
	return same && (t.was.refused || t.was.Sig.Ctime+int64(coarse) < t.was.touch)
}

// coarse is more than the steps in which file systems tell times.
const coarse = 3 * time.Second

// report looks at the touched names and tells what came of them. It ends what was taken
// in so far.
func (c *collector) report(seen func()) Report {
	r := Report{Began: c.began, Ended: c.ended}
	defer c.stay()()
	c.read(seen)
	s := &sorter{proven: Part{Certainty: ledger.Proven}, outside: Part{Certainty: ledger.Outside},
		unproven: Part{Certainty: ledger.Unproven}, modes: Part{Certainty: ledger.Unproven}, doubted: map[string]bool{}}
	hidden := c.gitKept()
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
	c.linked(s)
	first := Part{Certainty: ledger.Unproven, Set: c.between(s)}
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
	r.Notes, r.Gaps = c.notes, c.gaps
	open, were := c.open, make(map[string]journal.State, len(c.open))
	for p := range open {
		if t := c.names[p]; t != nil {
			were[p] = t.now
		}
	}
	c.open = map[string]bool{}
	shared := c.sharedFiles()
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
		c.gap(t.path, t.was.lost)
		s.lost = true
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
	case t.foreign:
		s.unproven.Set = append(s.unproven.Set, change)
	default:
		own, others := c.modes(t, pre, post)
		s.proven.Set = append(s.proven.Set, change1(t.path, pre, own)...)
		s.modes.Set = append(s.modes.Set, others...)
	}
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
		if t == nil || ch.Pre != nil || ch.Post == nil || ch.Post.Kind != delta.File {
			continue
		}
		if j, ok := gone[idOf(&t.now.Sig)]; ok {
			from[i] = j
		}
	}
	return from
}

// gitKept returns which names are left to git: those in a git directory that is still
// there. One that went with all it held is like other files.
func (c *collector) gitKept() func(string) bool {
	there := map[string]bool{}
	return func(p string) bool {
		if tree.IsTemporary(path.Base(p)) {
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

// linked finds the other names of files that were changed in place: a change through one
// name is one of all.
func (c *collector) linked(s *sorter) {
	wanted := map[fileID]*held{}
	for _, n := range c.inPlace {
		if h := c.held[n]; h != nil && !c.complete(h) {
			wanted[idOf(&h.Sig)] = h.origin()
		}
	}
	if len(wanted) == 0 {
		return
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
				c.otherName(name, h, st, s)
			}
			return nil
		})
	}
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
func (c *collector) otherName(name string, h *held, st journal.State, s *sorter) {
	pre, known := c.before(h)
	if e := c.entered[name]; e != nil {
		pre, known = e.was.image, true
	}
	l := c.after(name)
	post := l.image
	if l.err != nil || !known || pre.Same(post) {
		return
	}
	closed, wrote := c.wrote[idOf(&st.Sig)]
	foreign := wrote && (closed.Size != st.Sig.Size || closed.Mtime != st.Sig.Mtime) && !c.openFile(idOf(&st.Sig))
	for _, t := range c.names {
		foreign = foreign || t.foreign && t.was == h
	}
	change := delta.Change{Path: name, Pre: pre, Post: post}
	if foreign {
		s.unproven.Set = append(s.unproven.Set, change)
	} else {
		s.proven.Set = append(s.proven.Set, change)
	}
	c.posts[name] = post
	c.names[name] = &touched{path: name, was: h, kind: journal.File, now: st}
	c.order = append(c.order, name)
}

// alike lets all names of a file be open of which one is.
func (c *collector) alike() {
	files := map[fileID]bool{}
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
	files := map[fileID]bool{}
	for _, n := range c.inPlace {
		if h := c.held[n]; h != nil {
			files[idOf(&h.Sig)] = true
		}
	}
	return files
}

// carryOver begins the next part of a journal that was cut: names that were open for
// writing are touched already, and held what was found at the cut. Of those that are not among
// told, which are other names of such a file, nobody tells. A shared file may be changed in place
// yet.
func (c *collector) carryOver(open, told map[string]bool, kinds map[string]journal.State, shared map[fileID]bool) {
	for p := range open {
		img, ok := c.posts[p]
		if !ok {
			continue
		}
		st := kinds[p]
		t := &touched{path: p, was: &held{State: st, path: p, image: img, done: true}, kind: st.Kind, mode: st.Mode,
			file: idOf(&st.Sig), foreign: c.all || c.since[p], unheard: !told[p]}
		c.names[p] = t
		c.order = append(c.order, p)
		c.share(t, shared)
	}
}

// share lets a name that goes on to be touched be one of a file that is changed in place, if
// it was.
func (c *collector) share(t *touched, shared map[fileID]bool) {
	if shared[t.file] && t.was.Kind == journal.File {
		number := int64(-1 - len(c.inPlace)) // no touch has it
		c.held[number] = t.was
		c.inPlace = append(c.inPlace, number)
	}
}

// await takes names over that were not told of yet.
func (c *collector) await(names []*touched) {
	for _, t := range names {
		if c.names[t.path] != nil {
			continue
		}
		t.foreign = t.foreign || c.all || c.since[t.path]
		t.was.looked = false
		c.held[t.number] = t.was // a question about it may be open
		c.names[t.path] = t
		c.order = append(c.order, t.path)
	}
}

// openFile reports whether the command still has a file open for writing.
func (c *collector) openFile(id fileID) bool {
	for p := range c.open {
		if t := c.names[p]; t != nil && t.now.Kind == journal.File && idOf(&t.now.Sig) == id {
			return true
		}
	}
	return false
}
