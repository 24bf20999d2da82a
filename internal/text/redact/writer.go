package redact

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

const (
	// heldMost bounds what a Writer keeps back, heldLong how long it does: an
	// unfinished line may be a question that somebody waits for.
	heldMost  = 16 << 10
	heldLong  = 200 * time.Millisecond
	keyMark   = "-----"
	keyBegins = keyMark + "BEGIN "
	keyEnds   = keyMark + "END "
)

// Writer shows live output without its secrets. It keeps an unfinished line back for a
// moment, so that a secret which comes in two pieces is seen as one. Of a flood it shows
// the beginning, and then a part now and again, from the beginning of a line outside of
// keys: nobody can read all of it, and where it is kept it is kept whole.
//
// Its timer runs a function of its own; Close stops it and waits for none: after
// Close nothing is shown.
type Writer struct {
	clean func([]byte) []byte
	show  func(string)

	mu     sync.Mutex // guards what follows, and is held while showing
	held   []byte
	timer  *time.Timer
	closed bool
	budget budget
	flood  flood
	// midLine says that what was shown last did not end a line.
	midLine bool
}

// NewWriter returns a writer that passes to show what clean leaves; nil leaves all. Clean
// neither changes nor keeps what it is given.
func NewWriter(clean func([]byte) []byte, show func(string)) *Writer {
	return &Writer{clean: clean, show: show}
}

// Write takes a piece of output.
func (w *Writer) Write(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if left := w.budget.left(); left <= 0 || w.flood.passed > 0 {
		w.skip(text, left > 0)
	} else {
		w.held = append(w.held, text...)
	}
	w.give(w.whole())
	switch {
	case len(w.held) == 0 && w.flood.passed == 0:
	case w.timer == nil:
		w.timer = time.AfterFunc(heldLong, w.late)
	default:
		w.timer.Reset(heldLong)
	}
}

// skip passes over output, and with rest only as far as it has to.
func (w *Writer) skip(text string, rest bool) {
	if w.flood.passed == 0 {
		text = string(w.held) + text
		w.held = w.held[:0]
	}
	if b := w.flood.pass(text, rest); b != nil {
		w.endFlood()
		w.held = append(w.held, b...)
	}
}

// endFlood tells how much was passed over, and returns its last line.
func (w *Writer) endFlood() []byte {
	n, line := w.flood.end()
	if n > 0 {
		note := fmt.Sprintf("[… %d bytes are not shown here …]\n", n)
		if w.midLine {
			note = "\n" + note
		}
		w.show(note)
		w.midLine = false
	}
	return line
}

// whole is how much of what is held can be shown at once.
func (w *Writer) whole() int {
	n := bytes.LastIndexAny(w.held, "\n\r") + 1
	if key := lastIndex(w.held, keyBegins); key >= 0 && !bytes.Contains(w.held[key:], []byte(keyEnds)) {
		n = min(n, key)
	}
	if len(w.held)-n > heldMost {
		n = len(w.held)
	}
	return n
}

// lastIndex is where s begins for the last time in b, or -1. It searches from the start,
// which is much quicker where there is none.
func lastIndex(b []byte, s string) int {
	at := -1
	for {
		n := bytes.Index(b[at+1:], []byte(s))
		if n < 0 {
			return at
		}
		at += 1 + n
	}
}

// give shows the first n bytes that are held.
func (w *Writer) give(n int) {
	if n > 0 {
		text := w.held[:n]
		if w.clean != nil {
			text = w.clean(text)
		}
		w.budget.room -= n
		w.show(string(text))
		w.midLine = w.held[n-1] != '\n'
		w.held = append(w.held[:0], w.held[n:]...)
	}
}

// rest shows what is held or was passed over, as far as it may be shown.
func (w *Writer) rest() {
	if w.flood.passed > 0 {
		w.held = append(w.held[:0], w.endFlood()...)
	}
	w.give(len(w.held))
}

func (w *Writer) late() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.rest()
	}
}

// Close shows the rest.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.rest()
	w.closed = true
}
