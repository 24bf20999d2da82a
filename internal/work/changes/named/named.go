// Package named finds what a word names in the history of a workspace: entries, turns, calls
// and sessions, as lists show them.
package named

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/work/changes/row"
)

// Target is what a word names: an entry, or the entries of a call, a turn or a session.
type Target struct {
	Entry               int64
	Session, Turn, Call string
	// First and Last are the numbers of its first and last entry.
	First, Last int64
}

// least is how much of an id must be given.
const least = 4

// Find returns what word names among rows: #4 or 4, an id, or the beginning of one where it
// is unique. It reports false where word names nothing.
func Find(rows []row.Entry, word string) (Target, bool, error) {
	if n, ok := number(word); ok {
		i := slices.IndexFunc(rows, func(e row.Entry) bool { return e.Seq == n })
		if i < 0 {
			return Target{}, false, fmt.Errorf("this workspace has no entry %d; see kerf log", n)
		}
		e := rows[i]
		return Target{Entry: n, Session: e.Session, Turn: e.Turn, Call: e.Call, First: n, Last: n}, true, nil
	}
	var found []Target
	for _, e := range rows {
		for _, t := range of(e) {
			if id := t.id(); id == word || len(word) >= least && strings.HasPrefix(id, word) {
				found = add(found, t, e.Seq)
			}
		}
	}
	if exact := slices.DeleteFunc(slices.Clone(found), func(t Target) bool { return t.id() != word }); len(exact) > 0 {
		found = exact
	}
	if len(found) > 1 {
		return Target{}, false, fmt.Errorf("%q begins the names of several: %s; give more of it, or an entry", word,
			strings.Join(names(found), ", "))
	}
	if len(found) == 0 {
		return Target{}, false, nil
	}
	return found[0], true, nil
}

// number reads #4 and 4.
func number(word string) (int64, bool) {
	digits := strings.TrimPrefix(word, "#")
	if len(digits) > 9 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

// of is what an entry belongs to.
func of(e row.Entry) []Target {
	var list []Target
	for _, t := range []Target{{Session: e.Session}, {Session: e.Session, Turn: e.Turn},
		{Session: e.Session, Turn: e.Turn, Call: e.Call}} {
		if t.id() != "" && !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return list
}

// id is the narrowest of the ids of a target.
func (t Target) id() string {
	switch {
	case t.Call != "":
		return t.Call
	case t.Turn != "":
		return t.Turn
	}
	return t.Session
}

// add notes that an entry belongs to a target.
func add(found []Target, t Target, seq int64) []Target {
	for i, f := range found {
		if f.Session == t.Session && f.Turn == t.Turn && f.Call == t.Call {
			found[i].First, found[i].Last = min(f.First, seq), max(f.Last, seq)
			return found
		}
	}
	t.First, t.Last = seq, seq
	return append(found, t)
}

func names(found []Target) []string {
	var list []string
	for _, t := range found[:min(len(found), 4)] {
		list = append(list, fmt.Sprintf("%s (entry %d)", t.id(), t.First))
	}
	return list
}

// Fits reports whether an entry belongs to the target.
func (t Target) Fits(e row.Entry) bool {
	if t.Entry != 0 {
		return e.Seq == t.Entry
	}
	return e.Session == t.Session && (t.Turn == "" || e.Turn == t.Turn) && (t.Call == "" || e.Call == t.Call)
}
