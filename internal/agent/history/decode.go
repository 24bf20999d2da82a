package history

import (
	"encoding/json"
	"fmt"
)

// Line is one line of a rollout: its type and the whole object.
type Line struct {
	Type string
	JSON []byte
}

// Unknown is a record of a type that this version does not know. JSON is the
// whole line.
type Unknown struct {
	Name string
	JSON json.RawMessage
}

// Type is the type that the line names.
func (u Unknown) Type() string { return u.Name }

// MarshalJSON returns the line as it was.
func (u Unknown) MarshalJSON() ([]byte, error) { return u.JSON, nil }

// decoders has every type of record but Unknown, by the type that its line
// names. Lines of type "event" hold a ToolStarted, a QuestionAsked or an EventRecord.
var decoders = map[string]func([]byte) (Record, error){
	SessionMeta{}.Type():      decode[SessionMeta],
	TurnContext{}.Type():      decode[TurnContext],
	UserInput{}.Type():        decode[UserInput],
	AssistantMessage{}.Type(): decode[AssistantMessage],
	Reasoning{}.Type():        decode[Reasoning],
	ToolCall{}.Type():         decode[ToolCall],
	FileChange{}.Type():       decode[FileChange],
	TokenUsage{}.Type():       decode[TokenUsage],
	Approval{}.Type():         decode[Approval],
	Compacted{}.Type():        decode[Compacted],
	EventRecord{}.Type():      decodeEvent,
}

// All returns one record of every type but Unknown, without content.
func All() []Record {
	return []Record{SessionMeta{}, TurnContext{}, UserInput{}, AssistantMessage{}, Reasoning{}, ToolCall{}, FileChange{},
		TokenUsage{}, Approval{},
		Compacted{}, ToolStarted{}, QuestionAsked{}, EventRecord{}}
}

// Decode returns the record of a line. A type that is not known gives an
// Unknown, not an error.
func Decode(line []byte) (Record, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return Line{head.Type, line}.Decode()
}

// Decode is the function of that name for a line whose type was read before.
func (l Line) Decode() (Record, error) {
	read, ok := decoders[l.Type]
	if !ok {
		return Unknown{l.Type, l.JSON}, nil
	}
	r, err := read(l.JSON)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", l.Type, err)
	}
	return r, nil
}

func decode[T Record](line []byte) (Record, error) {
	var r T
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	return r, nil
}

func decodeEvent(line []byte) (Record, error) {
	r, err := decode[EventRecord](line)
	if err != nil {
		return nil, err
	}
	switch r.(EventRecord).What {
	case ToolBegan:
		return decode[ToolStarted](line)
	case Asked:
		return decode[QuestionAsked](line)
	}
	return r, nil
}

// Started is the call without its result.
func (t ToolStarted) Started() ToolCall {
	return ToolCall{Turn: t.Turn, Round: t.Round, Index: t.Index, Call: t.Call, Name: t.Name, Args: t.Args, Input: t.Input,
		Style: t.Style, ItemID: t.ItemID}
}
