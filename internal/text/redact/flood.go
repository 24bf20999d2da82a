package redact

import (
	"bytes"
	"time"
)

const (
	// shownAtOnce bounds what is shown of output that comes quicker than it can be read,
	// shownLater what is shown of it in each heldLong after that.
	shownAtOnce = 256 << 10
	shownLater  = 32 << 10
)

// budget is how many bytes may be shown: it fills up with time.
type budget struct {
	room  int
	since time.Time
}

// left is what may be shown now.
func (b *budget) left() int {
	now := time.Now()
	if b.since.IsZero() {
		b.room, b.since = shownAtOnce, now
	}
	if ticks := now.Sub(b.since) / heldLong; ticks > 0 {
		b.room = int(min(shownAtOnce, int64(b.room)+int64(ticks)*shownLater))
		b.since = now
	}
	return b.room
}

// flood is output that is passed over, because it comes quicker than it can be read.
type flood struct {
	passed int64
	// line is what was passed over since the last line end; torn says that it lacks its
	// beginning.
	line []byte
	torn bool
	// inKey counts the bytes since a key began that has not ended, 0 outside of keys.
	inKey int
}

// pass passes over a piece of output. With rest it returns what may be shown of it: that
// from the first beginning of a line on which is not within a key, nil if there is none.
func (f *flood) pass(text string, rest bool) []byte {
	before := len(f.line)
	f.line = append(f.line, text...)
	b := f.line
	if rest {
		if at := f.resume(b); at > 0 {
			f.passed += int64(at - before)
			f.line = nil
			return b[at:]
		}
	}
	f.passed += int64(len(text))
	key, at := lastMark(b)
	switch {
	case key:
		f.inKey = len(b) - at
	case at >= 0:
		f.inKey = 0
	case f.inKey > 0:
		f.inKey += len(text)
	}
	if f.inKey > heldMost {
		f.inKey = 0 // only the words are there
	}
	if at = bytes.LastIndexByte(b, '\n') + 1; at > 0 {
		b, f.torn = b[at:], false
	}
	if len(b) > heldMost {
		b, f.torn = b[len(b)-2*len(keyBegins):], true
	}
	f.line = append(f.line[:0], b...)
	return nil
}

// lastMark is where a key begins or ends for the last time in b, or -1, and whether it
// begins.
func lastMark(b []byte) (begins bool, at int) {
	at = -1
	for i := 0; ; i++ {
		n := bytes.Index(b[i:], []byte(keyMark))
		if n < 0 {
			return begins, at
		}
		i += n
		if bytes.HasPrefix(b[i:], []byte(keyBegins)) {
			begins, at = true, i
		} else if bytes.HasPrefix(b[i:], []byte(keyEnds)) {
			begins, at = false, i
		}
	}
}

// resume is where in b a line begins that may be shown, 0 if there is none.
func (f *flood) resume(b []byte) int {
	from := 0
	if f.inKey > 0 {
		if from = bytes.Index(b, []byte(keyEnds)); from < 0 {
			return 0
		}
	}
	at := from + bytes.IndexByte(b[from:], '\n') + 1
	if key, _ := lastMark(b[from:at]); key || at == from {
		return 0
	}
	return at
}

// end begins anew. It returns how much was passed over, and the last line, which is not
// counted, if it may be shown.
func (f *flood) end() (passed int64, line []byte) {
	if f.inKey == 0 && !f.torn {
		line = f.line
	}
	passed = f.passed - int64(len(line))
	*f = flood{}
	return passed, line
}
