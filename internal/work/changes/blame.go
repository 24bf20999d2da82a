package changes

import (
	"bytes"
	"slices"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/lines"
	"kerf/internal/work/ledger"
)

// Origin is where a line comes from. With neither Entry nor Unknown it is not
// Kerf's: it was there before, or somebody else wrote it.
type Origin struct {
	Entry *ledger.Entry
	// Unknown lines were there before an image that is not kept any more.
	Unknown bool
}

// Past is a ledger that was read once, to blame any number of files. It does not change, and may
// be used by several goroutines.
type Past struct {
	reader Reader
	book   *book
}

// Past reads the ledger.
func (r Reader) Past() (*Past, error) {
	b, err := open(r.Ledger)
	if err != nil {
		return nil, err
	}
	return &Past{r, b}, nil
}

// Entries are those of the ledger, oldest first, with what is known of them now. They are not to
// be changed.
func (p *Past) Entries() []ledger.Entry { return p.book.entries }

// Blame tells of each line of content, which the file at path held when there were the first n
// entries, where it comes from. It is exact: a line is laid to an entry only if the entry's own
// images show that it put it there, and what others did in between is theirs.
func (p *Past) Blame(path string, content []byte, n int) []Origin {
	then := *p.book
	then.entries = then.entries[:n]
	return p.reader.blame(&then, path, content)
}

func (r Reader) blame(b *book, path string, content []byte) []Origin {
	n := lines.Count(content)
	w := &blamer{reader: r, book: b, origins: make([]Origin, n)}
	first := &track{path: path, text: content, below: int64(1) << 62, to: make([]int, n)}
	for i := range first.to {
		first.to[i] = i
	}
	w.tracks = []*track{first}
	for i := len(b.entries) - 1; i >= 0; i-- {
		e := &b.entries[i]
		for j := 0; j < len(w.tracks); j++ { // grows
			if t := w.tracks[j]; !t.over && e.Seq < t.below {
				w.entry(t, e)
			}
		}
	}
	return w.origins
}

// blamer goes back through a ledger.
type blamer struct {
	reader  Reader
	book    *book
	origins []Origin
	tracks  []*track
}

// track is a state of the file with the lines whose origin is still sought. An
// undo brings lines back that the state just before it does not have; these are
// sought in the state that it went back to, on a track of their own.
type track struct {
	path  string
	text  []byte
	to    []int // by line of text: the line it is in the end, or nowhere
	below int64 // only entries before this one matter
	over  bool
}

// nowhere is the number of a line whose origin is not sought.
const nowhere = -1

// entry carries a track back over one entry.
func (w *blamer) entry(t *track, e *ledger.Entry) {
	i := slices.IndexFunc(e.Changes, func(c ledger.Change) bool { return c.Path == t.path })
	if i < 0 {
		return
	}
	c := e.Changes[i]
	// Where this removed the file, the one that is there came from nowhere that is known: no line is the same.
	post, ok := w.image(c.Post)
	if !ok {
		w.giveUp(t)
		return
	}
	// What differs from the image was written by somebody else since.
	t.to = carry(t.text, post, t.to)
	t.text = post
	pre, path := c.Pre, t.path
	if c.From != "" && w.reader.Fault != BlameNoMoves {
		path = c.From
		if j := slices.IndexFunc(e.Changes, func(o ledger.Change) bool { return o.Path == c.From }); j >= 0 {
			pre = e.Changes[j].Pre
		} else {
			pre = c.Post // a copy of a file that stays: what it was then is found on the way
		}
	}
	var before []byte // a link has no lines
	if pre != nil && pre.Kind != delta.Symlink {
		if before, ok = w.image(pre); !ok {
			w.giveUp(t)
			return
		}
	}
	older := carry(post, before, t.to)
	w.settle(t, e, older)
	t.text, t.to, t.path = before, older, path
	t.over = !slices.ContainsFunc(t.to, func(n int) bool { return n >= 0 })
}

// settle finds the origin of the lines that e made: those that older, the map of
// the state before, lacks.
func (w *blamer) settle(t *track, e *ledger.Entry, older []int) {
	stays := make(map[int]bool, len(older))
	for _, n := range older {
		if n >= 0 {
			stays[n] = true
		}
	}
	made := slices.Clone(t.to)
	for i, n := range made {
		if n >= 0 && stays[n] {
			made[i] = nowhere
		}
	}
	if len(e.Undoes) > 0 && w.reader.Fault != BlameUndo {
		w.branch(t, e, made)
		return
	}
	if (!own(e) || e.Known() == ledger.Outside) && w.reader.Fault != BlameOthers && w.reader.Fault != BlameUndo {
		return
	}
	for _, n := range made {
		if n >= 0 {
			w.origins[n] = Origin{Entry: e}
		}
	}
}

// branch seeks lines that an undo or redo brought back where they were before.
// What is not found there was made by the merge, and stays without an origin.
func (w *blamer) branch(t *track, e *ledger.Entry, made []int) {
	// The oldest of them that knows the file tells what it was.
	for _, seq := range slices.Sorted(slices.Values(e.Undoes)) {
		i, ok := w.book.at[seq]
		if !ok {
			continue
		}
		found := false
		for _, c := range w.book.entries[i].Changes {
			if c.Path != t.path && c.To != t.path {
				continue
			}
			found = found || c.Path == t.path
			before, ok := w.image(c.Pre)
			if !ok || c.Pre == nil {
				continue
			}
			to := carry(t.text, before, made)
			w.tracks = append(w.tracks, &track{path: c.Path, text: before, to: to, below: seq})
		}
		if found {
			return
		}
	}
}

// giveUp marks what is still sought as unknown.
func (w *blamer) giveUp(t *track) {
	t.over = true
	for _, n := range t.to {
		if n >= 0 {
			w.origins[n].Unknown = true
		}
	}
}

// image returns the bytes of a version, none for an absent one.
func (w *blamer) image(v *ledger.Version) ([]byte, bool) {
	if v == nil {
		return nil, true
	}
	img, err := w.reader.load(v.Image())
	if err != nil || img.Kind != delta.File {
		return nil, false
	}
	return img.Data, true
}

// carry maps the lines of old by way of the lines of now that are the same. To is
// the map of now's lines.
func carry(now, old []byte, to []int) []int {
	if bytes.Equal(now, old) {
		return to
	}
	out := make([]int, 0, lines.Count(old))
	at, line := 0, 0 // in old, and the line of now
	for _, e := range diff.Lines(old, now) {
		for range lines.Count(old[at:e.Start]) {
			out = append(out, to[line])
			line++
		}
		for range lines.Count(old[e.Start:e.End]) {
			out = append(out, nowhere)
		}
		line += lines.Count(e.New)
		at = e.End
	}
	for range lines.Count(old[at:]) {
		out = append(out, to[line])
		line++
	}
	return out
}
