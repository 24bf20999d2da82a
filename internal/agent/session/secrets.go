package session

import (
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// redact takes secrets out of what a command printed: it goes to a model and to
// screens. What is read from files stays as it is, so that it can be edited.
func (h *Hands) redact(a tool.Action, o *turn.Outcome) {
	if h.o.Redact == nil {
		return
	}
	switch a.(type) {
	case tool.Command, tool.Poke:
	default:
		return
	}
	clean := func(s string) string { return string(h.o.Redact([]byte(s))) }
	o.Text = clean(o.Text)
	switch b := o.Body.(type) {
	case protocol.Command:
		b.Output = clean(b.Output)
		o.Body = b
	case protocol.ToolCall:
		b.Output, b.Error = clean(b.Output), clean(b.Error)
		o.Body = b
	}
}
