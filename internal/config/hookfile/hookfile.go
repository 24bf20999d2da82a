// Package hookfile reads the hooks that stand in a file, as Kerf and other agents write them.
package hookfile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"kerf/internal/config/document"
	"kerf/internal/config/peers"
	"kerf/internal/text/order"
)

// Hook is one handler that watches a session: a program, an address or a question to a model.
type Hook struct {
	Event, Matcher, Command string
	Timeout                 time.Duration
	From                    string // the file it stands in
	// Required says that nothing happens without the hook: when it fails, what it was to
	// look at is refused.
	Required bool
	// FailClosed is Cursor's word for that.
	FailClosed bool
	// URL is where the event is sent, with Headers in which the variables Env are replaced;
	// Prompt is what Model, or the session's own one, is asked about it. All three are
	// instead of a command.
	URL           string
	Headers       map[string]string
	Env           []string
	Prompt, Model string
	// Told is the name of the event that the hook is told, where it is another agent's.
	Told string
	// Form says as whose hook it is told events and answers, and Dir is where its program
	// starts, if not in the usual place.
	Form peers.Form
	Dir  string
	// Vars are variables for the program.
	Vars map[string]string
}

// Shown is what the hook does, in words.
func (h Hook) Shown() string {
	switch {
	case h.URL != "":
		return "POST " + h.URL
	case h.Prompt != "":
		return "ask: " + h.Prompt
	}
	return h.Command
}

// timeout is how long a hook may take when it does not say.
const timeout = time.Minute

// Events are the moments at which hooks run.
var Events = [...]string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "SessionStart",
	"UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "Notification", "SessionEnd"}

// Unused is a hook that Kerf cannot run, or a part of one that has no effect, and why.
type Unused struct {
	Fault    error
	Required bool // nothing may happen without it
	Part     bool // the hook itself runs
}

// Text is the reason, and what comes of it.
func (u Unused) Text() string { return u.Fault.Error() + u.end() }

func (u Unused) end() string {
	if u.Part {
		return ""
	}
	return "; this hook does not run"
}

// Of reads groups of handlers by event. A group may also be a handler itself. Events
// and kinds of handlers that Kerf does not know are unused.
func Of(from string, events map[string]any) (list []Hook, unused []Unused, err error) {
	for _, event := range slices.Sorted(maps.Keys(events)) {
		known := slices.Contains(Events[:], event)
		groups, ok := events[event].([]any)
		if !ok && events[event] != nil && known {
			return nil, nil, fault(from, event, "expected a list of tables")
		}
		if !known && len(groups) == 0 {
			unused = append(unused, Unused{Fault: unknown(from, event)})
		}
		for _, g := range groups {
			group, ok := g.(map[string]any)
			if !ok && known {
				return nil, nil, fault(from, event, "expected a list of tables")
			}
			matcher, _ := group["matcher"].(string)
			handlers, nested := group["hooks"].([]any)
			if !nested {
				handlers = []any{g}
			}
			for _, x := range handlers {
				if why := unusable(from, event, known, x); why != nil {
					unused = append(unused, *why)
					continue
				}
				h, err := one(from, event, matcher, x)
				if err != nil {
					return nil, nil, err
				}
				list, unused = append(list, h), append(unused, effectless(from, event, x)...)
			}
		}
	}
	Sort(list)
	return list, unused, nil
}

// Sort sorts hooks by the moments at which they run.
func Sort(list []Hook) {
	order.Stably(list, func(a, b Hook) int {
		return slices.Index(Events[:], a.Event) - slices.Index(Events[:], b.Event)
	})
}

// unusable says why Kerf cannot run a handler, or nil.
func unusable(from, event string, known bool, x any) *Unused {
	m, _ := x.(map[string]any)
	required := m["required"] != nil && m["required"] != false
	if !known {
		return &Unused{Fault: unknown(from, event), Required: required}
	}
	if kind, ok := m["type"]; ok && kind != "command" && kind != "http" && kind != "prompt" {
		return &Unused{Fault: fault(from, event,
			fmt.Sprintf("type: expected \"command\", \"http\" or \"prompt\", found %q", kind)), Required: required}
	}
	return nil
}

// keys are the keys of a handler that Kerf uses, and those that are only shown by
// other agents.
var keys = []string{"type", "command", "timeout", "required", "matcher", "url", "headers", "allowedEnvVars",
	"prompt", "model", "name", "description", "statusMessage", "failClosed"}

