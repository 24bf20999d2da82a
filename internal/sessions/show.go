package sessions

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
	"kerf/internal/sessions/timeline"
)

// Recorded is what a session recorded.
type Recorded struct {
	// Info is nil when a file was read.
	Info   *protocol.SessionInfo
	Damage *rollout.Damage
	List   []records.Record
}

// Line is a record in a few words.
type Line struct {
	Seq        int64
	Type, Text string
}

// Read reads a session, given by name or as a file, and survives any damage.
func (s *Store) Read(ctx context.Context, name string) (Recorded, error) {
	var rec Recorded
	path := name
	if st, err := os.Stat(name); err != nil || st.IsDir() && !isSession(name) {
		info, err := s.Find(ctx, name)
		if err != nil {
			return rec, err
		}
		path, rec.Info = s.DirOf(info.ID), &info
	}
	var err error
	rec.List, rec.Damage, err = records.Read(path)
	return rec, err
}

func isSession(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "rollout.jsonl"))
	return err == nil
}

// Timeline tells what happened as a log.
func (r Recorded) Timeline() []timeline.Line { return timeline.Of(r.List) }

// Lines tells each record in a few words.
func (r Recorded) Lines() []Line {
	lines := make([]Line, len(r.List))
	for i, rec := range r.List {
		lines[i] = Line{rec.Seq, rec.Type(), brief(rec.Record)}
	}
	return lines
}

// brief is what is told of a record.
func brief(r history.Record) string {
	switch r := r.(type) {
	case history.UserInput:
		return r.Text
	case history.AssistantMessage:
		return r.Text
	case history.Reasoning:
		return strings.Join(r.Summary, " ")
	case history.ToolStarted:
		return history.ToolBegan + " " + r.Name
	case history.QuestionAsked:
		return history.Asked + " " + r.Asked
	case history.ToolCall:
		first, _, _ := strings.Cut(r.Result, "\n")
		return r.Name + ": " + first
	case history.FileChange:
		return r.Operation + " " + string(r.Path) + " (" + r.Cause + ", " + r.DiffPath + ")"
	case history.EventRecord:
		return strings.TrimSpace(r.What + "  " + r.Message)
	}
	return ""
}
