package sessions

import (
	"path/filepath"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/sessions/records"
	"kerf/internal/text/visible"
)

// Prompts finds out what the user asked for in the turns of sessions, and of which model. It is
// for one goroutine.
type Prompts struct {
	dir   string
	known map[string]map[string]asked // by session and turn
}

// asked is what is known of a turn.
type asked struct{ prompt, model string }

// Prompts returns a reader of prompts that reads each session once.
func (s *Store) Prompts() *Prompts { return &Prompts{s.o.Dir, map[string]map[string]asked{}} }

// Of is the first line of what opened a turn, shortened; empty when it is not
// known.
func (p *Prompts) Of(session, turn string) string { return p.find(session, turn).prompt }

// Model is the model of a turn, as `provider/name`; empty when it is not known.
func (p *Prompts) Model(session, turn string) string { return p.find(session, turn).model }

func (p *Prompts) find(session, turn string) asked {
	if session == "" || turn == "" || strings.ContainsAny(session, `/\`) || session == ".." {
		return asked{}
	}
	if p.known[session] == nil {
		p.known[session] = p.read(session)
	}
	return p.known[session][turn]
}

func (p *Prompts) read(session string) map[string]asked {
	turns, provider := map[string]asked{}, ""
	list, _, err := records.Read(filepath.Join(p.dir, session))
	if err != nil {
		return turns
	}
	for _, r := range list {
		switch r := r.Record.(type) {
		case history.SessionMeta:
			provider = r.Provider
		case history.TurnContext:
			t := turns[string(r.Turn)]
			if t.model = r.Settings.Model; provider != "" && t.model != "" {
				t.model = provider + "/" + strings.TrimPrefix(t.model, provider+"/")
			}
			turns[string(r.Turn)] = t
		case history.UserInput:
			if t := turns[string(r.Turn)]; t.prompt == "" && !r.Marker {
				t.prompt = visible.Excerpt(r.Text)
				turns[string(r.Turn)] = t
			}
		}
	}
	return turns
}
