package executor

import (
	"bytes"
	"sync"
	"time"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// redact takes secrets out of what a command printed or a server answered: it goes
// to a model and to screens. What is read from files stays as it is, so that it can
// be edited.
func (h *Executor) redact(a tool.Action, o *turn.Outcome) {
	if h.o.Redact == nil {
		return
	}
	switch a.(type) {
	case tool.Command, tool.Poke, tool.Remote:
	default:
		return
	}
	o.Text = h.clean(o.Text)
	switch b := o.Body.(type) {
	case protocol.Command:
		b.Output = h.clean(b.Output)
		o.Body = b
	case protocol.ToolCall:
		b.Output, b.Error = h.clean(b.Output), h.clean(b.Error)
		o.Body = b
	}
}

func (h *Executor) clean(s string) string {
	if h.o.Redact == nil || s == "" {
		return s
	}
	return string(h.o.Redact([]byte(s)))
}

const (
	// heldMost bounds what a veil keeps back, heldLong how long it does: an
	// unfinished line may be a question that somebody waits for.
	heldMost = 16 << 10
	heldLong = 200 * time.Millisecond
)

// veil shows live output without its secrets. It keeps an unfinished line back for
// a moment, so that a secret which comes in two pieces is seen as one.
//
// Its timer runs a function of its own; close stops it and waits for none: after
// close nothing is shown.
type veil struct {
	clean func(string) string
	show  func(string)

	mu     sync.Mutex // guards what follows, and is held while showing
	held   []byte
	timer  *time.Timer
	closed bool
}

func (h *Executor) veil(show func(string)) *veil { return &veil{clean: h.clean, show: show} }

// write takes a piece of output.
func (v *veil) write(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.held = append(v.held, text...)
	whole := bytes.LastIndexAny(v.held, "\n\r") + 1
	if key := bytes.LastIndex(v.held, []byte("-----BEGIN ")); key >= 0 && !bytes.Contains(v.held[key:], []byte("-----END ")) {
		whole = min(whole, key)
	}
	if len(v.held)-whole > heldMost {
		whole = len(v.held)
	}
	v.give(whole)
	if len(v.held) == 0 {
		return
	}
	if v.timer == nil {
		v.timer = time.AfterFunc(heldLong, v.late)
	} else {
		v.timer.Reset(heldLong)
	}
}

// give shows the first n bytes that are held.
func (v *veil) give(n int) {
	if n > 0 {
		v.show(v.clean(string(v.held[:n])))
		v.held = append(v.held[:0], v.held[n:]...)
	}
}

func (v *veil) late() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.give(len(v.held))
	}
}

// close shows the rest.
func (v *veil) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.timer != nil {
		v.timer.Stop()
	}
	v.give(len(v.held))
	v.closed = true
}
