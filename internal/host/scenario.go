package host

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/model"
	"kerf/internal/model/script"
)

// Scenario writes what the model said in a session as a scenario for the script
// provider, and returns what the user said, in order. Calls that were cut off are
// in it, too: they are part of what the model said.
func (h *Host) Scenario(w io.Writer, name string) (prompts []string, err error) {
	info, err := h.find(name, false, true)
	if err != nil {
		return nil, err
	}
	records, _, err := rollout.Read(filepath.Join(h.SessionsDir(), string(info.ID)))
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	b := scenarist{s: script.Scenario{Version: script.Version, Title: info.Title, Matching: script.Tolerant}}
	for _, r := range records {
		b.line(r)
	}
	b.close()
	if err := b.s.Save(w); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return b.prompts, nil
}

// scenarist gathers the rounds of a scenario.
type scenarist struct {
	s       script.Scenario
	prompts []string
	round   int
	said    string // by the user, since the last round
	parts   []scenePart
	usage   *script.Usage
}

type scenePart struct {
	index int
	call  string
	item  script.Item
}

func (b *scenarist) line(r rollout.Record) {
	switch r.Type {
	case "user_input":
		tell(r, func(u history.UserInput) {
			b.close()
			if !u.Marker && u.Text != "" {
				b.prompts, b.said = append(b.prompts, u.Text), u.Text
			}
		})
	case "assistant_message":
		tell(r, func(m history.AssistantMessage) { b.put(m.Round, scenePart{m.Index, "", script.Item{Message: m.Text}}) })
	case "reasoning":
		tell(r, func(m history.Reasoning) {
			b.put(m.Round, scenePart{m.Index, "", script.Item{Reasoning: strings.Join(m.Summary, "\n")}})
		})
	case "event":
		tell(r, func(t history.ToolStarted) {
			var what history.EventRecord
			if r.Decode(&what) == nil && what.What == history.ToolBegan {
				b.put(t.Round, scenePart{t.Index, string(t.Call), sceneCall(string(t.Call), t.Name, t.Style, t.Args, t.Input)})
			}
		})
	case "tool_call":
		tell(r, func(t history.ToolCall) {
			b.put(t.Round, scenePart{t.Index, string(t.Call), sceneCall(string(t.Call), t.Name, t.Style, t.Args, t.Input)})
		})
	case "token_usage":
		tell(r, func(u history.TokenUsage) {
			if u.Round == b.round {
				b.usage = &script.Usage{Input: u.Usage.Input, Cached: u.Usage.Cached, Write: u.Usage.CacheWrite, Output: u.Usage.Output, Reasoning: u.Usage.Reasoning}
			}
		})
	case "compacted":
		tell(r, func(c history.Compacted) {
			b.close()
			b.s.Rounds = append(b.s.Rounds, script.Round{Items: []script.Item{{Message: c.Summary}}})
		})
	}
}

func sceneCall(id, name string, style model.CallStyle, args json.RawMessage, input string) script.Item {
	it := script.Item{Call: name, ID: id, Args: args}
	switch {
	case style == model.Freeform:
		text := history.JoinInput(style, args, input)
		it.Args, it.Input = nil, &text
	case input != "":
		it.Args, _ = json.Marshal(input) // a text always has a JSON form
	}
	if style == model.Shell {
		it.Style = "shell"
	}
	return it
}

// put adds what the model made in a round. The line that tells of the end of a
// call is about the same call as the one that tells of its start.
func (b *scenarist) put(round int, p scenePart) {
	if p.item.Message == "" && p.item.Reasoning == "" && p.item.Call == "" {
		return
	}
	if round != b.round {
		b.close()
		b.round = round
	}
	if p.call != "" && slices.ContainsFunc(b.parts, func(x scenePart) bool { return x.call == p.call }) {
		return
	}
	b.parts = append(b.parts, p)
}

// close ends the round under way.
func (b *scenarist) close() {
	if len(b.parts) == 0 {
		return
	}
	slices.SortStableFunc(b.parts, func(x, y scenePart) int { return x.index - y.index })
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
