package session

import (
	"slices"

	"kerf/internal/agent/history"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// kill ends a background process and tells what still runs.
func (s *Session) kill(id int) {
	s.tasks.Go(func() {
		var told protocol.Msg
		if err := s.o.Executor.Kill(id); err != nil {
			told = protocol.Warning{Message: err.Error()}
		} else {
			told = protocol.Processes{Running: s.o.Executor.Processes()}
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
	now := s.o.Executor.Processes()
	same := func(a, b protocol.Process) bool { return a.ID == b.ID }
	if slices.EqualFunc(now, s.running, same) {
		return
	}
	s.running = now
	s.tell(turn.Told{Turn: s.turnID, Msg: protocol.Processes{Running: now}})
}

// slim returns r with its images kept beside the rollout and named in their
// place: a log of text stays small and can be read.
func (s *Session) slim(r history.Record) history.Record {
	switch r := r.(type) {
	case history.UserInput:
		r.Images = s.keepImages(r.Images)
		return r
	case history.ToolCall:
		r.Images = s.keepImages(r.Images)
		return r
	}
	return r
}

func (s *Session) keepImages(urls []string) []string {
	if len(urls) == 0 {
		return urls
	}
	kept := slices.Clone(urls)
	for i, url := range urls {
		kind, data, ok := history.ImageData(url)
		if !ok {
			continue
		}
		// Without the copy the record keeps the image itself.
		if name, err := s.o.Rollout.SaveBlob(data); err == nil {
			kept[i] = history.ImageName(kind, name)
		}
	}
	return kept
}
