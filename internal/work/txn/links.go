package txn

import (
	"os"
	"path/filepath"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
	"kerf/internal/work/tree/handle"
)

// maxNames bounds the search for other names of one file.
const maxNames = 200_000

// OtherNames returns the paths that a commit of set would change besides, because they
// are other names of its files, each with the content that the file has before. What
// cannot be seen is left out.
func (w *Workspace) OtherNames(set delta.Set) delta.Set {
	var more delta.Set
	named := map[string]bool{}
	for _, c := range set {
		named[c.Path] = true
	}
	for _, c := range set {
		if c.Pre == nil || c.Post == nil || c.Pre.Kind != delta.File {
			continue
		}
		if st, err := os.Lstat(filepath.FromSlash(c.Path)); err != nil || handle.Links(st) < 2 {
			continue
		}
		names, _ := w.Tree.OtherNames(c.Path, maxNames)
		for _, name := range names {
			if !named[name] {
				named[name] = true
				more = append(more, delta.Change{Path: name, Pre: c.Pre, Post: c.Post})
			}
		}
	}
	return more
}

// shared sees to files with several names. Such a file is written in place, so what is
// done under one name is done under the others, and the set tells of all that lie in
// the roots. Where the others are to stay as they are, or become something else, the
// name gets a file of its own. An undo leaves names alone that it is not about.
func (j *job) shared() error {
	writes := map[string]*op{}
	for _, o := range j.ops {
		writes[string(o.Path)] = o
	}
	type inode struct{ dev, ino uint64 }
	first := map[inode]*op{}
	for _, o := range j.ops {
		if o.Kind != opInPlace || !o.seen.Links {
			continue
		}
		at := inode{o.seen.Sig.Dev, o.seen.Sig.Ino}
		if main := first[at]; main != nil {
			if o.Kind = opReplace; main.Kind == opInPlace {
				o.Kind = opLinked
			}
			continue
		}
		first[at] = o
		names, err := j.tree.OtherNames(string(o.Path), maxNames)
		if err != nil {
			return err
		}
		var others []*op
		for _, name := range names {
			switch w := writes[name]; {
			case w != nil && w.post.Same(o.post):
			case w == nil && !j.o.exactModes():
				others = append(others, j.otherName(name, o))
			default:
				o.Kind = opReplace
			}
		}
		if o.Kind == opInPlace {
			j.ops = append(j.ops, others...)
		}
	}
	return nil
}

// otherName is the change of a file that o writes, under another name.
func (j *job) otherName(name string, o *op) *op {
	return &op{Kind: opLinked, Path: ledger.Path(name), Pre: o.Pre, Post: o.Post, At: o.At,
		asked: name, pre: o.pre, post: o.post, seen: &tree.Entry{Image: o.pre, Sig: o.seen.Sig}}
}
