package sdk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// peer speaks JSON-RPC with a program: one line a message. One goroutine reads
// (read); each request of the program is answered by one of its own.
type peer struct {
	// answer answers a request of the program, told hears its notifications, in
	// order.
	answer func(ctx context.Context, method string, params json.RawMessage) (any, error)
	told   func(method string, params json.RawMessage)

	writing sync.Mutex
	out     io.Writer // guarded by writing

	mu      sync.Mutex
	next    int
	waiting map[int]chan message // guarded by mu, nil once the program has ended
}

// message is a request, a notification or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// RPCError is a refusal of kerf acp. Code -32000 means that the provider has no
// key.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string {
	var data struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(e.Data, &data) == nil && data.Error != "" {
		return data.Error
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

func (p *peer) send(m message) error {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err = p.out.Write(append(line, '\n'))
	return err
}

// notify tells the program something.
func (p *peer) notify(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return p.send(message{Method: method, Params: raw})
}

// call asks the program for something and waits for the answer.
func (p *peer) call(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	p.mu.Lock()
	if p.waiting == nil {
		p.mu.Unlock()
		return io.ErrUnexpectedEOF
	}
	p.next++
	id := p.next
	answer := make(chan message, 1)
	p.waiting[id] = answer
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
	}()
	if err := p.send(message{ID: fmt.Appendf(nil, "%d", id), Method: method, Params: raw}); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return io.ErrUnexpectedEOF
		case m.Error != nil:
			return m.Error
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read takes messages until the program says no more, and waits for the answers
// that are still being made. Lines that are no messages are passed over.
func (p *peer) read(ctx context.Context, in io.Reader) {
	ctx, cancel := context.WithCancel(ctx)
	var answers sync.WaitGroup
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		var m message
		if line = bytes.TrimSpace(line); len(line) > 0 && json.Unmarshal(line, &m) == nil {
			switch {
			case m.Method != "" && len(m.ID) > 0:
				answers.Go(func() { p.reply(ctx, m) })
			case m.Method != "":
				p.told(m.Method, m.Params)
			default:
				p.deliver(m)
			}
		}
		if err != nil {
			break
		}
	}
	cancel()
	p.mu.Lock()
	for _, w := range p.waiting {
		close(w)
	}
	p.waiting = nil
	p.mu.Unlock()
	answers.Wait()
}

func (p *peer) deliver(m message) {
	var id int
	if json.Unmarshal(m.ID, &id) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.waiting[id]; w != nil {
		delete(p.waiting, id)
		w <- m
	}
}

func (p *peer) reply(ctx context.Context, m message) {
	answer := message{ID: m.ID}
	result, err := p.answer(ctx, m.Method, m.Params)
	if err == nil {
		answer.Result, err = json.Marshal(result)
	}
	if err != nil {
		answer.Error = &RPCError{Code: -32601, Message: err.Error()}
	}
	_ = p.send(answer) // a program that is gone needs no answer
}
