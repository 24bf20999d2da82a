package witness

import (
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
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
	elsewhere     bool // its directory was moved by somebody else
	assumed       bool // file is what is there now: which it was is not known
	spared        bool // see spare, or Kerf may not read it, and it is what it was
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
	grew  bool // what is kept is longer
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
	apartOf map[fileID][]uint64    // the numbers of what is kept beside the journal, ever
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
	unnamed map[fileID]bool // that are open then by a name that they do not have any more
	notes   []string
	gaps    []ledger.Gap
	unknown delta.Set
	began   int64
	first   int64 // when it touched something first, in nanoseconds; 0 where that is not known
	ended   bool
	finals  map[string]journal.Sig
	until   int64 // when the command may have changed something last, if nobody saw its end; in nanoseconds
	// since are the names that others changed since the last cut, all if there was a gap.
	since map[string]bool
	all   bool
	// moment is told of each moment of a collection, for tests.
	moment func(Moment)
}

// Moment is one of a collection, at which others may do something to a name.
type Moment int

const (
	ToLook  Moment = iota // the command was cut off
	Looked                // its names were looked at
	WasRead               // and read
	WasSeen               // and it is known what others did until then
)

func (c *collector) reached(m Moment) {
	if c.moment != nil {
		c.moment(m)
	}
}

func newCollector(dir string, roots []string, s Store) *collector {
	c := &collector{dir: dir, roots: roots, store: s, places: newPlaces(roots), posts: map[string]*delta.Image{},
		apartOf: map[fileID][]uint64{}, asked: map[fileID][]asked{}, open: map[string]bool{},
		unnamed: map[fileID]bool{}, finals: map[string]journal.Sig{}, since: map[string]bool{}}
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
	c.inPlace, c.mixed, c.notes, c.gaps, c.unknown = nil, nil, nil, nil, nil
	c.loaded, c.size = nil, 0 // others have them now
}

