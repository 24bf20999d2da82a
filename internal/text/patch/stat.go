package patch

import (
	"cmp"
	"strings"

	"kerf/internal/text/patch/unified"
)

// Op is what a patch does to a file.
type Op string

// The operations.
const (
	Added   Op = "add"
	Deleted Op = "delete"
	Updated Op = "update"
	Moved   Op = "move"
	Copied  Op = "copy"
)

// Stat is one file of a patch.
type Stat struct {
	Path    string
	To      string // where a move or copy goes, or empty
	Op      Op
	Added   int // lines
	Removed int
}

// Stats tells what the patch does to each file, as far as its text says.
func (p *Patch) Stats() []Stat {
	var out []Stat
	for _, op := range p.ops {
		s := Stat{Path: op.path, To: op.to, Op: op.kind, Added: strings.Count(op.text, "\n")}
		for _, c := range op.chunks {
			s.count(c.lines)
		}
		out = append(out, s)
	}
	for i := range p.files {
		out = append(out, statOf(&p.files[i]))
	}
	return out
}

func (s *Stat) count(ls []unified.Line) {
	for _, l := range ls {
		switch l.Op {
		case '+':
			s.Added++
		case '-':
			s.Removed++
		}
	}
}

// statOf tells what a diff does to its file.
func statOf(f *unified.File) Stat {
	oldName, newName := f.Names(0, nil)
	s := Stat{Path: cmp.Or(oldName, newName), Op: Updated}
	switch {
	case f.Create:
		s.Op = Added
	case f.Remove:
		s.Op = Deleted
	case f.Copy:
		s.Op, s.To = Copied, newName
	case oldName != newName:
		s.Op, s.To = Moved, newName
	}
	for _, h := range f.Hunks {
		s.count(h.Lines)
	}
	return s
}
