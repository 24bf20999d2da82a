// Package moment tells what a file held at an earlier moment of a history.
package moment

import (
	"fmt"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
)

// File is a file at a moment. With Known false it was There, and what it held was not kept.
type File struct {
	There, Known bool
	Data         []byte
	Note         string
}

// At is the file at path, which is absolute, as it was behind the entry seq: what the last
// entry up to seq left there, or, where there is none, what the first later one found. Where
// no entry tells of it, it is as look finds it now. What others did between two entries has
// no moment that is known; a note says so.
func At(r changes.Reader, look present.Look, path string, seq int64) (File, error) {
	before, after, err := around(r.Ledger, path, seq)
	if err != nil {
		return File{}, err
	}
	switch {
	case before == nil && after == nil:
		return now(look, path)
	case before == nil:
		return held(r, after.found)
	}
	f, err := held(r, before.left)
	if err != nil || before.seq == seq {
		return f, err
	}
	if after != nil && !same(before.left, after.found) {
		f.add(fmt.Sprintf("Somebody else changed it between #%d and #%d, nobody knows when. This is how #%d left it.",
			before.seq, after.seq, before.seq))
	}
	if after == nil {
		if img, err := look.At(path); err == nil && img.At() != before.left.Delta() {
			f.add(fmt.Sprintf("Somebody else changed it after #%d, nobody knows when. This is how #%d left it.",
				before.seq, before.seq))
		}
	}
	return f, nil
}

func (f *File) add(note string) { f.Note = strings.TrimSpace(f.Note + " " + note) }

// touch is what one entry found at a path, and what it left there.
type touch struct {
	seq         int64
	found, left *ledger.Version
}

// around are the last entry up to seq and the first one behind it that changed path.
func around(l *ledger.Ledger, path string, seq int64) (before, after *touch, err error) {
	for e, err := range l.Backward() {
		if err != nil {
			return nil, nil, err
		}
		for _, c := range e.Changes {
			if c.Path != path {
				continue
			}
			t := &touch{e.Seq, c.Pre, c.Post}
			if e.Seq <= seq {
				return t, after, nil
			}
			after = t
		}
	}
	return nil, after, nil
}

func same(a, b *ledger.Version) bool { return a.Delta() == b.Delta() }

// held is what a version held.
func held(r changes.Reader, v *ledger.Version) (File, error) {
	if v == nil {
		return File{}, nil
	}
	switch v.Kind {
	case delta.Symlink:
		return File{There: true, Note: "It was a symbolic link."}, nil
	case delta.File:
	default:
		return File{There: true, Note: "It was no ordinary file."}, nil
	}
	if v.Size > changes.ShownLimit {
		return File{There: true, Note: "It is too large to be shown."}, nil
	}
	data, err := r.Images.Get(delta.Sum(v.Sum))
	if err != nil {
		return File{There: true, Note: "What it held is not kept any more."}, nil
	}
	return File{There: true, Known: true, Data: data}, nil
}

func now(look present.Look, path string) (File, error) {
	img, err := look.At(path)
	switch {
	case err != nil || img == nil:
		return File{}, err
	case img.Kind != delta.File:
		return File{There: true, Note: "It is no ordinary file."}, nil
	case img.Size > changes.ShownLimit:
		return File{There: true, Note: "It is too large to be shown."}, nil
	}
	return File{There: true, Known: true, Data: img.Data}, nil
}
