package sdk

import (
	"encoding/json"
	"fmt"
)

// Event is one thing that a run tells: ThreadStarted, TurnStarted, ItemStarted,
// ItemUpdated, ItemCompleted, Trouble, TurnCompleted, TurnFailed, or Other for
// types that this package does not know.
type Event interface{ event() }

type (
	// ThreadStarted tells the id of the session.
	ThreadStarted struct{ ThreadID string }
	// TurnStarted comes before the items of a turn.
	TurnStarted struct{}
	// ItemStarted tells of an item that takes time.
	ItemStarted struct{ Item Item }
	// ItemUpdated tells an item as it is now; only to-do lists are updated.
	ItemUpdated struct{ Item Item }
	// ItemCompleted tells an item as it ended.
	ItemCompleted struct{ Item Item }
	// Trouble tells of a request that is tried again, or the cause of the
	// TurnFailed that follows.
	Trouble struct{ Message string }
	// TurnCompleted ends a turn that is done.
	TurnCompleted struct{ Usage Usage }
	// TurnFailed ends any other turn.
	TurnFailed struct{ Message string }
	// Other is an event of a type that is not known here, as it came.
	Other struct {
		Type string
		JSON json.RawMessage
	}
)

func (ThreadStarted) event() {}
func (TurnStarted) event()   {}
func (ItemStarted) event()   {}
func (ItemUpdated) event()   {}
func (ItemCompleted) event() {}
func (Trouble) event()       {}
func (TurnCompleted) event() {}
func (TurnFailed) event()    {}
func (Other) event()         {}

// Usage counts the tokens of a turn. Input includes the cached ones, Output the
// reasoning.
type Usage struct {
	Input      int `json:"input_tokens"`
	Cached     int `json:"cached_input_tokens"`
	CacheWrite int `json:"cache_write_input_tokens"`
	Output     int `json:"output_tokens"`
	Reasoning  int `json:"reasoning_output_tokens"`
}

// Item is one thing that happens in a turn: Message, Reasoning, Plan, Command,
// FileChange, ToolCall, TodoList, WebSearch, Warning, or OtherItem for types that
// this package does not know.
type Item interface{ item() }

type (
	// Message is what the model says to the user.
	Message struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	// Reasoning is a summary of the model's thoughts.
	Reasoning struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	// Plan is what the model proposes in plan mode.
	Plan struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	// Command is a shell command. ExitCode is nil while it runs, and when it never
	// ran. Status is "in_progress", "completed", "failed" or "declined".
	Command struct {
		ID       string `json:"id"`
		Command  string `json:"command"`
		Output   string `json:"aggregated_output"`
		ExitCode *int   `json:"exit_code"`
		Status   string `json:"status"`
	}
	// FileChange is a change of files. Kind of a change is "add", "delete" or
	// "update", its path is absolute.
	FileChange struct {
		ID      string       `json:"id"`
		Changes []PathChange `json:"changes"`
		Status  string       `json:"status"`
	}
	// PathChange is what happened to one path. Its bytes need not be UTF-8.
	PathChange struct {
		Path string
		Kind string
		// Certainty is "proven" once it is known that Kerf made the change, "unproven"
		// when nobody saw who did, and empty before.
		Certainty string
	}
	// ToolCall is a call of a tool of an MCP server, or of Kerf's own that neither
	// runs commands nor changes files; those have the server "kerf".
	ToolCall struct {
		ID        string          `json:"id"`
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
		Result    *ToolResult     `json:"result"`
		Error     *ToolFailure    `json:"error"`
		Status    string          `json:"status"`
	}
	// ToolResult is what a tool returned.
	ToolResult struct {
		Content []struct {
			Type string `json:"type"` // "text" or "image"
			Text string `json:"text"`
			// Data is a picture in base64, and MIMEType its type.
			Data     string `json:"data"`
			MIMEType string `json:"mimeType"`
		} `json:"content"`
		Structured json.RawMessage `json:"structured_content"`
	}
	// ToolFailure is why a tool returned nothing.
	ToolFailure struct {
		Message string `json:"message"`
	}
	// TodoList is the model's plan of work.
	TodoList struct {
		ID    string `json:"id"`
		Items []struct {
			Text      string `json:"text"`
			Completed bool   `json:"completed"`
		} `json:"items"`
	}
	// WebSearch is a search that the provider made.
	WebSearch struct {
		ID    string `json:"id"`
		Query string `json:"query"`
	}
	// Warning is something the user should know; the turn goes on.
	Warning struct {
		ID      string `json:"id"`
		Message string `json:"message"`
	}
	// OtherItem is an item of a type that is not known here, as it came.
	OtherItem struct {
		Type string
		JSON json.RawMessage
	}
)

