package chat

import (
	"encoding/json"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// The tokens of the Harmony format, in which gpt-oss writes. A server that does not read
// them passes them on as text.
const (
	harmonyStart   = "<|start|>"
	harmonyChannel = "<|channel|>"
	harmonyMessage = "<|message|>"
)

// harmonyEnds end a message.
var harmonyEnds = []string{"<|end|>", "<|call|>", "<|return|>", harmonyStart, harmonyChannel}

// readHarmony takes a text in the Harmony format apart: what is thought, what is said, and
// the calls of offered tools. It reports whether text is in that format.
func readHarmony(text string, tools []model.Tool) (thoughts, said string, calls []leak, ok bool) {
	at := len(text)
	for _, token := range []string{harmonyStart, harmonyChannel} {
		if i := strings.Index(text, token); i >= 0 {
			at = min(at, i)
		}
	}
	if at == len(text) || quoted(text[:at]) || !strings.Contains(text[at:], harmonyMessage) {
		return "", "", nil, false
	}
	said = text[:at]
	rest := text[at:]
	for {
		header, body, more := strings.Cut(rest, harmonyMessage)
		if !more {
			return strings.TrimSpace(thoughts), strings.TrimSpace(said), calls, true
		}
		end := len(body)
		for _, token := range harmonyEnds {
			if i := strings.Index(body, token); i >= 0 {
				end = min(end, i)
			}
		}
		rest = body[end:]
		body = body[:end]
		switch tool := recipient(header, tools); {
		case tool != nil && json.Valid([]byte(body)):
			calls = append(calls, leak{tool.Name, body})
		case strings.Contains(header, "analysis"):
			thoughts += body + "\n"
		default:
			said += body
		}
	}
}

// recipient is the tool that a header names.
func recipient(header string, tools []model.Tool) *model.Tool {
	_, to, ok := strings.Cut(header, "to=")
	if !ok {
		return nil
	}
	name, _, _ := strings.Cut(to, "<")
	name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
	return wire.Offered(name, tools)
}

// readNothing holds a text back that is taken apart as a whole.
func readNothing(s string, _ []model.Tool) ([]leak, string) { return nil, s }

// objects takes arguments apart that hold several objects: some servers put an empty one
// before them, repeat them, or join those of several calls. Arguments of one call come back
// as they are.
func objects(args string) []string {
	if json.Valid([]byte(args)) {
		return []string{args}
	}
	var all []string
	empty := false
	d := json.NewDecoder(strings.NewReader(args))
	for d.More() {
		var object map[string]json.RawMessage
		from := d.InputOffset()
		if d.Decode(&object) != nil {
			return []string{args}
		}
		empty = empty || len(object) == 0
		raw := strings.TrimSpace(args[from:d.InputOffset()])
		if len(object) > 0 && (len(all) == 0 || all[len(all)-1] != raw) {
			all = append(all, raw)
		}
	}
	switch {
	case len(all) > 0:
		return all
	case empty:
		return []string{"{}"}
	}
	return []string{args}
}
