// Package peers reads the sessions that Claude Code and Gemini CLI record, and writes them down as
// Codex would have. Package codex makes sessions of that.
package peers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// maxFile bounds a file that is read.
const maxFile = 512 << 20

// Rollout is a session in the form of Codex, and the agent that recorded it: "claude", "gemini" or
// "codex", whose files are given back as they are.
func Rollout(path string) (rollout []byte, agent string, err error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, "", err
	case !st.Mode().IsRegular():
		return nil, "", fmt.Errorf("%s is not a regular file", path)
	case st.Size() > maxFile:
		return nil, "", fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	var w writer
	switch agent = kind(text); agent {
	case "claude":
		err = claude(&w, path, text)
	case "gemini":
		err = gemini(&w, path, text)
	default:
		return text, agent, nil
	}
	if err != nil {
		return nil, agent, fmt.Errorf("import %s: %w", path, err)
	}
	return w.Bytes(), agent, nil
}

// kind tells by the first lines who wrote a file.
func kind(text []byte) string {
	var probe struct {
		SessionID   string          `json:"sessionId"`
		ProjectHash string          `json:"projectHash"`
		UUID        string          `json:"uuid"`
		LeafUUID    string          `json:"leafUuid"`
		Payload     json.RawMessage `json:"payload"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	for range 20 {
		if dec.Decode(&probe) != nil {
			break
		}
		switch {
		case probe.ProjectHash != "":
			return "gemini"
		case len(probe.Payload) > 0:
			return "codex"
		case probe.UUID != "" || probe.LeafUUID != "":
			return "claude"
		}
	}
	return "codex"
}

// ErrNone says that a file holds no conversation of the user's.
var ErrNone = errors.New("it holds no message of the user")

// writer writes lines of a rollout.
type writer struct {
	bytes.Buffer
	at    time.Time
	model string
}

// object is JSON.
type object = map[string]any

func (w *writer) line(kind string, payload object) {
	b, err := json.Marshal(object{"timestamp": w.at.UTC().Format(time.RFC3339Nano), "type": kind, "payload": payload})
	if err != nil {
		return // strings and numbers can be written
	}
	w.Write(append(b, '\n'))
}

func (w *writer) begin(id, cwd, provider, branch string) {
	p := object{"id": id, "cwd": cwd, "model_provider": provider}
	if branch != "" {
		p["git"] = object{"branch": branch}
	}
	w.line("session_meta", p)
}

// uses names the model of what follows.
func (w *writer) uses(model string) {
	if model != "" && model != w.model {
		w.model = model
		w.line("turn_context", object{"model": model})
	}
}

func (w *writer) user(text string, images []string) {
	content := []object{{"type": "input_text", "text": text}}
	for _, url := range images {
		content = append(content, object{"type": "input_image", "image_url": url})
	}
	w.line("response_item", object{"type": "message", "role": "user", "content": content})
}

func (w *writer) assistant(text string) {
	w.line("response_item", object{"type": "message", "role": "assistant",
		"content": []object{{"type": "output_text", "text": text}}})
}

func (w *writer) thought(text string) {
	w.line("response_item", object{"type": "reasoning", "summary": []object{{"text": text}}})
}

func (w *writer) call(id, name string, args json.RawMessage) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	w.line("response_item", object{"type": "function_call", "name": name, "call_id": id, "arguments": string(args)})
}

func (w *writer) output(id, text string, ok bool) {
	w.line("response_item", object{"type": "function_call_output", "call_id": id,
		"output": object{"content": text, "success": ok}})
}

func (w *writer) compacted(summary string) { w.line("compacted", object{"message": summary}) }

func (w *writer) tokens(input, cached, output, reasoning int) {
	w.line("event_msg", object{"type": "token_count", "info": object{"last_token_usage": object{"input_tokens": input,
		"cached_input_tokens": cached, "output_tokens": output, "reasoning_output_tokens": reasoning}}})
}
