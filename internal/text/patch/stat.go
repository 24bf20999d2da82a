package patch

import "strings"

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
		out = append(out, p.files[i].stat())
	}
	return out
}

func (s *Stat) count(ls []line) {
	for _, l := range ls {
		switch l.op {
		case '+':
			s.Added++
		case '-':
			s.Removed++
		}
	}
}

func (f *fileDiff) stat() Stat {
	oldName, newName := f.names(0, nil)
	s := Stat{Path: firstOf(oldName, newName), Op: Updated}
	switch {
	case f.create:
		s.Op = Added
	case f.remove:
		s.Op = Deleted
	case f.copy:
		s.Op, s.To = Copied, newName
	case oldName != newName:
		s.Op, s.To = Moved, newName
	}
	for _, h := range f.hunks {
		s.count(h.lines)
	}
	return s
}
