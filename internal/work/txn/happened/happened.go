// Package happened enters changes that were made already, such as those of a command.
package happened

import (
	"errors"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/room"
	"kerf/internal/work/store"
)

// Records are where an entry and the contents that it names go.
type Records struct {
	Store   *store.Store
	Ledger  *ledger.Ledger
	Room    *room.Room
	Durable bool // flushed before Enter returns
}

// Enter appends e with the changes of set, and stores the images that are loaded. On a full disk the entry goes in
// without their contents if the reserve allows it; the error says so then, beside the entry.
func (r Records) Enter(set delta.Set, e *ledger.Entry) (*ledger.Entry, error) {
	var contents []store.Content
	for _, c := range set {
		for _, i := range []*delta.Image{c.Pre, c.Post} {
			if i != nil && i.Loaded {
				contents = append(contents, store.Content{Sum: i.Sum, Data: i.Data})
			}
		}
	}
	lost := r.Store.PutAll(contents, r.Durable)
	if lost != nil && !room.Full(lost) {
		return nil, lost
	}
	e.Changes = ledger.ChangesOf(set)
	if lost != nil {
		e.Note = strings.TrimPrefix(e.Note+"; "+ledger.NoteFull, "; ")
	}
	err := r.Ledger.Append(e)
	if room.Full(err) {
		r.Room.Spend()
		err = r.Ledger.Append(e)
	}
	if err != nil {
		return nil, err
	}
	if r.Durable {
		err = r.Ledger.Sync()
	}
	return e, errors.Join(lost, err)
}
