// Package hooks lets programs of the user's own watch and steer a session: they
// get what happens as JSON on standard input, and answer with JSON or with their
// exit code.
package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/text/pattern"
	"kerf/internal/text/visible"
)

// Event is a moment at which hooks run.
type Event string

// The events.
const (
	PreToolUse         Event = "PreToolUse"
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
	PermissionRequest  Event = "PermissionRequest"
	SessionStart       Event = "SessionStart"
	UserPromptSubmit   Event = "UserPromptSubmit"
	Stop               Event = "Stop"
	// A sub-agent has these two in place of SessionStart and Stop.
	SubagentStart Event = "SubagentStart"
	SubagentStop  Event = "SubagentStop"
	// PreCompact is before the history is summarized, Notification when the user is asked
	// something. Hooks of these and of SessionEnd can only look.
	PreCompact   Event = "PreCompact"
	Notification Event = "Notification"
	SessionEnd   Event = "SessionEnd"
)

// Events lists them all.
func Events() []Event {
	return []Event{PreToolUse, PostToolUse, PostToolUseFailure, PermissionRequest, SessionStart, UserPromptSubmit, Stop,
		SubagentStart, SubagentStop, PreCompact, Notification, SessionEnd}
}

// Handler is one program, address or question to a model, and when it is used.
type Handler struct {
	Event Event
	// Matcher is a regular expression over a whole name of the tool, or over the
	// source of a start; empty and * match everything.
	Matcher string
	Command string // for the user's shell
	// URL gets the event as a POST, with Headers in which the variables of Env are
	// replaced. Prompt is what Model, or the session's, is asked about the event.
	URL           string
	Headers       map[string]string
	Env           []string
	Prompt, Model string
	// Form says as whose handler it is told events and answers.
	Form Form
	// Dir is where the program starts; empty for the usual place.
	Dir string
	// Vars are variables for the program alone.
	Vars map[string]string
	// Told is the event's name in another agent, by which the handler knows it.
	Told    string
	Timeout time.Duration
	From    string // the file it stands in, for messages
	// Required makes a failure of the hook an objection: the call or the prompt is
	// refused. It counts for PreToolUse, PermissionRequest and UserPromptSubmit.
	Required bool
}

// Form is the agent as whose handlers are told events and answer; empty for Kerf's own form,
// which Claude Code and Codex have, too.
type Form string

// The forms.
const (
	Cursor  Form = "cursor"
	Copilot Form = "copilot"
)

// Environ is the environment of the handler's program: env, and its own variables. Those of
// Copilot may name others.
func (h Handler) Environ(env []string) []string {
	own := slices.Clone(env)
	for name, value := range h.Vars {
		if h.Form == Copilot {
			value = variable().ReplaceAllStringFunc(value, func(found string) string {
				return valueIn(env, strings.Trim(found, "${}"))
			})
		}
		own = append(own, name+"="+value)
	}
	return own
}

// variable is $NAME or ${NAME}.
var variable = pattern.Lazy(`\$(?:\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)`)

