package scan

import (
	"io/fs"
	"path"
	"sort"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/scan/gitindex"
	"kerf/internal/work/search/ignore"
)

// Snap is the state of the roots at one moment, and what could not be kept of
// it. Its Diff with another Snap of the same Scanner tells the difference. It
// shares with other Snaps what they have in common and holds no contents.
type Snap struct {
	// Gaps are the paths whose present state could not be brought back: at most
	// maxGaps of them by name, the last then says how many more there are.
	Gaps []Gap
	// Taken is when the Snap was begun, Files how many entries it watches, and
	// Held how many bytes of them are in the store.
	Taken time.Time
	Files int
	Held  int64

	roots []*node // as Scanner.roots; nil where there is no directory
}

// Gap is a path, with all below it, of which not everything is known.
type Gap struct {
	Path   string // absolute, with slashes
	Kind   GapKind
	Reason string // for the user
}

// GapKind is what kind of thing is not known.
type GapKind string

// The kinds of gaps.
const (
	// Refused roots are not looked at.
	Refused GapKind = "refused"
	// Limit is a file or directory beyond the caps: a change of it is noticed by
	// size and time alone, or not at all, and its bytes are not kept.
	Limit GapKind = "limit"
	// Ignored is a large directory that ignore files exclude. Its files are not
	// watched one by one.
	Ignored GapKind = "ignored"
	// Unreadable could not be read, or did not hold still while it was.
	Unreadable GapKind = "unreadable"
	// Lost is a content that git or the store should have held and did not.
	Lost GapKind = "lost"
	// Special is a device, FIFO, socket and the like.
	Special GapKind = "special"
	// Directory is a directory without files that came or went; a Set has files
	// only.
	Directory GapKind = "directory"
)

const maxGaps = 1000

// sig is what stat tells of a path. Equal signatures mean equal contents, unless
// they were taken in the very moment of a change (see grain).
type sig struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64       // nanoseconds since 1970
	mode         fs.FileMode // type and permissions; of links the type alone
}

func (s sig) isDir() bool     { return s.mode.IsDir() }
func (s sig) isFile() bool    { return s.mode.IsRegular() }
func (s sig) isLink() bool    { return s.mode.Type() == fs.ModeSymlink }
func (s sig) isSpecial() bool { return !s.isDir() && !s.isFile() && !s.isLink() }

// youngerThan reports whether s is too young for a change after it to show.
func (s sig) youngerThan(start time.Time) bool {
	return max(s.mtime, s.ctime) >= start.Add(-grain).UnixNano()
}

// node is a directory. Nodes are immutable once their Snap is taken, except by
// Note, which copies them.
type node struct {
	sig   sig
	racy  bool // names may have changed behind the signature
	git   bool // has an entry .git
	gen   uint64
	rules *ignore.Set // of its .gitignore

	// shut says why the directory is not entered; it then has no entries.
	shut     string
	shutKind GapKind

	entries []entry // by name

	// Sums over the directory and all below.
	files int
	held  int64
	gaps  int
}

// entry is a name in a directory: with a node for a directory, a body for a file
// or link, and neither for anything else.
type entry struct {
	name    string
	sig     sig
	racy    bool // the content may have changed behind the signature
	ignored bool
	dir     *node
	body    *body
}

// find returns the place of name in n, or where it would be.
func (n *node) find(name string) (int, bool) {
	i := sort.Search(len(n.entries), func(i int) bool { return n.entries[i].name >= name })
	return i, i < len(n.entries) && n.entries[i].name == name
}

// entry returns the entry with the given name, or nil; n may be nil.
func (n *node) entry(name string) *entry {
	if n == nil {
		return nil
	}
	if i, ok := n.find(name); ok {
		return &n.entries[i]
	}
	return nil
}

// source is where a content can be had from.
type source uint8

const (
	nowhere   source = iota
	inline           // in the body itself
	inStore          // by sum
	inGit            // by blob
	onlyKnown        // the sum is known, the bytes are not kept
)

// body is a content. Bodies are shared between Snaps; one of git learns its sum
// when a Diff needs it.
type body struct {
	from   source
	hashed bool      // sum is the content's
	sum    delta.Sum // of a body from nowhere: a stand-in, see standIn
	size   int64
	data   string // inline
	blob   gitindex.OID
	repo   *repo
	kind   GapKind // why a body from nowhere is
	why    string
}

// finish computes the sums of the nodes made in generation gen.
func (n *node) finish(gen uint64) {
	if n == nil || n.gen != gen {
		return
	}
	n.files, n.held, n.gaps = 0, 0, 0
	if n.shut != "" {
		n.gaps = 1
	}
	for i := range n.entries {
		e := &n.entries[i]
		n.files++
		switch {
		case e.dir != nil:
			e.dir.finish(gen)
			n.files += e.dir.files
			n.held += e.dir.held
			n.gaps += e.dir.gaps
		case e.body == nil:
		case e.body.from == inStore:
			n.held += e.body.size
		case e.body.from == nowhere || e.body.from == onlyKnown:
			n.gaps++
		}
	}
}

// collect appends the gaps of n, whose path is at, until there are enough.
func (n *node) collect(at string, gaps []Gap) []Gap {
	if n == nil || n.gaps == 0 || len(gaps) >= maxGaps {
		return gaps
	}
	if n.shut != "" {
		return append(gaps, Gap{at, n.shutKind, n.shut})
	}
	for i := range n.entries {
		e := &n.entries[i]
		name := path.Join(at, e.name)
		switch {
		case len(gaps) >= maxGaps:
			return gaps
		case e.dir != nil:
			gaps = e.dir.collect(name, gaps)
		case e.body != nil && (e.body.from == nowhere || e.body.from == onlyKnown):
			gaps = append(gaps, Gap{name, e.body.kind, e.body.why})
		}
	}
	return gaps
}

// modeOf is the mode of a file of version v.
func modeOf(v delta.Version) fs.FileMode {
	if v.Kind == delta.Symlink {
		return fs.ModeSymlink
	}
	return fs.FileMode(v.Mode) & fs.ModePerm
}
