package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// shellLimit ends a command of the user's own that nobody stopped.
const shellLimit = time.Hour

// runShell runs a command of the user's own, as the user and outside the sandbox.
// What it changed is found as for any other command.
func (s *Session) runShell(ctx context.Context, e turn.RunShell) message {
	began := time.Now()
	live := s.o.Hands.veil(func(text string) {
		select {
		case s.inputs <- message{in: turn.Progress{Call: e.Call, Text: text}}:
		case <-ctx.Done():
		}
	})
	set := e.Settings
	set.Sandbox, set.Approval = protocol.SandboxFull, protocol.PolicyNever
	line := strings.TrimSpace(e.Command)
	a := tool.Command{Line: line, Argv: []string{"bash", "-c", line}, Dir: s.o.Hands.Cwd(), Timeout: shellLimit, Yield: shellLimit + time.Second}
	o := s.o.Hands.Do(ctx, e.Call, a, Manner{Settings: set, Turn: e.Turn, Unsandboxed: true, Show: live.write})
	live.close()
	s.o.Hands.redact(a, &o)
	if body, ok := o.Body.(protocol.Command); ok {
		body.User = true
		o.Body = body
	}
	o.Text = history.Truncate(o.Text, s.o.OutputTokens)
	o.Millis = time.Since(began).Milliseconds()
	return message{in: turn.ShellDone{Call: e.Call, Outcome: o}}
}

// undo takes back one call or turn, or all turns since the oldest of e.Turns. An
// undo that began is finished: half of it would help nobody.
func (s *Session) undo(ctx context.Context, e turn.Undo) message {
	in := turn.Undone{ID: e.ID}
	ctx = context.WithoutCancel(ctx)
	if n := len(e.Turns); n > 0 {
		in.Report, in.Changes = s.o.Hands.Rewind(ctx, e.Turns[n-1])
		if strings.HasPrefix(in.Report.Problem, "nothing to undo") {
			in.Report.Problem = "" // the files are as they were; the conversation may still go back
		}
	} else {
		in.Report, in.Changes = s.o.Hands.Undo(ctx, e.Op)
	}
	return message{in: in}
}

// background are the processes that run on; Hands know them.
type background interface {
	Processes() []protocol.Process
	Kill(id int) error
}

// kill ends a background process and tells what still runs.
func (s *Session) kill(id int) {
	h, ok := any(s.o.Hands).(background)
	if !ok {
		s.tell(turn.Told{Msg: protocol.Warning{Message: fmt.Sprintf("there is no process %d", id)}})
		return
	}
	s.tasks.Go(func() {
		var told protocol.Msg
		if err := h.Kill(id); err != nil {
			told = protocol.Warning{Message: err.Error()}
		} else {
			told = protocol.Processes{Running: h.Processes()}
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
	h, ok := any(s.o.Hands).(background)
	if !ok {
		return
	}
	now := h.Processes()
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

// confined keeps file tools inside the roots when the session was opened with
// full access and has less now: the tree still reaches everything.
func (s *Session) confined(a tool.Action, set protocol.Settings) error {
	change, ok := a.(tool.Change)
	if !ok || set.Sandbox == protocol.SandboxFull || len(s.o.Roots) == 0 {
		return nil
	}
	for _, path := range change.Set.Paths() {
		inside := slices.ContainsFunc(s.o.Roots, func(root string) bool {
			rel, err := filepath.Rel(root, s.o.Hands.real(path))
			return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
		})
		if !inside {
			return tool.Refuse(tool.OutsideWorkspace, "%s is outside the workspace (%s). Use a path inside it, or ask the user to add the directory with --add-dir",
				path, strings.Join(s.o.Roots, ", "))
		}
	}
	return nil
}
