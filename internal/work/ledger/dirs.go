package ledger

import (
	"path"
	"slices"
)

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

// Directories are those that came, went or got another mode with e.
func (e *Entry) Directories() []Path {
	list := slices.Clone(e.Dirs)
	for _, d := range e.Gone {
		list = append(list, d.Path)
	}
	for _, d := range e.Modes {
		list = append(list, d.Path)
	}
	return list
}
