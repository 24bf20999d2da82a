package ledger

import (
	"path"
	"path/filepath"
	"strings"
)

// Gap is a file that changed in a way that cannot be taken back, or not wholly.
type Gap struct {
	Path Path   `json:"path"`
	Why  string `json:"why"`
}

// LeftThere begins the Why of something that came and that an undo leaves where it is.
const LeftThere = "undo leaves it there"

func (g Gap) String() string { return string(g.Path) + " (" + g.Why + ")" }

// Unknown returns the files of which e does not know all.
func (e *Entry) Unknown() []Gap {
	if len(e.Gaps) > 0 {
		return e.Gaps
	}
	var gaps []Gap
	for _, what := range strings.Split(e.Note, "; ") {
		path, why, _ := strings.Cut(strings.TrimSuffix(what, ")"), " (")
		if filepath.IsAbs(filepath.FromSlash(path)) {
			gaps = append(gaps, Gap{Path(path), why})
		}
	}
	return gaps
}

// Alone are the directories that came or went with e and with no file of it.
func (e *Entry) Alone() map[string]bool {
	with := map[string]bool{}
	for _, c := range e.Changes {
		with[c.Path] = true
		for dir := path.Dir(c.Path); dir != path.Dir(dir) && !with[dir]; dir = path.Dir(dir) {
			with[dir] = true
		}
	}
	alone := map[string]bool{}
	for _, d := range e.Dirs {
		alone[string(d)] = !with[string(d)]
	}
	for _, d := range e.Gone {
		alone[string(d.Path)] = !with[string(d.Path)]
	}
	return alone
}
