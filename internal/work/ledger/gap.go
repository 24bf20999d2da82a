package ledger

import (
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
