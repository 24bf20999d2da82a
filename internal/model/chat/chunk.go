package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// chunk is one event of a stream.
type chunk struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Timings *timings        `json:"timings"`
	Error   json.RawMessage `json:"error"`
	// Base is how MiniMax tells a failure with a good status.
	Base struct {
		Code float64 `json:"status_code"`
	} `json:"base_resp"`
}

type choice struct {
	Index   wire.Index      `json:"index"`
	Delta   *delta          `json:"delta"`
	Message *delta          `json:"message"`
	Reason  string          `json:"finish_reason"`
	Error   json.RawMessage `json:"error"`
}

type delta struct {
	Content   json.RawMessage   `json:"content"`
	Refusal   string            `json:"refusal"`
	Thought   json.RawMessage   `json:"reasoning_content"`
	Reasoning json.RawMessage   `json:"reasoning"`
	Thinking  json.RawMessage   `json:"thinking"`
	Text      json.RawMessage   `json:"reasoning_text"`
	Details   []json.RawMessage `json:"reasoning_details"`
	Calls     callDeltas        `json:"tool_calls"`
	Function  *function         `json:"function_call"`
}

// thought is the piece of reasoning and the name under which it came. Servers
// that know several names tell the same under each.
func (m *delta) thought() (thought, field string) {
	for i, raw := range []json.RawMessage{m.Thought, m.Reasoning, m.Thinking, m.Text} {
		if s, _ := wire.Text(raw); s != "" {
			return s, thoughtFields[i]
		}
	}
	return "", ""
}

// contentOf splits content, a text or a list of parts, into words and thoughts.
func contentOf(raw json.RawMessage) (said, thought string) {
	if s, ok := wire.Text(raw); ok || len(raw) == 0 {
		return s, ""
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		if p.Type == "thinking" {
			inner, _ := contentOf(p.Thinking)
			thought += inner
			continue
		}
		said += p.Text
	}
	return said, thought
}

// callDeltas are pieces of calls. Some servers send one without a list around it.
type callDeltas []callDelta

// UnmarshalJSON reads pieces of calls. What is none is left out.
func (c *callDeltas) UnmarshalJSON(raw []byte) error {
	*c = nil
	if len(raw) > 0 && raw[0] == '{' {
		raw = slices.Concat([]byte{'['}, raw, []byte{']'})
	}
	var all []callDelta
	if wire.Decode(raw, &all) != nil {
		return nil
	}
	*c = slices.DeleteFunc(all, func(d callDelta) bool {
		return d.ID == "" && d.Function.Name == "" && len(d.Function.Arguments) == 0 && len(d.Extra) == 0
	})
	return nil
}

type callDelta struct {
	Index    wire.Index `json:"index"`
	ID       string     `json:"id"`
	Function function   `json:"function"`
	// Extra is what the provider wants back with the call, such as a signature.
	Extra json.RawMessage `json:"extra_content"`
}

func (c callDelta) place() int {
	if !c.Index.Told {
		return -1
	}
	return c.Index.Value
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// text is the piece of the arguments: a text, or, from some servers, the object.
func (f function) text() string {
	s, ok := wire.Text(f.Arguments)
	if ok || string(f.Arguments) == "null" {
		return s
	}
	return string(f.Arguments)
}

type usage struct {
	Prompt        float64 `json:"prompt_tokens"`
	Completion    float64 `json:"completion_tokens"`
	CacheHit      float64 `json:"prompt_cache_hit_tokens"`
	PromptDetails struct {
		Cached     float64 `json:"cached_tokens"`
		CacheWrite float64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *usage) model() *model.Usage {
	return &model.Usage{Input: wire.Tokens(u.Prompt), Cached: wire.Tokens(max(u.PromptDetails.Cached, u.CacheHit)),
		CacheWrite: wire.Tokens(u.PromptDetails.CacheWrite), Output: wire.Tokens(u.Completion),
		Reasoning: wire.Tokens(u.CompletionDetails.Reasoning)}
}

// timings is what llama.cpp tells of a response.
type timings struct {
	Cached    float64 `json:"cache_n"`
	Prompt    float64 `json:"prompt_n"`
	Predicted float64 `json:"predicted_n"`
}

func (t *timings) model() *model.Usage {
	return &model.Usage{Input: wire.Tokens(t.Cached + t.Prompt), Cached: wire.Tokens(t.Cached),
		Output: wire.Tokens(t.Predicted)}
}

// details are the pieces of reasoning that a router wants back as they were,
// joined where they continue each other.
type details struct{ all []map[string]any }

func (d *details) add(pieces []json.RawMessage) {
	for _, raw := range pieces {
		var m map[string]any
		if json.Unmarshal(raw, &m) != nil || m == nil {
			continue
		}
		if n := len(d.all); n > 0 && continues(d.all[n-1], m) {
			join(d.all[n-1], m)
			continue
		}
		d.all = append(d.all, m)
	}
}

func continues(a, b map[string]any) bool {
	if a["type"] != b["type"] || a["index"] != b["index"] || a["type"] == "reasoning.encrypted" {
		return false
	}
	return a["id"] == b["id"] || b["id"] == nil
}

func join(into, piece map[string]any) {
	for name, value := range piece {
		s, isText := value.(string)
		switch before, _ := into[name].(string); {
		case isText && (name == "text" || name == "summary" || name == "signature"):
			into[name] = before + s
		case value != nil:
			into[name] = value
		}
	}
}

// json is the list as it goes back, or nothing.
func (d *details) json() string {
	if len(d.all) == 0 {
		return ""
	}
	b, err := json.Marshal(d.all)
	if err != nil {
		return "" // what came from JSON always goes back to it
	}
	return string(b)
}

// textsOf is the readable part of pieces.
func textsOf(pieces []json.RawMessage) string {
	var b strings.Builder
	for _, raw := range pieces {
		var p struct{ Text, Summary string }
		if json.Unmarshal(raw, &p) == nil {
			b.WriteString(p.Text + p.Summary)
		}
	}
	return b.String()
}
