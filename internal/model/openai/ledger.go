package openai

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// maxItems bounds the items of one response.
const maxItems = 10_000

// ledger knows the items of a response: where they are and which were delivered.
type ledger struct {
	opened []*entry          // not closed yet
	byID   map[string]*entry // the latest opened with this id
	taken  map[int]bool      // indices, one per item
	next   int               // no index at or above it is taken
	calls  map[string]bool   // ids of delivered calls, as they were told
	seen   map[uint64]bool   // hashes of delivered items
	seed   maphash.Seed
	ended  map[int]bool        // the provider's indices of closed items
	kinds  map[model.Kind]bool // of delivered items
}

type entry struct {
	index int // ours, unique
	told  int // the provider's, or -1
	id    string
	kind  model.Kind
	done  bool
	said  strings.Builder // of a message, as it was streamed
	half  wire.Halves     // of the last letter that was streamed
}

func newLedger() *ledger {
	return &ledger{byID: map[string]*entry{}, taken: map[int]bool{}, calls: map[string]bool{},
		seen: map[uint64]bool{}, seed: maphash.MakeSeed(), ended: map[int]bool{},
		kinds: map[model.Kind]bool{}}
}

// lookup finds the open item that at names. Ids count most; an index counts
// unless its item has another id; without either it is the last of its kind.
func (l *ledger) lookup(at place, kind model.Kind) *entry {
	if e := l.byID[at.ItemID]; e != nil && e.kind == kind && !e.done {
		return e
	}
	for _, e := range slices.Backward(l.opened) {
		if e.kind != kind {
			continue
		}
		strange := at.ItemID != "" && e.id != "" && e.id != at.ItemID
		elsewhere := at.Index >= 0 && e.told >= 0 && e.told != at.Index
		if !strange && !elsewhere {
			return e
		}
	}
	return nil
}

func (l *ledger) find(at place, kind model.Kind) (index int, known bool) {
	e := l.lookup(at, kind)
	if e == nil {
		return 0, false
	}
	return e.index, true
}

// isLate reports whether at names an item that was closed.
func (l *ledger) isLate(at place) bool {
	if e := l.byID[at.ItemID]; e != nil {
		return e.done
	}
	return at.Index >= 0 && l.ended[at.Index]
}

// isDone reports whether item, known by one of its ids, was delivered.
func (l *ledger) isDone(item *model.Item) bool {
	e := l.byID[item.ID]
	return (e != nil && e.done) || (item.CallID != "" && l.calls[item.CallID])
}

func (l *ledger) isOpen(at place, kind model.Kind) bool {
	if at.ItemID == "" && at.Index < 0 {
		return false // nothing says that it is the same
	}
	return l.lookup(at, kind) != nil
}

// open enters an item. Its index is the one that was asked for if that is free.
func (l *ledger) open(at place, kind model.Kind) (int, error) {
	e, err := l.enter(at, kind)
	if err != nil {
		return 0, err
	}
	l.opened = append(l.opened, e)
	return e.index, nil
}

func (l *ledger) enter(at place, kind model.Kind) (*entry, error) {
	if len(l.taken) >= maxItems {
		return nil, &wire.Failure{Code: "server_error", Message: fmt.Sprintf("the response has more than %d items", maxItems)}
	}
	index := at.Index
	if index < 0 || index >= maxItems || l.taken[index] {
		index = l.next
	}
	e := &entry{index: index, told: at.Index, id: at.ItemID, kind: kind}
	l.taken[index] = true
	l.next = max(l.next, index+1)
	if e.id != "" {
		l.byID[e.id] = e
	}
	return e, nil
}

// close ends the item that at names, entering it if it is new, and tells what was streamed
// of a message.
func (l *ledger) close(at place, kind model.Kind) (index int, said string, err error) {
	e := l.lookup(at, kind)
	if e == nil {
		if e, err = l.enter(at, kind); err != nil {
			return 0, "", err
		}
	}
	e.done = true
	l.ended[e.told] = true
	l.opened = slices.DeleteFunc(l.opened, func(o *entry) bool { return o == e })
	return e.index, e.said.String(), nil
}

// repeated reports whether item was delivered before: a call by its id, unless it is another
// one at a place of its own, and other items when their bytes are the same and something says
// which one they are.
func (l *ledger) repeated(item *model.Item, index int, raw []byte) bool {
	if item.CallID != "" {
		return l.calls[item.CallID] && (index < 0 || l.ended[index] || l.seen[l.sumOf(item)])
	}
	if item.ID == "" && index < 0 {
		return false
	}
	sum := l.sum(fmt.Sprint(index), string(raw))
	if l.seen[sum] {
		return true
	}
	l.seen[sum] = true
	return false
}

func (l *ledger) sum(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(l.seed)
	for _, p := range parts {
		_, _ = h.WriteString(p) // a hash takes everything
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

func (l *ledger) sumOf(call *model.Item) uint64 { return l.sum(call.CallID, call.Name, call.Input) }

// deliver takes down an item as it was told.
func (l *ledger) deliver(item *model.Item) {
	l.kinds[item.Kind] = true
	if item.CallID != "" {
		l.calls[item.CallID] = true
		l.seen[l.sumOf(item)] = true
	}
}

// maxSaid bounds what is kept of a message that is streamed.
const maxSaid = 32 << 20

// say takes a piece of the open item at index, and returns what is whole of it. What a
// message says is kept.
func (l *ledger) say(index int, piece string) string {
	for _, e := range l.opened {
		if e.index != index {
			continue
		}
		piece = e.half.Join(piece)
		if e.kind == model.Message && e.said.Len()+len(piece) <= maxSaid {
			e.said.WriteString(piece)
		}
		return piece
	}
	return piece
}

// untold are the open messages with words, where no message was delivered.
func (l *ledger) untold() (all []*entry) {
	for _, e := range l.opened {
		if e.kind == model.Message && e.said.Len() > 0 && !l.kinds[model.Message] {
			all = append(all, e)
		}
	}
	return all
}

// silent reports whether nothing was told of any item.
func (l *ledger) silent() bool { return len(l.taken) == 0 }
