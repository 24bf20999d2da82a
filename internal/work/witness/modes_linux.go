package witness

import (
	"slices"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/witness/journal"
)

// Who gave a name its permissions is not told by the kernel's notices, but what the command
// asked for is in the journal: what is neither that nor what was there is the work of others.

// asked are permissions that the command asked for, in a part of the journal.
type asked struct {
	mode uint32
	part int
}

// onlyLooked reports whether a name holds the file that it held, and the command wrote nothing
// to it.
func (c *collector) onlyLooked(t *touched) bool {
	return t.was.looked && !c.written[t.file] && t.post.err == nil && t.post.kind == journal.File &&
		t.post.file == t.file && idOf(&t.was.Sig) == t.file && t.post.image != nil
}

// judgeLooked tells what came of such a name: its content is what others left there.
func (c *collector) judgeLooked(t *touched, s *sorter) {
	post := t.post.image
	c.posts[t.path] = post
	pre := post.WithMode(t.had())
	own, others := c.modes(t, pre, post)
	s.proven.Set = append(s.proven.Set, change1(t.path, pre, own)...)
	s.modes.Set = append(s.modes.Set, others...)
}

// modes takes apart what the command made of a name and which permissions others gave to that.
func (c *collector) modes(t *touched, pre, post *delta.Image) (own *delta.Image, others delta.Set) {
	if post == nil || t.post.kind != journal.File {
		return post, nil
	}
	mode, known := c.given(t)
	if !known || mode == post.Mode {
		return post, nil
	}
	own = post.WithMode(mode)
	return own, delta.Set{{Path: t.path, Pre: own, Post: post}}
}

// given are the permissions that what a name holds has of the command, or had before. known is
// false where that cannot be told.
func (c *collector) given(t *touched) (mode uint32, known bool) {
	now, list := t.post.mode, c.asked[t.post.file]
	was := t.kind == t.post.kind && t.post.file == t.file && !t.assumed
	switch {
	case was && now == t.had(), slices.ContainsFunc(list, func(a asked) bool { return a.mode == now }):
		return now, true
	case len(list) > 0 && list[len(list)-1].part == c.resets:
		return list[len(list)-1].mode, true
	case was:
		return t.had(), true
	case t.closed.Sig.Ino != 0 && idOf(&t.closed.Sig) == t.post.file && t.closed.Mode != 0:
		return t.closed.Mode & 0o777, true // a new file
	case c.files[t.post.file] != nil: // it came from another name
		return c.files[t.post.file].Mode & 0o777, true
	}
	return 0, false
}

// had are the permissions that a name had: those of a file at its first touch, by whatever name.
func (t *touched) had() uint32 {
	if t.kind == journal.File {
		return t.was.Mode & 0o777
	}
	return t.mode & 0o777
}

// directory notes a directory that came or went, or got other permissions.
func (c *collector) directory(t *touched, s *sorter) {
	kind, mode := t.post.kind, t.post.mode
	to := &s.proven
	if t.foreign {
		to = &s.unproven
	}
	switch was := t.kind; {
	case was == kind && kind == journal.Dir && t.mode&0o777 != mode&0o777:
		if given, known := c.given(t); known && given != mode&0o777 {
			to = &s.modes
		}
		to.Modes = append(to.Modes, ledger.DirMode{Path: ledger.Path(t.path), Pre: t.mode & 0o777, Post: mode & 0o777})
	default:
		to.turned(t.path, was, kind, t.mode)
	}
}

// turned notes that a name became a directory, or that one with a mode went.
func (p *Part) turned(name string, was, is uint8, mode uint32) {
	switch {
	case was == is:
	case is == journal.Dir:
		p.Dirs = append(p.Dirs, ledger.Path(name))
	case was == journal.Dir:
		p.Gone = append(p.Gone, ledger.Dir{Path: ledger.Path(name), Mode: mode & 0o777})
	}
}
