package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// frameLimit bounds one message of the editor, in bytes. The library reads lines
// of at most 10 MiB and ends the connection at a longer one.
const frameLimit = 10<<20 - 1

// The refusals of JSON-RPC that the library leaves unsaid.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// filter copies whole messages from in to what the library reads. What is no
// message is answered on out and kept from it, so that an editor never waits for
// an answer that does not come.
type filter struct {
	in  *bufio.Reader
	out io.Writer
}

// copy copies until in ends or nobody reads any more.
func (f filter) copy(to io.Writer) error {
	for {
		line, whole, err := f.line()
		if len(bytes.TrimSpace(line)) > 0 {
			if refusal := judge(line, whole); refusal != nil {
				if err := refusal.send(f.out); err != nil {
					return err
				}
			} else if !ignored(line) {
				if _, err := to.Write(append(bytes.TrimRight(line, "\r\n"), '\n')); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
}

// line reads one line, or the beginning of one that is too long.
func (f filter) line() (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := f.in.ReadSlice('\n')
		if room := frameLimit - len(line); len(part) > room {
			part, whole = part[:room], false
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

// refusal answers what is no message.
type refusal struct {
	id      json.RawMessage
	code    int
	message string
}

func (r *refusal) send(w io.Writer) error {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.id,
		"error": map[string]any{"code": r.code, "message": r.message}})
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// judge returns what is wrong with a line, or nil.
func judge(line []byte, whole bool) *refusal {
	null := json.RawMessage("null")
	if !whole {
		return &refusal{idOf(line), invalidRequest, fmt.Sprintf("the message has more than %d bytes", frameLimit)}
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if !json.Valid(line) {
		return &refusal{null, parseError, "the line is not JSON; each message is one line"}
	}
	if json.Unmarshal(line, &m) != nil {
		return &refusal{null, invalidRequest, "a message is a JSON object; batches are not supported"}
	}
	var method string
	switch {
	case len(m.Method) == 0 && len(m.ID)+len(m.Result)+len(m.Error) > 0:
		return nil // an answer is never answered, whatever is wrong with it
	case len(m.Method) == 0:
		return &refusal{null, invalidRequest, "the message has no method"}
	case len(m.ID) > 0 && !plainID(m.ID):
		return &refusal{null, invalidRequest, "id must be a string or a number"}
	case json.Unmarshal(m.Method, &method) != nil || method == "":
		return &refusal{orNull(m.ID), invalidRequest, "method must be a string"}
	}
	return nil
}

func orNull(id json.RawMessage) json.RawMessage {
	if len(id) == 0 {
		return json.RawMessage("null")
	}
	return id
}

// plainID reports whether id is a string or a number of bearable length.
func plainID(id json.RawMessage) bool {
	return len(id) <= 1024 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// idOf finds the id at the beginning of a message that is not there as a whole.
func idOf(head []byte) json.RawMessage {
	null := json.RawMessage("null")
	d := json.NewDecoder(bytes.NewReader(head[:min(len(head), 64<<10)]))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return null
	}
	for {
		key, err := d.Token()
		if err != nil || key == "params" {
			return null
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return null
		}
		if key == "id" && plainID(value) {
			return value
		}
	}
}

// ignored reports whether line is a notification that nobody here listens to.
// They do not count towards the bound of the library's queue.
func ignored(line []byte) bool {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil || len(m.ID) > 0 || m.Method == "" {
		return false
	}
	return m.Method != "session/cancel" && m.Method != "$/cancel_request"
}

// lockedWriter lets two write whole messages to one stream.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer // guarded by mu
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
