package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// hear turns one event of the session into updates for the editor.
func (s *session) hear(e protocol.Event) {
	if _, question := e.Msg.(protocol.ApprovalRequested); e.Agent != "" && !question {
		return // of a sub-agent, whose calls tell what becomes of it
	}
	if e.Agent == "" {
		defer s.follow(e) // what the editor is told of a turn, it is told before the turn's end
	}
	switch m := e.Msg.(type) {
	case protocol.SessionStarted:
		s.mu.Lock()
		s.settings = m.Settings
		s.mu.Unlock()
	case protocol.SettingsChanged:
		s.mu.Lock()
		s.settings = m.Settings
		s.mu.Unlock()
		s.enter(modeOf(m.Settings, s.base))
	case protocol.ItemStarted:
		s.started(m.Item)
	case protocol.ItemDelta:
		s.grown(m)
	case protocol.ItemUpdated:
		s.changed(m.Item)
	case protocol.ItemCompleted:
		s.completed(m.Item)
	case protocol.ApprovalRequested:
		s.ask(m.Approval)
	case protocol.ApprovalResolved:
		s.answered(m.Approval)
	case protocol.Warning:
		s.update(sdk.UpdateAgentThoughtText("warning: " + m.Message + "\n"))
	case protocol.Retrying:
		s.update(sdk.UpdateAgentThoughtText(fmt.Sprintf("the request is tried again (%d/%d): %s\n", m.Attempt,
			m.Max, m.Cause)))
	case protocol.TokensUsed:
		if m.Window > 0 {
			s.update(sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{SessionUpdate: "usage_update", Used: m.Last.Total(),
				Size: m.Window}})
		}
	case protocol.TurnDiff:
		s.mu.Lock()
		s.diff = m.Diff
		s.mu.Unlock()
		if text := m.Coverage(); text != "" {
			s.update(sdk.UpdateAgentThoughtText(text + "\n"))
		}
	case protocol.TitleChanged:
		s.update(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{SessionUpdate: "session_info_update",
			Title: &m.Title}})
	case protocol.Undone:
		s.update(sdk.UpdateAgentMessageText(undone(m.Report)))
	case protocol.TurnCompleted, protocol.TurnAborted, protocol.TurnFailed:
		s.forget()
	}
}

// forget drops what was kept of the turn that is over.
func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.calls)
	clear(s.spoken)
	clear(s.output)
	clear(s.item)
}

func (s *session) started(i protocol.Item) {
	s.mu.Lock()
	s.item[i.ID] = i
	s.mu.Unlock()
	if id, ok := callOf(i); ok {
		s.tell(id, i, sdk.ToolCallStatusInProgress)
		return
	}
	s.changed(i)
}

// changed tells items that have no text and are no calls.
func (s *session) changed(i protocol.Item) {
	if b, ok := i.Body.(protocol.TodoList); ok {
		entries := make([]sdk.PlanEntry, len(b.Steps))
		for n, step := range b.Steps {
			entries[n] = sdk.PlanEntry{Content: step.Step, Priority: sdk.PlanEntryPriorityMedium,
				Status: stepStatus(step.Status)}
		}
		s.update(sdk.UpdatePlan(entries...))
	}
}

func stepStatus(status string) sdk.PlanEntryStatus {
	switch status {
	case "completed":
		return sdk.PlanEntryStatusCompleted
	case "in_progress":
		return sdk.PlanEntryStatusInProgress
	}
	return sdk.PlanEntryStatusPending
}

// outputShown bounds the live output of a command in an update, in bytes.
const outputShown = 8 << 10

func (s *session) grown(d protocol.ItemDelta) {
	s.mu.Lock()
	i := s.item[d.Item]
	s.spoken[d.Item] = true
	s.mu.Unlock()
	switch i.Body.(type) {
	case protocol.AgentMessage, protocol.ProposedPlan:
		s.update(sdk.UpdateAgentMessageText(d.Text))
	case protocol.Reasoning:
		s.update(sdk.UpdateAgentThoughtText(d.Text))
	case protocol.Command:
		s.mu.Lock()
		out := s.output[d.Item]
		if out == nil {
			out = &strings.Builder{}
			s.output[d.Item] = out
		}
		before := out.Len()
		if before < outputShown {
			out.WriteString(d.Text)
		}
		text := out.String()
		s.mu.Unlock()
		if id, ok := callOf(i); ok && before < outputShown {
			s.update(sdk.UpdateToolCall(id, sdk.WithUpdateContent(console(text))))
		}
	}
}

