package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"kerf/internal/model"
)

// outputItem is every kind of item that a response may hold.
type outputItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     string          `json:"input"`
	Action    json.RawMessage `json:"action"`
}

// parseItem reads an item; a nil item is of a kind that Kerf does not use. It
// is not whole when the provider says that it stopped within it.
func parseItem(raw json.RawMessage) (item *model.Item, whole bool, err error) {
	var typed struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &typed); err != nil {
		return nil, false, err
	}
	switch typed.Type {
	case "message", "reasoning", "function_call", "custom_tool_call", "local_shell_call":
	default:
		return nil, false, nil // its members may have other types
	}
	var o outputItem
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, false, err
	}
	item, err = o.item()
	return item, o.Status != "incomplete", err
}

func (o *outputItem) item() (*model.Item, error) {
	switch o.Type {
	case "message":
		parts := []model.Part{}
		for _, s := range texts(o.Content) {
			parts = append(parts, model.Part{Text: s})
		}
		return &model.Item{Kind: model.Message, ID: o.ID, Role: "assistant", Content: parts}, nil
	case "reasoning":
		item := &model.Item{Kind: model.Reasoning, ID: o.ID, Summary: texts(o.Summary), Encrypted: o.Encrypted}
		if item.Encrypted == "" && len(item.Summary) == 0 {
			item.Summary = texts(o.Content) // open models show their thoughts as they are
		}
		return item, nil
	case "function_call":
		arguments, err := o.arguments()
		return o.call(model.Function, o.Name, arguments), err
	case "custom_tool_call":
		return o.call(model.Freeform, o.Name, o.Input), nil
	}
	input, err := json.Marshal(parseAction(o.Action))
	if err != nil {
		return nil, fmt.Errorf("shell action: %w", err)
	}
	return o.call(model.Shell, "local_shell", string(input)), nil
}

func (o *outputItem) call(style model.CallStyle, name, input string) *model.Item {
	return &model.Item{Kind: model.Call, ID: o.ID, CallID: o.CallID, Name: name, Style: style, Input: input}
}

// arguments are JSON text within a string; some servers send the object itself,
// and nothing for no arguments.
func (o *outputItem) arguments() (string, error) {
	var s string
	switch raw := strings.TrimSpace(string(o.Arguments)); {
	case raw == "" || raw == "null":
	case raw[0] != '"':
		return raw, nil
	default:
		if err := json.Unmarshal(o.Arguments, &s); err != nil {
			return "", err
		}
	}
	if strings.TrimSpace(s) == "" {
		return "{}", nil
	}
	return s, nil
}

// texts collects the text of content parts; a bare string is one part.
func texts(raw json.RawMessage) []string {
	var s string
	if json.Unmarshal(raw, &s) == nil && s != "" {
		return []string{s}
	}
	var parts []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	var all []string
	for _, p := range parts {
		switch {
		case p.Text != "":
			all = append(all, p.Text)
		case p.Refusal != "":
			all = append(all, p.Refusal)
		}
	}
	return all
}

// searchOf is what the provider looked for when item is a search of the web.
func searchOf(raw json.RawMessage) (query string, ok bool) {
	var s struct {
		Type   string `json:"type"`
		Action struct {
			Query string `json:"query"`
			URL   string `json:"url"`
		} `json:"action"`
	}
	if json.Unmarshal(raw, &s) != nil || s.Type != "web_search_call" {
		return "", false
	}
	if query = s.Action.Query; query == "" {
		query = s.Action.URL
	}
	return query, query != ""
}
