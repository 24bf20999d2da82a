// Package scenario makes scenarios of sessions, and checks and serves them.
package scenario

import (
	"encoding/json"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/model"
	"kerf/internal/model/script"
	"kerf/internal/sessions/records"
	"kerf/internal/text/order"
)

// Of makes a scenario for the script provider of what the model said, and returns
// what the user said, in order. Calls that were cut off are in it, too: they are
// part of what the model said.
func Of(title string, list []records.Record) (s script.Scenario, prompts []string) {
	b := builder{s: script.Scenario{Version: script.Version, Title: title, Matching: script.Tolerant}}
	for _, r := range list {
		b.record(r)
	}
	b.close()
	return b.s, b.prompts
}

// builder gathers the rounds of a scenario.
type builder struct {
	s       script.Scenario
	prompts []string
	round   int
	said    string // by the user, since the last round
	parts   []part
	usage   *script.Usage
}

type part struct {
	index int
	call  string
	item  script.Item
}

func (b *builder) record(r records.Record) {
	switch r := r.Record.(type) {
	case history.UserInput:
		b.close()
		if !r.Marker && r.Text != "" {
			b.prompts, b.said = append(b.prompts, r.Text), r.Text
		}
	case history.AssistantMessage:
		b.put(r.Round, part{r.Index, "", script.Item{Message: r.Text}})
	case history.Reasoning:
		b.put(r.Round, part{r.Index, "", script.Item{Reasoning: strings.Join(r.Summary, "\n")}})
	case history.ToolStarted:
		b.call(r.Started())
	case history.ToolCall:
		b.call(r)
	case history.TokenUsage:
		if r.Round == b.round {
			u := r.Usage
			b.usage = &script.Usage{Input: u.Input, Cached: u.Cached, Write: u.CacheWrite, Output: u.Output,
				Reasoning: u.Reasoning}
		}
	case history.Compacted:
		b.close()
		b.s.Rounds = append(b.s.Rounds, script.Round{Items: []script.Item{{Message: r.Summary}}})
	}
}

func (b *builder) call(c history.ToolCall) {
	it := script.Item{Call: c.Name, ID: string(c.Call), Args: c.Args}
	switch {
	case c.Style == model.Freeform:
		text := history.JoinInput(c.Style, c.Args, c.Input)
		it.Args, it.Input = nil, &text
	case c.Input != "":
		it.Args, _ = json.Marshal(c.Input) // a text always has a JSON form
	}
	if c.Style == model.Shell {
		it.Style = "shell"
	}
	b.put(c.Round, part{c.Index, it.ID, it})
}

// put adds what the model made in a round. The line that tells of the end of a
// call is about the same call as the one that tells of its start.
func (b *builder) put(round int, p part) {
	if p.item.Message == "" && p.item.Reasoning == "" && p.item.Call == "" {
		return
	}
	if round != b.round {
		b.close()
		b.round = round
	}
	if p.call != "" && slices.ContainsFunc(b.parts, func(x part) bool { return x.call == p.call }) {
		return
	}
	b.parts = append(b.parts, p)
}

// close ends the round under way.
func (b *builder) close() {
	if len(b.parts) == 0 {
		return
	}
	order.Stably(b.parts, func(x, y part) int { return x.index - y.index })
	r := script.Round{Usage: b.usage}
	for _, p := range b.parts {
		r.Items = append(r.Items, p.item)
	}
	if b.said != "" && !strings.Contains(b.said, "[redacted]") {
		first, _, _ := strings.Cut(b.said, "\n")
		r.Expect = &script.Expect{InputContains: []string{first}}
	}
	b.s.Rounds = append(b.s.Rounds, r)
	b.parts, b.usage, b.said = nil, nil, ""
}
