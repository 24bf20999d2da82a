package session

import (
	"slices"

	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// kill ends a background process and tells what still runs.
func (s *Session) kill(id int) {
	s.tasks.Go(func() {
		var told protocol.Msg
		if err := s.o.Background.Kill(id); err != nil {
			told = protocol.Warning{Message: err.Error()}
		} else {
			told = protocol.Processes{Running: s.o.Background.Processes()}
		}
		s.inputs <- message{told: told}
	})
}

// tellProcesses tells what runs in the background when a call may have changed
// that.
func (s *Session) tellProcesses(in turn.Input) {
	switch in.(type) {
	case turn.Finished, turn.ShellDone, turn.Settled:
	default:
		return
	}
	now := s.o.Background.Processes()
	same := func(a, b protocol.Process) bool { return a.ID == b.ID }
	if slices.EqualFunc(now, s.running, same) {
		return
	}
	s.running = now
	s.tell(turn.Told{Turn: s.turnID, Msg: protocol.Processes{Running: now}})
}
