package host

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
)

// Timeline prints what happened in a session as a log: for each turn, counted
// from its beginning, what was submitted, every round with its calls, what they
// changed, and the tokens.
func (h *Host) Timeline(w io.Writer, name string) error {
	path := name
	if !isSession(name) {
		info, err := h.find(name, false, true)
		if err != nil {
			return err
		}
		path = filepath.Join(h.SessionsDir(), string(info.ID))
	}
	records, damage, err := rollout.Read(path)
	if err != nil {
		return err
	}
	if damage != nil {
		fmt.Fprintf(w, "damage: %s\n", damage)
	}
	t := timeline{w: w, calls: roundsThatCall(records), adds: "history + user + tools"}
	for _, r := range records {
		t.line(r)
	}
	return t.err
}

// roundsThatCall are the rounds in which the model called a tool, so that
// another one has to follow.
func roundsThatCall(records []rollout.Record) map[int]bool {
	rounds := map[int]bool{}
	for _, r := range records {
		var v struct {
			Round int
			Name  string
		}
		if (r.Type == "tool_call" || r.Type == "event") && r.Decode(&v) == nil && v.Name != "" {
			rounds[v.Round] = true
		}
	}
	return rounds
}

// timeline prints records as lines of a log.
type timeline struct {
	w     io.Writer
	err   error
	calls map[int]bool
	began time.Time
	last  time.Time // of the last thing that joined the prompt
	round int       // the last whose request was told
	adds  string    // what joined the prompt since
}

func (t *timeline) say(at time.Time, format string, args ...any) {
	d := max(at.Sub(t.began), 0)
	line := fmt.Sprintf(format, args...)
	_, err := fmt.Fprintf(t.w, "[%02d:%02d.%03d] %s\n", int(d.Minutes()), int(d.Seconds())%60, d.Milliseconds()%1000, visible(line))
	if t.err == nil {
		t.err = err
	}
}

// request tells, once, of the request that a round answers.
func (t *timeline) request(round int) {
	if round == t.round || round == 0 {
		return
	}
	t.round = round
	t.say(t.last, "round %d request built (%s)", round, t.adds)
	t.adds = ""
}

func (t *timeline) joined(at time.Time, what string) {
	t.last = at
	if t.adds != "" {
		t.adds += " "
	}
	t.adds += what
}

func (t *timeline) line(r rollout.Record) {
	switch r.Type {
	case "turn_context":
		tell(r, func(c history.TurnContext) {
			t.began, t.last = r.Time, r.Time
			t.say(r.Time, "turn started turn=%s model=%s sandbox=%s approval=%s at %s", c.Turn, c.Settings.Model, c.Settings.Sandbox, c.Settings.Approval, r.Time.Format(time.RFC3339))
		})
	case "user_input":
		tell(r, func(u history.UserInput) { t.input(u, r.Time) })
	case "assistant_message":
		tell(r, func(m history.AssistantMessage) {
			t.request(m.Round)
			t.say(r.Time, "round %d item done -> message %q", m.Round, excerpt(m.Text))
		})
	case "reasoning":
		tell(r, func(m history.Reasoning) {
			t.request(m.Round)
			t.say(r.Time, "round %d item done -> reasoning %q", m.Round, excerpt(strings.Join(m.Summary, " ")))
		})
	case "tool_call":
		tell(r, func(c history.ToolCall) { t.done(c, r.Time) })
	case "file_change":
		tell(r, func(c history.FileChange) {
			t.say(r.Time, "changed %s %s cause=%s %s", c.Operation, c.Path, c.Cause, c.DiffPath)
		})
	case "approval":
		tell(r, func(a history.Approval) {
			t.say(r.Time, "approval %s decision=%s asked=%q", a.Call, a.Decision, excerpt(a.Asked))
		})
	case "token_usage":
		tell(r, func(u history.TokenUsage) { t.used(u, r.Time) })
	case "compacted":
		tell(r, func(c history.Compacted) {
			t.say(r.Time, "compacted auto=%t tokens %d -> %d", c.Auto, c.Before, c.After)
			t.adds = "compacted history + tools"
		})
	case "event":
		t.event(r)
	}
}

func (t *timeline) input(u history.UserInput, at time.Time) {
	op := "user_input"
	if u.Marker {
		op = "marker"
	}
	t.say(at, "submit op=%s turn=%s %q", op, u.Turn, excerpt(u.Text))
	if t.adds == "" {
		t.joined(at, "+ "+op)
	} else {
		t.last = at
	}
}

func (t *timeline) done(c history.ToolCall, at time.Time) {
	exit := ""
	if c.Exit != nil {
		exit = fmt.Sprintf(" exit=%d", *c.Exit)
	}
	t.say(at, "tool done %s %s success=%t%s %.3fs", c.Call, c.Name, c.Success, exit, float64(c.Millis)/1000)
	t.joined(at, "+ output "+string(c.Call))
}

func (t *timeline) used(u history.TokenUsage, at time.Time) {
	if u.Agent != "" {
		t.say(at, "agent %s tokens in=%d cached=%d out=%d", u.Agent, u.Usage.Input, u.Usage.Cached, u.Usage.Output)
		return
	}
	t.request(u.Round)
	t.say(at, "round %d completed needs_follow_up=%t tokens in=%d cached=%d out=%d reasoning=%d", u.Round, t.calls[u.Round],
		u.Usage.Input, u.Usage.Cached, u.Usage.Output, u.Usage.Reasoning)
}

func (t *timeline) event(r rollout.Record) {
	var e history.EventRecord
	if r.Decode(&e) != nil {
		return
	}
	switch e.What {
	case history.ToolBegan:
		tell(r, func(c history.ToolStarted) {
			t.request(c.Round)
			t.say(r.Time, "round %d item done -> call %s(%s) call=%s", c.Round, c.Name, excerpt(argsText(c)), c.Call)
		})
	case history.TurnCompleted, history.TurnFailed, history.TurnAborted:
		t.say(r.Time, "%s turn=%s %s", strings.ReplaceAll(e.What, "_", " "), e.Turn, e.Message)
		t.adds = "history + user + tools"
	default:
		t.say(r.Time, "%s %s", strings.ReplaceAll(e.What, "_", " "), e.Message)
	}
}

// argsText are the arguments of a call on one line.
func argsText(c history.ToolStarted) string {
	text := c.Input
	if text == "" {
		text = string(c.Args)
	}
	if b, err := json.Marshal(text); c.Input != "" && err == nil {
		text = string(b)
	}
	return text
}
