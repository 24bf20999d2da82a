package redact

import (
	"bytes"
	"sync"
	"time"
)

const (
	// heldMost bounds what a Writer keeps back, heldLong how long it does: an
	// unfinished line may be a question that somebody waits for.
	heldMost = 16 << 10
	heldLong = 200 * time.Millisecond
)

// Writer shows live output without its secrets. It keeps an unfinished line back
// for
// a moment, so that a secret which comes in two pieces is seen as one.
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
	w.held = append(w.held, text...)
	whole := bytes.LastIndexAny(w.held, "\n\r") + 1
	if key := lastIndex(w.held, "-----BEGIN "); key >= 0 && !bytes.Contains(w.held[key:], []byte("-----END ")) {
		whole = min(whole, key)
	}
	if len(w.held)-whole > heldMost {
		whole = len(w.held)
	}
	w.give(whole)
	if len(w.held) == 0 {
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(heldLong, w.late)
	} else {
		w.timer.Reset(heldLong)
	}
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
		w.show(string(text))
		w.held = append(w.held[:0], w.held[n:]...)
	}
}

func (w *Writer) late() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.give(len(w.held))
	}
}

// Close shows the rest.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.give(len(w.held))
	w.closed = true
}
