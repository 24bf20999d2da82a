package files

import (
	"slices"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// CertaintyOf is what is known of who made the changes of an entry. Without one the
// cause tells.
func CertaintyOf(cause string, e *ledger.Entry) protocol.Certainty {
	if e == nil {
		e = &ledger.Entry{Cause: cause}
	}
	return protocol.Certainty(e.Known())
}

// Committed lists a set that was committed as front ends show it. The records of it are
// the last of those given.
func (f *Files) Committed(set delta.Set, records []history.FileChange) []protocol.PathChange {
	list := f.PathChanges(set)
	from := len(records) - len(list)
	for i := range list {
		if from >= 0 {
			list[i].Certainty = records[from+i].Certainty
		}
	}
	return list
}

// Doubts are the paths of which nobody saw who changed them. The zero value has none.
type Doubts struct{ paths map[string]bool }

// Add takes in the paths of a set.
func (d *Doubts) Add(set delta.Set) {
	if d.paths == nil {
		d.paths = map[string]bool{}
	}
	for _, c := range set {
		d.paths[c.Path] = true
	}
}

// In are the paths of set that are in doubt.
func (d *Doubts) In(set delta.Set) []string {
	var paths []string
	for _, c := range set {
		if d.paths[c.Path] || c.From != "" && d.paths[c.From] {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// DiffOf is the diff that was shown of a proposed set if all of it landed, or empty.
func DiffOf(landed, proposed delta.Set, shown string) string {
	same := func(a, b delta.Change) bool {
		return a.Path == b.Path && a.From == b.From && a.To == b.To && a.Pre.At() == b.Pre.At() && a.Post.At() == b.Post.At()
	}
	if !slices.EqualFunc(landed, proposed, same) {
		return ""
	}
	return shown
}

// LastChange is the last change of a set to a path, by its name or its real name.
func LastChange(set delta.Set, path, real string) (delta.Change, bool) {
	for i := len(set) - 1; i >= 0; i-- {
		if set[i].Path == path || set[i].Path == real {
			return set[i], true
		}
	}
	return delta.Change{}, false
}
