package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/text/order"
	"kerf/internal/work/scan/gitindex"
	"kerf/internal/work/scan/moves"
)

// loadLimit is how many bytes of contents one Set brings along in memory; the
// store has the others.
const loadLimit = 64 << 20

// Diff tells what changed from one Snap to another of this Scanner. Deletions
// come first, then the rest, each by path; a new file with the content of a
// deleted one, or half of it, is paired with it by From and To. Images are Loaded up to a limit,
// beyond it their bytes are in the store.
//
// Gaps name what the Set does not hold, or holds without the bytes: there the
// Sum of an image may be a stand-in that is no content's sum. Without gaps, or
// with gaps of the kind Directory only, the Set is exact. An error means that
// ctx is done.
func (s *Scanner) Diff(ctx context.Context, before, after *Snap) (delta.Set, []Gap, error) {
	if before == nil || after == nil {
		return nil, nil, errors.New("scan: diff without a snapshot")
	}
	d := &differ{s: s, ctx: ctx, gaps: slices.Clone(s.refused), data: make(map[*body][]byte)}
	for i, root := range s.roots {
		d.nodes(root, before.roots[i], after.roots[i])
	}
	if err := d.fetch(); err != nil {
		return nil, nil, fmt.Errorf("scan: diff: %w", err)
	}
	set := d.set()
	moves.Mark(set)
	order.By(d.gaps, func(a, b Gap) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(string(a.Kind), string(b.Kind)),
			strings.Compare(a.Reason, b.Reason))
	})
	return set, slices.Compact(d.gaps), nil
}

// differ is one Diff under way.
type differ struct {
	s      *Scanner
	ctx    context.Context
	gaps   []Gap
	raw    []rawChange
	data   map[*body][]byte // contents at hand
	loaded int64            // bytes in data
}

// rawChange is a path whose entries are not the same; nil means not there.
type rawChange struct {
	path      string
	pre, post *entry
}

func (d *differ) gap(at string, kind GapKind, reason string) {
	d.gaps = append(d.gaps, Gap{at, kind, reason})
}

// nodes compares directories; either may be nil.
func (d *differ) nodes(at string, b, a *node) {
	if a == b || d.shut(at, b, a) {
		return
	}
	if b == nil && a.filesBelow() == 0 {
		d.gap(at, Directory, "an empty directory was made")
	}
	if a == nil && b.filesBelow() == 0 {
		d.gap(at, Directory, "an empty directory was removed")
	}
	var before, after []entry
	if b != nil {
		before = b.entries
	}
	if a != nil {
		after = a.entries
	}
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].name < after[0].name:
			d.entries(at, &before[0], nil)
			before = before[1:]
		case len(before) == 0 || after[0].name < before[0].name:
			d.entries(at, nil, &after[0])
			after = after[1:]
		default:
			d.entries(at, &before[0], &after[0])
			before, after = before[1:], after[1:]
		}
	}
}

// filesBelow counts what is in n that is no directory, as far as 0 or more
// matters: a directory that is shut counts as something.
func (n *node) filesBelow() int {
	if n.shut != "" {
		return 1
	}
	count := 0
	for i := range n.entries {
		if n.entries[i].dir == nil {
			return 1
		}
		count += n.entries[i].dir.filesBelow()
	}
	return count
}

// shut deals with directories that are not looked into.
func (d *differ) shut(at string, b, a *node) bool {
	switch {
	case (b == nil || b.shut == "") && (a == nil || a.shut == ""):
		return false
	case b != nil && a != nil && b.sig == a.sig && b.shut != "" && a.shut != "":
		return true
	case a == nil:
		d.gap(at, b.shutKind, "is gone; it had not been looked into: it "+b.shut)
	case a.shut != "":
		d.gap(at, a.shutKind, "may have changed: it "+a.shut)
	default:
		d.gap(at, b.shutKind, "may have changed: it "+b.shut)
	}
	return true
}

// entries compares two entries of one name in the directory at; one may be nil.
func (d *differ) entries(at string, b, a *entry) {
	var name string
	if b != nil {
		name = path.Join(at, b.name)
	} else {
		name = path.Join(at, a.name)
	}
	var bd, ad *node
	if b != nil && b.dir != nil {
		bd, b = b.dir, nil
	}
	if a != nil && a.dir != nil {
		ad, a = a.dir, nil
	}
	d.nodes(name, bd, ad)
	b, a = d.special(name, b, a)
	switch {
	case a == nil && b == nil:
	case a != nil && b != nil && a.body == b.body && a.sig.mode == b.sig.mode:
	default:
		d.raw = append(d.raw, rawChange{name, b, a})
	}
}

// special takes out entries that are neither files nor links.
func (d *differ) special(name string, b, a *entry) (*entry, *entry) {
	was, is := b != nil && b.body == nil, a != nil && a.body == nil
	switch {
	case was && is && b.sig.mode.Type() == a.sig.mode.Type():
		return nil, nil
	case was:
		d.gap(name, Special, "was "+specialName(b.sig))
	case is:
		d.gap(name, Special, "is "+specialName(a.sig))
	}
	if was {
		b = nil
	}
	if is {
		a = nil
	}
	return b, a
}

func specialName(s sig) string { return "not a regular file (mode " + s.mode.String() + ")" }

