package hooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"time"
)

// copilotTools are the names that Copilot has for tools, by the name that hooks are told.
var copilotTools = map[string]string{"Bash": "bash", "Read": "view", "Write": "create", "Edit": "edit",
	"apply_patch": "edit", "Glob": "glob", "Grep": "grep", "WebFetch": "web_fetch", "TodoWrite": "update_todo",
	"spawn_agent": "task", "request_user_input": "ask_user"}

func copilotTool(name string) string { return cmp.Or(copilotTools[name], name) }

// copilot is what a handler is told under an event's name of Copilot.
func (c Call) copilot(now time.Time) map[string]any {
	m := map[string]any{"sessionId": c.Session, "timestamp": now.UnixMilli(), "cwd": c.Cwd}
	if c.Tool != "" {
		m["toolName"], m["toolArgs"] = copilotTool(c.Tool), copilotArgs(c.Input)
	}
	switch c.Event {
	case SessionStart:
		m["source"] = c.Source
	case SessionEnd:
		m["reason"] = c.Source
	case UserPromptSubmit:
		m["prompt"] = c.Prompt
	case PostToolUse:
		m["toolResult"] = map[string]any{"resultType": "success", "textResultForLlm": responseText(c.Response)}
	case PostToolUseFailure:
		m["error"] = responseText(c.Response)
	case Stop, SubagentStop:
		m["transcriptPath"], m["stopReason"], m["stop_hook_active"] = c.Transcript, "end_turn", c.StopActive
		if c.Event == SubagentStop {
			m["response"] = c.LastMessage
		}
	case SubagentStart:
		m["transcriptPath"] = c.Transcript
	case PreCompact:
		m["transcriptPath"], m["trigger"], m["customInstructions"] = c.Transcript, c.Source, ""
	case Notification:
		m["hook_event_name"], m["message"], m["notification_type"] = c.Event, c.Prompt, c.Source
	}
	return m
}

// copilotArgs are the arguments of a call; those about a file name it as Copilot does, too.
func copilotArgs(input any) any {
	args, ok := input.(map[string]any)
	if !ok || args["file_path"] == nil || args["path"] != nil {
		return input
	}
	args = maps.Clone(args)
	args["path"] = args["file_path"]
	return args
}

// responseText is what a call answered, as text.
func responseText(response any) string {
	switch r := response.(type) {
	case nil:
		return ""
	case string:
		return r
	case map[string]any:
		if text, ok := r["output"].(string); ok {
			return text
		}
	}
	text, _ := json.Marshal(response) // it was made of JSON
	return string(text)
}

// copilotAnswer are the fields of an answer that stand on top in Copilot.
type copilotAnswer struct {
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason"`
	Behavior string `json:"behavior"`
	Message  string `json:"message"`
	Context  string `json:"additionalContext"`
}

// own puts an answer of Copilot's into the form of the others.
func (a *copilotAnswer) own(to *answer) {
	switch {
	case a.Decision != "":
		to.Decision, to.Reason = a.Decision, a.Reason
	case a.Behavior != "":
		to.Decision, to.Reason = a.Behavior, a.Message
	}
	to.Specific.AdditionalContext = cmp.Or(to.Specific.AdditionalContext, a.Context)
}

// withoutProgress is what a program printed without the lines in which it only told how far it is.
func withoutProgress(out []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(out) {
		var told struct {
			Type string `json:"type"`
		}
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) && json.Unmarshal(line, &told) == nil &&
			strings.EqualFold(told.Type, "progress") {
			continue
		}
		kept = append(kept, line...)
	}
	return kept
}
