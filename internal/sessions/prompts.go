package sessions

import (
	"path/filepath"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/sessions/records"
	"kerf/internal/text/visible"
)

// Prompts finds out what the user asked for in the turns of sessions. It is for one
// goroutine.
type Prompts struct {
	dir   string
	known map[string]map[string]string // by session and turn
}

// Prompts returns a reader of prompts that reads each session once.
func (s *Store) Prompts() *Prompts { return &Prompts{s.o.Dir, map[string]map[string]string{}} }

// Of is the first line of what opened a turn, shortened; empty when it is not
// known.
func (p *Prompts) Of(session, turn string) string {
	if session == "" || turn == "" || strings.ContainsAny(session, `/\`) || session == ".." {
		return ""
	}
	if p.known[session] == nil {
		p.known[session] = p.read(session)
	}
	return p.known[session][turn]
}

func (p *Prompts) read(session string) map[string]string {
	turns := map[string]string{}
	list, _, err := records.Read(filepath.Join(p.dir, session))
	if err != nil {
		return turns
	}
	for _, r := range list {
		u, ok := r.Record.(history.UserInput)
		if !ok || u.Marker {
			continue
		}
		if _, had := turns[string(u.Turn)]; !had {
			turns[string(u.Turn)] = visible.Excerpt(u.Text)
		}
	}
	return turns
}
