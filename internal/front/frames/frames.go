// Package frames reads JSON-RPC messages, one on each line, for libraries that end a
// connection at the first line that is no message. Such a line is answered with the
// error that JSON-RPC has for it, and the connection goes on.
package frames

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The refusals of JSON-RPC that the libraries leave unsaid.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// Filter passes whole messages of In on. What is no message is answered on Out, so
// that nobody waits for an answer that does not come.
type Filter struct {
	In *bufio.Reader
	// Out gets the refusals. Others write to it, too: see Writer.
	Out io.Writer
	// Limit bounds one message, in bytes.
	Limit int
	// Check says what the library would not read; may be nil.
	Check func(message []byte) error
	// Listens tells the notifications that somebody listens to. Others are left out, so
	// that a flood of them does not fill the library's queue; nil leaves none out.
	Listens func(method string) bool
	// Batches says that several messages may stand in one array.
	Batches bool
}

// Copy copies until In ends or nobody reads any more, and returns why it ended.
func (f Filter) Copy(to io.Writer) error {
	for {
		line, whole, err := f.line()
		if len(bytes.TrimSpace(line)) > 0 {
			if refusal := f.judge(line, whole); refusal != nil {
				if err := refusal.send(f.Out); err != nil {
					return err
				}
			} else if !f.ignored(line) {
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
func (f Filter) line() (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := f.In.ReadSlice('\n')
		if room := f.Limit - len(line); len(part) > room {
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

// answer is what is said of it; nothing where no answer is due.
func (r *refusal) answer() ([]byte, error) {
	if r.code == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.id,
		"error": map[string]any{"code": r.code, "message": r.message}})
}

// send writes the answer, if there is one.
func (r *refusal) send(w io.Writer) error {
	b, err := r.answer()
	if err != nil || b == nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// Refuse is for messages that do not come on lines: it returns whether one is refused, and
// what is to be answered.
func (f Filter) Refuse(message []byte) (answer []byte, refused bool) {
	r := f.judge(message, len(message) <= f.Limit)
	if r == nil {
		return nil, false
	}
	answer, err := r.answer()
	return answer, err == nil
}

// judge returns what is wrong with a line, or nil.
func (f Filter) judge(line []byte, whole bool) *refusal {
	null := json.RawMessage("null")
	if !whole {
		return &refusal{idOf(line), invalidRequest, fmt.Sprintf("the message has more than %d bytes", f.Limit)}
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if !json.Valid(line) {
		return &refusal{null, parseError, "this is not JSON; each message is one line"}
	}
	var batch []json.RawMessage
	if f.Batches && json.Unmarshal(line, &batch) == nil && len(batch) > 0 {
		single := f
		single.Batches = false
		for _, one := range batch {
			if r := single.judge(one, true); r != nil {
				return r
			}
		}
		return nil
	}
	if json.Unmarshal(line, &m) != nil {
		return &refusal{null, invalidRequest, f.form()}
	}
	var method string
	switch {
	case len(m.Method) == 0 && len(m.ID)+len(m.Result)+len(m.Error) > 0:
		if f.Check != nil && f.Check(line) != nil {
			return &refusal{} // an answer is never answered, whatever is wrong with it
		}
		return nil
	case len(m.Method) == 0:
		return &refusal{null, invalidRequest, "the message has no method"}
	case len(m.ID) > 0 && !plainID(m.ID):
		return &refusal{null, invalidRequest, "id must be a string or a number"}
	case json.Unmarshal(m.Method, &method) != nil || method == "":
		return &refusal{orNull(m.ID), invalidRequest, "method must be a string"}
	}
	if f.Check != nil {
		if err := f.Check(line); err != nil {
			return &refusal{orNull(m.ID), invalidRequest, err.Error()}
		}
	}
	return nil
}

func (f Filter) form() string {
	if f.Batches {
		return "a message is a JSON object, or an array of them"
	}
	return "a message is a JSON object; batches are not supported"
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

// ignored reports whether line is a notification that nobody listens to.
func (f Filter) ignored(line []byte) bool {
	if f.Listens == nil {
		return false
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil || len(m.ID) > 0 || m.Method == "" {
		return false
	}
	return !f.Listens(m.Method)
}

// Writer lets several write whole messages to one stream.
type Writer struct {
	mu sync.Mutex
	w  io.Writer // guarded by mu
}

// NewWriter makes a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes p as a whole.
func (l *Writer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
