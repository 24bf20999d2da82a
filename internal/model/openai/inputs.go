package openai

import (
	"bytes"
	"slices"
	"sync"

	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// maxInputs bounds how many conversations keep their encoding.
const maxInputs = 8

// inputs keeps the encoded items of recent conversations, so that a request
// costs what it adds and not what it repeats.
//
// The law: for the same items encode returns the same bytes, and bytes once
// returned never change, because a request may still be sending them. So a
// buffer is only ever appended to, and a conversation that leaves the path it
// took before (after a compaction, say) starts a new one.
type inputs struct {
	mu     sync.Mutex
	recent []*encoded // most recently used first
}

// encoded is one conversation.
type encoded struct {
	key   string
	items []*model.Item
	ends  []int // ends[i] is the length of buf after items[i]
	buf   []byte
}

// encode returns the members of the JSON array of items. The caller must not
// change them.
func (in *inputs) encode(key string, items []*model.Item) ([]byte, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	old := in.take(key)
	e := old
	n := shared(old.items, items)
	if n < len(old.items) {
		e = old.fork(n)
	}
	if err := e.extend(items[n:]); err != nil {
		in.put(old)
		return nil, err
	}
	in.put(e)
	return e.buf[:len(e.buf):len(e.buf)], nil
}

// take removes the conversation of key, or makes an empty one.
func (in *inputs) take(key string) *encoded {
	i := slices.IndexFunc(in.recent, func(e *encoded) bool { return e.key == key })
	if i < 0 {
		return &encoded{key: key}
	}
	e := in.recent[i]
	in.recent = slices.Delete(in.recent, i, i+1)
	return e
}

func (in *inputs) put(e *encoded) {
	in.recent = slices.Insert(in.recent, 0, e)
	if len(in.recent) > maxInputs {
		in.recent = slices.Delete(in.recent, maxInputs, len(in.recent))
	}
}

// shared counts the items that a and b begin with alike.
func shared(a, b []*model.Item) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// fork returns a conversation of the first n items in a buffer of its own.
func (e *encoded) fork(n int) *encoded {
	f := &encoded{key: e.key, items: slices.Clone(e.items[:n]), ends: slices.Clone(e.ends[:n])}
	if n > 0 {
		f.buf = bytes.Clone(e.buf[:e.ends[n-1]])
	}
	return f
}

// extend appends items, all or none.
func (e *encoded) extend(items []*model.Item) error {
	buf, ends := e.buf, e.ends
	for _, item := range items {
		next, err := appendItem(wire.AppendComma(buf), item)
		if err != nil {
			return err
		}
		if len(next) > 0 && next[len(next)-1] == ',' {
			next = next[:len(next)-1] // the item has no place in the protocol
		}
		buf = next
		ends = append(ends, len(buf))
	}
	e.buf, e.ends, e.items = buf, ends, append(e.items, items...)
	return nil
}
