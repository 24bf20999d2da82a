package changes

import (
	"slices"
	"strings"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/changes/verdicts"
	"kerf/internal/work/ledger"
)

// Filter says which entries a log shows.
type Filter struct {
	Session string   // the beginning of an id
	Paths   []string // absolute; directories stand for all below
	Limit   int      // the newest so many; 0 is all
	Diffs   bool     // with the diff of each entry
	Checks  bool     // with the verdicts of checks, unless Paths are named
	Since   time.Time
	Fits    func(row.Entry) bool // nil fits all
}

// Log returns the entries that f fits, newest first. Turns that changed nothing
// and the beginnings of commands are left out.
func (r Reader) Log(f Filter) ([]row.Entry, error) {
	b, err := open(r.Ledger)
	if err != nil {
		return nil, err
	}
	var list []row.Entry
	ended := b.ended()
	checked := verdicts.List{Left: b.checked}
	for i := len(b.entries) - 1; i >= 0; i-- {
		e := &b.entries[i]
		if f.Checks && len(f.Paths) == 0 {
			list = append(list, checked.Above(e, func(r row.Entry) bool {
				return strings.HasPrefix(r.Session, f.Session) && !r.Time.Before(f.Since) && (f.Fits == nil || f.Fits(r))
			})...)
		}
		over := e.Cause == ledger.CauseNone || e.Cause == ledger.CauseBegan && ended[e.Seq]
		if over || !strings.HasPrefix(e.Session, f.Session) || !b.touches(e, f.Paths) {
			continue
		}
		if e.Time.Before(f.Since) {
			break
		}
		if len(e.Changes)+len(e.Dirs)+len(e.Gone)+len(e.Modes) == 0 && e.Ended && e.Note == "" {
			continue // only says that its command is over
		}
		le := row.Of(e)
		le.Undone = b.undone(e)
		if f.Fits != nil && !f.Fits(le) {
			continue
		}
		if f.Diffs {
			le.Diff = string(r.EntryDiff(e))
		}
		list = append(list, le)
		if f.Limit > 0 && len(list) >= f.Limit {
			list = list[:f.Limit]
			break
		}
	}
	return list, nil
}

// touches reports whether e is about one of paths, or came from or went there.
func (b *book) touches(e *ledger.Entry, paths []string) bool {
	at := func(p string) bool { return below(p, paths) }
	changed := func(c ledger.Change) bool { return at(c.Path) || at(c.From) || at(c.To) }
	return len(paths) == 0 || slices.ContainsFunc(e.Changes, changed) || slices.ContainsFunc(b.scope(e.Seq), at)
}

// EntryDiff is the diff of one entry. A file whose contents are not kept any more, are
// damaged, or are larger than ShownLimit, is only named.
func (r Reader) EntryDiff(e *ledger.Entry) []byte {
	set, _ := r.loadSet(e.Set())
	return diff.Unified(delta.Files(set, func(path string) string { return Relative(r.Base, path) }))
}