// fetch gets from git the contents of the changes that have no sum yet, and puts
// them in the store, where the others are.
func (d *differ) fetch() error {
	byRepo := make(map[*repo][]*body)
	want := make(map[*body]string)
	for _, c := range d.raw {
		if c.pre != nil && c.post != nil && sameBlob(c.pre.body, c.post.body) && c.pre.sig.mode == c.post.sig.mode {
			continue
		}
		for _, e := range []*entry{c.pre, c.post} {
			if e == nil || e.body.from != inGit || want[e.body] != "" {
				continue
			}
			want[e.body] = c.path
			byRepo[e.body.repo] = append(byRepo[e.body.repo], e.body)
		}
	}
	budget := d.s.caps.Total
	for r, bodies := range byRepo {
		if err := d.fetchFrom(r, bodies, &budget); err != nil {
			return err
		}
	}
	return d.ctx.Err()
}

func sameBlob(a, b *body) bool {
	return a == b || a.from == inGit && b.from == inGit && a.blob == b.blob
}

// fetchFrom gets bodies from a repository. Those that it cannot give become lost.
func (d *differ) fetchFrom(r *repo, bodies []*body, budget *int64) error {
	bodies = slices.DeleteFunc(bodies, func(b *body) bool {
		if b.size <= d.s.caps.FileSize {
			return false
		}
		b.lose(Limit, fmt.Sprintf("its %s are over the limit of %s a file", bytesOf(b.size), bytesOf(d.s.caps.FileSize)))
		return true
	})
	blobs := make([]gitindex.OID, len(bodies))
	for i, b := range bodies {
		blobs[i] = b.blob
	}
	answered := 0
	err := r.catFile(d.ctx, blobs, true, func(i int, size int64, data io.Reader) error {
		answered++
		b := bodies[i]
		switch {
		case size < 0:
			b.lose(Lost, "git does not have its former content any more")
		case size != b.size:
			b.lose(Lost, "git's content of it is not what was in the work tree")
		case *budget < size:
			b.lose(Limit, "not kept: the changed files are over the limit of "+bytesOf(d.s.caps.Total))
		default:
			*budget -= size
			return d.take(b, data)
		}
		return nil
	})
	if d.ctx.Err() != nil {
		return d.ctx.Err()
	}
	if err != nil {
		for _, b := range bodies[answered:] {
			b.lose(Lost, "git could not give its former content: "+err.Error())
		}
	}
	return nil
}

// take reads a blob, checks it against its name, and keeps it.
func (d *differ) take(b *body, r io.Reader) error {
	data := make([]byte, b.size)
	if _, err := io.ReadFull(r, data); err != nil {
		b.lose(Lost, "git could not give its former content: "+err.Error())
		return err
	}
	if !b.blob.Names(data) {
		b.lose(Lost, "git's content of it is damaged")
		return nil
	}
	b.hashed, b.sum = true, delta.SumOf(data)
	if sum, err := d.s.store.Put(data); err != nil || sum != b.sum {
		b.from, b.kind, b.why = onlyKnown, Lost, fmt.Sprintf("not kept: %v", cmp.Or(err, errSum))
		return nil
	}
	if d.loaded+b.size <= loadLimit {
		d.loaded += b.size
		d.data[b] = data
	}
	return nil
}

// lose marks a body of git as one that cannot be had. Its stand-in is made of
// the blob's name, so that it is the same wherever that blob is meant.
func (b *body) lose(kind GapKind, why string) {
	if b.hashed {
		b.from = onlyKnown
	} else {
		b.from = nowhere
		b.sum = StandIn(b.blob.String())
	}
	b.kind, b.why = kind, why
}

// StandIn is the sum of a version whose content is git's blob of that name, not read.
func StandIn(blob string) delta.Sum { return delta.SumOf([]byte("kerf: not read\x00" + blob)) }

// set makes the changes of what is not the same after all.
func (d *differ) set() delta.Set {
	var gone, rest delta.Set
	for _, c := range d.raw {
		if c.pre != nil && c.post != nil && c.pre.same(c.post) {
			if c.pre.body.from == nowhere {
				d.gap(c.path, c.pre.body.kind, "may have changed: "+c.pre.body.why)
			}
			continue
		}
		change := delta.Change{Path: c.path, Pre: d.image(c.path, c.pre), Post: d.image(c.path, c.post)}
		if change.Post == nil {
			gone = append(gone, change)
		} else {
			rest = append(rest, change)
		}
	}
	byPath := func(a, b delta.Change) int { return strings.Compare(a.Path, b.Path) }
	order.By(gone, byPath)
	order.By(rest, byPath)
	return append(gone, rest...)
}

// same reports whether two entries stand for the same version.
func (e *entry) same(o *entry) bool {
	return e.sig.mode == o.sig.mode && (sameBlob(e.body, o.body) || e.body.sum == o.body.sum && e.body.size == o.body.size)
}

// image makes the image of an entry, with its bytes if they are to be had.
func (d *differ) image(at string, e *entry) *delta.Image {
	if e == nil {
		return nil
	}
	b := e.body
	img := &delta.Image{Version: delta.Version{Kind: delta.File, Mode: uint32(e.sig.mode.Perm()), Size: b.size,
		Sum: b.sum}}
	if e.sig.isLink() {
		img.Kind, img.Mode = delta.Symlink, 0
	}
	if b.from == nowhere || b.from == onlyKnown {
		d.gap(at, b.kind, b.why)
		return img
	}
	data, ok := d.data[b]
	switch {
	case ok:
	case b.from == inline:
		data, ok = []byte(b.data), true
		// Whoever gets a version looks for its bytes in the store.
		if _, err := d.s.store.Put(data); err != nil {
			d.gap(at, Lost, "not kept: "+err.Error())
		}
	case d.loaded+b.size <= loadLimit:
		var err error
		if data, err = d.s.store.Get(b.sum); err != nil {
			d.gap(at, Lost, "the store does not have its content any more: "+err.Error())
			return img
		}
		ok = true
		d.loaded += b.size
		d.data[b] = data
	}
	img.Data, img.Loaded = data, ok
	return img
}
