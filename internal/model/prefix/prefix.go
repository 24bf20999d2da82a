// Package prefix keeps the encoded conversations of a client, so that request
// n+1 begins with the bytes of request n and costs only what it adds.
//
// Protocols gather items into groups: one message each, such as an answer with
// its calls. A group's bytes depend on its items and on nothing else.
package prefix

import (
	"bytes"
	"slices"
	"sync"

	"kerf/internal/model"
	"kerf/internal/text/order"
)

// maxKept bounds how many conversations keep their encoding.
const maxKept = 8

// Encoder is how a protocol writes a conversation.
type Encoder interface {
	// End returns the end of the group that begins at items[from]; it is larger
	// than from.
	End(items []*model.Item, from int) int
	// Append appends the message of a group behind dst, which is either empty or
	// ends a message. It appends nothing when the group has no place in the
	// protocol. all are the items up to the group's end.
	Append(dst []byte, all []*model.Item, from int) ([]byte, error)
}

// Text is an encoded conversation. It must not be changed.
type Text struct {
	Bytes []byte
	// Groups are the messages, in order, those without bytes left out.
	Groups []Group
}

// Group is one message: the end of its items, and of its bytes.
type Group struct {
	First, Items int // items[First:Items]
	End          int // of its bytes in Text.Bytes
}

// Cache keeps the encodings of recent conversations. Its zero value, with an
// Encoder, is ready; it may be used by several goroutines.
//
// The law: for the same items Encode returns the same bytes, and bytes once
// returned never change, because a request may still be sending them. So a
// buffer is only ever appended to, and a conversation that leaves the path it
// took before starts a new one.
type Cache struct {
	Encoder Encoder

	mu     sync.Mutex
	recent []*encoded // most recently used first; guarded by mu
}

type encoded struct {
	key    string
	items  []*model.Item
	groups []Group
	buf    []byte
}

// Encode returns the messages of items, separated by commas.
func (c *Cache) Encode(key string, items []*model.Item) (Text, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.take(key)
	kept := c.kept(old, items)
	e := old
	if kept < len(old.groups) {
		e = old.fork(kept)
	}
	next, err := c.extend(e, items)
	if err != nil {
		c.put(old)
		return Text{}, err
	}
	c.put(next)
	return next.text(), nil
}

func (e *encoded) text() Text {
	t := Text{Bytes: e.buf[:len(e.buf):len(e.buf)]}
	before := 0
	for _, g := range e.groups {
		if g.End > before {
			t.Groups = append(t.Groups, g)
		}
		before = g.End
	}
	return t
}

// kept counts the groups of old that items begin with alike.
func (c *Cache) kept(old *encoded, items []*model.Item) int {
	same := 0
	for same < len(old.items) && same < len(items) && old.items[same] == items[same] {
		same++
	}
	n := 0
	for n < len(old.groups) && old.groups[n].Items <= same &&
		c.Encoder.End(items, old.groups[n].First) == old.groups[n].Items {
		n++
	}
	return n
}

// extend appends the groups that e lacks.
func (c *Cache) extend(e *encoded, items []*model.Item) (*encoded, error) {
	next := &encoded{key: e.key, items: slices.Clone(items), groups: e.groups, buf: e.buf}
	from := 0
	if n := len(e.groups); n > 0 {
		from = e.groups[n-1].Items
	}
	for from < len(items) {
		end := c.Encoder.End(items, from)
		start := len(next.buf)
		buf := next.buf
		if start > 0 {
			buf = append(buf, ',')
		}
		comma := len(buf)
		buf, err := c.Encoder.Append(buf, items[:end], from)
		if err != nil {
			return nil, err
		}
		if len(buf) == comma {
			buf = buf[:start]
		}
		next.buf = buf
		next.groups = append(next.groups, Group{First: from, Items: end, End: len(buf)})
		from = end
	}
	return next, nil
}

func (c *Cache) take(key string) *encoded {
	i := slices.IndexFunc(c.recent, func(e *encoded) bool { return e.key == key })
	if i < 0 {
		return &encoded{key: key}
	}
	e := c.recent[i]
	c.recent = slices.Delete(c.recent, i, i+1)
	return e
}

func (c *Cache) put(e *encoded) {
	c.recent = order.Insert(c.recent, 0, e)
	if len(c.recent) > maxKept {
		c.recent = slices.Delete(c.recent, maxKept, len(c.recent))
	}
}

// fork returns the first n groups in a buffer of their own.
func (e *encoded) fork(n int) *encoded {
	f := &encoded{key: e.key, groups: slices.Clone(e.groups[:n])}
	if n > 0 {
		f.buf = bytes.Clone(e.buf[:e.groups[n-1].End])
	}
	return f
}
