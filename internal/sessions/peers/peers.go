// Package peers reads the sessions that Claude Code and Gemini CLI record, and writes them down as
// Codex would have. Package codex makes sessions of that.
package peers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"kerf/internal/text/pattern"
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
	text, err := read(path)
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

// read reads a file, which may be packed: Codex packs old sessions.
func read(path string) ([]byte, error) {
	if filepath.Ext(path) != ".zst" {
		return os.ReadFile(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unpack, err := zstd.NewReader(f, zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer unpack.Close()
	text, err := io.ReadAll(io.LimitReader(unpack, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("unpack %s: %w", path, err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return text, nil
}

// maxWindow bounds what a packed file may have the decoder keep, in bytes.
const maxWindow = 64 << 20

// sessionID is an id of a session, in a name of a file or behind its key.
var sessionID = pattern.Lazy(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// maxHead is how much of a file is read for its id, in bytes.
const maxHead = 4096

// ID is the id that the session of a file gets: of Codex and Claude Code it stands in the name, of
// Gemini CLI at the beginning. It is empty where there is none.
func ID(path string) string {
	if all := sessionID().FindAllString(filepath.Base(path), -1); len(all) > 0 {
		return all[len(all)-1]
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, maxHead))
	_, rest, _ := bytes.Cut(head, []byte(`"sessionId"`))
	rest = bytes.TrimLeft(rest, " \t\r\n:\"")
	if at := sessionID().FindIndex(rest); at != nil && at[0] == 0 {
		return string(rest[:at[1]])
	}
	return ""
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
