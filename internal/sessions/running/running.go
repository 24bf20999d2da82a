// Package running tells which sessions are open in some process now, and what each of them
// does or waits for. It reads their records and disturbs nobody.
package running

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/tools"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/sessions/records"
)

// State is what a session does.
type State string

// The states.
const (
	Idle    State = "idle"    // waits for the next request
	Waiting State = "waiting" // waits for an answer of the user
	Working State = "working" // runs a tool
	Asking  State = "asking"  // waits for the model
)

// Session is one that some process has open.
type Session struct {
	protocol.SessionInfo
	State State `json:"state"`
	// What is the question it waits with, the command it runs, or the name of the tool.
	What string `json:"what,omitempty"`
	// Since is when that began.
	Since time.Time `json:"since"`
}

// List returns the open sessions, newest first, those of sub-agents among them. Cwd, if not
// empty, names the directory whose sessions are meant.
func List(ctx context.Context, s *sessions.Store, cwd string) ([]Session, error) {
	infos, err := s.List(ctx, protocol.Filter{Cwd: cwd, Agents: true})
	if err != nil {
		return nil, err
	}
	list := []Session{}
	for _, info := range infos {
		if dir := s.DirOf(info.ID); rollout.Live(dir) {
			list = append(list, look(info, dir))
		}
	}
	return list, nil
}

// most bounds how far back the record of a turn is read.
const most = 5000

// look reads back from the end of a record what the session does.
func look(info protocol.SessionInfo, dir string) Session {
	s := Session{SessionInfo: info}
	over := map[protocol.CallID]bool{}
	answered := map[protocol.ApprovalID]bool{}
	put := func(state State, what string, since time.Time) {
		if s.State == "" || state == Waiting && s.State != Waiting {
			s.State, s.What, s.Since = state, what, since
		}
	}
	n, newest := 0, info.Updated
	for r, err := range records.Backward(dir, history.EventRecord{}, history.TurnContext{}, history.QuestionAsked{},
		history.Approval{}, history.ToolStarted{}, history.ToolCall{}, history.TokenUsage{}, history.SessionMeta{}) {
		if n++; err != nil || n > most {
			break
		}
		if n == 1 {
			newest = r.Time
		}
		switch rec := r.Record.(type) {
		case history.Approval:
			answered[rec.Question] = true
		case history.QuestionAsked:
			if !answered[rec.Question] {
				put(Waiting, rec.Asked, r.Time)
			}
		case history.ToolCall:
			over[rec.Call] = true
		case history.ToolStarted:
			if !over[rec.Call] {
				put(Working, called(rec), r.Time)
			}
		case history.TurnContext:
			put(Asking, "", newest)
			return s
		case history.EventRecord:
			if rec.EndsTurn() {
				put(Idle, "", r.Time)
				return s
			}
		}
	}
	put(Idle, "", newest)
	return s
}

// called is a call in words: the command, or the name of the tool.
func called(t history.ToolStarted) string {
	var args struct{ Cmd, Command string }
	if tools.Name(t.Name) == "exec_command" && json.Unmarshal(t.Args, &args) == nil {
		return cmp.Or(args.Cmd, args.Command, t.Name)
	}
	return tools.Name(t.Name)
}
