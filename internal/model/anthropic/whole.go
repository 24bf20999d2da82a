package anthropic

import "encoding/json"

// whole makes events of an answer that was not streamed.
func whole(body []byte) [][]byte {
	var answer struct {
		Type    string            `json:"type"`
		Content []json.RawMessage `json:"content"`
		Reason  string            `json:"stop_reason"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Type != "message" {
		return nil
	}
	type object map[string]any
	list := []object{{"type": "message_start", "message": json.RawMessage(body)}}
	for i, b := range answer.Content {
		list = append(list, object{"type": "content_block_start", "index": i, "content_block": b},
			object{"type": "content_block_stop", "index": i})
	}
	list = append(list, object{"type": "message_delta", "delta": object{"stop_reason": answer.Reason}},
		object{"type": "message_stop"})
	var events [][]byte
	for _, o := range list {
		b, err := json.Marshal(o)
		if err != nil {
			return nil // what came from JSON always goes back to it
		}
		events = append(events, b)
	}
	return events
}