// valueIn is the value of a variable in an environment.
func valueIn(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// Output is the result of a hook's program.
type Output struct {
	Stdout, Stderr []byte
	Code           int
	TimedOut       bool
}

// Runner runs the command of a handler with stdin, or does what it has instead of one. An error means that it could
// not be run at all.
type Runner func(ctx context.Context, h Handler, stdin []byte) (Output, error)

// Origin is what hooks are told of the session that they watch.
type Origin struct {
	Session    string
	Transcript string
	Cwd        string
}

// Set holds the hooks of a session. It may be used by several goroutines.
type Set struct {
	Origin   Origin
	handlers []compiled
	run      Runner
	now      func() time.Time
}

type compiled struct {
	Handler
	matcher *regexp.Regexp // nil matches everything
}

// New returns a set. A matcher that is no regular expression is an error.
func New(handlers []Handler, run Runner) (*Set, error) {
	s := &Set{run: run, now: time.Now}
	for _, h := range handlers {
		c := compiled{Handler: h}
		if h.Matcher != "" && h.Matcher != "*" {
			whole := `^(?:` + h.Matcher + `)$`
			if h.Form == Cursor {
				whole = h.Matcher // it matches anywhere
			}
			re, err := regexp.Compile(whole)
			if err != nil {
				return nil, fmt.Errorf("%s: hooks.%s: matcher %q: %w", h.From, h.Event, h.Matcher, err)
			}
			c.matcher = re
		}
		s.handlers = append(s.handlers, c)
	}
	return s, nil
}

// Call is what hooks are told. Fields that an event does not have stay empty.
type Call struct {
	Event Event
	// Names are what a matcher is compared with: the tool's name and its names in
	// other agents.
	Names []string

	Session        string
	Transcript     string
	Cwd            string
	Model          string
	PermissionMode string
	Turn           string
	Tool           string
	Input          any
	Response       any
	CallID         string
	Paths          []string // files that a call changed, absolute
	Prompt         string
	Source         string
	LastMessage    string
	StopActive     bool
}

// Call is what every hook is told at an event.
func (s *Set) Call(e Event, set protocol.Settings, turn protocol.TurnID) Call {
	mode := "default"
	switch set.Mode().Approval() {
	case protocol.PolicyNever:
		mode = "bypassPermissions"
	case protocol.PolicyAutoEdit:
		mode = "acceptEdits"
	case protocol.PolicyPlan:
		mode = "plan"
	}
	return Call{Event: e, Session: s.Origin.Session, Transcript: s.Origin.Transcript, Cwd: s.Origin.Cwd, Model: set.Model,
		PermissionMode: mode, Turn: string(turn)}
}

// Result joins the answers of all hooks of a call.
type Result struct {
	// Decision is "deny", "ask" or "allow", the strictest that was said, or empty.
	// Of Stop and UserPromptSubmit, deny stops the stop or the prompt.
	Decision string
	Reason   string
	// Context is text for the model.
	Context []string
	// Halt ends the turn.
	Halt     bool
	Warnings []string
}

// ReasonOr is the reason, or other where none was given.
func (r Result) ReasonOr(other string) string {
	if strings.TrimSpace(r.Reason) == "" {
		return other
	}
	return r.Reason
}

// Wants reports whether any hook runs at an event.
func (s *Set) Wants(e Event) bool {
	if s == nil {
		return false
	}
	for _, h := range s.handlers {
		if h.Event == e {
			return true
		}
	}
	return false
}

// Fire runs the hooks that match c in parallel and joins their answers in the order
// of the configuration. A hook that fails gives a warning of one line. It never
// allows, and it stops nothing unless it is required.
func (s *Set) Fire(ctx context.Context, c Call) Result {
	if s == nil {
		return Result{}
	}
	type job struct {
		compiled
		stdin []byte
	}
	var jobs []job
	for _, h := range s.handlers {
		if h.Event != c.Event || !h.matches(c) {
			continue
		}
		for _, told := range c.payloads(h.Handler, s.now()) {
			stdin, err := json.Marshal(told)
			if err != nil {
				return Result{Warnings: []string{fmt.Sprintf("hooks of %s were not run: %v", c.Event, err)}}
			}
			jobs = append(jobs, job{h, stdin})
		}
	}
	results := make([]Result, len(jobs))
	var all sync.WaitGroup
	for i, j := range jobs {
		all.Go(func() {
			out, err := s.run(ctx, j.Handler, j.stdin)
			results[i] = j.read(out, err)
		})
	}
	all.Wait()
	var joined Result
	for _, r := range results {
		joined.join(r)
	}
	return joined
}

func (c compiled) matches(call Call) bool {
	if c.Form == Cursor {
		return c.matchesCursor(call)
	}
	names := call.Names
	if c.Form == Copilot {
		names = append(slices.Clone(names), copilotTool(call.Tool))
	}
	return c.matcher == nil || slices.ContainsFunc(names, c.matcher.MatchString)
}

func rank(decision string) int { return strings.Index("   allow ask  deny ", decision+" ") }

func (r *Result) join(o Result) {
	if o.Decision != "" && (r.Decision == "" || rank(o.Decision) > rank(r.Decision)) {
		r.Decision, r.Reason = o.Decision, o.Reason
	} else if o.Decision != "" && o.Decision == r.Decision && o.Reason != "" {
		r.Reason = strings.TrimPrefix(r.Reason+"\n"+o.Reason, "\n")
	} else if o.Halt && r.Reason == "" {
		r.Reason = o.Reason
	}
	r.Context = append(r.Context, o.Context...)
	r.Halt = r.Halt || o.Halt
	r.Warnings = append(r.Warnings, o.Warnings...)
}

// wire is the object on standard input; told is the event's name, if it has another one
// there.
func (c Call) wire(told string) map[string]any {
	m := map[string]any{"session_id": c.Session, "transcript_path": nil, "cwd": c.Cwd, "hook_event_name": c.Event,
		"model":           c.Model,
		"permission_mode": c.PermissionMode}
	if told != "" {
		m["hook_event_name"] = told
	}
	put := func(name string, value any, present bool) {
		if present {
			m[name] = value
		}
	}
	put("transcript_path", c.Transcript, c.Transcript != "")
	put("turn_id", c.Turn, c.Turn != "")
	put("tool_name", c.Tool, c.Tool != "")
	put("tool_input", c.Input, c.Input != nil)
	put("tool_response", c.Response, c.Response != nil)
	put("tool_use_id", c.CallID, c.CallID != "")
	put("prompt", c.Prompt, c.Event == UserPromptSubmit)
	put("source", c.Source, c.Event == SessionStart)
	ends := c.Event == Stop || c.Event == SubagentStop
	put("last_assistant_message", c.LastMessage, ends)
	put("stop_hook_active", c.StopActive, ends)
	put("trigger", c.Source, c.Event == PreCompact)
	put("reason", c.Source, c.Event == SessionEnd)
	put("notification_type", c.Source, c.Event == Notification)
	put("message", c.Prompt, c.Event == Notification)
	return m
}

// answer is the JSON that a hook may print.
type answer struct {
	Continue      *bool  `json:"continue"`
	StopReason    string `json:"stopReason"`
	SystemMessage string `json:"systemMessage"`
	Decision      string `json:"decision"`
	Reason        string `json:"reason"`
	Specific      struct {
		PermissionDecision       string `json:"permissionDecision"`
		PermissionDecisionReason string `json:"permissionDecisionReason"`
		AdditionalContext        string `json:"additionalContext"`
		Decision                 struct {
			Behavior string `json:"behavior"`
			Message  string `json:"message"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// maxSaid bounds what one hook may tell the model, in bytes.
const maxSaid = 10_000

func (c compiled) read(out Output, err error) Result {
	if c.Form == Copilot {
		out.Stdout = withoutProgress(out.Stdout)
	}
	stdout, stderr := said(out.Stdout), said(out.Stderr)
	switch {
	case err != nil:
		return c.failed(err.Error())
	case out.TimedOut:
		if c.Form == Copilot {
			c.Required = false // a guard that takes too long keeps nothing back
		}
		return c.failed(fmt.Sprintf("ended after its time limit of %s", c.Timeout))
	case out.Code == 2 && c.onlyLooks():
		return c.failed("exit code 2: " + stderr)
	case out.Code == 2:
		return Result{Decision: "deny", Reason: stderr}
	case out.Code != 0:
		return c.failed(fmt.Sprintf("exit code %d: %s", out.Code, stderr))
	}
	if strings.HasPrefix(stdout, "{") {
		var a answer
		if err := json.Unmarshal(out.Stdout, &a); err != nil {
			return c.failed(fmt.Sprintf("its output is not the JSON of a hook: %v", err))
		}
		if more := c.more(); more != nil {
			if err := json.Unmarshal(out.Stdout, more); err != nil {
				return c.failed(fmt.Sprintf("its output is not the JSON of a hook: %v", err))
			}
			more.own(&a)
		}
		if c.Form == Copilot && c.Event == UserPromptSubmit {
			return Result{} // it can only look
		}
		return c.interpret(a)
	}
	switch {
	case stdout == "" || c.Form == Copilot:
	case c.Event == SessionStart, c.Event == SubagentStart, c.Event == UserPromptSubmit:
		return Result{Context: []string{stdout}}
	}
	return Result{}
}

// more are the fields of an answer that only the handler's form has, or nil.
func (c compiled) more() interface{ own(*answer) } {
	switch c.Form {
	case Cursor:
		return &cursorAnswer{}
	case Copilot:
		return &copilotAnswer{}
	}
	return nil
}

// onlyLooks reports whether exit code 2 keeps nothing back: the event is over, or begins whatever a
// hook says.
func (c compiled) onlyLooks() bool {
	if c.Form == Copilot {
		return c.Event != PreToolUse && c.Event != PermissionRequest
	}
	switch c.Event {
	case SessionStart, SubagentStart, PreCompact, Notification, SessionEnd:
		return true
	}
	return false
}

// shown is what the handler does, on a line.
func (h Handler) shown() string {
	switch {
	case h.URL != "":
		return h.URL
	case h.Prompt != "":
		return h.Prompt
	}
	return h.Command
}

func (c compiled) interpret(a answer) Result {
	var r Result
	decision, reason := a.Specific.PermissionDecision, a.Specific.PermissionDecisionReason
	if decision == "" {
		decision, reason = a.Specific.Decision.Behavior, a.Specific.Decision.Message
	}
	if decision == "" {
		decision, reason = a.Decision, a.Reason
	}
	switch decision {
	case "deny", "block":
		r.Decision = "deny"
	case "allow", "approve":
		r.Decision = "allow"
	case "ask":
		r.Decision = "ask"
	case "":
	default:
		return c.failed(fmt.Sprintf("expected the decision allow, ask, deny or block, found %q", said([]byte(decision))))
	}
	r.Reason = said([]byte(reason))
	if text := said([]byte(a.Specific.AdditionalContext)); text != "" {
		r.Context = append(r.Context, text)
	}
	if a.Continue != nil && !*a.Continue {
		r.Halt = true
		if r.Reason == "" {
			r.Reason = said([]byte(a.StopReason))
		}
	}
	if a.SystemMessage != "" {
		r.Warnings = append(r.Warnings, firstLine(a.SystemMessage))
	}
	return r
}

func (c compiled) failed(why string) Result {
	r := Result{Warnings: []string{firstLine(fmt.Sprintf("hook %s (%s): %s", c.Event, firstLine(c.shown()), why))}}
	switch c.Event {
	case PreToolUse, PermissionRequest, UserPromptSubmit:
		if c.Required {
			r.Decision, r.Reason = "deny", "a required hook failed: "+firstLine(why)
		}
	}
	return r
}

// said is what a hook printed, within bounds.
func said(b []byte) string {
	b = bytes.TrimSpace(b[:min(len(b), 2*maxSaid)])
	if len(b) > maxSaid {
		b = append(bytes.Clone(b[:maxSaid]), "…"...)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	const most = 300
	return visible.ClipRunes(visible.Line(strings.ToValidUTF8(s[:min(len(s), 4*most)], "\uFFFD")), most)
}
