package proc

import (
	"bytes"
	"fmt"
	"sync"
)

// buffer keeps the head and the tail of a stream. The tail is a ring:
//
//	head            hole              tail
//	[0, len(head))  [.., total-len)   [total-len, total)
//
// All methods may be called by several goroutines.
type buffer struct {
	mu    sync.Mutex
	limit int // of each half, in bytes
	head  []byte
	ring  []byte // full when len == limit; next is then the oldest byte
	next  int
	total int64
	ends  int64 // line ends in all of it
	drain int64 // where the next Drain starts
	told  int64 // line ends before drain
}

func newBuffer(limit int) *buffer { return &buffer{limit: max(limit/2, 1)} }

func (b *buffer) write(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total += int64(len(p))
	b.ends += int64(bytes.Count(p, lineEnd))
	n := min(len(p), b.limit-len(b.head))
	b.head = append(b.head, p[:n]...)
	p = p[n:]
	if len(p) > b.limit {
		p = p[len(p)-b.limit:]
	}
	n = min(len(p), b.limit-len(b.ring))
	b.ring = append(b.ring, p[:n]...)
	for p = p[n:]; len(p) > 0; p = p[n:] {
		n = copy(b.ring[b.next:], p)
		b.next = (b.next + n) % b.limit
	}
}

// since returns what is kept from offset on, the offset after it, and how many
// bytes from offset on are gone.
func (b *buffer) since(offset int64) (text []byte, next, omitted int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sinceLocked(offset)
}

func (b *buffer) sinceLocked(offset int64) (text []byte, next, omitted int64) {
	offset = min(max(offset, 0), b.total)
	tail := b.total - int64(len(b.ring)) // first byte of the ring
	const notice = 64
	text = make([]byte, 0, min(b.total-offset, int64(len(b.head)+len(b.ring)+notice)))
	if offset < int64(len(b.head)) {
		text = append(text, b.head[offset:]...)
		offset = int64(len(b.head))
	}
	if offset < tail {
		omitted = tail - offset
		text = fmt.Appendf(text, "\n[... %d bytes omitted ...]\n", omitted)
		offset = tail
	}
	skip := int(offset - tail)
	old := len(b.ring) - b.next // bytes from the oldest to the end of the slice
	if len(b.ring) < b.limit {
		old = len(b.ring)
	}
	if skip < old {
		text = append(text, b.ring[len(b.ring)-old+skip:]...)
		skip = 0
	} else {
		skip -= old
	}
	if old < len(b.ring) {
		text = append(text, b.ring[skip:b.next]...)
	}
	return text, b.total, omitted
}

func (b *buffer) drainNew() Portion {
	b.mu.Lock()
	defer b.mu.Unlock()
	var p Portion
	p.Text, b.drain, p.Omitted = b.sinceLocked(b.drain)
	p.Lines, b.told = b.ends-b.told, b.ends
	if n := len(p.Text); n > 0 && p.Text[n-1] != '\n' {
		p.Lines++
	}
	return p
}

var lineEnd = []byte{'\n'}
