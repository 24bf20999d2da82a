package scan

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kerf/internal/work/search/ignore"
	"kerf/internal/work/tree"
)

// An ignored directory is followed file by file as long as it is small: build
// output, caches and dependencies are not worth a stat each, let alone a copy.
// One that was followed already may grow, so that what was known stays known.
const (
	ignoredFiles = 2000
	ignoredBytes = 32 << 20
	growth       = 10
)

// maxDepth is how deep directories are entered; each level keeps one open.
const maxDepth = 200

// walker makes the nodes of one Snap from those of the one before. A directory
// whose signature is unchanged is not listed again, only its entries are looked
// at; one in which nothing changed is the same node as before.
type walker struct {
	s       *Scanner
	start   time.Time
	gen     uint64
	count   atomic.Int64
	workers chan struct{} // tokens for walking a directory beside another
	ctx     context.Context
}

// pending is an entry whose content is not known yet.
type pending struct {
	node *node
	i    int
	path string
	repo *repo
	old  *entry // what is known if the signature proves nothing
}

func (p *pending) entry() *entry { return &p.node.entries[p.i] }

// job is a directory to be walked.
type job struct {
	path    string // absolute, with slashes
	rel     string // from where the ignore rules count, no slash at its end
	sig     sig
	prev    *node
	level   *ignore.Level
	repo    *repo
	ignored bool   // itself or a directory above it
	limit   *limit // of an ignored directory that can be left out
	depth   int
}

// limit is what an ignored directory may have before it is left out.
type limit struct {
	files, bytes atomic.Int64 // left
	used         atomic.Int64 // what is counted of it
}

func newLimit(times int64) *limit {
	l := new(limit)
	l.files.Store(ignoredFiles * times)
	l.bytes.Store(ignoredBytes * times)
	return l
}

func (l *limit) over() bool { return l.files.Load() < 0 || l.bytes.Load() < 0 }

// root walks a root; a nil node means that there is no directory.
func (w *walker) root(root string, prev *node) (*node, []*pending, error) {
	h, sg, err := openTop(filepath.FromSlash(w.s.settled[root]))
	if err != nil {
		if gone(err) {
			return nil, nil, nil
		}
		return w.unreadable(job{path: root}, err), nil, nil
	}
	defer h.close()
	j := job{path: root, sig: sg, prev: prev}
	j.repo, j.level, j.rel = w.s.above(root)
	return w.dir(h, j)
}

func (w *walker) unreadable(j job, err error) *node {
	return &node{sig: j.sig, racy: true, gen: w.gen, shut: "could not be read: " + err.Error(), shutKind: Unreadable}
}

// dir walks an open directory.
func (w *walker) dir(h handle, j job) (*node, []*pending, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, nil, err
	}
	if p := j.prev; p != nil && (p.shut != "" || p.sig.dev != j.sig.dev || p.sig.ino != j.sig.ino) {
		j.prev = nil // nothing in it is of use
	}
	l, err := w.list(h, j)
	if err != nil {
		return w.unreadable(j, err), nil, nil
	}
	if shut := w.spend(j, l.len()); shut != nil {
		return shut, nil, nil
	}
	if l.git {
		j.repo, j.level = w.s.enterRepo(j)
	}
	b := builder{w: w, h: h, j: j, list: l}
	b.rules()
	if err := b.scan(); err != nil {
		return nil, nil, err
	}
	return b.done()
}

// listing is the names in a directory, sorted.
type listing struct {
	names []string // nil when they are those of prev
	prev  []entry
	git   bool
}

func (l listing) len() int {
	if l.names == nil {
		return len(l.prev)
	}
	return len(l.names)
}

func (w *walker) list(h handle, j job) (listing, error) {
	var l listing
	if j.prev != nil {
		l.prev = j.prev.entries
		if !j.prev.racy && j.prev.sig == j.sig && listable {
			l.git = j.prev.git
			return l, nil
		}
	}
	names, err := h.names()
	if err != nil {
		return l, err
	}
	l.git = slices.Contains(names, ".git")
	some := w.s.hides != nil && w.s.hides(j.path, true)
	names = slices.DeleteFunc(names, func(n string) bool {
		return n == ".git" || tree.IsTemporary(n) || some && w.s.hides(path.Join(j.path, n), false)
	})
	slices.Sort(names)
	if names == nil {
		names = []string{}
	}
	l.names = names
	return l, nil
}

