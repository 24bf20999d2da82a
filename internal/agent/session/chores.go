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
			told = s.processes(0)
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
	now, _ := s.o.Background.Processes()
	same := func(a, b protocol.Process) bool { return a.ID == b.ID }
	if slices.EqualFunc(now, s.running, same) {
		return
	}
	s.running = now
	s.tell(turn.Told{Turn: s.turnID, Msg: s.processes(0)})
}

// processes tells what runs in the background, and which process has just ended.
func (s *Session) processes(ended int) protocol.Processes {
	running, over := s.o.Background.Processes()
	return protocol.Processes{Running: running, Over: over, Ended: ended}
}

// followBackground has the end of a process in the background told at once.
func (s *Session) followBackground() {
	s.o.Background.OnEnd(func(id int) { s.post(message{told: s.processes(id)}) })
}
