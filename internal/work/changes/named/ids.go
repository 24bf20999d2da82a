package named

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Entry is what an entry of the history belongs to.
type Entry struct{ Session, Turn, Call string }

// IDs are ids of a session, a turn and a call that somebody gave: whole ones, the beginnings of
// others, or "".
type IDs struct {
	given Entry
	whole struct{ session, turn, call bool }
}

// Among are ids as they are meant among all entries: what is the whole id of one is not the
// beginning of another's.
func Among(session, turn, call string, all iter.Seq[Entry]) IDs {
	i := IDs{given: Entry{session, turn, call}}
	some := func(given string, of func(Entry) string) bool {
		for e := range all {
			if given != "" && of(e) == given && i.Mean(e) {
				return true
			}
		}
		return false
	}
	i.whole.session = some(session, func(e Entry) string { return e.Session })
	i.whole.turn = some(turn, func(e Entry) string { return e.Turn })
	i.whole.call = some(call, func(e Entry) string { return e.Call })
	return i
}

// Mean reports whether e is of the session, turn and call that were given.
func (i IDs) Mean(e Entry) bool {
	return fits(e.Session, i.given.Session, i.whole.session) && fits(e.Turn, i.given.Turn, i.whole.turn) &&
		fits(e.Call, i.given.Call, i.whole.call)
}

func fits(id, given string, whole bool) bool {
	return id == given || !whole && strings.HasPrefix(id, given)
}

// Certain fails when the beginning of an id means several of the entries found. With later, they
// are of other turns than the one that was given, too.
func (i IDs) Certain(found []Entry, later bool) error {
	if !later {
		if err := one("turn", i.given.Turn, found, func(e Entry) string { return e.Turn }); err != nil {
			return err
		}
	}
	if i.given.Turn != "" && i.given.Session == "" {
		sessions := map[string]bool{}
		for _, e := range found {
			sessions[e.Session] = true
		}
		if len(sessions) > 1 {
			return fmt.Errorf("%d sessions have a turn %q; name one with --session (see kerf log)", len(sessions), i.given.Turn)
		}
	}
	if err := one("session", i.given.Session, found, func(e Entry) string { return e.Session }); err != nil {
		return err
	}
	return one("call", i.given.Call, found, func(e Entry) string { return e.Call })
}

// one fails when the ids of what was found are several.
func one(what, given string, found []Entry, of func(Entry) string) error {
	if given == "" {
		return nil
	}
	var ids []string
	for _, e := range found {
		if id := of(e); id == given {
			return nil
		} else if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 1 {
		return fmt.Errorf("%d %ss begin with %q: %s; give more of the id", len(ids), what, given,
			strings.Join(ids[:min(3, len(ids))], ", "))
	}
	return nil
}