// spend counts entries and gives a shut node once there are too many.
func (w *walker) spend(j job, n int) *node {
	if j.limit != nil && j.limit.files.Add(-int64(n)) < 0 {
		return &node{sig: j.sig, gen: w.gen}
	}
	most := w.s.caps.Files
	if j.prev != nil {
		most += most / 4 // what is watched stays watched for a while
	}
	if int(w.count.Add(int64(n))) <= most && j.depth < maxDepth {
		if j.limit != nil {
			j.limit.used.Add(int64(n))
		}
		return nil
	}
	w.count.Add(-int64(n))
	why := fmt.Sprintf("is not looked into: more than %d files are not tracked", w.s.caps.Files)
	if j.depth >= maxDepth {
		why = fmt.Sprintf("is not looked into: directories more than %d deep are not tracked", maxDepth)
	}
	return &node{sig: j.sig, gen: w.gen, shut: why, shutKind: Limit}
}

// builder makes the node of one directory. It copies prev's entries only when
// the first difference shows up.
type builder struct {
	w    *walker
	h    handle
	j    job
	list listing

	set     *ignore.Set // of .gitignore here
	level   *ignore.Level
	out     []entry // nil while all is as before
	n       int     // entries so far
	pending []*pending
	subs    []sub
	broken  error // why the directory cannot be looked at
}

// sub is a directory to walk into.
type sub struct {
	i   int // its place among the entries
	old *node
	job job
	top bool // an ignored directory that may be left out

	node    *node
	pending []*pending
	err     error
}

// rules finds the directory's own ignore rules; they are read again only when
// their file changed.
func (b *builder) rules() {
	const name = ".gitignore"
	if b.has(name) {
		s, err := b.h.stat(name)
		switch old := b.j.prev.entry(name); {
		case err != nil || !s.isFile():
		case old != nil && old.sig == s && !old.racy:
			b.set = b.j.prev.rules
		default:
			b.set = ignore.Parse(ignore.ReadFile(filepath.FromSlash(path.Join(b.j.path, name))))
		}
	}
	b.level = b.j.level.Enter(b.j.rel, ignore.Files{Git: b.set})
}

func (b *builder) has(name string) bool {
	if b.list.names == nil {
		return b.j.prev.entry(name) != nil
	}
	_, ok := slices.BinarySearch(b.list.names, name)
	return ok
}

func (b *builder) scan() error {
	b.begin()
	at := 0 // in prev
	for i := range b.list.len() {
		var name string
		var old *entry
		if b.list.names == nil {
			old = &b.list.prev[i]
			name = old.name
		} else {
			name = b.list.names[i]
			for at < len(b.list.prev) && b.list.prev[at].name < name {
				at++
			}
			if at < len(b.list.prev) && b.list.prev[at].name == name {
				old = &b.list.prev[at]
			}
		}
		s, err := b.h.stat(name)
		if err != nil && !gone(err) {
			b.broken = err
			return nil
		}
		if err != nil {
			b.differs()
			continue // it went away meanwhile
		}
		b.entry(name, s, old)
		if b.j.limit != nil && s.isFile() && b.j.limit.bytes.Add(-s.size) < 0 {
			return nil
		}
	}
	return b.walkSubs()
}

// begin decides whether prev can be kept as it is.
func (b *builder) begin() {
	p := b.j.prev
	same := p != nil && b.list.names == nil && p.sig == b.j.sig && p.rules == b.set && !p.sig.youngerThan(b.w.start)
	if !same {
		b.differs()
	}
}

// differs makes room for entries of its own.
func (b *builder) differs() {
	if b.out != nil {
		return
	}
	b.out = make([]entry, 0, b.list.len())
	if b.n > 0 {
		b.out = append(b.out, b.list.prev[:b.n]...)
	}
}

func (b *builder) add(e entry) {
	if b.out != nil {
		b.out = append(b.out, e)
	}
	b.n++
}

func (b *builder) entry(name string, s sig, old *entry) {
	if s.isDir() {
		b.directory(name, s, old)
		return
	}
	e := entry{name: name, sig: s, racy: s.youngerThan(b.w.start)}
	same := old != nil && old.dir == nil && old.sig == s
	if same {
		e.ignored = old.ignored
	} else {
		e.ignored = b.j.ignored || b.level.Excluded(path.Join(b.j.rel, name), false)
	}
	switch {
	case same && !old.racy:
		e.body = old.body
		if e != *old {
			b.differs()
		}
		b.add(e)
		return
	case same:
		e.body = old.body // to be proved
	default:
		old = nil
	}
	b.differs()
	b.add(e)
	if !s.isSpecial() {
		b.pending = append(b.pending, &pending{i: b.n - 1, path: path.Join(b.j.path, name), repo: b.j.repo, old: old})
	}
}

