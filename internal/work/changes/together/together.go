// Package together tells which changes of files are taken back together: without one another, they could lose
// what a file holds.
package together

import (
	"slices"
	"strings"

	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
)

// With returns what goes with the paths that are named, of changes that are taken back or, with redo, made again:
// the other half of a move, and what is below a path that was a directory, or became one.
func With(entries []*ledger.Entry, named func(path string) bool, redo bool) map[string]bool {
	with := map[string]bool{}
	some := func(p string) bool { return with[p] || named(p) }
	for before := -1; before < len(with); { // one of them may need another
		before = len(with)
		for _, e := range entries {
			add(with, e, some, redo)
		}
	}
	return with
}

func add(with map[string]bool, e *ledger.Entry, some func(path string) bool, redo bool) {
	made, gone := present.Dirs(e)
	at := byPath(e)
	for _, c := range e.Changes {
		if c.To != "" && (some(c.Path) || some(c.To)) {
			with[c.Path], with[c.To] = true, true
		}
		if aside := movedAside(e, c, at[c.From]); aside && !redo && some(c.Path) {
			with[c.From] = true
		} else if aside && redo && some(c.From) {
			with[c.Path] = true
		}
		if made[c.Path] == nil && gone[c.Path] == nil {
			continue
		}
		inside := []string{c.Path}
		for _, o := range e.Changes {
			if strings.HasPrefix(o.Path, c.Path+"/") {
				inside = append(inside, o.Path)
			}
		}
		if slices.ContainsFunc(inside, some) {
			for _, p := range inside {
				with[p] = true
			}
		}
	}
}

// Paths are those that e changed itself. Directories that came or went with files are not among them.
func Paths(e *ledger.Entry) []string {
	var paths []string
	seen, alone := map[string]bool{}, e.Alone()
	add := func(path string, changed bool) {
		if changed && !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	for _, c := range e.Changes {
		add(c.Path, true)
	}
	for _, d := range e.Dirs {
		add(string(d), alone[string(d)])
	}
	for _, d := range e.Gone {
		add(string(d.Path), alone[string(d.Path)])
	}
	for _, m := range e.Modes {
		add(string(m.Path), true)
	}
	return paths
}

// byPath finds the changes of an entry.
func byPath(e *ledger.Entry) map[string]*ledger.Change {
	at := make(map[string]*ledger.Change, len(e.Changes))
	for i := range e.Changes {
		at[e.Changes[i].Path] = &e.Changes[i]
	}
	return at
}

// movedAside reports whether a command gave a file another name and put something else in its place, which is what
// it did there, as for a backup: to take back that name alone would take what the file holds along.
func movedAside(e *ledger.Entry, c ledger.Change, there *ledger.Change) bool {
	return e.Cause == ledger.CauseCommand && c.From != "" && there != nil && there.Post != nil
}

// Carried are the paths whose content e put there, and that is no longer where it came from since then.
func Carried(e *ledger.Entry) map[string]bool {
	at, carried := byPath(e), map[string]bool{}
	for _, c := range e.Changes {
		if o := at[c.From]; c.From != "" && o != nil && (o.To == c.Path || o.Post == nil || e.Cause == ledger.CauseCommand) {
			carried[c.Path] = true
		}
	}
	return carried
}

// Left is where e moved the file that was at path, or "".
func Left(e *ledger.Entry, path string) string {
	i := slices.IndexFunc(e.Changes, func(c ledger.Change) bool { return c.Path == path })
	if i < 0 {
		return ""
	}
	if to := e.Changes[i].To; to != "" {
		return to
	}
	for _, c := range e.Changes {
		if c.From == path && movedAside(e, c, &e.Changes[i]) {
			return c.Path
		}
	}
	return ""
}

// Only are the paths that undos were about, nil when one was about all of its changes.
func Only(undos []*ledger.Entry) []string {
	var paths []string
	for _, e := range undos {
		if len(e.Only) == 0 {
			return nil
		}
		for _, path := range e.Only {
			paths = append(paths, string(path))
		}
	}
	return paths
}
