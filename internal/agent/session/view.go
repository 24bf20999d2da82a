package session

import (
	"fmt"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/lines"
)

// briefFrom is the size in bytes from which a repeated read is answered briefly.
const briefFrom = 400

// UnseenText is the code of the warning that a change touches text the model was
// never shown.
const UnseenText = "UNSEEN_TEXT"

// inView looks at what a tool proposes with what the model has in its context: a
// read of lines it holds is answered briefly, and a change of lines it was never
// shown carries a warning.
func (s *Session) inView(a tool.Action) tool.Action {
	switch a := a.(type) {
	case tool.Answer:
		return s.brief(a)
	case tool.Change:
		for _, c := range a.Set {
			if text := s.unseen(c); text != "" {
				a.Result.Warnings = append(a.Result.Warnings, tool.Warning{Code: UnseenText, Message: text,
					Suggestion: "Read the place and check that the change is what you meant."})
			}
		}
		return a
	}
	return a
}

func (s *Session) brief(a tool.Answer) tool.Action {
	if len(a.Saw) != 1 || a.Saw[0].First == 0 || a.Saw[0].Image == nil || len(a.Result.Output) < briefFrom || a.Result.Error != nil {
		return a
	}
	saw := a.Saw[0]
	path := s.o.Hands.real(saw.Path)
	s.viewMu.Lock()
	held := s.view.Holds(path, saw.Image.Sum.String(), saw.First, saw.Last)
	s.viewMu.Unlock()
	if !held {
		return a
	}
	version := a.Result.Output[strings.LastIndexByte(a.Result.Output, '\n')+1:]
	a.Result.Output = fmt.Sprintf("unchanged: lines %d-%d of %d are what you were shown before in this conversation; they are not repeated\n%s",
		saw.First, saw.Last, saw.Lines, version)
	return a
}

// unseen says which lines of c the model changes without having seen them, or
// nothing.
func (s *Session) unseen(c delta.Change) string {
	const most = 1 << 20 // larger texts are not compared for a warning
	if c.Pre == nil || c.Post == nil || !c.Pre.Loaded || !c.Post.Loaded || len(c.Pre.Data) > most || len(c.Post.Data) > most {
		return ""
	}
	path := s.o.Hands.real(c.Path)
	s.viewMu.Lock()
	defer s.viewMu.Unlock()
	index := lines.NewIndex(c.Pre.Data)
	for _, e := range diff.Lines(c.Pre.Data, c.Post.Data) {
		first, last := index.LineOf(e.Start), index.LineOf(max(e.Start, e.End-1))
		if !s.view.Unseen(path, c.Pre.Sum.String(), first, last) {
			continue
		}
		if !s.view.Knows(path) {
			return fmt.Sprintf("%s was changed without having been read in this conversation", c.Path)
		}
		return fmt.Sprintf("lines %d-%d of %s were changed, which you were never shown", first, last, c.Path)
	}
	return ""
}

// saw keeps the view true: r is in the history now.
func (s *Session) saw(r history.ToolCall) {
	s.viewMu.Lock()
	defer s.viewMu.Unlock()
	for _, sight := range r.Saw {
		s.view.Saw(sight)
		s.sights = append(s.sights, turnSight{r.Turn, sight})
	}
}

// turnSight is a sight with the turn it was made in.
type turnSight struct {
	turn  protocol.TurnID
	sight history.Sight
}

// forget drops what the model no longer has in its context: everything, or what
// it saw since a turn.
func (s *Session) forget(since protocol.TurnID, order []protocol.TurnID) {
	s.viewMu.Lock()
	defer s.viewMu.Unlock()
	s.view.Forget()
	if since == "" {
		s.sights = nil
		return
	}
	gone := map[protocol.TurnID]bool{}
	for _, t := range order {
		gone[t] = true
	}
	var kept []turnSight
	for _, t := range s.sights {
		if gone[t.turn] {
			s.o.Hands.forget(t.sight.Path)
			continue
		}
		kept = append(kept, t)
		s.view.Saw(t.sight)
	}
	s.sights = kept
}