func (s *session) completed(i protocol.Item) {
	s.mu.Lock()
	spoken := s.spoken[i.ID]
	s.mu.Unlock()
	if id, ok := callOf(i); ok {
		status := sdk.ToolCallStatusCompleted
		if i.Status == protocol.Failed || i.Status == protocol.Declined {
			status = sdk.ToolCallStatusFailed
		}
		s.tell(id, i, status)
		return
	}
	if text, thought := spokenText(i); text != "" && !spoken {
		if thought {
			s.update(sdk.UpdateAgentThoughtText(text))
		} else {
			s.update(sdk.UpdateAgentMessageText(text))
		}
	}
	s.changed(i)
}

// spokenText is the text of an item that is said or thought.
func spokenText(i protocol.Item) (text string, thought bool) {
	switch b := i.Body.(type) {
	case protocol.AgentMessage:
		return b.Text, false
	case protocol.ProposedPlan:
		return b.Text, false
	case protocol.ReviewResult:
		return review(b), false
	case protocol.Reasoning:
		return b.Text, true
	case protocol.Answered:
		return b.Outcome() + ": " + b.Detail(), true
	case protocol.Problem:
		return b.Message, true
	case protocol.Compaction:
		return fmt.Sprintf("the conversation was compacted from %d to %d tokens", b.Before, b.After), true
	}
	return "", false
}

func review(r protocol.ReviewResult) string {
	if len(r.Findings) == 0 {
		return r.Text
	}
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "**[P%d] %s** %s:%d\n\n%s\n\n", f.Priority, f.Title, f.Path, f.Start, f.Body)
	}
	return b.String()
}

// callOf is the id under which the editor knows an item that is a tool call.
func callOf(i protocol.Item) (sdk.ToolCallId, bool) {
	var call protocol.CallID
	switch b := i.Body.(type) {
	case protocol.Command:
		call = b.Call
	case protocol.FileChange:
		call = b.Call
	case protocol.ToolCall:
		call = b.Call
	case protocol.SubAgent:
		call = b.Call
	case protocol.WebSearch:
	default:
		return "", false
	}
	if call == "" {
		call = protocol.CallID(i.ID)
	}
	return sdk.ToolCallId(call), true
}

// tell starts or updates a tool call with all that is known of it.
func (s *session) tell(id sdk.ToolCallId, i protocol.Item, status sdk.ToolCallStatus) {
	s.mu.Lock()
	known := s.calls[id]
	s.calls[id] = true
	cwd := s.settings.Cwd
	s.mu.Unlock()
	v := viewOf(i, cwd)
	if !known {
		s.update(sdk.StartToolCall(id, v.title, sdk.WithStartKind(v.kind), sdk.WithStartStatus(status),
			sdk.WithStartContent(v.content),
			sdk.WithStartLocations(v.places), sdk.WithStartRawInput(v.input)))
		return
	}
	opts := []sdk.ToolCallUpdateOpt{sdk.WithUpdateStatus(status), sdk.WithUpdateTitle(v.title)}
	if len(v.content) > 0 {
		opts = append(opts, sdk.WithUpdateContent(v.content))
	}
	if len(v.places) > 0 {
		opts = append(opts, sdk.WithUpdateLocations(v.places))
	}
	if v.output != nil {
		opts = append(opts, sdk.WithUpdateRawOutput(v.output))
	}
	s.update(sdk.UpdateToolCall(id, opts...))
}

// view is a tool call as the editor shows it.
type view struct {
	title   string
	kind    sdk.ToolKind
	content []sdk.ToolCallContent
	places  []sdk.ToolCallLocation
	input   any
	output  any
}

func viewOf(i protocol.Item, cwd string) view {
	switch b := i.Body.(type) {
	case protocol.Command:
		v := view{title: visible.Line(b.Command), kind: sdk.ToolKindExecute,
			input: map[string]any{"command": b.Command, "cwd": b.Cwd}}
		switch {
		case b.Terminal != "":
			v.content = []sdk.ToolCallContent{sdk.ToolTerminalRef(b.Terminal)}
		case b.Output != "":
			v.content = console(b.Output)
		}
		if b.ExitCode != nil {
			v.output = map[string]any{"exitCode": *b.ExitCode}
		}
		return v
	case protocol.FileChange:
		return changeView(b.Changes, b.Files, b.Error, cwd)
	case protocol.ToolCall:
		v := view{title: b.Tool, kind: kindOf(b.Tool), input: b.Args, places: placesOf(b.Args, cwd)}
		if b.Server != "" {
			v.title, v.kind = visible.Line(b.Server+": "+b.Tool), sdk.ToolKindOther
		}
		if len(v.places) == 1 {
			v.title += " " + visible.Line(filepath.ToSlash(pathname.Short(cwd, v.places[0].Path)))
		}
		if text := b.Output + b.Error; text != "" {
			v.content = []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))}
		}
		return v
	case protocol.SubAgent:
		return view{title: b.Operation + " agent", kind: sdk.ToolKindOther, input: map[string]any{"prompt": b.Prompt}}
	case protocol.WebSearch:
		return view{title: "web search: " + b.Query, kind: sdk.ToolKindFetch}
	}
	return view{title: "tool", kind: sdk.ToolKindOther}
}

