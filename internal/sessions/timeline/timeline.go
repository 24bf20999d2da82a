// Package timeline tells what happened in a session as a log: for each turn, counted
// from its beginning, what was submitted, every round with its calls, what they
// changed, and the tokens.
package timeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/sessions/records"
	"kerf/internal/text/visible"
)

// Line is one line of the log. After is the time since the turn began.
type Line struct {
	After time.Duration
	Text  string
}

// Of makes the log of records.
func Of(list []records.Record) []Line {
	t := timeline{calls: roundsThatCall(list), adds: "history + user + tools"}
	for _, r := range list {
		t.record(r)
	}
	return t.lines
}

// roundsThatCall are the rounds in which the model called a tool, so that
// another one has to follow.
func roundsThatCall(list []records.Record) map[int]bool {
	rounds := map[int]bool{}
	for _, r := range list {
		switch r := r.Record.(type) {
		case history.ToolCall:
			rounds[r.Round] = true
		case history.ToolStarted:
			rounds[r.Round] = true
		}
	}
	return rounds
}

type timeline struct {
	lines []Line
	calls map[int]bool
	began time.Time
	last  time.Time // of the last thing that joined the prompt
	round int       // the last whose request was told
	adds  string    // what joined the prompt since
}

func (t *timeline) say(at time.Time, format string, args ...any) {
	t.lines = append(t.lines, Line{max(at.Sub(t.began), 0), fmt.Sprintf(format, args...)})
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

func (t *timeline) record(r records.Record) {
	switch rec := r.Record.(type) {
	case history.TurnContext:
		t.began, t.last = r.Time, r.Time
		t.say(r.Time, "turn started turn=%s model=%s sandbox=%s approval=%s at %s", rec.Turn, rec.Settings.Model,
			rec.Settings.Sandbox, rec.Settings.Approval, r.Time.Format(time.RFC3339))
	case history.UserInput:
		t.input(rec, r.Time)
	case history.AssistantMessage:
		t.request(rec.Round)
		t.say(r.Time, "round %d item done -> message %q", rec.Round, visible.Excerpt(rec.Text))
	case history.Reasoning:
		t.request(rec.Round)
		t.say(r.Time, "round %d item done -> reasoning %q", rec.Round, visible.Excerpt(strings.Join(rec.Summary, " ")))
	case history.ToolStarted:
		t.request(rec.Round)
		args := visible.Excerpt(argsText(rec))
		t.say(r.Time, "round %d item done -> call %s(%s) call=%s", rec.Round, rec.Name, args, rec.Call)
	case history.ToolCall:
		t.done(rec, r.Time)
	case history.FileChange:
		t.say(r.Time, "changed %s %s cause=%s %s", rec.Operation, rec.Path, rec.Cause, rec.DiffPath)
	case history.Approval:
		t.say(r.Time, "approval %s decision=%s%s asked=%q", cmp.Or(string(rec.Call), string(rec.Question)), rec.Decision,
			about(rec), visible.Excerpt(rec.Asked))
	case history.QuestionAsked:
		t.say(r.Time, "question %s %s asked=%q", rec.Question, rec.Kind, visible.Excerpt(rec.Asked))
	case history.TokenUsage:
		t.used(rec, r.Time)
	case history.Compacted:
		t.say(r.Time, "compacted auto=%t tokens %d -> %d", rec.Auto, rec.Before, rec.After)
		t.adds = "compacted history + tools"
	case history.EventRecord:
		t.event(rec, r.Time)
	}
}

// about says what a question was about, who asked and who answered, as far as the
// record tells.
func about(a history.Approval) string {
	text := ""
	for _, f := range [][2]string{{"kind", string(a.Kind)}, {"agent", string(a.Agent)}, {"by", string(a.By)}} {
		if f[1] != "" {
			text += " " + f[0] + "=" + f[1]
		}
	}
	return text
}

func (t *timeline) input(u history.UserInput, at time.Time) {
	op := u.Type()
	if u.Marker {
		op = "marker"
	}
	t.say(at, "submit op=%s turn=%s %q", op, u.Turn, visible.Excerpt(u.Text))
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
	t.say(at, "round %d completed needs_follow_up=%t tokens in=%d cached=%d out=%d reasoning=%d", u.Round,
		t.calls[u.Round],
		u.Usage.Input, u.Usage.Cached, u.Usage.Output, u.Usage.Reasoning)
}

func (t *timeline) event(e history.EventRecord, at time.Time) {
	what := strings.ReplaceAll(e.What, "_", " ")
	if e.EndsTurn() {
		t.say(at, "%s turn=%s %s", what, e.Turn, e.Message)
		t.adds = "history + user + tools"
		return
	}
	t.say(at, "%s %s", what, e.Message)
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
