package hooks

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"kerf/internal/text/delta"
)

// cursorTools are the tools that an event of Cursor is about, by the name that hooks are
// told; a star at the end stands for anything. Other events, which have none, are about all tools.
func cursorTools(event string) string {
	switch event {
	case "beforeShellExecution", "afterShellExecution":
		return "Bash"
	case "beforeMCPExecution", "afterMCPExecution":
		return "mcp__*"
	case "beforeReadFile":
		return "Read"
	case "afterFileEdit":
		return "Edit Write apply_patch"
	}
	return ""
}

// cursorNames are names of tools that Cursor has for those of Kerf.
var cursorNames = map[string][]string{"Bash": {"Shell"}, "Edit": {"Write"}, "apply_patch": {"Write"}, "spawn_agent": {"Task"}}

// matchesCursor reports whether a handler of Cursor is meant by a call. Of commands the
// matcher sees the command, of other tools their names.
func (c compiled) matchesCursor(call Call) bool {
	if tools := cursorTools(c.Told); tools != "" && !slices.ContainsFunc(strings.Fields(tools), func(t string) bool {
		prefix, any := strings.CutSuffix(t, "*")
		return t == call.Tool || any && strings.HasPrefix(call.Tool, prefix)
	}) {
		return false
	}
	if c.matcher == nil {
		return true
	}
	names := append(slices.Clone(call.Names), cursorNames[call.Tool]...)
	if server, tool, ok := strings.Cut(strings.TrimPrefix(call.Tool, "mcp__"), "__"); ok && server != call.Tool {
		names = append(names, "MCP:"+tool)
	}
	if strings.HasSuffix(c.Told, "ShellExecution") {
		names = []string{call.text("command")}
	}
	return slices.ContainsFunc(names, c.matcher.MatchString)
}

// text is a text among the arguments of a call.
func (c Call) text(key string) string {
	args, _ := c.Input.(map[string]any)
	s, _ := args[key].(string)
	return s
}

// output is what a call printed.
func (c Call) output() string {
	m, _ := c.Response.(map[string]any)
	s, _ := m["output"].(string)
	return s
}

// Changed notes the files that a call wrote, for hooks that look at each of them.
func (c *Call) Changed(set delta.Set) {
	for _, change := range set {
		if change.Post != nil && !slices.Contains(c.Paths, change.Path) {
			c.Paths = append(c.Paths, change.Path)
		}
	}
}

// payloads are what a handler is told about a call: one object, and of edits one for each
// file.
func (c Call) payloads(h Handler, now time.Time) []map[string]any {
	m := c.wire(h.Told)
	switch {
	case h.Form == Copilot && h.Told != "":
		return []map[string]any{c.copilot(now)}
	case h.Form == Copilot:
		m["timestamp"] = now.UTC().Format(time.RFC3339Nano)
	}
	if h.Form != Cursor {
		return []map[string]any{m}
	}
	m["conversation_id"], m["generation_id"], m["workspace_roots"] = c.Session, c.Turn, []string{cmp.Or(h.Dir, c.Cwd)}
	asJSON := func(v any) string { text, _ := json.Marshal(v); return string(text) } // decoded JSON
	switch h.Told {
	case "beforeShellExecution":
		m["command"] = c.text("command")
	case "afterShellExecution":
		m["command"], m["output"] = c.text("command"), c.output()
	case "beforeMCPExecution":
		m["tool_input"] = asJSON(c.Input)
	case "afterMCPExecution":
		m["tool_input"], m["result_json"] = asJSON(c.Input), asJSON(c.Response)
	case "beforeReadFile":
		m["file_path"] = c.text("file_path")
	case "stop", "subagentStop":
		m["status"], m["loop_count"] = "completed", 0
		if c.StopActive {
			m["loop_count"] = 1
		}
	case "afterFileEdit":
		var all []map[string]any
		for _, path := range c.Paths {
			one := maps.Clone(m)
			one["file_path"], one["edits"] = path, []any{}
			all = append(all, one)
		}
		return all
	}
	return []map[string]any{m}
}

// cursorAnswer are the fields of an answer that Cursor alone knows, in both of its
// spellings.
type cursorAnswer struct {
	Permission string `json:"permission"`
	User       string `json:"user_message"`
	Agent      string `json:"agent_message"`
	UserOld    string `json:"userMessage"`
	AgentOld   string `json:"agentMessage"`
	Context    string `json:"additional_context"`
	Followup   string `json:"followup_message"`
}

// own puts an answer of Cursor's into the form of the others.
func (a *cursorAnswer) own(to *answer) {
	first := func(list ...string) string {
		i := slices.IndexFunc(list, func(s string) bool { return strings.TrimSpace(s) != "" })
		if i < 0 {
			return ""
		}
		return list[i]
	}
	reason := first(a.Agent, a.AgentOld, a.User, a.UserOld)
	switch {
	case a.Permission != "":
		to.Decision, to.Reason = a.Permission, reason
	case to.Continue != nil && !*to.Continue:
		to.StopReason = first(to.StopReason, reason)
	case strings.TrimSpace(a.Followup) != "":
		to.Decision, to.Reason = "block", a.Followup
	}
	to.Specific.AdditionalContext = first(to.Specific.AdditionalContext, a.Context)
}
