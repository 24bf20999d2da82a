package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// olderRevision is what servers are spoken to in that do not know server/discover.
const olderRevision = "2025-11-25"

// discovery is the first request of the newest revision.
const discovery = "server/discover"

// patience is how long a server may take to answer it before older revisions are tried.
// A program that is still starting loses nothing: it reads both requests.
func patience(startup time.Duration) time.Duration { return min(startup/3, 5*time.Second) }

// older are options for a server that does not know server/discover.
func older() *mcp.ClientSessionOptions {
	return &mcp.ClientSessionOptions{ProtocolVersion: olderRevision}
}

// probe stands between the SDK and a program, and answers server/discover with an error
// when the program does not answer it: the SDK goes on with an older revision then.
type probe struct {
	in       io.ReadCloser
	out      io.WriteCloser
	patience time.Duration
	read     *io.PipeReader
	write    *io.PipeWriter

	mu      sync.Mutex
	waiting json.RawMessage // the id of a request that is not answered, or nil
	given   json.RawMessage // the id of one that was answered here, or nil
	timer   *time.Timer
}

// newProbe starts a goroutine that ends when in does, or when the probe is closed.
func newProbe(in io.ReadCloser, out io.WriteCloser, patience time.Duration) *probe {
	p := &probe{in: in, out: out, patience: patience}
	p.read, p.write = io.Pipe()
	go p.pass()
	return p
}

// pass hands on what the program says, but for an answer that comes too late.
func (p *probe) pass() {
	lines := bufio.NewReader(p.in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 && !p.late(line) {
			if _, err := p.write.Write(line); err != nil {
				return
			}
		}
		if err != nil {
			p.settle(nil)
			_ = p.write.CloseWithError(err)
			return
		}
	}
}

// late reports whether line answers a request that was answered here. It notes an
// answer that is not late.
func (p *probe) late(line []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil && p.given == nil {
		return false
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil || m.Method != "" {
		return false
	}
	if bytes.Equal(m.ID, p.waiting) {
		p.waiting = nil
		p.timer.Stop()
	}
	return bytes.Equal(m.ID, p.given)
}

// settle ends the wait for the answer to the request id, or to any, and reports whether
// there was one.
func (p *probe) settle(id json.RawMessage) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil || id != nil && !bytes.Equal(id, p.waiting) {
		return false
	}
	if p.timer.Stop(); id != nil {
		p.given, p.waiting = p.waiting, nil
	}
	return true
}

// unanswered reports whether the program left server/discover without an answer.
func (p *probe) unanswered() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting != nil || p.given != nil
}

// Write sends a message to the program.
func (p *probe) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(discovery)) {
		p.watch(b)
	}
	return p.out.Write(b)
}

func (p *probe) watch(message []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(message, &m) != nil || m.Method != discovery {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = m.ID
	p.timer = time.AfterFunc(p.patience, func() {
		if p.settle(m.ID) {
			_, _ = fmt.Fprintf(p.write, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no answer"}}`+"\n", m.ID)
		}
	})
}

// Read reads what the program says.
func (p *probe) Read(b []byte) (int, error) { return p.read.Read(b) }

// Close closes both streams.
func (p *probe) Close() error {
	p.settle(nil)
	_ = p.read.Close()
	_ = p.in.Close()
	return p.out.Close()
}
