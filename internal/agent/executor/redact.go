package executor

import (
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
	case tool.Command, tool.WriteStdin, tool.Remote, tool.Fetch:
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
	b := []byte(s)
	if clean := h.o.Redact(b); len(clean) != len(b) || &clean[0] != &b[0] {
		return string(clean)
	}
	return s // most texts, which are not copied again
}