// effectless names the keys of a handler that have no effect.
func effectless(from, event string, x any) []Unused {
	m, _ := x.(map[string]any)
	var names []string
	for name := range m {
		if !slices.Contains(keys, name) {
			names = append(names, document.Clip(name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []Unused{{Part: true, Fault: fault(from, event, strings.Join(names, ", ")+": no effect here")}}
}

func unknown(from, event string) error {
	return fault(from, event, "no such event; the events are "+strings.Join(Events[:], ", "))
}

func one(from, event, matcher string, x any) (Hook, error) {
	m, _ := x.(map[string]any)
	h := Hook{Event: event, Matcher: matcher, Timeout: timeout, From: from}
	if err := h.does(from, m); err != nil {
		return h, err
	}
	if v, ok := m["required"]; ok {
		if h.Required, ok = v.(bool); !ok {
			return h, fault(from, event, "required: expected true or false")
		}
	}
	h.FailClosed, _ = m["failClosed"].(bool)
	seconds := 0.0
	switch n := m["timeout"].(type) {
	case nil:
		return h, nil
	case int64:
		seconds = float64(n)
	case float64:
		seconds = n
	}
	if seconds <= 0 || seconds > maxTimeout || math.IsNaN(seconds) {
		return h, fault(from, event, "timeout: expected seconds, more than 0 and at most 3600")
	}
	h.Timeout = time.Duration(seconds * float64(time.Second))
	return h, nil
}

// does reads what a handler does.
func (h *Hook) does(from string, m map[string]any) error {
	words := func(key, what string) (string, error) {
		text, _ := m[key].(string)
		if strings.TrimSpace(text) == "" {
			return "", fault(from, h.Event, key+": expected "+what+", found none")
		}
		return text, nil
	}
	var err error
	switch m["type"] {
	case "http":
		if h.URL, err = words("url", "an address"); err != nil {
			return err
		}
		if !strings.HasPrefix(h.URL, "http://") && !strings.HasPrefix(h.URL, "https://") {
			return fault(from, h.Event, "url: expected an address that begins with http:// or https://")
		}
		headers, _ := m["headers"].(map[string]any)
		h.Headers = map[string]string{}
		for name, v := range headers {
			text, ok := v.(string)
			if !ok || strings.ContainsAny(name+text, "\r\n\x00") {
				return fault(from, h.Event, "headers: expected a table of texts")
			}
			h.Headers[name] = text
		}
		allowed, _ := m["allowedEnvVars"].([]any)
		for _, v := range allowed {
			if name, ok := v.(string); ok {
				h.Env = append(h.Env, name)
			}
		}
	case "prompt":
		h.Prompt, err = words("prompt", "a question")
		h.Model, _ = m["model"].(string)
	default:
		h.Command, err = words("command", "a command")
	}
	return err
}

func fault(from, event, message string) error {
	return &document.Error{File: from, Key: "hooks." + event, Message: "hooks." + event + ": " + message}
}

// Check says what is wrong with hooks, or unknown about them.
func Check(events map[string]any) error {
	_, unused, err := Of("hooks.json", events)
	for _, u := range unused {
		if err == nil && !u.Part {
			err = u.Fault
		}
	}
	return err
}

// peerEvents are the names that events have in other agents.
var peerEvents = map[string]string{"BeforeTool": "PreToolUse", "AfterTool": "PostToolUse",
	"BeforeAgent": "UserPromptSubmit", "AfterAgent": "Stop", "PreCompress": "PreCompact"}

// Own is the name that an event of Gemini CLI has here; another name stays.
func Own(event string) string { return cmp.Or(peerEvents[event], event) }

// Seconds are groups of handlers whose timeouts, in milliseconds, are in seconds.
func Seconds(groups any) any { return inSeconds(groups, true) }

// cursorEvents are the names that events have in Cursor.
var cursorEvents = map[string]string{"sessionStart": "SessionStart", "sessionEnd": "SessionEnd", "preToolUse": "PreToolUse",
	"postToolUse": "PostToolUse", "postToolUseFailure": "PostToolUseFailure", "subagentStart": "SubagentStart",
	"subagentStop": "SubagentStop", "beforeShellExecution": "PreToolUse", "beforeMCPExecution": "PreToolUse",
	"beforeReadFile": "PreToolUse", "afterShellExecution": "PostToolUse", "afterMCPExecution": "PostToolUse",
	"afterFileEdit": "PostToolUse", "beforeSubmitPrompt": "UserPromptSubmit", "preCompact": "PreCompact", "stop": "Stop"}

// OfPeer are the hooks of one file, and what is left out of them.
func OfPeer(f peers.HookFile) (list []Hook, warnings []string) {
	if f.Form == peers.Copilot {
		return ofCopilot(f)
	}
	left := unusedEvents{}
	for _, event := range slices.Sorted(maps.Keys(f.Events)) {
		own, told := event, ""
		if name, ok := peerEvents[event]; ok {
			own, told = name, event
		}
		if name, ok := cursorEvents[event]; ok && f.Form == peers.Cursor {
			own, told = name, event
		}
		for _, h := range left.read(f.File, event, own, inSeconds(f.Events[event], f.Milliseconds)) {
			h.Told, h.Required, h.Vars = told, false, f.Vars
			if h.Form = f.Form; f.Form == peers.Cursor {
				h.Dir, h.Required = f.Dir, h.FailClosed
			}
			list = append(list, h)
		}
	}
	return list, left.told(f.File)
}

// unusedEvents are the events of hooks that are not used, by the reason.
type unusedEvents map[string][]string

func (u unusedEvents) add(event, why string) {
	if !slices.Contains(u[why], event) {
		u[why] = append(u[why], event)
	}
}

// read reads the hooks of an event, which is called own here.
func (u unusedEvents) read(file, event, own string, groups any) (list []Hook) {
	groups, cut := bounded(groups)
	if cut {
		u.add(event, "timeout: an hour at most")
	}
	found, unused, err := Of(file, map[string]any{own: groups})
	if err != nil {
		unused = append(unused, Unused{Fault: err})
	}
	for _, x := range unused {
		why := reason(x.Fault, own)
		if strings.HasPrefix(why, "no such event") {
			why = "no such event here"
		}
		u.add(event, why)
	}
	for _, h := range found {
		if _, err := regexp.Compile(h.Matcher); err != nil && h.Matcher != "*" {
			u.add(event, "the matcher "+document.Quote(document.Clip(h.Matcher))+" is no regular expression")
			continue
		}
		list = append(list, h)
	}
	return list
}

// told are the warnings about a file.
func (u unusedEvents) told(file string) (warnings []string) {
	for _, why := range slices.Sorted(maps.Keys(u)) {
		warnings = append(warnings, file+": hooks of "+document.Clip(strings.Join(u[why], ", "))+": "+why)
	}
	return warnings
}

// reason is what a fault of a hook says beside its place.
func reason(err error, event string) string {
	text := err.Error()
	if _, after, ok := strings.Cut(text, "hooks."+event+": "); ok {
		return after
	}
	return text
}

// maxTimeout is how long a hook may take, in seconds.
const maxTimeout = 3600

// bounded are groups of handlers whose timeouts are an hour at most, and whether one was longer.
func bounded(groups any) (out any, cut bool) {
	list, ok := groups.([]any)
	if !ok {
		return groups, false
	}
	kept := make([]any, len(list))
	for i, g := range list {
		m, ok := g.(map[string]any)
		if !ok {
			kept[i] = g
			continue
		}
		m = maps.Clone(m)
		switch n := m["timeout"].(type) {
		case float64:
			if n > maxTimeout {
				m["timeout"], cut = float64(maxTimeout), true
			}
		case int64:
			if n > maxTimeout {
				m["timeout"], cut = int64(maxTimeout), true
			}
		}
		if nested, ok := m["hooks"]; ok {
			more := false
			m["hooks"], more = bounded(nested)
			cut = cut || more
		}
		kept[i] = m
	}
	return kept, cut
}

// inSeconds are groups of handlers whose timeouts are in seconds.
func inSeconds(groups any, milliseconds bool) any {
	list, ok := groups.([]any)
	if !milliseconds || !ok {
		return groups
	}
	out := make([]any, len(list))
	for i, g := range list {
		m, ok := g.(map[string]any)
		if !ok {
			out[i] = g
			continue
		}
		m = maps.Clone(m)
		if n, ok := m["timeout"].(float64); ok {
			m["timeout"] = n / 1000
		}
		if nested, ok := m["hooks"]; ok {
			m["hooks"] = inSeconds(nested, true)
		}
		out[i] = m
	}
	return out
}