// take takes in one record.
func (c *collector) take(r *journal.Record) {
	if s := &r.Before; s.Kind == journal.File && (s.How == journal.Apart || s.How == journal.Live) {
		c.apartOf[idOf(&s.Sig)] = append(c.apartOf[idOf(&s.Sig)], s.Number)
	}
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
		if r.Path == "" {
			c.foreignFile(idOf(&r.Before.Sig))
		}
		if t := c.names[r.Path]; t != nil && !t.foreign {
			t.foreign, t.gone, t.elsewhere = true, r.Gone, r.Why != ""
		}
	case journal.Gap:
		c.all = true
		for _, t := range c.names {
			t.foreign = true
		}
		c.notes = append(c.notes, "changes by others may have been missed: "+r.Why)
	case journal.StillOpen:
		if c.open[r.Path] = true; r.Path == "" {
			c.unnamed[idOf(&r.Before.Sig)] = true
		}
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

// foreignFile lets all names of a file be in doubt which the command has open by none.
func (c *collector) foreignFile(id fileID) {
	delete(c.unnamed, id)
	for _, t := range c.names {
		t.foreign = t.foreign || t.now.Kind == journal.File && idOf(&t.now.Sig) == id
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

// reopened forgets what a file was at its close: it is changed again, behind a cut that ended nothing.
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
			kept := h.How == journal.Nowhere || h.How == journal.Apart && c.isName(h.Number, &h.Sig)
			if kept && h.Sig.Size == now.Sig.Size && h.Sig.Mtime == now.Sig.Mtime {
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
		case h.How == journal.Prefix && now.How == journal.Apart && h.Sig.Size <= now.Sig.Size:
			h.grew, h.Sig.Mtime = true, now.Sig.Mtime // since it may be the file itself
			h.How, h.Number = now.How, now.Number
		case (h.How == journal.Nowhere || h.How == journal.Apart) && h.Sig.Size == now.Sig.Size &&
			h.Sig.Mtime == now.Sig.Mtime:
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
		t.foreign = t.foreign || !c.open[p] && t.writtenSince(&sig)
	}
}

// writtenSince reports whether what a name holds was written since the command closed it. One that only
// sets the time of the last change differs in the other time.
func (t *touched) writtenSince(now *journal.Sig) bool {
	s := &t.closed.Sig
	return idOf(s) == idOf(now) && (s.Size != now.Size || s.Mtime != now.Mtime && now.Mtime == now.Ctime)
}

// namesOfOthers finds the files that got a name which the command did not give them: by that
// somebody else may have written them.
func (c *collector) namesOfOthers() {
	had, now := map[fileID]uint64{}, map[fileID]uint64{}
	for _, t := range c.names {
		if t.kind == journal.File && (!t.assumed || t.links > 0) {
			now[t.file]--
			had[t.file] = max(had[t.file], t.links, t.was.Links)
		}
		if t.now.Kind == journal.File {
			now[idOf(&t.now.Sig)]++
		}
	}
	for _, t := range c.names {
		if id := idOf(&t.now.Sig); t.now.Kind == journal.File && t.now.Links > had[id]+now[id] {
			t.foreign = true
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

// looks is how often the touched names are looked at, at most, until nothing of them moves: a
// call that went on before a cut may end at any moment after it.
const looks = 4

// read reads what the touched names held and hold. What others did meanwhile is known
// once seen has returned: then who wrote before something was read has told so, or has it
// still open. others are the names that were not touched of files that were changed in place.
func (c *collector) read(seen func()) (others []other) {
	c.reached(ToLook)
	for n := 1; ; n++ {
		c.glance()
		if n == 1 {
			c.reached(Looked)
		}
		c.namesOfOthers()
		c.returned()
		c.spread()
		if c.contents() || n == looks {
			break
		}
		for h := range c.olds() {
			h.forget()
		}
	}
	others = c.namesOfLinked()
	c.reached(WasRead)
	seen()
	c.reached(WasSeen)
	c.spread()
	for h := range c.olds() {
		if h.from != nil && h.from.foreign && h.lost == "" {
			h.lost = "somebody else changed what it held"
		}
	}
	return others
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
		open := c.open[p] || c.unnamed[idOf(&t.now.Sig)] || t.now.Links > 1 && c.openFile(idOf(&t.now.Sig))
		if t.post = c.after(p); t.post.writer && !open {
			t.foreign = true
		}
		if t.spared = errors.Is(t.post.err, fs.ErrPermission) && t.untouched(); t.spared {
			continue
		}
		still = still && t.post.err == nil && t.post.kind == t.now.Kind && t.post.file == idOf(&t.now.Sig)
		closed := t.closed.Sig.Ino != 0 && idOf(&t.closed.Sig) == idOf(&t.now.Sig)
		if t.now.Kind == journal.File && (t.now.Links > 1 || closed) { // others may write it, and nobody tells
			now, err := c.look(p)
			if err != nil || !open && (t.now.Links > 1 && now.Sig != t.now.Sig || closed && t.writtenSince(&now.Sig)) {
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

// spare reports whether a name holds what it held and is too large to be read for certainty.
func (t *touched) spare() bool { return t.was.Sig.Size > loadLimit && t.untouched() }

// untouched reports whether a name holds what it held, by the times of its file: the command was
// kept from changing it, or the time of its last change was long past at its touch, so that a
// change since would have given it another.
func (t *touched) untouched() bool {
	same := t.now.Kind == journal.File && t.now.Sig == t.was.Sig
	return same && (t.was.refused || t.was.Sig.Ctime+int64(coarse) < t.was.touch)
}

// coarse is more than the steps in which file systems tell times.
const coarse = 3 * time.Second

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
		c.goOn(t, shared[t.file])
	}
}

// goOn takes over a name that goes on to be touched. If its file is shared, it may be changed in place by
// another name.
func (c *collector) goOn(t *touched, shared bool) {
	if c.names[t.path] == nil {
		c.order = append(c.order, t.path)
	}
	c.names[t.path] = t
	if t.was.Kind != journal.File {
		return
	}
	if t.was.done {
		t.was.part = -1
		c.files[t.file] = t.was // by whatever name it is touched next
	}
	if shared {
		c.inItsPlace(t.was)
	}
}

// inItsPlace takes a file for one that is changed in place.
func (c *collector) inItsPlace(h *held) {
	number := int64(-1 - len(c.inPlace)) // no touch has it
	c.held[number] = h
	c.inPlace = append(c.inPlace, number)
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
	if c.unnamed[id] {
		return true
	}
	for p := range c.open {
		if t := c.names[p]; t != nil && t.now.Kind == journal.File && idOf(&t.now.Sig) == id {
			return true
		}
	}
	return false
}
