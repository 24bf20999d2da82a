package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// Summary is what a program changed, all in all.
type Summary struct {
	// Turn is what kerf undo --turn takes.
	Turn string `json:"turn"`
	// Watched says that the program was watched: what is Proven is its own work.
	Watched bool `json:"watched"`
	// Running says that something it started goes on; what that changes is recorded, too.
	Running bool   `json:"running"`
	Files   []File `json:"files"`
	// Directories came, went or got another mode in the end.
	Directories []string `json:"directories,omitempty"`
	// Notes tell what is not known or cannot be taken back.
	Notes []string `json:"notes,omitempty"`
	// Refused tells what the program was kept from, and why.
	Refused []string `json:"refused,omitempty"`
}

// File is a file that was changed in the end.
type File struct {
	Path      string `json:"path"`
	Operation string `json:"operation"` // created, modified or deleted
	Certainty string `json:"certainty"` // of the ledger
}

// summary gathers a Summary.
type summary struct {
	turn             string
	watched, running bool
	files            map[string]*file
	dirs             map[string]int // those that came and went, by how often they came more than went
	modes            map[string]bool
	notes, refused   []string
}

type file struct {
	pre, post delta.Version
	certainty string
}

// add takes in what was entered. What others certainly did is not the program's.
func (s *summary) add(certainty string, set delta.Set) {
	for _, c := range set {
		f := s.files[c.Path]
		switch {
		case certainty == ledger.Outside && f == nil:
			continue
		case f == nil:
			f = &file{pre: c.Pre.At(), certainty: certainty}
			s.files[c.Path] = f
		case certainty == ledger.Unproven:
			f.certainty = certainty
		}
		if certainty != ledger.Outside {
			f.post = c.Post.At()
		}
	}
}

// addDirs takes in what an entry says of directories.
func (s *summary) addDirs(came []ledger.Path, went []ledger.Dir, modes []ledger.DirMode) {
	for _, d := range came {
		s.dirs[string(d)]++
	}
	for _, d := range went {
		s.dirs[string(d.Path)]--
	}
	for _, d := range modes {
		s.modes[string(d.Path)] = true
	}
}

func (s *summary) summary() Summary {
	sum := Summary{Turn: s.turn, Watched: s.watched, Running: s.running, Notes: s.notes, Refused: s.refused, Files: []File{}}
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		f := s.files[path]
		if f.pre == f.post {
			continue
		}
		op := "modified"
		switch {
		case f.pre.Absent():
			op = "created"
		case f.post.Absent():
			op = "deleted"
		}
		sum.Files = append(sum.Files, File{path, op, f.certainty})
	}
	for path := range s.modes {
		s.dirs[path] += 0
	}
	for _, path := range slices.Sorted(maps.Keys(s.dirs)) {
		if s.dirs[path] != 0 || s.modes[path] {
			sum.Directories = append(sum.Directories, path)
		}
	}
	return sum
}

// Text is the summary in one line, empty when there is nothing to say. Kerf is how the command is called
// that tells more; empty where none is to be named.
func (s Summary) Text(kerf string) string {
	var parts []string
	if n := len(s.Files); n > 0 || len(s.Directories) > 0 {
		text := fmt.Sprintf("%s changed", files(n))
		switch {
		case n == 0 && len(s.Directories) == 1:
			text = "1 directory changed"
		case n == 0:
			text = fmt.Sprintf("%d directories changed", len(s.Directories))
		}
		switch {
		case kerf == "":
			text += s.doubt()
		case !s.Watched:
			text += " while it ran, nobody saw by whom; see it: " + kerf + " log -p -n 1; " +
				"take it back: " + kerf + " undo --unproven"
		case n == 0:
			text += "; see it: " + kerf + " log -n 1; take it back: " + kerf + " undo"
		default:
			text += s.doubt() + "; see it: " + kerf + " diff; take it back: " + kerf + " undo"
		}
		parts = append(parts, text)
	}
	if len(s.Refused) > 0 {
		parts = append(parts, short(s.Refused))
	}
	if n := len(s.Notes); n > 0 {
		parts = append(parts, fmt.Sprintf("not all is known or can be taken back, see %s log: %s", kerf, short(s.Notes)))
	}
	if s.Running {
		parts = append(parts, "something it started still runs; what that changes is kept, "+
			"and is in the ledger once it ended")
	}
	return strings.Join(parts, "; ")
}

// doubt tells how many files somebody else may have changed.
func (s Summary) doubt() string {
	n := 0
	for _, f := range s.Files {
		if f.Certainty == ledger.Unproven {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of them perhaps by somebody else)", n)
}

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

func short(notes []string) string {
	if len(notes) > 1 {
		return fmt.Sprintf("%s and %d more", notes[0], len(notes)-1)
	}
	return notes[0]
}
