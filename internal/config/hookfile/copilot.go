package hookfile

import (
	"cmp"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"kerf/internal/config/peers"
)

// copilotEvents are the names that events have in Copilot. Under their usual names they are
// told as usual.
var copilotEvents = map[string]string{"sessionStart": "SessionStart", "sessionEnd": "SessionEnd",
	"userPromptSubmitted": "UserPromptSubmit", "preToolUse": "PreToolUse", "postToolUse": "PostToolUse",
	"postToolUseFailure": "PostToolUseFailure", "agentStop": "Stop", "subagentStart": "SubagentStart",
	"subagentStop": "SubagentStop", "preCompact": "PreCompact", "notification": "Notification",
	"permissionRequest": "PermissionRequest"}

// ofCopilot are the hooks of a file of Copilot. Its handlers stand in lists, with a command for
// each kind of shell; in groups they are as Claude Code has them.
func ofCopilot(f peers.HookFile) (list []Hook, warnings []string) {
	left := unusedEvents{}
	for _, event := range slices.Sorted(maps.Keys(f.Events)) {
		own, told := event, ""
		if name, ok := copilotEvents[event]; ok {
			own, told = name, event
		}
		entries, ok := f.Events[event].([]any)
		if !ok {
			left.add(event, "expected a list of tables")
		}
		for _, e := range entries {
			for _, entry := range ungrouped(e) {
				said, place, why := copilotEntry(entry)
				if why != "" {
					left.add(event, why)
					continue
				}
				for _, h := range left.read(f.File, event, own, []any{said}) {
					h.Told, h.Form, h.Vars, h.Dir = told, f.Form, maps.Clone(f.Vars), f.Dir
					// A guard of Copilot refuses when it fails, but for one that takes too long.
					h.Required = h.Event == "PreToolUse" && h.Command != ""
					place.put(&h, cmp.Or(f.Dir, f.Vars["PLUGIN_ROOT"]))
					list = append(list, h)
				}
			}
		}
	}
	return list, left.told(f.File)
}

// ungrouped are the handlers of a group, with its matcher, or the handler itself.
func ungrouped(entry any) []any {
	group, _ := entry.(map[string]any)
	nested, ok := group["hooks"].([]any)
	if !ok {
		return []any{entry}
	}
	var list []any
	for _, x := range nested {
		one, _ := x.(map[string]any)
		if one = maps.Clone(one); one != nil && one["matcher"] == nil && group["matcher"] != nil {
			one["matcher"] = group["matcher"]
		}
		list = append(list, one)
	}
	return list
}

// place is where the program of a handler starts, and its own variables.
type place struct {
	dir string
	env map[string]string
}

func (p place) put(h *Hook, base string) {
	if p.dir != "" {
		h.Dir = filepath.FromSlash(p.dir)
		if !filepath.IsAbs(h.Dir) {
			h.Dir = filepath.Join(base, h.Dir)
		}
	}
	for name, value := range p.env {
		if h.Vars == nil {
			h.Vars = map[string]string{}
		}
		h.Vars[name] = value
	}
}

// copilotEntry is a handler in the usual form, or why it cannot be used.
func copilotEntry(entry any) (said map[string]any, at place, why string) {
	m, ok := entry.(map[string]any)
	if !ok {
		return nil, at, "expected a table"
	}
	said = maps.Clone(m)
	kind, _ := m["type"].(string)
	switch kind {
	case "", "command":
		said["type"] = "command"
		if said["command"], why = copilotCommand(m); why != "" {
			return nil, at, why
		}
	case "prompt":
		return nil, at, "type: a prompt is not sent in your place"
	}
	at.dir, _ = m["cwd"].(string)
	env, _ := m["env"].(map[string]any)
	for name, v := range env {
		text, ok := v.(string)
		if !ok || name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(text, 0) {
			return nil, at, "env: expected a table of texts"
		}
		if at.env == nil {
			at.env = map[string]string{}
		}
		at.env[name] = text
	}
	limit := m["timeoutSec"]
	if limit == nil {
		limit = m["timeout"]
	}
	if said["timeout"] = limit; limit == nil {
		said["timeout"] = float64(30)
	}
	for _, key := range []string{"bash", "powershell", "exec", "args", "cwd", "env", "timeoutSec", "comment"} {
		delete(said, key)
	}
	return said, at, ""
}

// copilotCommand is the command of a handler for the shells of this system.
func copilotCommand(m map[string]any) (string, string) {
	text := func(key string) string { s, _ := m[key].(string); return strings.TrimSpace(s) }
	if program := text("exec"); program != "" {
		words := []string{quoted(program)}
		args, _ := m["args"].([]any)
		for _, a := range args {
			word, ok := a.(string)
			if !ok {
				return "", "args: expected a list of texts"
			}
			words = append(words, quoted(word))
		}
		return strings.Join(words, " "), ""
	}
	own, other := "bash", "powershell"
	if runtime.GOOS == "windows" {
		own, other = other, own
	}
	switch {
	case text(own) != "":
		return text(own), ""
	case text("command") != "":
		return text("command"), ""
	case text(other) != "":
		return "", "its command is for " + other + " only"
	}
	return "", "command: expected a command, found none"
}

// quoted is a word as a shell takes it.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
