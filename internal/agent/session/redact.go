package session

import "kerf/internal/protocol"

// cleaned is a message with no secrets in the words of others that it passes on:
// servers, programs and the system quote what they were given.
func (s *Session) cleaned(m protocol.Msg) protocol.Msg {
	switch m := m.(type) {
	case protocol.Warning:
		m.Message = s.clean(m.Message)
		return m
	case protocol.Retrying:
		m.Cause = s.clean(m.Cause)
		return m
	case protocol.TurnFailed:
		m.Error.Message, m.Error.Hint = s.clean(m.Error.Message), s.clean(m.Error.Hint)
		return m
	case protocol.Processes:
		m.Running, m.Over = s.cleanOutputs(m.Running), s.cleanOutputs(m.Over)
		return m
	case protocol.Servers:
		list := make([]protocol.Server, len(m.Servers))
		for i, v := range m.Servers {
			v.Error = s.clean(v.Error)
			list[i] = v
		}
		return protocol.Servers{Servers: list}
	}
	return m
}

func (s *Session) clean(text string) string {
	if s.o.Redact == nil || text == "" {
		return text
	}
	return string(s.o.Redact([]byte(text)))
}

func (s *Session) cleanOutputs(list []protocol.Process) []protocol.Process {
	for i := range list {
		list[i].Output = s.clean(list[i].Output)
	}
	return list
}