func (Message) item()    {}
func (Reasoning) item()  {}
func (Plan) item()       {}
func (Command) item()    {}
func (FileChange) item() {}
func (ToolCall) item()   {}
func (TodoList) item()   {}
func (WebSearch) item()  {}
func (Warning) item()    {}
func (OtherItem) item()  {}

// ParseEvent reads one line of kerf exec --json.
func ParseEvent(line []byte) (Event, error) {
	var l struct {
		Type     string          `json:"type"`
		ThreadID string          `json:"thread_id"`
		Message  string          `json:"message"`
		Usage    Usage           `json:"usage"`
		Item     json.RawMessage `json:"item"`
		Error    ToolFailure     `json:"error"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	switch l.Type {
	case "thread.started":
		return ThreadStarted{l.ThreadID}, nil
	case "turn.started":
		return TurnStarted{}, nil
	case "item.started", "item.updated", "item.completed":
		item, err := parseItem(l.Item)
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", l.Type, err)
		}
		return map[string]Event{"item.started": ItemStarted{item}, "item.updated": ItemUpdated{item},
			"item.completed": ItemCompleted{item}}[l.Type], nil
	case "error":
		return Trouble{l.Message}, nil
	case "turn.completed":
		return TurnCompleted{l.Usage}, nil
	case "turn.failed":
		return TurnFailed{l.Error.Message}, nil
	}
	return Other{l.Type, append(json.RawMessage(nil), line...)}, nil
}

func parseItem(raw json.RawMessage) (Item, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	switch head.Type {
	case "agent_message":
		return decoded[Message](raw)
	case "reasoning":
		return decoded[Reasoning](raw)
	case "plan":
		return decoded[Plan](raw)
	case "command_execution":
		return decoded[Command](raw)
	case "file_change":
		return decoded[FileChange](raw)
	case "mcp_tool_call":
		return decoded[ToolCall](raw)
	case "todo_list":
		return decoded[TodoList](raw)
	case "web_search":
		return decoded[WebSearch](raw)
	case "error":
		return decoded[Warning](raw)
	}
	return OtherItem{head.Type, append(json.RawMessage(nil), raw...)}, nil
}

// UnmarshalJSON reads {"path", "kind", "certainty"}. A path that is not UTF-8 comes as
// {"b64": "..."}, its bytes in base64.
func (c *PathChange) UnmarshalJSON(b []byte) error {
	var l struct {
		Path      json.RawMessage `json:"path"`
		Kind      string          `json:"kind"`
		Certainty string          `json:"certainty"`
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	*c = PathChange{Kind: l.Kind, Certainty: l.Certainty}
	if json.Unmarshal(l.Path, &c.Path) == nil {
		return nil
	}
	var raw struct {
		Bytes []byte `json:"b64"`
	}
	err := json.Unmarshal(l.Path, &raw)
	c.Path = string(raw.Bytes)
	return err
}

func decoded[T Item](raw json.RawMessage) (Item, error) {
	var t T
	err := json.Unmarshal(raw, &t)
	return t, err
}
