// Package author says who wrote each line of a file, as far as the ledger shows it.
package author

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/text/lines"
	"kerf/internal/work/changes"
	"kerf/internal/work/ledger"
)

// Largest is the size of the largest file that is blamed.
const Largest = 64 << 20

// Line tells where a line of a file comes from. Origin is "kerf", "unproven" (it
// came while the command of the entry ran, and nobody saw who wrote it), "other" or
// "unknown"; the rest is known of the first two only. Root is the directory whose history has
// the entry, where it is not the one that was asked.
type Line struct {
	_ [0]func() // lines are never compared

	Line      int        `json:"line"`
	Text      string     `json:"text"`
	Origin    string     `json:"origin"`
	Root      string     `json:"root,omitempty"`
	Seq       int64      `json:"seq,omitempty"`
	Time      *time.Time `json:"time,omitempty"`
	Cause     string     `json:"cause,omitempty"`
	Certainty string     `json:"certainty,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Client    string     `json:"client,omitempty"`
	Session   string     `json:"session,omitempty"`
	Turn      string     `json:"turn,omitempty"`
	Call      string     `json:"call,omitempty"`
	// Edited says that the user changed what the tool proposed.
	Edited bool `json:"edited,omitempty"`
	// Prompt is what the user asked for, which the ledger does not know.
	Prompt string `json:"prompt,omitempty"`
}

// File is a regular file that was read.
type File struct {
	Path    string // absolute, without links
	Content []byte
}

// Open reads the file at path, which is absolute. A link is followed.
func Open(path string) (File, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = filepath.ToSlash(target)
	}
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return File{}, err
	case !st.Mode().IsRegular():
		return File{}, fmt.Errorf("%s is not a regular file", path)
	case st.Size() > Largest:
		return File{}, fmt.Errorf("%s has %d bytes; at most %d are blamed", path, st.Size(), Largest)
	}
	content, err := os.ReadFile(path)
	return File{path, content}, err
}

// Lines tells of each line of the file where it comes from.
func (f File) Lines(r changes.Reader) ([]Line, error) { return Lines(r, f.Path, f.Content) }

// Join adds to what one history tells of the lines of a file what that of root tells of them. A
// line is laid to whom one of the two saw write it; to the later one, if both did.
func Join(list, others []Line, root string) {
	for i, o := range others {
		if l := &list[i]; o.known() > l.known() || o.known() == l.known() && o.Time != nil && o.Time.After(*l.Time) {
			*l = o
			l.Root = root
		}
	}
}

// known is how much is known of a line.
func (l Line) known() int {
	return slices.Index([]string{"other", "unknown", "unproven", "kerf"}, l.Origin)
}

// Lines tells of each line of content, which the file at path holds now, where it comes from.
// Path is absolute and has no links.
func Lines(r changes.Reader, path string, content []byte) ([]Line, error) {
	p, err := r.Past()
	if err != nil {
		return nil, err
	}
	return told(content, p.Blame(path, content, len(p.Entries()))), nil
}

// Then tells of each line of content, which the file at path held at some moment, where it
// comes from: as of the newest entry that left or found it so, or of now where none did.
func Then(p *changes.Past, path string, content []byte) []Line {
	return told(content, p.Blame(path, content, until(p.Entries(), path, ledger.Sum(delta.SumOf(content)))))
}

// Touched are the paths that an entry changed, each as the ledger has it.
func Touched(p *changes.Past) map[string]bool {
	paths := map[string]bool{}
	for _, e := range p.Entries() {
		for _, c := range e.Changes {
			paths[c.Path] = true
		}
	}
	return paths
}

// until is how many entries there were when path held a content last.
func until(entries []ledger.Entry, path string, held ledger.Sum) int {
	for i, e := range slices.Backward(entries) {
		for _, c := range e.Changes {
			switch {
			case c.Path != path:
			case c.Post != nil && c.Post.Sum == held:
				return i + 1
			case c.Pre != nil && c.Pre.Sum == held:
				return i
			}
		}
	}
	return len(entries)
}

func told(content []byte, origins []changes.Origin) []Line {
	var list []Line
	for i, text := range lines.Split(content) {
		list = append(list, lineOf(i, string(text), origins[i]))
	}
	return list
}

func lineOf(i int, text string, o changes.Origin) Line {
	l := Line{Line: i + 1, Text: text, Origin: "other"}
	switch e := o.Entry; {
	case e != nil:
		l.Origin, l.Seq, l.Time, l.Cause, l.Tool, l.Client = "kerf", e.Seq, &e.Time, e.Cause, e.Tool, e.Client
		l.Session, l.Turn, l.Call, l.Certainty, l.Edited = e.Session, e.Turn, e.Call, e.Known(), e.Edited
		if l.Certainty != ledger.Proven {
			l.Origin = "unproven"
		}
	case o.Unknown:
		l.Origin = "unknown"
	}
	return l
}