// changeView shows a change of files with whole old and new texts.
func changeView(changes []protocol.PathChange, files []protocol.FileText, problem, cwd string) view {
	v := view{kind: sdk.ToolKindEdit}
	var names []string
	for _, c := range changes {
		names = append(names, visible.Line(filepath.ToSlash(pathname.Short(cwd, c.Path))))
		v.places = append(v.places, sdk.ToolCallLocation{Path: c.Path, Line: firstLine(c.Path, files)})
	}
	v.title = "Edit " + strings.Join(names, ", ")
	if len(changes) == 1 {
		switch changes[0].Kind {
		case protocol.Add:
			v.title = "Create " + names[0]
		case protocol.Delete:
			v.title, v.kind = "Delete "+names[0], sdk.ToolKindDelete
		}
	}
	for _, f := range files {
		d := &sdk.ToolCallContentDiff{Type: "diff", Path: f.Path, OldText: f.Old}
		if f.New != nil {
			d.NewText = *f.New
		}
		v.content = append(v.content, sdk.ToolCallContent{Diff: d})
	}
	if problem != "" {
		v.content = append(v.content, sdk.ToolContent(sdk.TextBlock(problem)))
	}
	return v
}

// firstLine is the first line of a file that differs, from 1, or nil.
func firstLine(path string, files []protocol.FileText) *int {
	for _, f := range files {
		if f.Path != path || f.New == nil {
			continue
		}
		line := 1
		if f.Old != nil {
			n := 0
			for n < len(*f.Old) && n < len(*f.New) && (*f.Old)[n] == (*f.New)[n] {
				if (*f.New)[n] == '\n' {
					line++
				}
				n++
			}
		}
		return &line
	}
	return nil
}

// console is the output of a command as the editor shows it.
func console(text string) []sdk.ToolCallContent {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" +
		fence))}
}

// kindOf sorts Kerf's own tools.
func kindOf(tool string) sdk.ToolKind {
	switch tool {
	case "read_file", "view_image", "read_code":
		return sdk.ToolKindRead
	case "list_dir", "glob", "grep":
		return sdk.ToolKindSearch
	case "write_file", "edit_file", "apply_patch", "edit_code", "undo":
		return sdk.ToolKindEdit
	case "exec_command", "write_stdin":
		return sdk.ToolKindExecute
	}
	return sdk.ToolKindOther
}

// placesOf is the file that the arguments of a call name.
func placesOf(args json.RawMessage, cwd string) []sdk.ToolCallLocation {
	var a struct {
		FilePath string `json:"file_path"`
		Path     string `json:"path"`
		Offset   *int   `json:"offset"`
	}
	if json.Unmarshal(args, &a) != nil || a.FilePath+a.Path == "" {
		return nil
	}
	path := a.FilePath + a.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	return []sdk.ToolCallLocation{{Path: path, Line: a.Offset}}
}

// undone is the outcome of an undo in words.
func undone(r protocol.UndoReport) string {
	if r.Problem != "" {
		return r.Problem
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.What)
	for _, f := range r.Files {
		fmt.Fprintf(&b, "- %s: %s %s\n", f.Path, f.Outcome, f.Note)
	}
	return b.String()
}

// replay tells an editor what happened in turns that are over.
func (s *session) replay(ctx context.Context, turns []protocol.PastTurn) error {
	for _, t := range turns {
		for _, i := range t.Items {
			if err := ctx.Err(); err != nil {
				return err
			}
			if u, ok := i.Body.(protocol.UserMessage); ok {
				for _, in := range u.Input {
					s.update(sdk.UpdateUserMessageText(in.Text))
				}
				continue
			}
			s.completed(i)
		}
		if t.Diff != "" {
			s.mu.Lock()
			s.diff = t.Diff
			s.mu.Unlock()
		}
		s.mu.Lock()
		s.title = true
		s.mu.Unlock()
	}
	return nil
}
