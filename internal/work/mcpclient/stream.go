package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// errLong says that a server sent more in one message than is taken.
var errLong = fmt.Errorf("it sent a message of more than %d bytes", frameLimit)

// messages are the JSON-RPC messages among the lines of a program. Whatever else it
// prints, such as banners and logs, is passed over: it would end the connection.
type messages struct {
	lines *bufio.Reader
	under io.Closer
	rest  []byte

	mu    sync.Mutex
	cause error // why the stream ended, guarded by mu
}

func newMessages(r io.ReadCloser) *messages {
	return &messages{lines: bufio.NewReader(r), under: r}
}

// Read hands out whole messages.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if isMessage(line) {
			m.rest = append(bytes.TrimSpace(line), '\n')
		}
		if err != nil && len(m.rest) == 0 {
			m.mu.Lock()
			m.cause = err
			m.mu.Unlock()
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// isMessage reports whether a line is an object that says to be JSON-RPC.
func isMessage(line []byte) bool {
	var m struct {
		Version string `json:"jsonrpc"`
	}
	return json.Unmarshal(line, &m) == nil && m.Version == "2.0"
}

// line reads one line, with its end if it has one.
func (m *messages) line() ([]byte, error) {
	var line []byte
	for {
		part, err := m.lines.ReadSlice('\n')
		if len(line)+len(part) > frameLimit {
			return nil, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Close closes what is read from.
func (m *messages) Close() error { return m.under.Close() }

// over reports whether the program has closed its output.
func (m *messages) over() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Is(m.cause, io.EOF)
}

// ended is why there is nothing more to read, nil for an ordinary end.
func (m *messages) ended() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if errors.Is(m.cause, errLong) {
		return m.cause
	}
	return nil
}

// boundedBody is a response body of which no more than one message is read.
type boundedBody struct {
	io.ReadCloser
	left int
}

// Read reads up to the bound and then fails.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLong
	}
	if len(p) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	return n, err
}

// lastWords tells how a program ended, with the last lines it wrote to its error stream.
func lastWords(text []byte, code int, signal string, itself bool) string {
	said := oneLine(tail(string(text)))
	switch {
	case !itself:
		return said
	case signal != "":
		return strings.TrimRight(fmt.Sprintf("it was ended by %s: %s", signal, said), ": ")
	case code == 127:
		return "the program was not found: " + said
	case code != 0:
		return strings.TrimRight(fmt.Sprintf("it ended with exit code %d: %s", code, said), ": ")
	case said != "":
		return "it ended: " + said
	}
	return ""
}

// tail is the last lines of a text that fit into a message, at least one of them.
func tail(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= errorLimit {
		return text
	}
	cut := text[len(text)-errorLimit:]
	if _, lines, ok := strings.Cut(cut, "\n"); ok {
		return lines
	}
	return cut
}
