package ledger

import "path"

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