// directory notes a directory; it is walked once all names are known.
func (b *builder) directory(name string, s sig, old *entry) {
	e := entry{name: name, sig: s}
	rel := path.Join(b.j.rel, name)
	excluded := b.j.ignored || b.level.Excluded(rel, true)
	e.ignored = excluded
	var prev *node
	if old != nil {
		prev = old.dir
		e.dir = prev
	}
	j := job{path: path.Join(b.j.path, name), rel: rel, sig: s, prev: prev, level: b.level, repo: b.j.repo,
		ignored: excluded, limit: b.j.limit, depth: b.j.depth + 1}
	top := excluded && j.limit == nil && !b.j.repo.tracksBelow(b.w.ctx, j.path)
	if top {
		if prev != nil && prev.shutKind == Ignored && prev.sig == s && !prev.racy {
			b.keepDir(e, old)
			return
		}
		times := int64(1)
		if prev != nil && prev.shut == "" {
			times = growth
		}
		j.limit = newLimit(times)
	}
	b.subs = append(b.subs, sub{i: b.n, old: prev, job: j, top: top})
	b.keepDir(e, old)
}

func (b *builder) keepDir(e entry, old *entry) {
	if old == nil || e != *old {
		b.differs()
	}
	b.add(e)
}

// walkSubs walks the directories found, some of them beside each other.
func (b *builder) walkSubs() error {
	var others sync.WaitGroup
	for i := range b.subs {
		s := &b.subs[i]
		select {
		case b.w.workers <- struct{}{}:
			others.Go(func() {
				b.walk(s)
				<-b.w.workers
			})
		default:
			b.walk(s)
		}
	}
	others.Wait()
	for i := range b.subs {
		s := &b.subs[i]
		if s.err != nil {
			return s.err
		}
		if s.node != s.old {
			b.differs()
		}
		if b.out != nil {
			b.out[s.i].dir = s.node
		}
		b.pending = append(b.pending, s.pending...)
	}
	return nil
}

func (b *builder) walk(s *sub) {
	name := path.Base(s.job.path)
	h, err := b.h.open(name)
	if err != nil {
		s.node = b.w.unreadable(s.job, err)
		return
	}
	defer h.close()
	s.node, s.pending, s.err = b.w.dir(h, s.job)
	if s.err == nil && s.top && s.job.limit.over() {
		b.w.count.Add(-s.job.limit.used.Load())
		s.pending = nil
		s.node = &node{sig: s.job.sig, racy: s.job.sig.youngerThan(b.w.start), gen: b.w.gen, shutKind: Ignored,
			shut: fmt.Sprintf("is ignored and has more than %d files or %d MiB, which are not tracked one by one", ignoredFiles,
				ignoredBytes>>20)}
	}
}

func (b *builder) done() (*node, []*pending, error) {
	if b.broken != nil {
		return b.w.unreadable(b.j, b.broken), nil, nil
	}
	if b.out == nil {
		return b.j.prev, nil, nil
	}
	n := &node{sig: b.j.sig, racy: b.j.sig.youngerThan(b.w.start), git: b.list.git, gen: b.w.gen, rules: b.set,
		entries: b.out}
	for _, p := range b.pending {
		if p.node == nil {
			p.node = n
		}
	}
	return n, b.pending, nil
}

// above finds the rules and the repository that hold for a root from above it.
func (s *Scanner) above(root string) (*repo, *ignore.Level, string) {
	top, ok := ignore.Top(filepath.FromSlash(root))
	if !ok || filepath.ToSlash(top) == root {
		return nil, nil, ""
	}
	r := s.repoAt(filepath.ToSlash(top))
	if r == nil {
		return nil, nil, ""
	}
	var level *ignore.Level
	below := strings.TrimPrefix(root, strings.TrimSuffix(r.top, "/")+"/")
	at, rel := r.top, ""
	for part := range strings.SplitSeq(below, "/") {
		f := ignore.Files{Git: ignore.Parse(ignore.ReadFile(filepath.FromSlash(path.Join(at, ".gitignore"))))}
		if rel == "" {
			f.Repo, f.Info = true, r.info()
		}
		level = level.Enter(rel, f)
		name := path.Join(at, ".gitattributes")
		r.addAttributes(name, dirOf(r.rel(name)), ignore.ReadFile(filepath.FromSlash(name)))
		at, rel = path.Join(at, part), path.Join(rel, part)
	}
	return r, level, rel
}

// enterRepo begins a repository at j: its own rules replace those from above.
func (s *Scanner) enterRepo(j job) (*repo, *ignore.Level) {
	r := s.repoAt(j.path)
	if r == nil {
		return j.repo, j.level
	}
	return r, j.level.Enter(j.rel, ignore.Files{Repo: true, Info: r.info()})
}
